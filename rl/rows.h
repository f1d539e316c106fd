#pragma once
// Rewards and masks as plain f64 arrays in row-major order, and what the estimators of advantages have in common:
// rewards group by group.
#include <algorithm>
#include <cmath>
#include <span>
#include <string_view>
#include <vector>

#include "tensor/base/error.h"
#include "tensor/tensor.h"

namespace pg::rl {

struct Rows {
  std::vector<double> value;  // 0 where masked
  std::vector<uint8_t> keep;
  Shape shape;
  DType dtype;
  Device device;
  size_t rows, columns;

  // x [rows, columns] is floating; the mask has its shape or is undefined. Throws Error naming `what`.
  Rows(const Tensor& x, const Tensor& mask, std::string_view what)
      : shape(x.shape()), dtype(x.dtype()), device(x.device()) {
    check(x.rank() == 2 && is_floating(x.dtype()), "{}: expected floating values with two dims, got {} {}", what,
          x.dtype(), x.shape());
    rows = static_cast<size_t>(x.size(0));
    columns = static_cast<size_t>(x.size(1));
    value = x.detach().to_vector();
    keep.assign(value.size(), 1);
    if (!mask.defined()) return;
    check(mask.shape() == x.shape() && mask.dtype() == u8, "{}: the mask must be u8 {}, got {} {}", what, x.shape(),
          mask.dtype(), mask.shape());
    const std::vector<double> kept = mask.to_vector();
    for (size_t i = 0; i < value.size(); ++i) {
      keep[i] = kept[i] != 0;
      if (!keep[i]) value[i] = 0;
    }
  }
  double& at(size_t row, size_t column) { return value[row * columns + column]; }
  bool kept(size_t row, size_t column) const { return keep[row * columns + column] != 0; }
  Tensor tensor() const { return tensor(value); }
  Tensor tensor(const std::vector<double>& values) const { return Tensor::from(values, shape).to(dtype).to(device); }
};

// Differences of this share of a reward are rounding: sums of the same parts in another order differ by it.
inline constexpr double kRounding = 1e-12;

// Mean and standard deviation over unmasked values. Accumulates x - x[0] in f64, so that equal rewards give exactly
// zero variance.
struct Moments {
  double mean = 0, std = 0;
  size_t count = 0;
  bool equal = true;  // up to rounding
};
inline Moments moments(std::span<const double> x, std::span<const uint8_t> keep, int ddof) {
  Moments m;
  double first = 0, sum = 0, squares = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    if (!keep[i]) continue;
    if (m.count++ == 0) first = x[i];
    m.equal = m.equal && std::abs(x[i] - first) <= kRounding * std::max(std::abs(x[i]), std::abs(first));
    sum += x[i] - first;
  }
  if (m.count == 0) return m;
  m.mean = first + sum / static_cast<double>(m.count);
  for (size_t i = 0; i < x.size(); ++i) squares += keep[i] ? (x[i] - m.mean) * (x[i] - m.mean) : 0;
  if (static_cast<int64_t>(m.count) > ddof)
    m.std = std::sqrt(squares / static_cast<double>(m.count - static_cast<size_t>(ddof)));
  return m;
}

inline void check_ddof(int ddof, const char* what) {
  check(ddof == 0 || ddof == 1, "{}: ddof must be 0 or 1, got {}", what, ddof);
}

// Applies f(rewards of the group, keep flags, output, group index) to each group of `rewards`.
template <class F>
Tensor by_group(const Tensor& rewards, const Tensor& mask, const char* what, F f) {
  Rows r(rewards, mask, what);
  std::vector<double> result(r.value.size());
  for (size_t n = 0; n < r.rows; ++n) {
    const size_t begin = n * r.columns;
    const std::span<const double> x(r.value.data() + begin, r.columns);
    const std::span<const uint8_t> keep(r.keep.data() + begin, r.columns);
    f(x, keep, std::span<double>(result.data() + begin, r.columns), n);
    for (size_t g = 0; g < r.columns; ++g) {
      if (!keep[g]) result[begin + g] = 0;
    }
  }
  return r.tensor(result);
}

// by_group() with x of any shape as one group.
template <class F>
Tensor as_one_group(const Tensor& x, const Tensor& mask, const char* what, F f) {
  if (mask.defined())
    check(mask.shape() == x.shape(), "{}: the mask must be {}, got {}", what, x.shape(), mask.shape());
  const auto flat = [&](const Tensor& t) {
    return t.defined() ? t.detach().contiguous_copy().view_reshape({1, x.numel()}) : t;
  };
  return by_group(flat(x), flat(mask), what, f).view_reshape(x.shape());
}

}  // namespace pg::rl
