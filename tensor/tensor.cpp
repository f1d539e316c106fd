// Tensors: creation, views, conversions, printing.
#include "tensor/tensor.h"

#include <fmt/format.h>

#include <numeric>

#include "tensor/backend.h"
#include "tensor/kernels.h"

namespace pg {
namespace {
void check_defined(const Tensor& x, const char* op) { check(x.defined(), "{}: the tensor is undefined", op); }
}  // namespace

Tensor Tensor::empty(const Shape& shape, DType dtype, Device device) {
  const size_t bytes = static_cast<size_t>(checked_numel(shape, "empty", size_of(dtype))) * size_of(dtype);
  return view_of(allocate(bytes, device), 0, shape, contiguous_strides(shape), dtype);
}

Tensor Tensor::full(const Shape& shape, double value, DType dtype, Device device) {
  Tensor t = empty(shape, dtype, device);
  t.fill(value);
  return t;
}
Tensor Tensor::zeros(const Shape& shape, DType dtype, Device device) { return full(shape, 0, dtype, device); }
Tensor Tensor::ones(const Shape& shape, DType dtype, Device device) { return full(shape, 1, dtype, device); }
Tensor Tensor::scalar(double value, DType dtype, Device device) { return full({}, value, dtype, device); }

Tensor Tensor::arange(int64_t n, DType dtype, Device device) {
  checked_numel({n}, "arange", sizeof(double));
  const Tensor values = empty({n}, f64);
  std::iota(values.data<double>().begin(), values.data<double>().end(), 0.0);
  return values.to(dtype).to(device);
}

Tensor Tensor::normal(const Shape& shape, double mean, double std, Generator& generator, DType dtype, Device device) {
  const Tensor t = empty(shape, sum_type(dtype), device);
  const uint64_t at = generator.reserve(2 * static_cast<uint64_t>(t.numel()));
  kernels(device).random_normal(t, mean, std, generator.seed(), at);
  return t.to(dtype);
}
Tensor Tensor::uniform(const Shape& shape, double low, double high, Generator& generator, DType dtype, Device device) {
  const Tensor t = empty(shape, sum_type(dtype), device);
  const uint64_t at = generator.reserve(static_cast<uint64_t>(t.numel()));
  kernels(device).random_uniform(t, low, high, generator.seed(), at);
  return t.to(dtype);
}

template <class T>
Tensor Tensor::from(std::span<const T> values, const Shape& shape) {
  check(static_cast<int64_t>(values.size()) == checked_numel(shape, "from", sizeof(T)),
        "from: {} values do not fill shape {}", values.size(), shape);
  Tensor t = empty(shape, dtype_of<T>());
  std::copy(values.begin(), values.end(), t.data<T>().begin());
  return t;
}
template Tensor Tensor::from(std::span<const float>, const Shape&);
template Tensor Tensor::from(std::span<const double>, const Shape&);
template Tensor Tensor::from(std::span<const BFloat16>, const Shape&);
template Tensor Tensor::from(std::span<const int32_t>, const Shape&);
template Tensor Tensor::from(std::span<const uint8_t>, const Shape&);

template <class T>
std::span<T> Tensor::data() const {
  constexpr DType asked = dtype_of<std::remove_const_t<T>>();
  check_defined(*this, "data");
  check(asked == dtype_, "data: the tensor is {}, but was requested as {}", dtype_, asked);
  check(contiguous(), "data: the tensor of shape {} has strides {}; make it contiguous() first", shape_, strides_);
  check(device().on_host(), "data: the tensor is on {}; copy it with to(Device{{}}) first", pg::to_string(device()));
  if constexpr (!std::is_const_v<T>) count_write();
  return {view().as<T>(), static_cast<size_t>(numel())};
}
template std::span<float> Tensor::data() const;
template std::span<double> Tensor::data() const;
template std::span<BFloat16> Tensor::data() const;
template std::span<int32_t> Tensor::data() const;
template std::span<uint8_t> Tensor::data() const;
template std::span<const float> Tensor::data() const;
template std::span<const double> Tensor::data() const;
template std::span<const BFloat16> Tensor::data() const;
template std::span<const int32_t> Tensor::data() const;
template std::span<const uint8_t> Tensor::data() const;

double Tensor::item() const {
  check_defined(*this, "item");
  check(numel() == 1, "item: expected one element, got shape {}", shape_);
  return to_vector()[0];
}

std::vector<double> Tensor::to_vector() const {
  check_defined(*this, "to_vector");
  const Tensor t = to(Device{}).to(f64).contiguous_copy();
  const auto values = t.data<const double>();
  return {values.begin(), values.end()};
}

Tensor Tensor::clone() const {
  check_defined(*this, "clone");
  Tensor t = empty(shape_, dtype_, device());
  kernels(device()).copy(t, view());
  return t;
}
Tensor Tensor::contiguous_copy() const { return !defined() || contiguous() ? detach() : clone(); }

Tensor Tensor::to(DType dtype) const {
  if (!defined() || dtype == dtype_) return detach();
  Tensor t = empty(shape_, dtype, device());
  kernels(device()).copy(t, view());
  return t;
}

namespace {
// Both are contiguous, of equal shape and dtype, on different devices.
void copy_between_devices(const Tensor& to, const Tensor& from) {
  backend(to.device().on_host() ? from.device() : to.device())
      .copy(to.view().data, to.device(), from.view().data, from.device(),
            static_cast<size_t>(to.numel()) * size_of(to.dtype()));
}
}  // namespace

Tensor Tensor::to(Device target) const {
  if (!defined() || target == device()) return detach();
  const Tensor t = empty(shape_, dtype_, target);
  copy_between_devices(t, contiguous_copy());
  return t;
}

namespace {

struct Bytes {  // the byte range [begin, end) of a tensor's elements in its storage
  int64_t begin, end;
};

Bytes bytes_of(const Tensor& t) {
  int64_t last = t.offset();
  for (int d = 0; d < t.rank(); ++d) last += (t.shape()[d] - 1) * t.strides()[d];
  const auto size = static_cast<int64_t>(size_of(t.dtype()));
  return {t.offset() * size, (last + 1) * size};
}

// Whether a write to `a` may change an element of `b` other than the one at the same index.
bool overlap(const Tensor& a, const Tensor& b) {
  if (a.storage() != b.storage() || a.numel() == 0 || b.numel() == 0) return false;
  if (a.offset() == b.offset() && a.dtype() == b.dtype() && a.strides() == b.strides()) return false;
  const Bytes x = bytes_of(a), y = bytes_of(b);
  return x.begin < y.end && y.begin < x.end;
}

}  // namespace

void Tensor::copy_from(const Tensor& source) const {
  check(defined() && source.defined(), "copy_from: {} is undefined", defined() ? "the source" : "the destination");
  for (int d = 0; d < rank(); ++d) {
    check(
        strides_[d] != 0 || shape_[d] <= 1 || numel() == 0,
        "copy_from: the destination {} repeats its elements along dim {} (a view made by expand); write to the tensor "
        "that was expanded",
        shape_, d);
  }
  if (source.device() != device() && source.dtype() == dtype_ && source.shape() == shape_ && contiguous() &&
      source.contiguous()) {
    count_write();
    return copy_between_devices(*this, source);
  }
  Tensor from = source.to(device()).view_expand(shape_);
  if (overlap(*this, from)) from = from.clone();
  count_write();
  kernels(device()).copy(view(), from);
}

void Tensor::fill(double value) const {
  check_defined(*this, "fill");
  count_write();
  kernels(device()).fill(view(), value);
}

// ---- printing

namespace {

constexpr int64_t kEdge = 3;  // elements shown at each end of a long dimension

std::string format_value(double value, DType dtype) {
  return is_floating(dtype) ? fmt::format("{:.4g}", value) : fmt::format("{}", static_cast<int64_t>(value));
}

void print_dim(std::string& out, const Tensor& t, int depth) {
  if (t.rank() == 0) {
    out += format_value(t.item(), t.dtype());
    return;
  }
  out += '[';
  const int64_t n = t.size(0);
  for (int64_t i = 0; i < n; ++i) {
    if (i > 0) out += t.rank() == 1 ? ", " : ",\n" + std::string(static_cast<size_t>(depth) + 1, ' ');
    if (n > 4 * kEdge && i == kEdge) {
      out += "…";
      i = n - kEdge - 1;
      continue;
    }
    print_dim(out, t.view_select(0, i), depth + 1);
  }
  out += ']';
}

}  // namespace

std::string Tensor::to_string() const {
  if (!defined()) return "tensor(undefined)";
  std::string out = "tensor(";
  print_dim(out, to(Device{}), static_cast<int>(out.size()));
  return out + fmt::format(", {} {})", dtype_, shape_);
}

// ---- views

namespace {

// Strides that let `shape`/`strides` be read as `target` without a copy (PyTorch's rule); false when there are none.
bool reshape_strides(const Shape& shape, const Strides& strides, const Shape& target, Strides& result) {
  result = contiguous_strides(target);
  if (is_contiguous(shape, strides)) return true;
  int at = target.rank() - 1;
  for (int i = shape.rank() - 1; i >= 0;) {
    int64_t chunk = shape[i];  // number of elements in a run of dims that is contiguous within itself
    const int64_t base = strides[i];
    while (i > 0 && (shape[i - 1] == 1 || strides[i - 1] == chunk * base)) chunk *= shape[--i];
    --i;
    int64_t filled = 1;
    while (at >= 0 && (filled < chunk || target[at] == 1)) {
      result[at] = filled * base;
      filled *= target[at--];
    }
    if (filled != chunk) return false;
  }
  return at < 0;
}

Shape resolve_shape(const Shape& target, int64_t count, const Shape& from) {
  Shape shape = target;
  int hole = -1;
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] != -1) continue;
    check(hole < 0, "reshape: more than one -1 in {}", target);
    hole = i;
    shape[i] = 1;
  }
  const int64_t known = checked_numel(shape, "reshape");
  if (hole >= 0) {
    check(known != 0 && count % known == 0, "reshape: {} ({} elements) does not fit {}", from, count, target);
    shape[hole] = count / known;
  }
  check(hole >= 0 || known == count, "reshape: {} has {} elements, {} has {}", from, count, target, known);
  return shape;
}

}  // namespace

bool Tensor::can_view_reshape(const Shape& target) const {
  if (target == shape_) return true;
  Strides strides;
  return reshape_strides(shape_, strides_, resolve_shape(target, numel(), shape_), strides);
}

Tensor Tensor::view_reshape(const Shape& target) const {
  check_defined(*this, "reshape");
  if (target == shape_) return detach();
  const Shape shape = resolve_shape(target, numel(), shape_);
  Strides strides;
  check(reshape_strides(shape_, strides_, shape, strides),
        "reshape: {} with strides {} cannot be seen as {} without a copy; use contiguous() first", shape_, strides_,
        shape);
  return view_of(storage_, offset_, shape, strides, dtype_);
}

Tensor Tensor::view_transpose(int dim0, int dim1) const {
  check_defined(*this, "transpose");
  const int a = normalize_dim(dim0, rank(), "transpose"), b = normalize_dim(dim1, rank(), "transpose");
  Tensor t = detach();
  std::swap(t.shape_[a], t.shape_[b]);
  std::swap(t.strides_[a], t.strides_[b]);
  return t;
}

Tensor Tensor::view_permute(const std::vector<int>& dims) const {
  check_defined(*this, "permute");
  check(static_cast<int>(dims.size()) == rank(), "permute: {} dims for shape {}", dims.size(), shape_);
  Tensor t = detach();
  unsigned seen = 0;
  for (int i = 0; i < rank(); ++i) {
    const int from = normalize_dim(dims[static_cast<size_t>(i)], rank(), "permute");
    check(!(seen >> from & 1), "permute: dim {} appears twice", from);
    seen |= 1u << from;
    t.shape_[i] = shape_[from];
    t.strides_[i] = strides_[from];
  }
  return t;
}

Tensor Tensor::view_slice(int dim, int64_t start, int64_t end, int64_t step) const {
  check_defined(*this, "slice");
  const int d = normalize_dim(dim, rank(), "slice");
  check(step >= 1, "slice: step must be at least 1, got {}", step);
  const int64_t n = shape_[d];
  if (start < 0) start += n;
  if (end < 0) end += n;
  start = std::clamp<int64_t>(start, 0, n);
  end = std::clamp<int64_t>(end, start, n);
  Tensor t = detach();
  t.offset_ += start * strides_[d];
  if (step > n) step = std::max<int64_t>(n, 1);  // at most one element in either case; the stride must not overflow
  t.shape_[d] = (end - start + step - 1) / step;
  t.strides_[d] *= step;
  return t;
}

Tensor Tensor::view_select(int dim, int64_t index) const {
  check_defined(*this, "select");
  const int d = normalize_dim(dim, rank(), "select");
  check(index >= -shape_[d] && index < shape_[d], "select: index {} is out of range for size {}", index, shape_[d]);
  Tensor t = detach();
  t.offset_ += (index < 0 ? index + shape_[d] : index) * strides_[d];
  t.shape_.erase(d);
  t.strides_.erase(d);
  return t;
}

Tensor Tensor::view_expand(const Shape& target) const {
  check_defined(*this, "expand");
  Shape shape = target;
  const int shift = shape.rank() - rank();
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] == -1) {
      check(i >= shift, "expand: -1 for a new dimension in {}", target);
      shape[i] = shape_[i - shift];
    }
  }
  checked_numel(shape, "expand");
  return view_of(storage_, offset_, shape, broadcast_strides(shape_, strides_, shape, "expand"), dtype_);
}

}  // namespace pg
