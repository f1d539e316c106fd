// Checks and gradient helpers that operations share.
#include "autograd/op_util.h"

#include <algorithm>
#include <cstring>

namespace pg::detail {

void check_floating(const Tensor& x, const char* op) {
  check(x.defined(), "{}: the tensor is undefined", op);
  check(is_floating(x.dtype()), "{}: expected f32, f64 or bf16, got {}; convert with to(f32)", op, x.dtype());
}

void check_same_dtype(const Tensor& a, const Tensor& b, const char* op) {
  check(a.defined() && b.defined(), "{}: a tensor is undefined", op);
  check(a.dtype() == b.dtype(), "{}: dtypes differ: {} and {}; convert one with cast()", op, a.dtype(), b.dtype());
  check_device(a, b, op);
}

void check_device(const Tensor& x, const Tensor& other, const char* op) {
  if (!other.defined() || x.device() == other.device()) return;
  fail("{}: tensors are on {} and {}; move one with to(device)", op, to_string(x.device()), to_string(other.device()));
}

void check_ids(const Tensor& ids, int64_t size, const char* op, const int32_t* except) {
  check(ids.defined() && ids.dtype() == i32, "{}: ids must be i32, got {}", op,
        ids.defined() ? name_of(ids.dtype()) : "nothing");
  if (!ids.device().on_host()) return;
  const Tensor flat = packed(ids);
  const auto values = flat.data<const int32_t>();
  // As an unsigned number a negative id is large. The compiler finds a maximum by vector instructions if the loop has
  // no exception.
  uint32_t largest = 0;
  if (except) {
    const int32_t exception = *except;
    for (const int32_t id : values) largest = std::max(largest, id == exception ? 0U : static_cast<uint32_t>(id));
  } else {
    for (const int32_t id : values) largest = std::max(largest, static_cast<uint32_t>(id));
  }
  if (largest < std::min(size, int64_t{1} << 31)) return;
  for (size_t i = 0; i < values.size(); ++i) {
    const int32_t id = values[i];
    check((id >= 0 && id < size) || (except && id == *except), "{}: id {} at position {} is outside [0, {})", op, id, i,
          size);
  }
}

Tensor reshaped(const Tensor& x, const Shape& shape) {
  return x.can_view_reshape(shape) ? x.view_reshape(shape) : x.clone().view_reshape(shape);
}

Tensor rows(const Tensor& x) {
  Shape shape = {1, x.shape().back()};
  for (int d = 0; d + 1 < x.rank(); ++d) shape[0] *= x.shape()[d];
  // CUDA's kernels accept rows with any stride between them. linear() makes such rows if their size is not a multiple
  // of 16 bytes.
  const bool steps = !x.device().on_host() && x.strides().back() == 1 && x.can_view_reshape(shape);
  return steps ? x.view_reshape(shape) : packed(x).view_reshape(shape);
}

const Tensor& SavedIds::get(Op op) const {
  if (!copy_.defined()) return copy_;
  bool same = given_.storage()->writes == writes_;
  if (given_.device().on_host()) {
    const Tensor now = packed(given_);
    same = std::memcmp(now.view().data, copy_.view().data, static_cast<size_t>(copy_.numel()) * sizeof(int32_t)) == 0;
  }
  check(same, "backward of {}: the ids were written after the forward pass; give each forward pass ids of its own",
        name_of(op));
  return copy_;
}

Tensor with_rank(const Tensor& x, int rank) {
  Shape shape = Dims::filled(rank - x.rank(), 1);
  for (int64_t size : x.shape()) shape.push_back(size);
  return x.view_reshape(shape);
}

Tensor in_f32(const Tensor& x, const std::function<Tensor(const Tensor&)>& f) { return cast(f(cast(x, f32)), bf16); }

void pass_summed(Grads& g, int i, const Tensor& d, const Shape& shape) {
  if (d.shape() == shape) return g.pass(i, d);
  if (auto slot = g[i]) kernels_of(d).reduce(Reduce::sum, with_rank(*slot.into, d.rank()), d, 1, slot.beta);
}

Tensor aligned_rows(const Shape& shape, DType dtype, Device device) {
  const int64_t n = shape.back(), step = 16 / static_cast<int64_t>(size_of(dtype));
  if (device.on_host() || n % step == 0 || n < step) return Tensor::empty(shape, dtype, device);
  Shape wider = shape;
  wider[shape.rank() - 1] = (n + step - 1) / step * step;
  return Tensor::empty(wider, dtype, device).view_slice(-1, 0, n);
}

}  // namespace pg::detail
