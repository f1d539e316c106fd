#pragma once
// Cases of kernels. A case is a function of a Side: it makes inputs, calls kernels and returns their results. check()
// calls it for the plain backend, which defines every kernel, and for device(), and compares the results.
#include <cmath>

#include "tests/kernels/device.h"

namespace pg::testing {

// How a tensor lies in memory: after `begin` elements, with `spare` elements between rows, at every element of `step`.
// Transposed: the first dimension has the smallest stride.
struct Layout {
  int64_t begin = 0, spare = 0, step = 1;
  bool transposed = false;
};
inline constexpr Layout kContiguous{}, kTransposed{.transposed = true}, kStepped{.step = 2}, kPadded{.spare = 3};
inline constexpr Layout kEveryLayout[] = {kContiguous, kTransposed, kStepped, kPadded};
// Layouts of rows: all rows at multiples of 16 bytes if their length is one, and rows at any element.
inline constexpr Layout kWide{.begin = 16, .spare = 16}, kOdd{.begin = 5, .spare = 5};
inline constexpr Layout kRows[] = {kContiguous, kWide, kOdd};

// A tensor within a block of memory in which all other elements have the value `between`.
struct Area {
  Area(const Shape& shape, DType dtype, Device on, const Layout& layout, double between) : between(between) {
    constexpr int64_t kGuard = 64;  // elements before and after
    Strides strides = Strides::filled(shape.rank(), 0);
    int64_t step = layout.step;
    for (int i = 0; i < shape.rank(); ++i) {
      const int d = layout.transposed ? i : shape.rank() - 1 - i;
      strides[d] = step;
      step *= std::max<int64_t>(1, shape[d]);
      if (i == 0) step += layout.spare;
    }
    all = Tensor::full({2 * kGuard + layout.begin + step}, between, dtype, on);
    view = Tensor::view_of(all.storage(), kGuard + layout.begin, shape, strides, dtype);
  }
  // Whether the elements around the tensor are as before.
  bool intact() const {
    const Tensor copy = all.to(Device{}).clone();
    const Tensor inside =
        Tensor::view_of(copy.storage(), view.offset() - all.offset(), view.shape(), view.strides(), view.dtype());
    if (inside.numel() > 0) inside.fill(between);
    const std::vector<double> v = copy.to_vector();
    return std::all_of(v.begin(), v.end(),
                       [&](double x) { return std::isnan(between) ? std::isnan(x) : x == between; });
  }
  Tensor all, view;
  double between;
};

// Where a case runs: on a device in some dtype, or on the plain backend in f64 with inputs rounded to that dtype.
class Side {
 public:
  Side(Device on, DType computes, const Layout& rows) : device(on), dtype(computes), layout(rows) {}
  Side(const Side&) = delete;

  const Kernels& k() const { return kernels(device); }
  bool plain() const { return device == kPlain; }
  // The dtype in which this side stores what the devices store as t.
  DType stored(DType t) const { return plain() && is_floating(t) ? f64 : t; }

  // x, rounded to a dtype, in memory of a layout.
  Tensor in(const Tensor& x, DType t, const Layout& how) const {
    if (!x.defined()) return x;
    const Tensor view = area(x.shape(), t, how, is_floating(t) ? kNan : 77);
    view.copy_from(x.to(t).to(stored(t)).to(device));
    return view;
  }
  Tensor in(const Tensor& x, const Layout& how) const { return in(x, is_floating(x.dtype()) ? dtype : x.dtype(), how); }
  // Matrices have the layout of this side, other tensors are contiguous.
  Tensor in(const Tensor& x) const { return in(x, x.rank() == 2 ? layout : kContiguous); }
  // What is f32 beside bf16: statistics, values per row, gradients of weights.
  Tensor per_row(const Tensor& x) const { return in(x, sum_type(dtype), kContiguous); }

  // Memory for a result, filled with NaN, or with 5 for integers.
  Tensor out(const Shape& shape, DType t, const Layout& how) const {
    const Tensor view = area(shape, t, how, 7);
    if (view.numel() > 0) view.fill(is_floating(t) ? kNan : 5);
    return view;
  }
  Tensor out(const Shape& shape) const { return out(shape, dtype, shape.rank() == 2 ? layout : kContiguous); }
  Tensor per_row(const Shape& shape) const { return out(shape, sum_type(dtype), kContiguous); }
  // Memory for a result that is added to beta times what it is: NaN if beta is 0.
  Tensor result(const Shape& shape, double beta) const { return beta == 0 ? out(shape) : in(uniform(shape, 99)); }
  Tensor result(const Shape& shape, double beta, DType t, const Layout& how) const {
    return beta == 0 ? out(shape, t, how) : in(uniform(shape, 99), t, how);
  }

  // Whether nothing beside the tensors of this side was written.
  bool intact() const {
    return std::all_of(areas_.begin(), areas_.end(), [](const Area& a) { return a.intact(); });
  }

  const Device device;
  const DType dtype;
  const Layout layout;

 private:
  Tensor area(const Shape& shape, DType t, const Layout& how, double between) const {
    areas_.emplace_back(shape, stored(t), device, how, between);
    return areas_.back().view;
  }
  mutable std::vector<Area> areas_;
};

// What a result may differ from the plain one: each element by each·(|expected| + floor), all together by the relative
// error `norm`. NaN and infinities must be equal.
struct Limits {
  double f64, f32, bf16;
  double of(DType t) const { return t == pg::f64 ? f64 : t == pg::f32 ? f32 : t == pg::bf16 ? bf16 : 0; }
};
struct Bound {
  Limits each;
  double floor = 1;
  Limits norm = {1e-12, 1e-5, 1e-2};
  bool exact = false;  // the bits of the plain result, rounded to the dtype
  // The functions of a GPU have errors of up to 2 units, and its blocks add in another order: a factor of `each`.
  double gpu = 4;
  double cpu = 1;  // a factor of `norm`
};
inline constexpr double kUnit64 = 0x1p-53, kUnit32 = 0x1p-24, kUnit16 = 0x1p-8;  // of one rounding
inline constexpr Limits kAny{HUGE_VAL, HUGE_VAL, HUGE_VAL};
// `n` roundings in f32 or f64, and one to bf16.
constexpr Bound roundings(double n, double floor) {
  return {{n * kUnit64, n * kUnit32, kUnit16 + n * kUnit32}, floor, kAny};
}
inline constexpr Bound kExact{{}, 0, {}, true};
// Functions of rows and their gradients, which are sums of products of rounded results.
inline constexpr Bound kSoftmax{{2e-12, 2e-6, HUGE_VAL}}, kSoftmaxGradient{{2e-11, 8e-6, HUGE_VAL}};
inline constexpr Bound kLosses{{2e-12, 2e-6, HUGE_VAL}}, kTokens{{4e-12, 4e-6, HUGE_VAL}};
inline constexpr Bound kNorms{{2e-11, 5e-6, HUGE_VAL}};
// Long sums. The CPU adds up to 8,192 elements of a column one after another.
inline constexpr Bound kSums{kAny, 0, {1e-13, 1e-6, 0}, false, 1, 2};
// The first difference that is too large, or "".
inline std::string difference(const Tensor& got, const Tensor& want, const Bound& bound) {
  const bool gpu = device().kind == Device::Kind::cuda;
  const DType t = got.dtype();
  const std::vector<double> x = got.to_vector(), y = bound.exact ? want.to(t).to_vector() : want.to_vector();
  if (got.shape() != want.shape()) return fmt::format("is {}, expected {}", got.shape(), want.shape());
  double difference = 0, size = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    bool same = std::isnan(y[i]) ? std::isnan(x[i])
                                 : x[i] == y[i] && (!bound.exact || std::signbit(x[i]) == std::signbit(y[i]));
    if (std::isfinite(y[i]) && !bound.exact && !same) {
      const double error = std::abs(x[i] - y[i]);
      const double least = t == bf16 || t == f32 ? std::numeric_limits<float>::denorm_min() : 0;
      same = error <= (gpu ? bound.gpu : 1) * bound.each.of(t) * (std::abs(y[i]) + bound.floor) + least;
      difference += error * error;
    }
    if (!same) return fmt::format("element {} is {}, expected {}", i, x[i], y[i]);
    if (std::isfinite(y[i])) size += y[i] * y[i];
  }
  const double error = std::sqrt(difference) / std::max(std::sqrt(size), 1e-3);
  return error <= bound.norm.of(t) * (gpu ? 1 : bound.cpu) ? "" : fmt::format("the relative error is {}", error);
}

using Results = std::vector<Tensor>;
// Returns the results of the device.
template <class F>
Results check(DType dtype, const Layout& layout, const Bound& bound, F f) {
  const Side side(device(), dtype, layout), plain(kPlain, dtype, kContiguous);
  const Results got = f(side), want = f(plain);
  std::string problem = side.intact() ? "" : "an element beside a tensor was written";
  if (got.size() != want.size()) problem = "not as many results";
  for (size_t i = 0; i < want.size() && problem.empty(); ++i) {
    problem = difference(got[i], want[i], bound);
    if (!problem.empty()) problem = fmt::format("result {} {}", i, problem);
  }
  INFO(name_of(dtype) << ", rows from " << layout.begin << " with " << layout.spare << " between");
  if (!problem.empty()) FAIL_CHECK(problem);
  return got;
}

}  // namespace pg::testing
