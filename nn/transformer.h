#pragma once
// The decoder-only transformer. The default configuration is GPT-2 (Radford et al. 2019, "Language Models are
// Unsupervised Multitask Learners"): blocks with layer norms before attention and MLP, tanh GELU, learned positions, an
// output head that shares the token embedding's weight. Other values give the Llama family (Touvron et al. 2023,
// arXiv:2302.13971): RMS norms, rotary positions, shared heads of keys and values, a gated MLP, no biases; or latent
// attention (nn/latent_attention.h).
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nn/kv_cache.h"
#include "nn/latent_attention.h"
#include "nn/layers.h"
#include "nn/lora.h"
#include "nn/module.h"
#include "tensor/base/fields.h"

namespace pg {

enum class NormKind : uint8_t { layer, rms };
enum class Positions : uint8_t { learned, rope };
enum class MlpKind : uint8_t { gelu, swiglu };

struct TransformerConfig {
  int64_t vocab_size = 50257;
  int64_t block_size = 1024;  // the longest sequence
  int64_t n_layer = 12;
  int64_t n_head = 12;
  int64_t n_embd = 768;
  double dropout = 0;
  bool bias = true;  // in linear layers and layer norms
  // Standard deviation of the initial weights of c_attn and c_fc, which read the residual stream, and of all matrices
  // of latent attention but c_proj. With 1/√n_embd, inputs of unit variance give outputs of unit variance. GPT-2's 0.02
  // is close to that at its own widths only, and makes narrow models learn much slower.
  double in_proj_std = 0.02;
  DType dtype = f32;  // of weights and activations; with bf16 the loss is f32
  // GPT-2 has the defaults of these.
  int64_t n_kv_head = 0;  // heads of keys and values, each shared by n_head / n_kv_head query heads; 0: n_head
  int64_t head_size = 0;  // channels of a head; 0: n_embd / n_head
  int64_t n_hidden = 0;   // hidden width of the MLP; 0: 4·n_embd
  NormKind norm = NormKind::layer;
  double norm_eps = 1e-5;
  Positions positions = Positions::learned;
  Rope rope = {};  // for Positions::rope
  MlpKind mlp = MlpKind::gelu;
  bool qkv_bias = false;  // biases of queries, keys and values even without `bias` (Qwen2)
  bool qk_norm = false;   // an RMS norm of each head's queries and keys (Qwen3)
  bool tied = true;       // the output head is the token embedding's weight
  // Position t sees positions 0 … t and predicts the next token. false: it sees all positions, as in a masked denoiser
  // (nn/denoiser.h); such a model has no KV cache and reads no packed rows.
  bool causal = true;
  // Latent attention instead of heads of keys and values of their own; head_size is then that of keys without the
  // rotated channels. The biases are those of LatentAttentionConfig::bias.
  int64_t kv_latent_size = 0;  // channels of the latent of keys and values; 0: none of these apply
  int64_t q_latent_size = 0;   // channels of the latent of queries; 0: queries have none
  int64_t rope_size = 0;       // rotated channels of a head, even; at least 2 with Positions::rope, else 0
  int64_t v_head_size = 0;     // channels of a head's values; 0: head_size
  Choice<LatentNormKind> latent_norm = "rms";
  LoraConfig lora = {};  // with a rank above 0: the model has adapters, and only they are trained

  int64_t kv_heads() const { return n_kv_head == 0 ? n_head : n_kv_head; }
  int64_t head_width() const { return head_size == 0 ? n_embd / n_head : head_size; }
  int64_t v_head_width() const { return v_head_size == 0 ? head_width() : v_head_size; }
  bool latent() const { return kv_latent_size > 0; }
  int64_t hidden_width() const { return n_hidden == 0 ? 4 * n_embd : n_hidden; }
  double largest_dropout() const { return std::max(dropout, lora.dropout); }
  // Of the trained parameters: adapters have at least f32.
  DType trained_dtype() const { return lora.rank > 0 ? sum_type(dtype) : dtype; }
  bool operator==(const TransformerConfig&) const = default;
};
std::vector<Field> fields(TransformerConfig& config);
// The fields that tell a family of models from GPT-2, which has their defaults.
std::vector<Field> family_fields(TransformerConfig& config);
// Conversion to a JSON object with these field names, and back. The fields that GPT-2 has the defaults of are left out
// where they have their default. An Error names a key that is unknown, missing or out of range.
std::string to_json(const TransformerConfig& config);
TransformerConfig transformer_config_from_json(std::string_view json);
// Throws Error "WHAT: …" if the model's attention is bidirectional: such a model does not predict the next token.
void check_causal(const TransformerConfig& config, std::string_view what);
// A lower bound on the parameter count of such a model: it leaves out some biases and norms. Computed in f64, so that
// it cannot overflow.
double least_parameters(const TransformerConfig& config);
// The bytes of a KvCache of such a model for each position of a row. Computed in f64, so that it cannot overflow.
double cache_bytes_per_token(const TransformerConfig& config);

// A layer norm or an RMS norm.
struct Norm : Module {
  NormKind kind;
  Tensor weight, bias;  // [C]; bias may be undefined
  double eps;

  explicit Norm(const TransformerConfig& config);
  Tensor operator()(const Tensor& x) const;
  // {x + residual, its norm} in one pass.
  std::pair<Tensor, Tensor> add(const Tensor& x, const Tensor& residual) const;
  void visit(Visitor& visitor) override;
};

struct TransformerBlock : Module {
  Norm ln_1;
  std::optional<CausalSelfAttention> attn;
  std::optional<LatentAttention> latent_attn;  // instead of attn, also named "attn"
  Norm ln_2;
  MLP mlp;

  explicit TransformerBlock(
      const TransformerConfig& config);  // linear layers are all zero: Transformer initialises them
  Tensor operator()(const Tensor& x, const KvSlot* slot = nullptr) const;  // [B, T, C] → [B, T, C]
  Tensor operator()(const Tensor& x, const PackedBatch& rows) const;       // [N, C] → [N, C]
  void visit(Visitor& visitor) override;

 private:
  template <class... Where>
  Tensor attend(const Tensor& x, const Where&... where) const {
    return latent_attn ? (*latent_attn)(x, where...) : (*attn)(x, where...);
  }
};

struct Transformer : Module {
  TransformerConfig config;
  Embedding wte;
  Embedding wpe;  // of learned positions; its weight is undefined with rotary ones
  Dropout drop;
  std::vector<TransformerBlock> h;
  Norm ln_f;
  std::optional<Linear> lm_head;  // the output head, if it is not tied
  // Activation checkpointing: for the backward pass only the input of each block is kept, and the block is computed
  // again. This costs a third more arithmetic; memory for activations is that of one block instead of n_layer.
  bool checkpoint_blocks = false;

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
  // One more token for each row, ids i32 [B] on the model's device: → [B, C]. All inputs are on the device, so that
  // this can be recorded in a graph; the caller maintains the lengths. Only outside the tape.
  Tensor hidden_next(const Tensor& ids, const std::vector<KvSlot>& slots) const;
  // hidden [..., C] → logits [..., V]
  Tensor head(const Tensor& hidden) const { return linear(hidden, lm_head ? lm_head->weight : wte.weight); }
  // ids i32 [B, T] → logits [B, T, V]; row (b, t) predicts the token after ids[b, t], or
  // without `causal` that at (b, t).
  Tensor operator()(const Tensor& ids, const KvCache* cache = nullptr) const { return head(hidden(ids, cache)); }
  // Mean cross-entropy in nats over the targets [B, T] that are not -100.
  Tensor loss(const Tensor& ids, const Tensor& targets) const;

  // An empty cache for `rows` sequences of at most `room` positions (0: block_size). Error if the model is not causal.
  KvCache new_cache(int64_t rows, int64_t room = 0) const;
  void visit(Visitor& visitor) override;

 private:
  Transformer(const TransformerConfig& config, Generator* generator);
  // ids and their positions of equal shape → the input of the first block [..., C]
  Tensor embed(const Tensor& ids, const Tensor& positions) const;
  Tensor positions(int64_t t) const;  // 0 … t - 1, on the model's device
  Tensor forward_cached(const Tensor& ids, const Tensor& positions, const std::vector<KvSlot>& slots) const;

  mutable Tensor positions_;  // [block_size]
};

}  // namespace pg
