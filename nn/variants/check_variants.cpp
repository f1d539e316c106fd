// Whether the fields of variants in a configuration belong together.
#include "nn/transformer_config.h"
#include "nn/variants.h"
#include "tensor/base/error.h"
#include "tensor/format.h"

namespace pg {

// The fields of latent attention, and those that have no meaning with it.
void check_variants(const TransformerConfig& c, std::string_view what) {
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

}  // namespace pg
