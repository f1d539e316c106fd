#pragma once
// Linear layers whose weights are 8-bit integers with a scale for each output, for decoding: a token reads every weight
// once, so its time is that of the bytes. Weights only; activations keep their type (the rounding is that of
// LLM.int8(), Dettmers et al. 2022, arXiv:2208.07339, section 2.1, with a row in place of the whole matrix).
#include <string_view>

#include "tensor/tensor.h"

namespace pg {

// w [N, K] ≈ scale[n]·q[n, k], with q in -127 … 127.
struct Int8Weight {
  // u8 [⌈N/16⌉, K, 16]: byte (p, k, j) is the int8 q[16p + j, k], and 0 beyond N. So one load has a step of k for 16
  // outputs.
  Tensor q;
  Tensor scale;  // f32 [N]

  static constexpr int64_t kPanel = 16;
  int64_t rows() const { return scale.size(0); }
  int64_t columns() const { return q.size(1); }
  int64_t bytes() const { return q.numel() + 4 * rows(); }
};

// The weight [N, K] of f32 or bf16, rounded: scale is the row's max|w|/127, q is w/scale rounded to the nearest
// integer, ties to even, so |w - scale·q| <= scale/2 but for the rounding of the division. A row of zeros has scale 0.
// On the weight's device. Error naming `name` and the row of a non-finite value.
Int8Weight quantize_int8(const Tensor& weight, std::string_view name);
// scale·q, f32 [N, K], on the device of w.
Tensor dequantized(const Int8Weight& w);

// x [..., K] f32 or bf16 → x wᵀ + bias [..., N]. The sums over k of x·q are f32, and are multiplied by the scale at the
// end. On the CPU the bits of a row depend neither on the other rows nor on the number of threads; on CUDA up to 8 rows
// are one kernel, and more rows expand the weight. Outside the tape only (Error).
Tensor int8_linear(const Tensor& x, const Int8Weight& w, const Tensor& bias = {});

}  // namespace pg
