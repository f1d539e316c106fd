#pragma once
// AdamW's update of a parameter p with gradient g and the running means m of g and v of g²:
//   p -= lr·weight_decay·p        g' = grad_scale·g
//   m = beta1·m + (1 - beta1)·g'  v = beta2·v + (1 - beta2)·g'²
//   p -= lr/bias_correction1 · m / (sqrt(v)/sqrt(bias_correction2) + eps)
// Loshchilov and Hutter, arXiv:1711.05101, in the order of PyTorch's torch.optim.AdamW. Templates shared by the CPU's
// vector types and CUDA's scalar types, like tensor/functors.h.
#include <bit>
#include <cmath>

#include "tensor/base/random.h"
#include "tensor/kernels.h"

namespace pg {

// The fields of AdamWArgs with pointers instead of views, as a CUDA kernel receives them.
struct AdamWScalars {
  double lr, beta1, beta2, eps, weight_decay, bias_correction1, bias_correction2, grad_scale, max_norm;
  const double *now, *sum_of_squares;  // in device memory; may be null
  const uint8_t* decayed;              // in device memory; may be null
  uint64_t seed, t, first;

  explicit AdamWScalars(const AdamWArgs& a)
      : lr(a.lr),
        beta1(a.beta1),
        beta2(a.beta2),
        eps(a.eps),
        weight_decay(a.weight_decay),
        bias_correction1(a.bias_correction1),
        bias_correction2(a.bias_correction2),
        grad_scale(a.grad_scale),
        max_norm(a.max_norm),
        now(a.now.as<const double>()),
        sum_of_squares(a.sum_of_squares.as<const double>()),
        decayed(a.decayed.as<const uint8_t>()),
        seed(a.seed),
        t(0),
        first(static_cast<uint64_t>(a.first)) {}

  // Loads learning rate, step and gradient norm from device memory. False: the gradient is not finite, skip the update.
  constexpr bool read_device_scalars() {
    if (now) lr = now[0], bias_correction1 = now[1], bias_correction2 = now[2], t = static_cast<uint64_t>(now[3]);
    if (!sum_of_squares) return true;
    const double norm = std::sqrt(*sum_of_squares), clipped = max_norm / (norm + 1e-6);
    grad_scale = max_norm > 0 && clipped < 1 ? clipped : 1;
    return norm < HUGE_VAL;
  }

  // The unit of element i of the array, and whether weight decay applies to it.
  constexpr uint64_t unit_of(int64_t i) const { return (first + static_cast<uint64_t>(i)) / kDecayUnit; }
  constexpr bool decays(int64_t i) const { return !decayed || decayed[unit_of(i)] != 0; }
};

template <class T>
struct AdamWUpdate {  // for elements with weight decay; keep is 1 for elements without
  T keep, grad_scale, one_minus_beta1, beta2, one_minus_beta2, root_scale, eps, step;
  AdamWUpdate() = default;
  constexpr explicit AdamWUpdate(const AdamWScalars& a)
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

// Stochastic rounding of x to bf16 (as bits): one of its two bf16 neighbours, with probabilities such that the
// expectation is x. The low 16 bits of `word` are the random bits. Gupta et al., arXiv:1502.02551.
constexpr uint16_t stochastic_bf16(float x, uint32_t word) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  const bool finite = (bits & 0x7f800000u) != 0x7f800000u, nan = !finite && (bits & 0x7fffffu) != 0;
  return static_cast<uint16_t>(((finite ? bits + (word & 0xffffu) : bits) >> 16) | (nan ? 0x40u : 0u));
}

// Random words for elements i … i + 3 of the array; i must be a multiple of 4.
constexpr void rounding_words(const AdamWScalars& a, int64_t i, uint32_t (&word)[4]) {
  philox_block(a.seed, (a.first + static_cast<uint64_t>(i)) / 4, a.t, word);
}

}  // namespace pg
