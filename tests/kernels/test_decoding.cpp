// What generation needs beside attention: sampling, the cache of keys and values, products of few rows.
#include "tests/kernels/case.h"

using namespace pg;
using namespace pg::testing;

namespace {
constexpr DType kFloats[] = {f32, f64, bf16};
}

TEST_CASE("sample draws the token of its number, and 0 from rows that have no probabilities", "[kernels]") {
  const Tensor logits = random({12, 33}, f64, 8);
  Tensor broken = logits.clone();
  broken.data<double>()[5] = kNan;
  broken.data<double>()[40] = kInf;
  for (size_t i = 66; i < 99; ++i) broken.data<double>()[i] = -kInf;
  Generator g(3);
  const Tensor u = Tensor::uniform({12}, 0, 1, g, f64);
  for (const DType dtype : kFloats) {
    for (const Tensor& x : {logits, broken}) {
      for (const SampleOptions& options : {SampleOptions{}, {0.7, 5, 1, 0}, {1.5, 0, 0.8, 0}, {1, 0, 1, 0.2}}) {
        check(dtype, kPadded, kExact, [&](const Side& s) {
          const Tensor ids = s.out({12}, i32, kContiguous);
          s.k().sample(ids, s.in(x), s.in(u, f64, kContiguous), options);
          return Results{ids};
        });
      }
    }
  }
}

TEST_CASE("kv_append copies new positions, and attention_append also attends to them", "[kernels][attention]") {
  for (const DType dtype : kFloats) {
    for (const int64_t kv_heads : {4, 2, 1}) {
      for (const int64_t queries : {1, 3, 9}) {  // 9: not in one kernel
        for (const bool causal : {false, true}) {
          INFO(kv_heads << " heads of keys, T " << queries);
          const int64_t size = queries == 3 ? 33 : 8, room = 20;
          const auto last = static_cast<int32_t>(room - queries);
          std::vector<int32_t> before{0, last, 4}, after = before;
          for (int32_t& n : after) n += static_cast<int32_t>(queries);
          const Bound bound{kAny};
          check(dtype, kContiguous, bound, [&](const Side& s) {
            const auto in = [&](int64_t heads, int64_t t, uint64_t seed) {
              return s.in(random({3, heads, t, size}, f64, seed));
            };
            const Tensor q = in(4, queries, 1), new_k = in(kv_heads, queries, 2), new_v = in(kv_heads, queries, 3);
            const Tensor starts = s.in(Tensor::from(before, {3})), lens = s.in(Tensor::from(after, {3}));
            const Tensor k = in(kv_heads, room, 4), v = in(kv_heads, room, 5), k2 = in(kv_heads, room, 4);
            const Tensor v2 = in(kv_heads, room, 5), out = s.out(q.shape()), lse = s.per_row(Shape{3, 4, queries});
            s.k().kv_append(k2, v2, new_k, new_v, starts);
            s.k().attention_append(out, lse, q, k, v, new_k, new_v, starts,
                                   {.scale = 0.3, .causal = causal, .kv_len = lens});
            CHECK((same_bits(k, k2) && same_bits(v, v2)));
            return Results{out, lse, k, v};
          });
        }
      }
    }
  }
}

TEST_CASE("int8_matmul multiplies rows by scaled bytes", "[kernels]") {
  Tensor bytes = Tensor::zeros({2, 9, 16}, u8);
  Generator g(5);
  for (uint8_t& b : bytes.data<uint8_t>()) b = static_cast<uint8_t>(g.next_u32());
  for (const DType dtype : {f32, bf16}) {
    for (const int64_t rows : {0, 1, 4, 9}) {
      check(dtype, kPadded, {kAny, 0, {0, 1e-6, 1e-2}}, [&](const Side& s) {
        const Tensor x = s.in(random({rows, 9}, f64, 1)), w = s.in(bytes, kContiguous);
        const Tensor scale = s.in(random({21}, f64, 2), f32, kContiguous), bias = s.in(random({21}, f64, 3));
        const Tensor y = s.out({rows, 21}), z = s.out({rows, 21});
        s.k().int8_matmul(y, x, w, scale, bias);
        s.k().int8_matmul(z, x, w, scale, {});
        return Results{y, z};
      });
    }
  }
}

TEST_CASE("norm_matmul is a sum, its norm and a product", "[kernels][norm]") {
  for (const DType dtype : kFloats) {
    for (const int64_t rows : {1, 3, 9}) {
      for (unsigned options = 0; options < 16; ++options) {
        const bool rms = options & 1, residual = options & 2, affine = options & 4, bias = options & 8;
        INFO(rows << " rows, options " << options);
        // A value is a sum of 40 terms.
        check(dtype, kContiguous, {kAny, 0, {2e-12, 2e-5, 2e-2}}, [&](const Side& s) {
          const int64_t k = 40, n = 21;
          const auto in = [&](const Shape& shape, uint64_t seed) { return s.in(random(shape, f64, seed)); };
          const auto if_set = [&](bool set, const Shape& shape, uint64_t seed) {
            return set ? in(shape, seed) : Tensor{};
          };
          const Tensor x = in({rows, k}, 1), added = if_set(residual, {rows, k}, 2), b = in({k, n}, 3);
          const Tensor sum = residual ? s.out({rows, k}) : Tensor{}, c = s.out({rows, n});
          const Tensor w = if_set(affine, {k}, 4), norm_bias = if_set(affine && !rms, {k}, 5);
          const Tensor to_add = if_set(bias, {n}, 6), normed = s.out({rows, k});
          const Tensor mean = s.per_row(Shape{rows}), rstd = s.per_row(Shape{rows});
          s.k().norm_matmul(c, sum, x, added, b,
                            {.rms = rms,
                             .norm_weight = w,
                             .norm_bias = norm_bias,
                             .eps = 1e-5,
                             .bias = to_add,
                             .activation = rows == 3 ? Activation::gelu_tanh : Activation::none,
                             .normed = normed,
                             .mean = mean,
                             .rstd = rstd});
          return residual ? Results{c, sum} : Results{c};
        });
      }
    }
  }
}
