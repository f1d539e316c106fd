// Samples tokens from logits; the arithmetic is in tensor/sample.h.
#include "tensor/sample.h"

#include "tensor/base/parallel.h"
#include "tensor/cpu/kernels_cpu.h"

namespace pg::cpu {

void sample(const View& ids, const View& logits, const View& u, const SampleOptions& options) {
  const int64_t vocab = logits.shape.back();
  visit_stored(logits.dtype, "sample", [&]<class S, class T>(std::type_identity<S>, std::type_identity<T>) {
    parallel_for(ids.numel(), 1, [&](int64_t row, int64_t end) {
      std::vector<double> values(static_cast<size_t>(vocab));
      for (; row < end; ++row) {
        const S* from = logits.as<const S>() + row * logits.strides[0];
        std::transform(from, from + vocab, values.begin(), [](S x) { return static_cast<T>(x); });
        const bool usable =
            std::none_of(values.begin(), values.end(), [](double x) { return std::isnan(x) || x == INFINITY; }) &&
            std::any_of(values.begin(), values.end(), [](double x) { return x > -INFINITY; });
        ids.as<int32_t>()[row] = usable ? sample_token(filtered_probs(values, options), u.as<const double>()[row]) : 0;
      }
    });
  });
}

}  // namespace pg::cpu
