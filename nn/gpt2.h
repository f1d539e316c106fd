#pragma once
// GPT-2 (Radford et al. 2019, "Language Models are Unsupervised Multitask Learners"): pre-layer-norm blocks, tanh GELU,
// learned positions, an output head that shares the token embedding's weight.
#include <string>
#include <string_view>
#include <vector>

#include "nn/kv_cache.h"
#include "nn/layers.h"
#include "nn/module.h"
#include "tensor/base/fields.h"

namespace pg {

struct Gpt2Config {
  int64_t vocab_size = 50257;
  int64_t block_size = 1024;  // the longest sequence
  int64_t n_layer = 12;
  int64_t n_head = 12;
  int64_t n_embd = 768;
  double dropout = 0;
  bool bias = true;  // in linear layers and layer norms
  // Standard deviation of the initial weights of c_attn and c_fc, which read the residual stream. With 1/√n_embd,
  // inputs of unit variance give outputs of unit variance. GPT-2's 0.02 is close to that at its own widths only, and
  // makes narrow models learn much slower.
  double in_proj_std = 0.02;
  DType dtype = f32;  // of weights and activations; with bf16 the loss is f32
  bool operator==(const Gpt2Config&) const = default;
};
std::vector<Field> fields(Gpt2Config& config);
// Conversion to a JSON object with these field names, and back. An Error names a key that is unknown, missing or out of
// range.
std::string to_json(const Gpt2Config& config);
Gpt2Config gpt2_config_from_json(std::string_view json);
// A lower bound on the parameter count of such a model: it leaves out some biases and norms. Computed in f64, so that
// it cannot overflow.
double least_parameters(const Gpt2Config& config);

struct Gpt2Block : Module {
  LayerNorm ln_1;
  CausalSelfAttention attn;
  LayerNorm ln_2;
  MLP mlp;

  explicit Gpt2Block(const Gpt2Config& config);  // linear layers are all zero: Gpt2 initialises them
  Tensor operator()(const Tensor& x, const KvSlot* slot = nullptr) const;  // [B, T, C] → [B, T, C]
  Tensor operator()(const Tensor& x, const PackedBatch& rows) const;       // [N, C] → [N, C]
  void visit(Visitor& visitor) override;
};

struct Gpt2 : Module {
  Gpt2Config config;
  Embedding wte, wpe;
  Dropout drop;
  std::vector<Gpt2Block> h;
  LayerNorm ln_f;
  // Activation checkpointing: for the backward pass only the input of each block is kept, and the block is computed
  // again. This costs a third more arithmetic; memory for activations is that of one block instead of n_layer.
  bool checkpoint_blocks = false;

  // GPT-2's initial weights: embeddings N(0, 0.02), c_attn and c_fc N(0, in_proj_std), and c_proj, which writes into
  // the residual stream 2·n_layer times, N(0, 0.02/√(2·n_layer)); biases 0, layer norms 1. (The second argument of N is
  // the standard deviation.)
  explicit Gpt2(const Gpt2Config& config, Generator& generator = default_generator());

  // The device of the weights, and so of the results; ids and targets may be on any device.
  Device device() const { return wte.weight.device(); }
  // ids i32 [B, T] → the hidden state after the last layer norm [B, T, C]. With a cache: the ids are the next T tokens
  // of its B rows, whose lengths grow by T; only outside the tape (NoGrad). Error if positions exceed block_size.
  Tensor hidden(const Tensor& ids, const KvCache* cache = nullptr) const;
  // hidden() for packed rows: shared prefixes are computed once and padding is not computed. → [B, T, C], with
  // undefined values at padding. Every other position is bit-identical to hidden(ids).
  Tensor hidden(const PackedBatch& rows) const;
  // One more token for each row, ids i32 [B] on the model's device: → [B, C]. All inputs are on the device, so that
  // this can be recorded in a graph; the caller maintains the lengths. Only outside the tape.
  Tensor hidden_next(const Tensor& ids, const std::vector<KvSlot>& slots) const;
  // hidden [..., C] → logits [..., V]
  Tensor head(const Tensor& hidden) const { return linear(hidden, wte.weight); }
  // ids i32 [B, T] → logits [B, T, V]; row (b, t) predicts the token after ids[b, t].
  Tensor operator()(const Tensor& ids, const KvCache* cache = nullptr) const { return head(hidden(ids, cache)); }
  // Mean cross-entropy in nats over the targets [B, T] that are not -100.
  Tensor loss(const Tensor& ids, const Tensor& targets) const;

  // An empty cache for `rows` sequences of at most `room` positions (0: block_size).
  KvCache new_cache(int64_t rows, int64_t room = 0) const;
  void visit(Visitor& visitor) override;

 private:
  Tensor positions(int64_t t) const;  // 0 … t - 1, on the model's device
  Tensor forward_cached(const Tensor& ids, const Tensor& positions, const std::vector<KvSlot>& slots) const;

  mutable Tensor positions_;  // [block_size]
};

}  // namespace pg
