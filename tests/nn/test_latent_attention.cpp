// Latent attention: gradients, the absorbed and the plain form, equal bits whole, packed and cached, and the layer's
// errors. The models with it are in test_latent_models.cpp and test_latent_config.cpp.
#include <cmath>
#include <functional>

#include "autograd/check/gradcheck.h"
#include "autograd/ops.h"
#include "nn/decode/kv_cache.h"
#include "nn/transformer.h"
#include "nn/variants/latent_attention.h"
#include "tests/catch.h"
#include "tests/nn/latent_models.h"

using namespace pg;
using namespace pg::testing;
using namespace pg::testing::latent;

namespace {

constexpr int64_t kChannels = 6;

// Every norm, with and without a query latent, with and without rotary positions.
std::vector<LatentAttentionConfig> variants(int64_t heads = 3) {
  std::vector<LatentAttentionConfig> all;
  for (const LatentNormKind& norm : LatentNormKind::table()) {
    for (const int64_t q_latent_size : {0, 5}) {
      for (const int64_t rope_size : {0, 4}) {
        all.push_back({.heads = heads,
                       .kv_latent_size = 7,
                       .q_latent_size = q_latent_size,
                       .head_size = 4,
                       .v_head_size = rope_size == 0 ? 9 : 3,  // wider and narrower than a key
                       .rope_size = rope_size,
                       .rope = Rope(100),
                       .norm = norm,
                       .bias = q_latent_size == 0});
      }
    }
  }
  return all;
}

std::string name_of_variant(const LatentAttentionConfig& c) {
  return fmt::format("norm {} q_latent_size {} rope_size {}", c.norm.name, c.q_latent_size, c.rope_size);
}

// With norms and biases other than 1 and 0.
LatentAttention random_layer(const LatentAttentionConfig& c, DType dtype) {
  Generator g(11);
  LatentAttention layer(kChannels, c, {g, dtype});
  for (const auto& [name, parameter] : named_parameters(layer)) {
    if (parameter.rank() != 1) continue;
    const Tensor noise = Tensor::normal(parameter.shape(), 0, 0.3, g, f64);
    parameter.detach().copy_from((parameter.detach().to(f64) + noise).to(dtype));
  }
  return layer;
}

}  // namespace

TEST_CASE("latent attention: gradients are those of finite differences", "[nn][latent]") {
  for (const LatentAttentionConfig& c : variants()) {
    for (const bool absorbed : {true, false}) {
      INFO(name_of_variant(c) << (absorbed ? " absorbed" : " plain"));
      LatentAttention layer = random_layer(c, f64);
      layer.absorbed = absorbed;
      std::vector<Tensor> inputs = {drawn({2, 4, kChannels}, f64, 3)};
      for (const auto& [name, parameter] : named_parameters(layer)) inputs.push_back(parameter.detach());
      const std::function<Tensor(std::span<const Tensor>)> f = [&](std::span<const Tensor> x) {
        size_t next = 1;
        Visitor set([&](const std::string&, Tensor& parameter) { parameter = x[next++]; });
        layer.visit(set);
        return layer(x[0]);
      };
      GradcheckOptions options;
      options.max_perturbations = 50;
      const GradcheckResult result = gradcheck(f, inputs, options);
      INFO(result.message);
      CHECK(result.ok);
    }
  }
}

TEST_CASE("latent attention: the absorbed form equals the plain form with its gradients", "[nn][latent]") {
  for (const DType dtype : {f32, f64}) {
    const double tolerance = dtype == f32 ? 1e-6 : 1e-12;
    for (const LatentAttentionConfig& c : variants()) {
      INFO(name_of_variant(c) << " " << name_of(dtype));
      const Tensor x = drawn({2, 70, kChannels}, dtype, 3), dy = drawn({2, 70, kChannels}, dtype, 4);
      std::vector<Tensor> results[2];
      for (const bool absorbed : {false, true}) {
        LatentAttention layer = random_layer(c, dtype);
        layer.absorbed = absorbed;
        const Tensor in = x.clone().set_requires_grad();
        const Tensor y = layer(in);
        backward(sum(y * dy));
        results[absorbed] = {y.detach(), in.grad()};
        for (const auto& [name, parameter] : named_parameters(layer)) results[absorbed].push_back(parameter.grad());
      }
      for (size_t i = 0; i < results[0].size(); ++i) {
        INFO("result " << i);
        CHECK(relative_distance(results[1][i], results[0][i]) <= tolerance);
      }
    }
  }
}

// The textbook formula of one head at a time, with products, a mask and softmax.
TEST_CASE("latent attention: a head attends with its own keys and values", "[nn][latent]") {
  std::vector<LatentAttentionConfig> all = variants(2);
  for (LatentAttentionConfig c : variants(2)) {
    c.causal = false;
    all.push_back(c);
  }
  for (const LatentAttentionConfig& c : all) {
    INFO(name_of_variant(c) << " causal " << c.causal);
    const LatentAttention layer = random_layer(c, f64);
    NoGrad no_grad;
    const int64_t t = 5, d_n = c.head_size, d_v = c.v_head_size, d_c = c.kv_latent_size, d_r = c.rope_size;
    const Tensor x = drawn({1, t, kChannels}, f64, 3);
    const auto rotated = [&](const Tensor& part) {  // [1, T, d_r]
      return d_r > 0 ? squeeze(rope(unsqueeze(part, 1), c.rope), 1) : part;
    };
    const Tensor q = layer.q_up(layer.q_down ? (*layer.q_norm)((*layer.q_down)(x)) : x);
    const Tensor kv = layer.kv_down(x);
    const Tensor latent = layer.kv_norm(slice(kv, -1, 0, d_c)), k_rope = rotated(slice(kv, -1, d_c, d_c + d_r));
    Tensor mask = Tensor::zeros({t, t}, f64);
    for (int64_t i = 0; i < t; ++i) {
      for (int64_t j = i + 1; c.causal && j < t; ++j) mask.data<double>()[i * t + j] = -INFINITY;
    }
    std::vector<Tensor> heads;
    for (int64_t i = 0; i < c.heads; ++i) {
      const Tensor q_i = slice(q, -1, i * (d_n + d_r), (i + 1) * (d_n + d_r));
      const Tensor k_i = linear(latent, slice(layer.k_up.weight, 0, i * d_n, (i + 1) * d_n));
      const Tensor v_i = linear(latent, slice(layer.v_up.weight, 0, i * d_v, (i + 1) * d_v));
      Tensor scores = matmul(slice(q_i, -1, 0, d_n), transpose(k_i));
      if (d_r > 0) scores = scores + matmul(rotated(slice(q_i, -1, d_n, d_n + d_r)), transpose(k_rope));
      heads.push_back(matmul(softmax(scores / std::sqrt(static_cast<double>(d_n + d_r)) + mask), v_i));
    }
    CHECK(relative_distance(layer(x), layer.c_proj(cat(heads, -1))) <= 1e-13);
  }
}

TEST_CASE("latent attention: whole sequences and packed rows and cached steps have the same bits", "[nn][latent]") {
  NoGrad no_grad;
  for (const int64_t heads : {1, 3}) {
    for (const LatentAttentionConfig& c : variants(heads)) {
      for (const DType dtype : {f32, f64, bf16}) {
        INFO(name_of_variant(c) << " heads " << heads << " " << name_of(dtype));
        const LatentAttention layer = random_layer(c, dtype);
        const int64_t b = 3, t = 70, width = c.kv_latent_size + c.rope_size;
        const Tensor x = drawn({b, t, kChannels}, dtype, 3);
        const Tensor whole = layer(x);
        // A prefix, and a single position.
        CHECK(equal_values(layer(x.view_slice(1, 0, 1).clone()), whole.view_slice(1, 0, 1)));
        CHECK(equal_values(layer(x.view_slice(1, 0, 37).clone()), whole.view_slice(1, 0, 37)));
        // The rows of the cache have 62, 64 and 66 positions; then all of them get three more, one at a time.
        const KvCache cache(b, 1, 1, t, width, dtype, {}, true);
        const int64_t known[] = {62, 64, 66};
        for (int64_t row = 0; row < b; ++row) {
          const KvCache part = cache.slice(row, row + 1);
          const Tensor mine = x.view_slice(0, row, row + 1), expected = whole.view_slice(0, row, row + 1);
          const int64_t first = 5 * row;  // read in one part or in two
          if (first > 0) {
            CHECK(equal_values(layer(mine.view_slice(1, 0, first).clone(), part.slots(first)[0]),
                               expected.view_slice(1, 0, first)));
            part.advance(first);
          }
          const int64_t more = known[row] - first;
          CHECK(equal_values(layer(mine.view_slice(1, first, known[row]).clone(), part.slots(more)[0]),
                             expected.view_slice(1, first, known[row])));
          part.advance(more);
        }
        for (int64_t step = 0; step < 3; ++step) {
          std::vector<Tensor> next, expected;
          for (int64_t row = 0; row < b; ++row) {
            const auto at = [&](const Tensor& of) {
              return of.view_slice(0, row, row + 1).view_slice(1, known[row] + step, known[row] + step + 1);
            };
            next.push_back(at(x)), expected.push_back(at(whole));
          }
          CHECK(equal_values(layer(cat(next), cache.slots(1)[0]), cat(expected)));
          cache.advance(1);
        }
        // Packed: rows 0 and 1 without padding, of 4 and 3 positions; the second begins as the first does.
        const auto index = [](const std::vector<int32_t>& values) {
          return Tensor::from(values, {static_cast<int64_t>(values.size())});
        };
        PackedBatch rows;
        rows.rows = 2, rows.columns = 4;
        rows.positions = index({0, 1, 2, 3, 2});
        rows.grid = index({0, 1, 2, 3, 6});
        rows.from = index({0, 1, 2, 3, 0, 1, 4, 0});
        const Tensor first = x.view_select(0, 0), other = x.view_select(0, 1);
        const Tensor packed = layer(cat({first.view_slice(0, 0, 4), other.view_slice(0, 2, 3)}), rows);
        CHECK(equal_values(packed.view_slice(0, 0, 4), whole.view_select(0, 0).view_slice(0, 0, 4)));
        const Tensor second = layer(reshape(cat({first.view_slice(0, 0, 2), other.view_slice(0, 2, 3)}), {1, 3, -1}));
        CHECK(equal_values(packed.view_slice(0, 4, 5), second.view_select(0, 0).view_slice(0, 2, 3)));
      }
    }
  }
}

TEST_CASE("latent attention: the l2 norm divides by the length", "[nn][latent]") {
  const LatentNorm norm(Choice<LatentNormKind>("l2"), 2, true, 0, f64);
  CHECK_FALSE(norm.bias.defined());
  const Tensor x = Tensor::from(std::vector<double>{3, -4, 0, 0, 6e-8, 8e-8}, {3, 2}).set_requires_grad();
  const Tensor y = norm(x);
  const auto values = y.to_vector();
  CHECK(values[0] == Approx(3 / (5 + 1e-8)).epsilon(1e-15));
  CHECK(values[1] == Approx(-4 / (5 + 1e-8)).epsilon(1e-15));
  CHECK((values[2] == 0 && values[3] == 0));
  CHECK(values[4] == Approx(6.0 / 11).epsilon(1e-12));
  backward(sum(y));
  for (const double gradient : x.grad().to_vector()) CHECK(std::isfinite(gradient));
}

TEST_CASE("latent attention: errors", "[nn][latent]") {
  const auto refused = [](LatentAttentionConfig c) { return error_of([&] { LatentAttention layer(8, c); }); };
  CHECK(refused({.kv_latent_size = 0}) ==
        fmt::format("LatentAttention: kv_latent_size must be between 1 and {}, got 0", INT32_MAX));
  CHECK(refused({.rope_size = 3}) == "LatentAttention: rotary positions need an even rope_size, got 3");
  CHECK(contains(refused({.q_latent_size = -1}), "q_latent_size must be between 0"));
  CHECK(contains(refused({.heads = INT32_MAX, .head_size = INT32_MAX}), "the channels of all heads must be between 1"));
  CHECK(error_of([] { Choice<LatentNormKind>("batch"); }) ==
        "latent-norm: expected rms, layer, l2, none, got \"batch\"");

  NoGrad no_grad;
  LatentAttention layer = random_layer(variants()[0], f32);
  const KvCache wrong(1, 1, 1, 4, 8, f32, {}, true), right(1, 1, 1, 4, 7, f32, {}, true);
  const Tensor x = drawn({1, 2, kChannels}, f32, 3);
  CHECK(contains(error_of([&] { layer(x, wrong.slots(2)[0]); }),
                 "KvSlot: expected new keys and values f32 [1, 1, T, 8]"));
  CHECK(error_of([&] { layer(x, right.slots(2)[0]); }) == "");
  layer.absorbed = false;
  const std::string plain =
      "LatentAttention: the plain form computes whole sequences only, without a cache or packed rows";
  CHECK(error_of([&] { layer(x, right.slots(2)[0]); }) == plain);
  CHECK(error_of([&] { layer(x.view_select(0, 0), PackedBatch()); }) == plain);
  layer.absorbed = true;
  layer.config.causal = false;
  const std::string whole = "LatentAttention: a KV cache and packed rows need causal attention";
  CHECK(error_of([&] { layer(x, right.slots(2)[0]); }) == whole);
  CHECK(error_of([&] { layer(x.view_select(0, 0), PackedBatch()); }) == whole);
}
