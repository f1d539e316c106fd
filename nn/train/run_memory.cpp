// The formula of the memory of a run, and its text.
#include "nn/train/run_memory.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "nn/ranks/zero_memory.h"
#include "nn/variants/lora.h"
#include "tensor/dtype.h"

namespace pg {
namespace {

double number(int64_t x) { return static_cast<double>(x); }

// What one position keeps in one block, in elements.
double block_elements(const TransformerConfig& c) {
  const double q = number(c.n_head) * number(c.head_width()), k = number(c.kv_heads()) * number(c.head_width());
  double attention = 2 * q + 2 * k;
  if (c.latent()) {
    const double rotated = number(c.n_head) * number(c.rope_size), v = number(c.n_head) * number(c.v_head_width());
    attention =
        2 * (number(c.q_latent_size) + number(c.kv_latent_size) + number(c.rope_size)) + 2 * (q + rotated) + q + 2 * v;
  } else if (c.positions == Positions::rope || c.qk_norm || c.kv_heads() != c.n_head) {
    attention += 2 * q + k;
    if (c.qk_norm) attention += q + k;
  }
  const double mlp = (c.mlp == MlpKind::swiglu ? 3 : 2) * number(c.hidden_width());
  return 4 * number(c.n_embd) + attention + mlp;
}

// What one position keeps for the adapters of all blocks: the layers' inputs in the adapters' type, if that is another
// one, and the low-rank products, before and after their scale.
double adapter_bytes(const TransformerConfig& c) {
  if (c.lora.rank == 0) return 0;
  double elements = 0;
  std::set<std::pair<int64_t, std::string>> layers;
  for (const LoraPlace& place : lora_places(c)) {
    elements += 2 * number(place.rank);
    const bool converted = c.trained_dtype() != c.dtype;
    if (converted && layers.insert({place.block, place.site.target.module}).second) elements += number(place.site.in);
  }
  return elements * number(size_of(c.trained_dtype()));
}

double activation_bytes(const RunShape& r) {
  const TransformerConfig& c = r.model;
  const double positions = number(r.rows) * number(r.columns), e = number(size_of(c.dtype)), width = number(c.n_embd);
  const double kept =
      r.checkpoint_blocks ? number(c.n_layer) * width + block_elements(c) : number(c.n_layer) * block_elements(c);
  const double gradients = number(c.hidden_width()) + 2 * width;
  const double logits =
      (r.logit_rows > 0 ? std::min(positions, number(r.logit_rows)) : positions) * number(c.vocab_size);
  const double adapters = adapter_bytes(c) / (r.checkpoint_blocks ? number(c.n_layer) : 1);
  return positions * ((kept + 2 * width + gradients) * e + adapters) + logits * number(size_of(sum_type(c.dtype)));
}

}  // namespace

RunMemory run_memory(const RunShape& r) {
  const TransformerConfig& c = r.model;
  const double e = number(size_of(c.dtype)), s = number(size_of(c.trained_dtype()));
  const double all = least_parameters(c), adapters = lora_parameters(c), frozen = c.lora.rank > 0 ? all - adapters : 0;
  const double own = (all - adapters) * e + adapters * s;  // of a model that is only read
  RunMemory m;
  m.reference = number(r.references) * own;
  m.weights = own;
  if (r.trained > 0) {
    const double sum = number(size_of(sum_type(c.dtype))), n = c.lora.rank > 0 ? adapters : all;
    const bool masters = c.lora.rank == 0 && c.dtype == bf16;
    const double copies = number(r.trained);
    const StateBytes bytes{c.lora.rank > 0 ? s : e, (r.micro_batches > 1 ? 2 : 1) * sum, 2 * sum};
    const auto of = [&](const StateBytes& one) { return copies * zero_bytes(n, r.ranks, r.zero, one); };
    // Masters are sharded like the optimizer's state.
    m.weights = copies * frozen * e + of({bytes.weights, 0, masters ? sum : 0});
    m.gradients = of({0, bytes.gradients, 0});
    m.optimizer = of({0, 0, bytes.optimizer});
  }
  if (r.rows > 0) m.activations = activation_bytes(r);
  m.cache = number(r.cache_rows) * (number(r.cache_columns) * cache_bytes_per_token(c) +
                                    number(c.vocab_size) * number(size_of(sum_type(c.dtype))));
  return m;
}

std::string bytes_text(double bytes) {
  const char* const units[] = {"MB", "GB", "TB", "PB", "EB"};
  size_t unit = 0;
  for (bytes /= 1e6; bytes >= 1000 && unit + 1 < std::size(units); bytes /= 1000) ++unit;
  return fmt::format("{:.3g} {}", bytes, units[unit]);
}

std::string to_text(const RunMemory& m) {
  std::string parts;
  const auto add = [&](const char* name, double bytes) {
    if (bytes > 0) parts += fmt::format("{} {} {}", parts.empty() ? ":" : ",", name, bytes_text(bytes));
  };
  add("weights", m.weights);
  add("gradients", m.gradients);
  add("optimizer", m.optimizer);
  add("activations", m.activations);
  add("keys and values", m.cache);
  add("reference", m.reference);
  return fmt::format("about {}{}", bytes_text(m.total()), parts);
}

}  // namespace pg
