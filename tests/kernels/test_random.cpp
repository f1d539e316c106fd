// Random tensors and dropout: element i is a function of the word offset + i of a Philox stream.
#include <set>

#include "tests/kernels/case.h"

using namespace pg;
using namespace pg::testing;

TEST_CASE("random tensors are the generator's stream from any offset", "[kernels]") {
  // In both dtypes a normal number is computed in double. For a radius up to 7 the rounded 2π·v costs up to 4 units.
  constexpr Bound kNormal{{16 * kUnit64, 0, 0}, 4, kAny, false, 1.5},
      kNormal32{{0, 1.01 * kUnit32, 0}, 1e-6, kAny, false, 1};
  for (const uint64_t offset : {uint64_t{0}, uint64_t{1}, uint64_t{6}, uint64_t{1000003}, (uint64_t{1} << 34) - 5}) {
    for (const uint64_t seed : {uint64_t{77}, uint64_t{0x123456789abcdef}}) {
      for (const DType dtype : {f32, f64}) {
        for (const int64_t n : {1, 2, 7, 5003, 20003}) {
          INFO(n << " from " << offset);
          // A number in f32 has 24 bits of its word, so the plain backend must store f32, too.
          const auto stored = [&](const Side& s) { return Tensor::full({n}, kNan, dtype, s.device); };
          check(dtype, kContiguous, kExact, [&](const Side& s) {
            Results results;
            for (const auto& [low, high] :
                 {std::pair(0.0, 1.0), {-1.0, 3.0}, {-3.0, 5.0}, {1.0, 1.0 + 1e-7}, {3.0, 3.0}}) {
              results.push_back(stored(s));
              s.k().random_uniform(results.back(), low, high, seed, offset);
            }
            return results;
          });
          check(dtype, kContiguous, dtype == f32 ? kNormal32 : kNormal, [&](const Side& s) {
            const Tensor y = s.out({n}), z = s.out({n});
            s.k().random_normal(y, 0.5, 2, seed, offset);
            s.k().random_normal(z, 0, 1, seed, offset);
            return Results{y, z};
          });
        }
      }
    }
  }
}

TEST_CASE("random numbers are those of the generator and stay below the excluded upper bound", "[kernels]") {
  const Kernels& k = kernels(device());
  const int64_t n = 2003;
  for (const DType dtype : {f32, f64}) {
    const Tensor u = Tensor::full({n}, kNan, dtype, device()), z = u.clone();
    k.random_uniform(u, 0, 1, 77, 6);
    k.random_normal(z, 0, 1, 77, 6);
    Generator g(77);
    g.set_state(77, 6);
    const std::vector<double> us = u.to_vector(), zs = z.to_vector();
    for (size_t i = 0; i < us.size(); ++i) {
      const uint32_t word = random_u32(77, 6 + i);
      const double want = dtype == f32 ? static_cast<double>(to_unit(word)) : word * 0x1p-32, normal = g.normal();
      if (us[i] != want) FAIL_CHECK("element " << i << " is " << us[i] << ", expected " << want);
      const double allowed =
          dtype == f32 ? 8 * kUnit32 * (std::abs(normal) + 1e-6) : 64 * kUnit64 * (std::abs(normal) + 4);
      if (!(std::abs(zs[i] - normal) <= allowed)) FAIL_CHECK("element " << i << " is " << zs[i]);
    }
  }
  const Tensor y = Tensor::full({200000}, kNan, f32, device());
  k.random_uniform(y, 1, 1.0000001, 5, 0);  // neighbours in f32: half of the sums would round up
  CHECK(all_equal(y, 1));
}

TEST_CASE("dropout decides by random word and scales", "[kernels]") {
  for (const DType dtype : {f32, f64, bf16}) {
    for (const auto& [n, start] :
         {std::pair<int64_t, int64_t>{30011, 0}, {3007, 1}}) {  // from 1 on, packs are unaligned
      for (const double p : {0.0, 0.25, 1.0}) {
        for (const double beta : {0.0, 1.0}) {
          const auto call = [&, size = n](const Side& s) {
            const Tensor y = s.result({size}, beta, dtype, s.layout);
            s.k().dropout(y, s.in(uniform({size}, 1), s.layout), p, 9, 5, beta);
            return Results{y};
          };
          const Results got = check(dtype, {.begin = start}, roundings(4, 2), call);
          const Side cpu(Device{}, dtype, kContiguous);  // all devices round in the same way
          CHECK(same_bits(got[0], call(cpu)[0]));
        }
      }
    }
  }
}

TEST_CASE("dropout keeps as many elements as it says", "[kernels]") {
  const int64_t n = 30011;
  const Tensor x = Tensor::ones({n}, f32, device()), y = Tensor::empty({n}, f32, device());
  for (const double p : {0.0, 0.25, 1.0}) {
    kernels(device()).dropout(y, x, p, 9, 5, 0);
    double kept = 0;
    for (const double v : y.to_vector()) kept += v != 0;
    CHECK(std::abs(kept - (1 - p) * n) <= 5 * std::sqrt(p * (1 - p) * n));
  }
}
