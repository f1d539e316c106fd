// The table of CUDA devices. The order is that of Kernels: a forgotten entry is a compiler warning, and warnings are
// errors.
#include "tensor/cuda/kernels_cuda.h"
#include "tensor/cuda/runtime.h"

namespace pg::cuda {

const Kernels& table() {
  static constexpr Kernels kernels = {
      .copy = copy_any,
      .fill = fill,
      .accumulate = accumulate,
      .random_uniform = nullptr,
      .random_normal = nullptr,
      .unary = unary,
      .unary_backward = unary_backward,
      .binary = binary,
      .binary_backward = binary_backward,
      .where = where,
      .dropout = nullptr,
      .reduce = nullptr,
      .cumsum = nullptr,
      .argmax = nullptr,
      .sum_of_squares = nullptr,
      .gather = nullptr,
      .scatter_add = nullptr,
      .embedding = nullptr,
      .embedding_backward = nullptr,
      .matmul = nullptr,
      .softmax = softmax,
      .softmax_backward = softmax_backward,
      .cross_entropy = cross_entropy,
      .cross_entropy_backward = cross_entropy_backward,
      .token_log_prob = token_log_prob,
      .token_log_prob_backward = token_log_prob_backward,
      .layer_norm = layer_norm,
      .layer_norm_backward = layer_norm_backward,
      .rms_norm = rms_norm,
      .rms_norm_backward = rms_norm_backward,
      .attention = nullptr,
      .attention_backward = nullptr,
      .rope = nullptr,
      .adamw = nullptr,
  };
  return kernels;
}

}  // namespace pg::cuda
