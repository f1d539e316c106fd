#pragma once
// Small models with latent attention, and comparisons, for the tests of them.
#include <cmath>

#include "nn/transformer.h"
#include "tests/catch.h"

namespace pg::testing::latent {

// ‖got − want‖ / ‖want‖
inline double relative_error(const Tensor& got, const Tensor& want) {
  const auto a = got.to_vector(), b = want.to_vector();
  REQUIRE(a.size() == b.size());
  double difference = 0, size = 0;
  for (size_t i = 0; i < a.size(); ++i) difference += (a[i] - b[i]) * (a[i] - b[i]), size += b[i] * b[i];
  return std::sqrt(difference / size);
}

inline bool equal_bits(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && a.to_vector() == b.to_vector();
}

inline TransformerConfig tiny() {
  return {.vocab_size = 11,
          .block_size = 40,
          .n_layer = 2,
          .n_head = 2,
          .n_embd = 8,
          .in_proj_std = 0.35,
          .kv_latent_size = 6,
          .q_latent_size = 5};
}
inline TransformerConfig tiny_rope() {
  TransformerConfig c = tiny();
  c.positions = Positions::rope;
  c.rope_size = 2, c.v_head_size = 3;
  return c;
}

inline Tensor random_ids(const Shape& shape, uint64_t seed = 1) {
  Generator g(seed);
  const Tensor ids = Tensor::empty(shape, i32);
  for (int32_t& id : ids.data<int32_t>()) id = static_cast<int32_t>(g.integer(11));
  return ids;
}

}  // namespace pg::testing::latent
