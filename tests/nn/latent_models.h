#pragma once
// Small models with latent attention, for the tests of them.
#include "nn/transformer.h"
#include "tests/catch.h"
#include "tests/tensors.h"

namespace pg::testing::latent {

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

inline Tensor random_ids(const Shape& shape, uint64_t seed = 1) { return integers(shape, seed, tiny().vocab_size); }

}  // namespace pg::testing::latent
