// Lesson 4: a GPT. This is your file: replace each TODO(...), then:
//   make lesson4 && ./lesson4 check
//
// B batch, H heads, T positions, D head size, R rows, C channels. Useful:
// matmul (batched), transpose(x) (the last two dims), softmax(x) (the last
// dim), where(mask, a, b), sum(x, {dims}, keepdim), mean, x * y, x * 0.5,
// le(a, b) (1 where a <= b), Tensor::arange(n, dtype), unsqueeze(x, dim),
// x.size(dim). All ops are in autograd/ops.h, tensors in tensor/tensor.h. The
// engine's own attention is pg::attention, yours is lesson04::attention.
#include <cmath>

#include "lessons/04_gpt/lesson.h"

namespace pg::lesson04 {

// Causal attention: q, k, v [B, H, T, D] → [B, H, T, D]. The result at position
// t is the mean of the values at 0 … t, weighted by softmax(q·k / √D).
// Positions after t must not change a single bit of it: mask the scores.
Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v) {
  // Yours, in place of the next line.
  TODO("04.1 attention");
}

// The gradients of the three inputs, given that of the result.
// attention_weights(q, k) gives p [B, H, T, T], the weights of the forward
// pass. Nothing here is on the tape: compute with plain tensors.
AttentionGrads attention_backward(const Tensor& dout, const Tensor& q, const Tensor& k, const Tensor& v) {
  // Yours, in place of the next line.
  TODO("04.2 attention_backward");
}

// y = w · x̂ + b with x̂ = (x - mean) / √(variance + eps), row by row: dy, x
// [R, C], w [C] → dx [R, C], dw [C], db [C]. The variance is the mean of
// squares (var(x, {-1}, 0, true)).
LayerNormGrads layer_norm_backward(const Tensor& dy, const Tensor& x, const Tensor& w, double eps) {
  // Yours, in place of the next line.
  TODO("04.3 layer_norm_backward");
}

// The first weights of GPT-2, with one number free. N(0, s): normal numbers
// with mean 0 and standard deviation s.
//   matrices that write to the residual stream (names end in "c_proj.weight"):
//     N(0, 0.02 / √(2·n_layer))
//   matrices that read it (c_attn and c_fc: the other names that begin "h."):
//     N(0, model.config.in_proj_std)
//   embeddings (all other matrices): N(0, 0.02)
//   biases 0, layer norm weights 1
// named_parameters(model) lists pairs (name, tensor);
// Tensor::normal(shape, 0, std, generator) makes values; use the generator that
// is given. parameter.copy_from(values) stores them. (`parameter = values` only
// makes the name mean another tensor.)
void init_weights(Transformer& model, Generator& generator) {
  // Yours, in place of the next line.
  TODO("04.4 init_weights");
}

// Attention for new positions only: q, k, v [B, H, T, D] belong to the T tokens
// after those stored in `slot`. Row b of the cache slot.k, slot.v [B, H, S, D]
// holds slot.before[b] positions; store the new ones behind them, then compute
// attention over all. pg::attention with {.kv_len = lengths} uses only the
// first kv_len[b] keys of row b, and takes the queries for the last of them;
// slot.after[b] = slot.before[b] + T. Copy with
// to.view_slice(dim, start, end).copy_from(from);
// slot.before.data<int32_t>()[b] is a length.
Tensor decode(const KvSlot& slot, const Tensor& q, const Tensor& k, const Tensor& v) {
  // Yours, in place of the next line.
  TODO("04.5 decode");
}

}  // namespace pg::lesson04
