// Samples tokens from logits; the filters are in tensor/sample.h.
#include "tensor/sample.h"

#include <cmath>

#include "tensor/base/parallel.h"
#include "tensor/cpu/kernels_cpu.h"
#include "tensor/cpu/row_ops.h"
#include "tensor/cpu/simd/vec_math.h"

namespace pg::cpu {
namespace {

// The first token at which the cumulative sum of e^(scale·(x - max)) exceeds u times its total; x is overwritten. But
// for rounding, this is sample_token(filtered_probs()) at temperature 1/scale without filters.
template <class T>
int32_t sample_unfiltered(std::vector<T>& x, T max, T scale, double u) {
  constexpr int64_t kBlock = 1024;
  const auto n = std::ssize(x);
  std::vector<double> sums;
  double total = 0;
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    T* const block = x.data() + begin;
    sums.push_back(sum_vectors<T, 1>(std::min(kBlock, n - begin), [=](int64_t i, int64_t m) {
      const Vec<T> e = simd::exp_flushed((load_lanes(block + i, m) - Vec<T>(max)) * Vec<T>(scale));
      store_lanes(block + i, e, m);
      return std::array{e};
    })[0]);
    total += sums.back();
  }
  double mass = 0;
  int64_t last = 0;
  for (size_t b = 0; b < sums.size(); ++b) {
    const int64_t begin = static_cast<int64_t>(b) * kBlock;
    if (sums[b] == 0) continue;
    if (u * total >= mass + sums[b] && b + 1 < sums.size()) {
      mass += sums[b];
      last = begin + kBlock - 1;
      while (x[static_cast<size_t>(last)] == 0) --last;
      continue;
    }
    for (int64_t i = begin; i < std::min<int64_t>(n, begin + kBlock); ++i) {
      const T e = x[static_cast<size_t>(i)];
      if (e == 0) continue;
      mass += static_cast<double>(e);
      last = i;
      if (u * total < mass) return static_cast<int32_t>(i);
    }
  }
  return static_cast<int32_t>(last);  // the sums were rounded
}

}  // namespace

void sample(const View& ids, const View& logits, const View& u, const SampleOptions& o) {
  const int64_t vocab = logits.shape.back();
  visit_stored(logits.dtype, "sample", [&]<class S, class T>(std::type_identity<S>, std::type_identity<T>) {
    const T scale = static_cast<T>(1 / o.temperature);
    const bool filtered = o.top_k != 0 || o.top_p != 1 || o.min_p != 0 || !std::isnormal(scale);
    parallel_for(ids.numel(), 1, [&](int64_t row, int64_t end) {
      std::vector<T> values(static_cast<size_t>(vocab));
      for (; row < end; ++row) {
        const S* from = logits.as<S>() + row * logits.strides[0];
        simd::convert(values.data(), from, vocab);
        const double draw = u.as<const double>()[row];
        int32_t& id = ids.as<int32_t>()[row];
        const T max = max_row(values.data(), vocab);
        if (!std::isfinite(max)) {
          id = 0;
        } else if (filtered) {
          id = sample_token(filtered_probs(std::vector<double>(values.begin(), values.end()), o), draw);
        } else {
          id = sample_unfiltered(values, max, scale, draw);
        }
      }
    });
  });
}

}  // namespace pg::cpu
