// Latent attention as a variant of the transformer. Adapters are in nn/variants/lora.cpp.
#include "nn/variants.h"

#include "nn/variants/latent_attention.h"

namespace pg {

std::unique_ptr<AttentionVariant> attention_variant(const TransformerConfig& c) {
  if (!c.latent()) return nullptr;
  const LatentAttentionConfig latent{.heads = c.n_head,
                                     .kv_latent_size = c.kv_latent_size,
                                     .q_latent_size = c.q_latent_size,
                                     .head_size = c.head_width(),
                                     .v_head_size = c.v_head_width(),
                                     .rope_size = c.rope_size,
                                     .rope = c.rope,
                                     .norm = c.latent_norm,
                                     .norm_eps = c.norm_eps,
                                     .bias = c.bias,
                                     .dropout = c.dropout,
                                     .causal = c.causal};
  return std::make_unique<LatentAttention>(c.n_embd, latent, Init::zeros(c.dtype));
}

}  // namespace pg
