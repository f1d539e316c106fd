// Whether there are models with a configuration.
#include <cmath>

#include "nn/transformer_config.h"
#include "nn/variants.h"
#include "tensor/base/error.h"
#include "tensor/format.h"

namespace pg {
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
  check_variants(c, what);
  check(c.norm_eps >= 0 && c.norm_eps < HUGE_VAL, "{}: norm_eps must be at least 0, got {}", what, c.norm_eps);
  check(c.in_proj_std > 0 && c.in_proj_std < HUGE_VAL, "{}: in_proj_std must be positive, got {}", what, c.in_proj_std);
  check(c.dropout >= 0 && c.dropout < 1, "{}: dropout must be in [0, 1), got {}", what, c.dropout);
  check(is_floating(c.dtype), "{}: dtype must be f32, f64 or bf16, got {}", what, c.dtype);
}

}  // namespace pg
