#pragma once
// What the files of autograd/ share: checks, and gradients of broadcast inputs.
#include "autograd/ops.h"
#include "tensor/kernels.h"

namespace pg::detail {

inline const Kernels& kernels_of(const Tensor& x) { return kernels(x.device()); }

void check_floating(const Tensor& x, const char* op);
void check_same_dtype(const Tensor& a, const Tensor& b, const char* op);
// i32 with every value in [0, size), or equal to `except`.
void check_ids(const Tensor& ids, int64_t size, const char* op, const int32_t* except = nullptr);

// x itself when its elements lie in row-major order, else a copy; no tape.
inline Tensor packed(const Tensor& x) { return x.contiguous_copy(); }
// x seen as `shape`, copied only when strides force it; no tape.
Tensor reshaped(const Tensor& x, const Shape& shape);
// x with its last dim kept and the others merged: [R, C], contiguous; no tape.
Tensor rows(const Tensor& x);

// The view of `x` (shape s) with leading 1s up to `rank` dims.
Tensor with_rank(const Tensor& x, int rank);
// Gives input `i` of shape `shape` the gradient `d`, summed over the dims along which the input was repeated.
void pass_summed(Grads& g, int i, const Tensor& d, const Shape& shape);

}  // namespace pg::detail
