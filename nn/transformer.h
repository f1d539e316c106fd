#pragma once
// The decoder-only transformer. The default configuration is GPT-2 (Radford et al. 2019, "Language Models are
// Unsupervised Multitask Learners"): blocks with layer norms before attention and MLP, tanh GELU, learned positions, an
// output head that shares the token embedding's weight. It computes ids → embeddings → blocks → norm → head → logits;
// the embedding of position t is a row of parameters that is added to the token's row. Other values give the Llama
// family (Touvron et al. 2023, arXiv:2302.13971): RMS norms, rotary positions, shared heads of keys and values, a gated
// MLP, no biases; or latent attention (nn/variants/latent_attention.h).
#include <functional>
#include <optional>
#include <tuple>
#include <vector>

#include "autograd/tape.h"
#include "nn/layers.h"
#include "nn/module.h"
#include "nn/transformer_config.h"
#include "nn/variants.h"

namespace pg {

struct KvCache;  // nn/decode/kv_cache.h

// The calls with a cache are in nn/decode/transformer_cached.cpp.
struct TransformerBlock : Module {
  Norm ln_1;
  std::optional<CausalSelfAttention> attn;
  OwnedAttention other_attn;  // instead of attn, also named "attn"
  Norm ln_2;
  MLP mlp;

  // All linear layers are zero: Transformer initialises them.
  explicit TransformerBlock(const TransformerConfig& config);
  // [B, T, C] → [B, T, C], or [N, C] → [N, C] with a PackedBatch.
  template <class... Where>
  Tensor operator()(const Tensor& x, const Where&... where) const {
    const auto [y, residual] = unsummed(x, {}, where...);
    return y + residual;
  }
  // The block on s = x + residual (`residual` may be undefined: s = x):
  //   a = s + attention(ln_1(s));  result = mlp(ln_2(a)) + a
  // This function returns {mlp(ln_2(a)), a} without the last sum. The norm that comes next computes that sum in its own
  // pass: ln_1 of the next block, or ln_f.
  template <class... Where>
  std::pair<Tensor, Tensor> unsummed(const Tensor& x, const Tensor& residual, const Where&... where) const {
    const auto [s, normed_s] = ln_1.add(x, residual);
    const auto [a, normed_a] = ln_2.add(s, attend(normed_s, where...));
    return {mlp(normed_a), a};
  }
  // With a KV cache; outside the tape.
  std::pair<Tensor, Tensor> unsummed(const Tensor& x, const Tensor& residual, const KvSlot& slot) const;
  void visit(Visitor& visitor) override;

 private:
  template <class... Where>
  Tensor attend(const Tensor& x, const Where&... where) const {
    return other_attn ? (*other_attn)(x, where...) : (*attn)(x, where...);
  }
};

struct Transformer : Module {
  TransformerConfig config;
  // The names are those of GPT-2's published weights.
  Embedding wte;  // of tokens [V, C]
  Embedding wpe;  // of learned positions [block_size, C]; its weight is undefined with rotary ones
  Dropout drop;
  std::vector<TransformerBlock> h;      // n_layer blocks
  Norm ln_f;                            // after the last block
  std::optional<Linear> lm_head;        // the output head, if it is not tied
  std::optional<Int8Weight> tied_int8;  // replaces wte.weight in a tied head (nn/variants/int8.h)
  // Activation checkpointing: for the backward pass only the input of each block is kept, and the block is computed
  // again. This costs a third more arithmetic; memory for activations is that of one block instead of n_layer.
  bool checkpoint_blocks = false;
  // ZeRO stage 3 gathers the weights of a part here: called before the forward pass of the part and before its backward
  // pass. Part 0 is the embeddings (not called before backward), parts 1 to n_layer are the blocks, the last part is
  // the final norm and the head.
  std::function<void(size_t part)> before_part;
  size_t parts() const { return h.size() + 2; }
  // Whether a part reads the parameter of this name; a tied embedding is read by the first and the last part.
  bool part_reads(size_t part, const std::string& name) const;

  // GPT-2's initial weights: embeddings N(0, 0.02), the other matrices of a block N(0, in_proj_std), but for c_proj,
  // which writes into the residual stream 2·n_layer times, N(0, 0.02/√(2·n_layer)); biases 0, norms 1. (The second
  // argument of N is the standard deviation.)
  explicit Transformer(const TransformerConfig& config, Generator& generator = default_generator());
  // All linear layers and embeddings zero, for a caller that loads weights: no random number is drawn.
  static Transformer zeros(const TransformerConfig& config) { return Transformer(config, nullptr); }

  // The device of the weights, and so of the results; ids and targets may be on any device.
  Device device() const { return wte.weight.device(); }
  // ids i32 [B, T] → the hidden state after the last layer norm [B, T, C]. With a cache: the ids are the next T tokens
  // of its B rows, whose lengths grow by T; only outside the tape (NoGrad). Error if positions exceed block_size, and
  // for a cache with a model that is not causal.
  Tensor hidden(const Tensor& ids, const KvCache* cache = nullptr) const;
  // hidden() for packed rows: shared prefixes are computed once and padding is not computed. → [B, T, C], with
  // undefined values at padding. Every other position is bit-identical to hidden(ids). Error if the model is not
  // causal.
  Tensor hidden(const PackedBatch& rows) const;
  // One more token for each row, ids i32 [B] on the model's device: → logits [B, V]. All inputs are on the device, so
  // that this can be recorded in a graph; the caller maintains the lengths. Only outside the tape.
  Tensor logits_next(const Tensor& ids, const std::vector<KvSlot>& slots) const;
  // hidden [..., C] → logits [..., V]
  Tensor head(const Tensor& hidden) const {
    begin_part(parts() - 1);
    return end_part(parts() - 1, int8_head() ? int8_linear(hidden, *int8_head()) : linear(hidden, head_weight()));
  }
  // ids i32 [B, T] → logits [B, T, V]: V scores for each position, of which softmax makes probabilities. Row (b, t) has
  // the scores of the token after ids[b, t]; without `causal`, those of the token at (b, t).
  Tensor operator()(const Tensor& ids, const KvCache* cache = nullptr) const { return head(hidden(ids, cache)); }
  // Mean cross-entropy in nats over the targets [B, T] that are not -100.
  Tensor loss(const Tensor& ids, const Tensor& targets) const;

  // An empty cache for `rows` sequences of at most `room` positions (0: block_size). Error if the model is not causal.
  KvCache new_cache(int64_t rows, int64_t room = 0) const;
  void visit(Visitor& visitor) override;

 private:
  Transformer(const TransformerConfig& config, Generator* generator);
  void begin_part(size_t part) const {
    if (before_part) before_part(part);
  }
  Tensor end_part(size_t part, const Tensor& x) const {
    return before_part ? before_backward(x, [this, part] { begin_part(part); }) : x;
  }
  // The input of the first block → the result of the last norm. `where`: nothing or a PackedBatch.
  template <class... Where>
  Tensor hidden_of(Tensor x, const Where&... where) const;
  Tensor hidden_cached(const Tensor& ids, const KvCache& cache) const;  // hidden() with a cache
  // ids and their positions of equal shape → the input of the first block [..., C]
  Tensor embed(const Tensor& ids, const Tensor& positions) const;
  Tensor positions(int64_t t) const;  // 0 … t - 1, on the model's device
  // The input of ln_f, as x and residual (maybe undefined), whose sum it is.
  std::pair<Tensor, Tensor> forward_cached(const Tensor& ids, const Tensor& positions,
                                           const std::vector<KvSlot>& slots) const;
  const std::optional<Int8Weight>& int8_head() const { return lm_head ? lm_head->int8 : tied_int8; }
  const Tensor& head_weight() const { return lm_head ? lm_head->weight : wte.weight; }

  mutable Tensor positions_;  // [block_size]
};

template <class... Where>
Tensor Transformer::hidden_of(Tensor x, const Where&... where) const {
  // Between two blocks the state is x + residual: residual is undefined before the first block and with checkpoints.
  Tensor residual;
  for (size_t i = 0; i < h.size(); ++i) {
    const TransformerBlock& block = h[i];
    begin_part(i + 1);
    if (checkpoint_blocks) {
      x = checkpoint([&block, where...](const Tensor& in) { return block(in, where...); }, x, dropout_stream);
    } else {
      std::tie(x, residual) = block.unsummed(x, residual, where...);
    }
    x = end_part(i + 1, x);
  }
  begin_part(parts() - 1);
  return end_part(parts() - 1, ln_f.add(x, residual).second);
}

}  // namespace pg
