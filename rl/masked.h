#pragma once
// Masked slots: they are ignored, whatever values they hold.
#include "autograd/ops.h"

namespace pg::rl {

inline void check_same_shape(const Tensor& x, const Tensor& like, const char* what, const char* name) {
  check(x.shape() == like.shape(), "{}: {} must be {}, got {}", what, name, like.shape(), x.shape());
}

// x where the mask is 1, the constant `otherwise` elsewhere. It selects instead of multiplying, because infinity times
// 0 is NaN. Apply it to inputs: the backward of later operations would multiply too.
inline Tensor masked(const Tensor& x, const Tensor& mask, double otherwise, const char* what) {
  if (!mask.defined()) return x;
  check_same_shape(mask, x, what, "mask");
  return where(mask, x, Tensor::scalar(otherwise, x.dtype(), x.device()));
}

}  // namespace pg::rl
