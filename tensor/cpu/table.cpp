// The CPU's table. The order is that of Kernels: a forgotten entry is a compiler warning, and warnings are errors.
#include "tensor/cpu/kernels_cpu.h"

namespace pg {

const Kernels& cpu_kernels() {
  static constexpr Kernels table = {
      .copy = cpu::copy,
      .fill = cpu::fill,
      .accumulate = cpu::accumulate,
      .random_uniform = cpu::random_uniform,
      .random_normal = cpu::random_normal,
      .unary = cpu::unary,
      .unary_backward = cpu::unary_backward,
      .binary = cpu::binary,
      .binary_backward = cpu::binary_backward,
      .where = cpu::where,
      .dropout = cpu::dropout,
      .reduce = cpu::reduce,
      .cumsum = cpu::cumsum,
      .argmax = cpu::argmax,
      .sum_of_squares = cpu::sum_of_squares,
      .gather = cpu::gather,
      .scatter_add = cpu::scatter_add,
      .embedding = cpu::embedding,
      .embedding_backward = cpu::embedding_backward,
      .matmul = cpu::matmul,
      .softmax = cpu::softmax,
      .softmax_backward = cpu::softmax_backward,
      .cross_entropy = cpu::cross_entropy,
      .cross_entropy_backward = cpu::cross_entropy_backward,
      .token_log_prob = cpu::token_log_prob,
      .token_log_prob_backward = cpu::token_log_prob_backward,
      .layer_norm = cpu::layer_norm,
      .layer_norm_backward = cpu::layer_norm_backward,
      .rms_norm = cpu::rms_norm,
      .rms_norm_backward = cpu::rms_norm_backward,
      .attention = cpu::attention,
      .attention_backward = cpu::attention_backward,
      .rope = cpu::rope,
      .adamw = cpu::adamw,
  };
  return table;
}

}  // namespace pg
