#pragma once
// The AdamW kernel with flags of weight decay (AdamWArgs::decayed), compared with one call for each run of elements of
// equal decay.
#include <algorithm>
#include <cmath>
#include <vector>

#include "tensor/kernels.h"
#include "tests/op_runs.h"

namespace pg::testing {

struct AdamWMemory {
  Tensor p, m, v, rounded;
};
// Two steps on elements [first, first + n) of a slab of `flags`' units: with flags, or by a call for each run.
inline AdamWMemory adamw_steps(const Device& device, DType dtype, const std::vector<uint8_t>& flags, int64_t first,
                               int64_t n, bool stochastic, bool by_runs) {
  const auto random = [&](uint64_t seed) {
    Generator g(seed);
    return Tensor::normal({n + 1}, 0, 1, g, dtype).to(device);
  };
  // If first / 4 is odd the arrays begin at element 1 of an allocation, so that no pack of four is aligned.
  const int64_t start = first / 4 % 2;
  const auto part = [&](const Tensor& x, int64_t begin, int64_t end) {
    return x.view_slice(0, start + begin, start + end);
  };
  AdamWMemory x{random(1), Tensor::zeros({n + 1}, dtype, device), Tensor::zeros({n + 1}, dtype, device), {}};
  if (dtype == f32) x.rounded = Tensor::zeros({n + 1}, bf16, device);
  const Tensor table = Tensor::from(std::span<const uint8_t>(flags), {static_cast<int64_t>(flags.size())}).to(device);
  const auto flag = [&](int64_t i) { return flags[static_cast<size_t>((first + i) / kDecayUnit)] != 0; };
  for (int t = 1; t <= 2; ++t) {
    const Tensor g = random(10 + static_cast<uint64_t>(t));
    const std::vector<double> numbers = {1e-2, 1 - std::pow(0.9, t), 1 - std::pow(0.95, t), static_cast<double>(t)};
    const Tensor now = Tensor::from(std::span<const double>(numbers), {4}).to(device);
    AdamWArgs args{.beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8, .weight_decay = 0.5, .grad_scale = 0.5, .now = now};
    args.stochastic_rounding = stochastic;
    args.seed = 3;
    const auto update = [&](int64_t begin, int64_t end) {
      args.first = first + begin;
      if (dtype == f32) args.rounded = part(x.rounded, begin, end);
      kernels(device).adamw(part(x.p, begin, end), part(g, begin, end), part(x.m, begin, end), part(x.v, begin, end),
                            args);
    };
    if (!by_runs) {
      args.decayed = table;
      update(0, n);
      continue;
    }
    for (int64_t begin = 0, end = 0; begin < n; begin = end) {
      while (end < n && flag(end) == flag(begin)) ++end;
      args.weight_decay = flag(begin) ? 0.5 : 0;
      update(begin, end);
    }
  }
  return x;
}

inline void check_adamw_runs(const Device& device, DType dtype) {
  // 40 units in runs of 1 to 3; 150 units, so that runs cross the borders of a CPU's tasks of 16 K elements.
  std::vector<uint8_t> some(40), many(150, 1);
  for (size_t i = 0; i < some.size(); ++i) some[i] = i % 7 == 0 || i % 7 == 3 || i % 7 == 4;
  std::fill(many.begin() + 60, many.begin() + 70, 0);
  struct Case {
    const std::vector<uint8_t>& flags;
    int64_t first, n;  // the last pack is incomplete, or the arrays begin in the middle of a unit
  };
  for (const Case& c : {Case{some, 0, 40 * kDecayUnit}, Case{some, 0, 39 * kDecayUnit + 3}, Case{some, 252, 1030},
                        Case{some, 5 * kDecayUnit, 2}, Case{many, 4, 150 * kDecayUnit - 7}}) {
    for (const bool stochastic : {false, true}) {
      if (stochastic && dtype != f32) continue;
      INFO(name_of(dtype) << ", " << c.n << " elements from " << c.first << " on, stochastic " << stochastic);
      const AdamWMemory got = adamw_steps(device, dtype, c.flags, c.first, c.n, stochastic, false);
      const AdamWMemory want = adamw_steps(device, dtype, c.flags, c.first, c.n, stochastic, true);
      CHECK(same_bits(got.p, want.p));
      CHECK(same_bits(got.m, want.m));
      CHECK(same_bits(got.v, want.v));
      if (dtype == f32) CHECK(same_bits(got.rounded, want.rounded));
    }
  }
}

}  // namespace pg::testing
