#pragma once
// Helpers shared by the files of autograd/: checks, and gradients of broadcast inputs.
#include "autograd/ops.h"
#include "tensor/kernels.h"

namespace pg::detail {

inline const Kernels& kernels_of(const Tensor& x) { return kernels(x.device()); }

void check_floating(const Tensor& x, const char* op);
void check_same_dtype(const Tensor& a, const Tensor& b, const char* op);
// Error unless `other`, which kernels read together with `x` (ids, masks, positions; may be undefined), is on the
// device of `x`.
void check_device(const Tensor& x, const Tensor& other, const char* op);
// Error unless `ids` is i32 with every value in [0, size) or equal to `except`. Values are checked on the CPU only:
// reading them from another device would wait for it, and its kernels return NaN for an id out of range.
void check_ids(const Tensor& ids, int64_t size, const char* op, const int32_t* except = nullptr);

// The dim of x that an op works along. A tensor of rank 0 counts as one of shape [1], as in PyTorch.
inline int dim_along(const Tensor& x, int dim, const char* op) {
  return normalize_dim(dim, x.rank() == 0 ? 1 : x.rank(), op);
}
// x, or x as [1] when it has no dimension.
inline Tensor at_least_1d(const Tensor& x) { return x.rank() == 0 ? x.view_reshape({1}) : x.detach(); }

// x itself if its elements are in row-major order, else a copy; no tape.
inline Tensor packed(const Tensor& x) { return x.contiguous_copy(); }
// x viewed as `shape`, copied only when strides force it; no tape.
Tensor reshaped(const Tensor& x, const Shape& shape);
// x of rank 1 or more with its last dim kept and the others merged: [R, C], contiguous; no tape.
Tensor rows(const Tensor& x);

// Memory for a result [..., n]. On CUDA its rows begin at multiples of 16 bytes, as the fast matrix products require;
// unpadded rows of GPT-2's vocabulary size, 50257, would not.
Tensor aligned_rows(const Shape& shape, DType dtype, Device device);

// Ids that a backward reads again, kept as a copy: a caller may reuse the memory for the next batch, and an id out of
// range would let a kernel write outside its tensor.
class SavedIds {
 public:
  // Copies i32 `ids` (may be undefined) if `taped`.
  SavedIds(const Tensor& ids, bool taped) {
    if (!taped || !ids.defined()) return;
    given_ = ids.detach();
    copy_ = given_.clone();
    writes_ = given_.storage()->writes;
  }
  // The ids, contiguous. Error naming `op` if the caller's memory now holds other ids (on a device other than the CPU:
  // if it was written at all).
  const Tensor& get(Op op) const;

 private:
  Tensor given_, copy_;
  uint64_t writes_ = 0;
};

// Whether an op on these inputs is recorded.
inline bool taped(TensorList inputs) { return wants_record(inputs.begin(), inputs.size()); }

// The view of `x` (shape s) with leading 1s up to `rank` dims.
Tensor with_rank(const Tensor& x, int rank);
// Calls write(into, beta) for the gradient of input `i`, the tensor `saved` viewed as `shape`. If only the tape still
// holds `saved`, the gradient is written to its memory, so that [B·T, V] logits are never held twice; `write` reads
// each element of `saved` before it writes the element.
template <class F>
void write_over(Grads& g, int i, const Tensor& saved, const Shape& shape, F write) {
  if (!g.wants(i)) return;
  if (saved.storage()->ref_count == 1) {
    write(saved, 0.0);
    return g.pass(i, saved.view_reshape(shape));
  }
  const GradSlot slot = g[i];
  write(slot.into->view_reshape(saved.shape()), slot.beta);
}

// f(x) for a bf16 x, every step of f in f32.
Tensor in_f32(const Tensor& x, const std::function<Tensor(const Tensor&)>& f);

// Calls write(into, beta) to add many terms to the gradient of input `i`; `into` is never bf16, because sums in bf16
// lose precision.
template <class F>
void write_sums(Grads& g, int i, const Shape& shape, F write) {
  if (!g.wants(i)) return;
  if (g.dtype(i) != bf16) {
    const GradSlot slot = g[i];
    return write(*slot.into, slot.beta);
  }
  const Tensor d = Tensor::empty(shape, f32, g.device(i));
  write(d, 0.0);
  g.pass(i, d);
}
// Gives input `i` of shape `shape` the gradient `d`, summed over the dims along which the input was repeated.
void pass_summed(Grads& g, int i, const Tensor& d, const Shape& shape);

}  // namespace pg::detail
