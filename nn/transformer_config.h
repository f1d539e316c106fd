#pragma once
// The configuration of a transformer (nn/transformer.h): sizes and choices, without tensors.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/dtype.h"
#include "tensor/rope.h"

namespace pg {

struct Field;  // tensor/base/fields.h

enum class NormKind : uint8_t { layer, rms };
enum class Positions : uint8_t { learned, rope };
enum class MlpKind : uint8_t { gelu, swiglu };

// The adapters of a model (nn/variants/lora.h).
struct LoraConfig {
  int64_t rank = 0;  // 0: no adapters
  double alpha = 16;
  double dropout = 0;  // of the input of A, in train mode
  // The linear layers that get adapters, separated by commas: names of lora_targets(), or "all-linear".
  std::string targets = "all-linear";
  bool merged = false;  // B·A is part of the weights
  // If not empty, these have adapters, each of its own rank and alpha, instead of `targets` in every block, as adapters
  // of PEFT may be (nn/files/peft.h): "BLOCK.TARGET:RANK:ALPHA" with commas between them,
  // "0.q_proj:8:16,3.v_proj:4:16". `rank` is the largest of theirs.
  std::string modules = {};

  bool operator==(const LoraConfig&) const = default;
};

struct TransformerConfig {
  int64_t vocab_size = 50257;  // V
  int64_t block_size = 1024;   // the longest sequence: T is at most this
  int64_t n_layer = 12;        // blocks
  int64_t n_head = 12;         // H
  int64_t n_embd = 768;        // C
  double dropout = 0;
  bool bias = true;  // in linear layers and layer norms
  // Standard deviation of the initial weights of c_attn, c_fc and c_gate, which read the residual stream, and of all
  // matrices of latent attention but c_proj. With 1/√n_embd, inputs of unit variance give outputs of unit variance.
  // GPT-2's 0.02 is close to that at its own widths only, and makes narrow models learn much slower.
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
  // (nn/variants/denoiser.h); such a model has no KV cache and reads no packed rows.
  bool causal = true;
  // Latent attention instead of heads of keys and values of their own; head_size is then that of keys without the
  // rotated channels. The biases are those of LatentAttentionConfig::bias.
  int64_t kv_latent_size = 0;       // channels of the latent of keys and values; 0: none of these apply
  int64_t q_latent_size = 0;        // channels of the latent of queries; 0: queries have none
  int64_t rope_size = 0;            // rotated channels of a head, even; at least 2 with Positions::rope, else 0
  int64_t v_head_size = 0;          // channels of a head's values; 0: head_size
  std::string latent_norm = "rms";  // a name of LatentNormKind::table()
  LoraConfig lora = {};             // with a rank above 0: the model has adapters, and only they are trained

  int64_t kv_heads() const { return n_kv_head == 0 ? n_head : n_kv_head; }
  int64_t head_width() const { return head_size == 0 ? n_embd / n_head : head_size; }
  int64_t v_head_width() const { return v_head_size == 0 ? head_width() : v_head_size; }
  bool latent() const { return kv_latent_size > 0; }
  int64_t hidden_width() const { return n_hidden == 0 ? 4 * n_embd : n_hidden; }
  double largest_dropout() const { return std::max(dropout, lora.dropout); }
  // The type of the trained parameters: adapters have at least f32.
  DType trained_dtype() const { return lora.rank > 0 ? sum_type(dtype) : dtype; }
  bool operator==(const TransformerConfig&) const = default;
};
std::vector<Field> fields(TransformerConfig& config);
// The fields in which another family of models, such as Llama, differs from GPT-2. In GPT-2 they have their defaults.
std::vector<Field> family_fields(TransformerConfig& config);
// Conversion to a JSON object with these field names, and back. A field that has its default in GPT-2 is left out if it
// has that default. An Error names a key that is unknown, missing or out of range.
std::string to_json(const TransformerConfig& config);
TransformerConfig transformer_config_from_json(std::string_view json);
// The fields in which two configurations differ, as "n-embd 64, not 32; dropout 0.1, not 0".
std::string differences(const TransformerConfig& is, const TransformerConfig& is_not);
// Throws Error "WHAT: …" that names the field if no model can have this configuration.
void check_config(const TransformerConfig& config, std::string_view what);
// Throws Error "WHAT: …" if the model's attention is bidirectional: such a model does not predict the next token.
void check_causal(const TransformerConfig& config, std::string_view what);
// A lower bound on the parameter count of such a model: it leaves out some biases and norms. Computed in f64, so that
// it cannot overflow.
double least_parameters(const TransformerConfig& config);
// The bytes of a KvCache of such a model for each position of a row. Computed in f64, so that it cannot overflow.
double cache_bytes_per_token(const TransformerConfig& config);

}  // namespace pg
