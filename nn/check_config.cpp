// Whether there are models with a configuration.
#include <cmath>

#include "nn/transformer_config.h"
#include "tensor/base/error.h"
#include "tensor/format.h"

namespace pg {
namespace {

// The fields of latent attention, and those that have no meaning with it.
void check_latent(const TransformerConfig& c, std::string_view what) {
  const struct {
    const char* name;
    int64_t value;
  } sizes[] = {{"kv_latent_size", c.kv_latent_size},
               {"q_latent_size", c.q_latent_size},
               {"rope_size", c.rope_size},
               {"v_head_size", c.v_head_size}};
  for (const auto& size : sizes) {
    check(size.value >= 0 && size.value <= INT32_MAX, "{}: {} must be between 0 and {}, got {}", what, size.name,
          INT32_MAX, size.value);
    check(c.latent() || size.value == 0,
          "{}: {} is {}, but attention has no latent; set kv_latent_size or leave it out", what, size.name, size.value);
  }
  check(c.latent() || c.latent_norm == "rms",
        "{}: latent_norm is {}, but attention has no latent; set kv_latent_size or leave it out", what, c.latent_norm);
  if (!c.latent()) return;
  check(c.n_kv_head == 0, "{}: n_kv_head is {}, but with kv_latent_size all heads share one latent; leave it out", what,
        c.n_kv_head);
  check(!c.qk_norm, "{}: qk_norm does not apply with kv_latent_size; latent_norm names the norm of the latents", what);
  check(!c.qkv_bias, "{}: qkv_bias does not apply with kv_latent_size; bias adds biases to the latents", what);
  if (c.positions == Positions::rope) {
    check(c.rope_size >= 2 && c.rope_size % 2 == 0,
          "{}: rotary positions with kv_latent_size need an even rope_size of at least 2, got {}", what, c.rope_size);
  } else {
    check(c.rope_size == 0, "{}: rope_size is {}, but positions are learned; set positions to rope", what, c.rope_size);
  }
}

}  // namespace

void check_config(const TransformerConfig& c, std::string_view what) {
  const auto positive = [&](const char* name, int64_t value) {
    check(value >= 1 && value <= INT32_MAX, "{}: {} must be between 1 and {}, got {}", what, name, INT32_MAX, value);
  };
  positive("vocab_size", c.vocab_size);
  positive("block_size", c.block_size);
  positive("n_layer", c.n_layer);
  positive("n_head", c.n_head);
  positive("n_embd", c.n_embd);
  positive("n_kv_head", c.kv_heads());
  check(c.head_size != 0 || c.n_embd % c.n_head == 0, "{}: n_embd {} is not a multiple of n_head {}", what, c.n_embd,
        c.n_head);
  positive("head_size", c.head_width());
  positive("n_hidden", c.hidden_width());
  check(c.n_head % c.kv_heads() == 0, "{}: n_head {} is not a multiple of n_kv_head {}", what, c.n_head, c.kv_heads());
  check(c.latent() || c.positions != Positions::rope || c.head_width() % 2 == 0,
        "{}: rotary positions need an even head_size, got {}", what, c.head_width());
  const double channels = static_cast<double>(c.n_head + 2 * c.kv_heads()) * static_cast<double>(c.head_width());
  check(c.latent() || channels <= INT32_MAX, "{}: queries, keys and values have {:.0f} channels, more than {}", what,
        channels, INT32_MAX);
  check_latent(c, what);
  check(c.norm_eps >= 0 && c.norm_eps < HUGE_VAL, "{}: norm_eps must be at least 0, got {}", what, c.norm_eps);
  check(c.in_proj_std > 0 && c.in_proj_std < HUGE_VAL, "{}: in_proj_std must be positive, got {}", what, c.in_proj_std);
  check(c.dropout >= 0 && c.dropout < 1, "{}: dropout must be in [0, 1), got {}", what, c.dropout);
  check(is_floating(c.dtype), "{}: dtype must be f32, f64 or bf16, got {}", what, c.dtype);
}

void check_causal(const TransformerConfig& config, std::string_view what) {
  check(config.causal,
        "{}: the model's attention is bidirectional, as in a masked denoiser: it predicts masked tokens, not the next "
        "token",
        what);
}

}  // namespace pg
