#pragma once
// The name of every recorded operation, listed once: the functions of tensor/elementwise.def and those of this list. A
// test checks that tests/op_samples has a sample of each.
#include <cstdint>

namespace pg {

// clang-format off
#define POLICYGRAD_OPS(X) \
  X(leaf) X(add) X(sub) X(mul) X(div) X(pow) X(minimum) X(maximum) X(swiglu) X(where) \
  X(gelu) X(affine) X(clamp) X(pow_scalar) X(cast) X(sum) X(mean) X(amax) \
  X(logsumexp) X(var) X(cumsum) X(matmul) X(linear) X(linear_gelu) X(mlp_gelu) X(reshape) \
  X(transpose) X(permute) X(slice) X(expand) X(cat) X(stack) X(gather) \
  X(index_select) X(scatter_add) X(embedding) X(softmax) X(log_softmax) \
  X(cross_entropy) X(token_log_prob) X(layer_norm) X(add_layer_norm) \
  X(rms_norm) X(add_rms_norm) X(attention) X(dropout) X(rope) X(checkpoint) X(before_backward)
// clang-format on

enum class Op : uint8_t {
#define X(name) name,
  POLICYGRAD_OPS(X)
#undef X
#define UNARY(name, ...) name,
#include "tensor/elementwise.def"
      count
};
const char* name_of(Op op);

}  // namespace pg
