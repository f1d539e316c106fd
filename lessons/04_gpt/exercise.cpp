// Lesson 4: a GPT. This is your file: replace each TODO(...), then: make lesson4 && ./lesson4 check
//
// B batch, H heads, T positions, D head size, R rows, C channels. Useful: matmul (batched), transpose(x) (the last two
// dims), softmax(x) (the last dim), where(mask, a, b), sum(x, {dims}, keepdim), mean, x * y, x * 0.5, Tensor::arange.
#include <cmath>

#include "lessons/04_gpt/lesson.h"

namespace pg::lesson04 {

// Causal attention: q, k, v [B, H, T, D] → [B, H, T, D]. Position t takes a mean of the values at 0 … t, weighted by
// softmax(q·k / √D); what comes later it must not see.
Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v) {
  // Yours, in place of the next line.
  TODO("04.1 attention");
}

// The gradients of the three inputs, given that of the result. attention_weights(q, k) gives p [B, H, T, T], the
// weights of the forward pass. Nothing here is on the tape: compute with plain tensors.
AttentionGrads attention_backward(const Tensor& dout, const Tensor& q, const Tensor& k, const Tensor& v) {
  // Yours, in place of the next line.
  TODO("04.2 attention_backward");
}

// y = w · x̂ + b with x̂ = (x - mean) / √(variance + eps), row by row: dy, x [R, C], w [C] → dx [R, C], dw [C], db [C].
// The variance is the mean of squares (var(x, {-1}, 0, true)).
LayerNormGrads layer_norm_backward(const Tensor& dy, const Tensor& x, const Tensor& w, double eps) {
  // Yours, in place of the next line.
  TODO("04.3 layer_norm_backward");
}

// GPT-2's start, but for one number: what reads the residual stream (c_attn and c_fc, the matrices whose names begin
// with "h.") starts at N(0, model.config.in_proj_std); what writes into it (names that end in "c_proj.weight") at N(0,
// 0.02 / √(2·n_layer)); the embeddings at N(0, 0.02); biases at 0, layer norm weights at 1. The second number of N is
// the deviation. named_parameters(model) lists pairs (name, tensor); Tensor::normal(shape, 0, std, generator) makes
// values, parameter.copy_from(values) puts them in.
void init_weights(Transformer& model, Generator& generator) {
  // Yours, in place of the next line.
  TODO("04.4 init_weights");
}

// Attention for new positions only: q, k, v [B, H, T, D] belong to the T tokens after those that `slot` remembers.
// Row b of the cache slot.k, slot.v [B, H, S, D] holds slot.before[b] positions; put the new ones behind them, then
// attend to everything. pg::attention with {.kv_len = lengths} uses only the first kv_len[b] keys of row b, and takes
// the queries for the last of them; slot.after[b] = slot.before[b] + T. Copy with
// to.view_slice(dim, start, end).copy_from(from); slot.before.data<int32_t>()[b] is a length.
Tensor decode(const KvSlot& slot, const Tensor& q, const Tensor& k, const Tensor& v) {
  // Yours, in place of the next line.
  TODO("04.5 decode");
}

}  // namespace pg::lesson04
