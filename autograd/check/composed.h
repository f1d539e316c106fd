#pragma once
// The fused operations of ops.h written in primitives, as in a textbook: they define what the fused operations compute,
// and the tests compare with them. Arguments, shapes and results are those of ops.h; these versions are slower and have
// larger graphs.
#include <utility>
#include <vector>

#include "autograd/ops.h"

namespace pg::composed {

Tensor logsumexp(const Tensor& x, const ReduceDims& dims = {}, bool keepdim = false);
Tensor mean(const Tensor& x, const ReduceDims& dims = {}, bool keepdim = false);
Tensor var(const Tensor& x, const ReduceDims& dims = {}, int correction = 1, bool keepdim = false);
Tensor softmax(const Tensor& x, int dim = -1);
Tensor log_softmax(const Tensor& x, int dim = -1);
Tensor cross_entropy(const Tensor& logits, const Tensor& targets, const CrossEntropyOptions& options = {});
std::pair<Tensor, Tensor> token_log_prob(const Tensor& logits, const Tensor& ids);

Tensor gelu(const Tensor& x);  // the tanh approximation
Tensor silu(const Tensor& x);
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {});
Tensor linear_gelu(const Tensor& x, const Tensor& weight, const Tensor& bias = {});
Tensor mlp_gelu(const Tensor& x, const Tensor& w1, const Tensor& b1, const Tensor& w2, const Tensor& b2);
Tensor layer_norm(const Tensor& x, const Tensor& weight = {}, const Tensor& bias = {}, double eps = 1e-5);
std::pair<Tensor, Tensor> add_layer_norm(const Tensor& x, const Tensor& residual, const Tensor& weight = {},
                                         const Tensor& bias = {}, double eps = 1e-5);
Tensor rms_norm(const Tensor& x, const Tensor& weight = {}, double eps = 1e-6);
std::pair<Tensor, Tensor> add_rms_norm(const Tensor& x, const Tensor& residual, const Tensor& weight = {},
                                       double eps = 1e-6);

Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options = {});
Tensor attention_qkv(const Tensor& qkv, int heads, bool causal = true);
Tensor rope(const Tensor& x, const Rope& options = {}, const Tensor& positions = {});
Tensor embedding(const Tensor& weight, const Tensor& ids);

}  // namespace pg::composed
