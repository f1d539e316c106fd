#pragma once
// The name of every recorded operation. tests/op_samples/op_samples.cpp must hold a sample of each: a test walks this
// list.
#include <cstdint>

namespace pg {

// clang-format off
#define POLICYGRAD_OPS(X) \
  X(leaf) X(add) X(sub) X(mul) X(div) X(pow) X(minimum) X(maximum) X(where) \
  X(neg) X(abs) X(exp) X(expm1) X(log) X(log1p) X(sqrt) X(rsqrt) \
  X(reciprocal) X(sin) X(cos) X(tanh) X(sigmoid) X(softplus) X(relu) X(gelu) \
  X(silu) X(affine) X(clamp) X(pow_scalar) X(cast) X(sum) X(mean) X(amax) \
  X(logsumexp) X(var) X(cumsum) X(matmul) X(linear) X(linear_gelu) X(mlp_gelu) X(reshape) \
  X(transpose) X(permute) X(slice) X(expand) X(cat) X(stack) X(gather) \
  X(index_select) X(scatter_add) X(embedding) X(softmax) X(log_softmax) \
  X(cross_entropy) X(token_log_prob) X(layer_norm) X(add_layer_norm) \
  X(rms_norm) X(add_rms_norm) X(attention) X(dropout) X(rope) X(checkpoint)
// clang-format on

enum class Op : uint8_t {
#define X(name) name,
  POLICYGRAD_OPS(X)
#undef X
      count
};
const char* name_of(Op op);

}  // namespace pg
