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
      .matmul = matmul,
      .softmax = nullptr,
      .softmax_backward = nullptr,
      .cross_entropy = nullptr,
      .cross_entropy_backward = nullptr,
      .token_log_prob = nullptr,
      .token_log_prob_backward = nullptr,
      .layer_norm = nullptr,
      .layer_norm_backward = nullptr,
      .rms_norm = nullptr,
      .rms_norm_backward = nullptr,
      .attention = attention,
      .attention_backward = attention_backward,
      .rope = nullptr,
      .adamw = nullptr,
  };
  return kernels;
}

}  // namespace pg::cuda
