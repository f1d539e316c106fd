#pragma once
// AdamW's update of a parameter p with gradient g and the running means m of g and v of g²:
//   p -= lr·weight_decay·p        g' = grad_scale·g
//   m = beta1·m + (1 - beta1)·g'  v = beta2·v + (1 - beta2)·g'²
//   p -= lr/bias_correction1 · m / (sqrt(v)/sqrt(bias_correction2) + eps)
// Loshchilov and Hutter, arXiv:1711.05101, in the order of PyTorch's torch.optim.AdamW. Written once for the CPU's
// vectors and CUDA's lanes, as tensor/functors.h.
#include <cmath>

#include "tensor/kernels.h"

namespace pg {

template <class T>
struct AdamWUpdate {
  T keep, grad_scale, one_minus_beta1, beta2, one_minus_beta2, root_scale, eps, step;
  constexpr explicit AdamWUpdate(const AdamWArgs& a)
      : keep(static_cast<T>(1 - a.lr * a.weight_decay)),
        grad_scale(static_cast<T>(a.grad_scale)),
        one_minus_beta1(static_cast<T>(1 - a.beta1)),
        beta2(static_cast<T>(a.beta2)),
        one_minus_beta2(static_cast<T>(1 - a.beta2)),
        root_scale(static_cast<T>(1 / std::sqrt(a.bias_correction2))),
        eps(static_cast<T>(a.eps)),
        step(static_cast<T>(a.lr / a.bias_correction1)) {}

  template <class V>
  constexpr void operator()(V& p, V g, V& m, V& v) const {
    g = g * grad_scale;
    m = fma(g - m, one_minus_beta1, m);
    v = fma(g * one_minus_beta2, g, v * beta2);
    const V denominator = fma(sqrt(v), root_scale, eps);
    p = p * keep - m / denominator * step;
  }
};

}  // namespace pg
