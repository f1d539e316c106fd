// The critic's loss, clipped or not.
#include <algorithm>
#include <cmath>

#include "rl/masked.h"
#include "rl/methods/other_losses.h"
#include "tensor/base/error.h"

namespace pg::rl {

Tensor value_loss(const Tensor& values, const Tensor& returns, const Tensor& old_values, double clip,
                  const Tensor& mask) {
  check(values.shape() == returns.shape(), "value_loss: values are {}, returns {}", values.shape(), returns.shape());
  check(clip >= 0, "value_loss: clip must not be negative, got {}", clip);
  const Tensor target = returns.detach(), error = masked(values - target, mask, 0, "value_loss"), free = error * error;
  if (clip == 0) return 0.5 * free;
  check(old_values.shape() == values.shape(), "value_loss: old_values must be {}, got {}", values.shape(),
        old_values.shape());
  const Tensor old = old_values.detach();
  const Tensor near = masked(old + clamp(values - old, -clip, clip) - target, mask, 0, "value_loss"),
               bounded = near * near;
  return 0.5 * where(ge(free, bounded), free, bounded);
}

double clipped_values(const Tensor& values, const Tensor& returns, const Tensor& old_values, double clip,
                      const Tensor& mask) {
  if (clip == 0) return 0;
  const std::vector<double> v = values.to_vector(), r = returns.to_vector(), old = old_values.to_vector();
  const std::vector<double> m = mask.defined() ? mask.to_vector() : std::vector<double>(v.size(), 1);
  check(r.size() == v.size() && old.size() == v.size() && m.size() == v.size(),
        "clipped_values: expected four tensors of {}, got {}, {} and a mask of {} elements", values.shape(),
        returns.shape(), old_values.shape(), m.size());
  double count = 0;
  for (size_t i = 0; i < v.size(); ++i) {
    const double near = old[i] + std::clamp(v[i] - old[i], -clip, clip);
    count += m[i] != 0 && std::abs(near - r[i]) > std::abs(v[i] - r[i]);
  }
  return count;
}

double explained_variance(const Tensor& values, const Tensor& returns, const Tensor& mask) {
  check(returns.shape() == values.shape() && (!mask.defined() || mask.shape() == values.shape()),
        "explained_variance: values, returns and mask must have one shape, values are {}, returns {}", values.shape(),
        returns.shape());
  const std::vector<double> v = values.to_vector(), r = returns.to_vector();
  const std::vector<double> m = mask.defined() ? mask.to_vector() : std::vector<double>(v.size(), 1);
  // Computed on differences from the first kept value, so that equal values have variance 0 in spite of rounding.
  const auto variance = [&](auto at) {
    double count = 0, first = 0, sum = 0, squares = 0;
    for (size_t i = 0; i < v.size(); ++i) {
      if (m[i] == 0) continue;
      if (count++ == 0) first = at(i);
      sum += at(i) - first;
    }
    for (size_t i = 0; i < v.size(); ++i) {
      const double d = m[i] != 0 ? at(i) - first - sum / count : 0;
      squares += d * d;
    }
    return squares / count;
  };
  const double spread = variance([&](size_t i) { return r[i]; });
  return spread == 0 ? std::nan("") : 1 - variance([&](size_t i) { return r[i] - v[i]; }) / spread;
}

}  // namespace pg::rl
