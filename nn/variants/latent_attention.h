#pragma once
// Multi-head latent attention, MLA (DeepSeek-AI 2024, "DeepSeek-V2", arXiv:2405.04434, section 2.1): keys and values of
// all heads are linear functions of one small vector per position, the latent, and the cache holds only the latent.
//
// For position t, with H heads, N a norm, and rotary parts only if rope_size is above 0:
//   c_t = N(W_dkv x_t) [d_c]       k^R_t = rope(W_kr x_t) [d_r], one for all heads
//   q_t = W_uq N(W_dq x_t), or W_q x_t without a query latent; of head i the parts q^N_i [d_n] and q^R_i [d_r], the
//   latter rotated
// Plain form: head i has the keys [W_uk,i c_s ; k^R_s] and the values W_uv,i c_s [d_v], scale 1/√(d_n + d_r).
// Absorbed form: (W_uk,i c)·q = c·(W_uk,iᵀ q). So head i has the query [W_uk,iᵀ q^N_i ; q^R_i], and all heads have the
// key [c_s ; k^R_s], which is the value too: W_uv,i is applied to the sum over positions, whose last d_r channels are
// not used. This is attention with one head of keys and values of width d_c + d_r.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nn/transformer.h"
#include "tensor/base/table.h"

namespace pg {

// The norm of a latent [..., C]: "rms" (DeepSeek's), "layer", "l2", which is weight·x / (‖x‖₂ + 1e-8), or "none".
struct LatentNormKind {
  static constexpr const char* axis = "latent-norm";
  static const std::vector<LatentNormKind>& table();
  const char* name;
  bool has_weight, has_bias;  // [C]; the bias may be left out
  Tensor (*apply)(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps);

  friend bool operator==(const LatentNormKind& a, const LatentNormKind& b) { return std::string(a.name) == b.name; }
};

struct LatentNorm : Module {
  Choice<LatentNormKind> kind;
  Tensor weight, bias;  // [C], 1 and 0 at first; undefined if the kind has none
  double eps;

  LatentNorm(const Choice<LatentNormKind>& kind, int64_t channels, bool with_bias, double eps, DType dtype);
  Tensor operator()(const Tensor& x) const { return kind.apply(x, weight, bias, eps); }
  void visit(Visitor& visitor) override;
};

struct LatentAttentionConfig {
  int64_t heads = 1;                    // H
  int64_t kv_latent_size = 1;           // d_c
  int64_t q_latent_size = 0;            // channels of the query latent; 0: queries are computed from x
  int64_t head_size = 1;                // d_n
  int64_t v_head_size = 0;              // d_v; 0: head_size
  int64_t rope_size = 0;                // d_r, even; 0: no rotary positions, the caller adds positions to x
  Rope rope = {};                       // for a rope_size above 0
  Choice<LatentNormKind> norm = "rms";  // of both latents
  double norm_eps = 1e-6;
  bool bias = true;  // in q_down, kv_down, c_proj and layer norms; the others have none
  double dropout = 0;
  bool causal = true;  // position t sees positions 0 … t; false: all, and then there is no cache and no packed batch
};

// Self-attention x [B, T, C] → [B, T, C]. Dropout applies to the result only.
//
// All calls compute the absorbed form, so a position has the same bits in a whole sequence, in packed rows and in
// cached decoding. On a GPU d_c + d_r must be at most 256, the largest head of the CUDA kernels; their Error says so.
struct LatentAttention : AttentionVariant {
  LatentAttentionConfig config;  // v_head_size is not 0
  std::optional<Linear> q_down;  // [q_latent_size, C]
  std::optional<LatentNorm> q_norm;
  Linear q_up;     // [H·(d_n + d_r), q_latent_size or C]: for each head d_n rows, then d_r rows that are rotated
  Linear kv_down;  // [d_c + d_r, C]: the rows of W_dkv, then those of W_kr
  LatentNorm kv_norm;
  Linear k_up, v_up;  // [H·d_n, d_c] and [H·d_v, d_c], head after head; their weights are used, without adapters
  Linear c_proj;      // [C, H·d_v]
  Dropout drop;
  // false: whole sequences are computed in the plain form, equal up to rounding; a cache or packed rows are then an
  // Error. Training on long sequences is faster in the plain form, where a pair of positions costs 2·max(d_n + d_r,
  // d_v) instead of 2·(d_c + d_r) multiplications per head (DeepSeek-V2: 384 instead of 1152), but then the bits of
  // training and of decoding differ.
  bool absorbed = true;

  // Error for a size out of its range or an odd rope_size.
  LatentAttention(int64_t channels, const LatentAttentionConfig& config, const Init& init = {});
  Tensor operator()(const Tensor& x) const override;
  // Attention for new positions of known sequences: [c ; k^R] is stored in `slot`, of one head of width d_c + d_r whose
  // keys are also the values, and read from there.
  Tensor operator()(const Tensor& x, const KvSlot& slot) const override;
  // x [N, C] → [N, C]; `rows` must be on the device of the weights.
  Tensor operator()(const Tensor& x, const PackedBatch& rows) const override;
  std::unique_ptr<AttentionVariant> copy() const override { return std::make_unique<LatentAttention>(*this); }
  void visit(Visitor& visitor) override;

 private:
  struct Inputs {
    Tensor q_nope, q_rope;  // [B, H, T, d_n] and [B, H, T, d_r]; q_rope is undefined without rotary positions
    Tensor latent, k_rope;  // [B, 1, T, d_c] and [B, 1, T, d_r]
  };
  // The inputs for x [B, T, C]; `positions`: the first positions i32 [B] of its rows, or undefined for 0.
  Inputs inputs(const Tensor& x, const Tensor& positions) const;
  Tensor query(const Inputs& in) const;  // of the absorbed form [B, H, T, d_c + d_r]
  Tensor key(const Inputs& in) const;    // [B, 1, T, d_c + d_r]
  Tensor plain(const Inputs& in) const;  // the values of all heads [B, T, H·d_v]
  AttentionOptions options() const;
  // The result of absorbed attention [B, H, T, d_c + d_r] → its sums of latents [B, T, H·d_c].
  Tensor latents(const Tensor& y) const;
  // Sums of latents [..., H·d_c] → the layer's result [..., C].
  Tensor project(const Tensor& sums) const;
  void check_incremental() const;  // Error if a cache or packed rows cannot be used
};

// That of a block. Error if its attention is another one.
LatentAttention& latent_attention_of(const TransformerBlock& block);

}  // namespace pg
