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
      .random_uniform = random_uniform,
      .random_normal = random_normal,
      .unary = unary,
      .unary_backward = unary_backward,
      .binary = binary,
      .binary_backward = binary_backward,
      .where = where,
      .dropout = dropout,
      .reduce = reduce,
      .cumsum = cumsum,
      .argmax = argmax,
      .sum_of_squares = sum_of_squares,
      .gather = gather,
      .scatter_add = scatter_add,
      .embedding = embedding,
      .embedding_backward = embedding_backward,
      .matmul = matmul,
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
      .attention = attention,
      .attention_backward = attention_backward,
      .rope = rope,
      .adamw = adamw,
  };
  return kernels;
}

}  // namespace pg::cuda
