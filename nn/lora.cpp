// Low-rank adapters of a transformer: their sites, initial values, merging.
#include "nn/lora.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "autograd/ops.h"
#include "nn/transformer.h"
#include "tensor/base/error.h"

namespace pg {
namespace {

// The layer of a block that a target's `module` names.
Linear& layer_of(TransformerBlock& block, const std::string& module) {
  if (module == "attn.c_attn") return block.attn->c_attn;
  if (module == "attn.q_down") return *block.latent_attn->q_down;
  if (module == "attn.q_up") return block.latent_attn->q_up;
  if (module == "attn.kv_down") return block.latent_attn->kv_down;
  if (module == "attn.c_proj") return block.attn ? block.attn->c_proj : block.latent_attn->c_proj;
  if (module == "mlp.c_gate") return *block.mlp.c_gate;
  return module == "mlp.c_fc" ? block.mlp.c_fc : block.mlp.c_proj;
}

// All sites that adapters of this model can have.
std::vector<LoraSite> possible_sites(const TransformerConfig& c) {
  const double widest =
      static_cast<double>(std::max(c.n_head, c.kv_heads())) *
      (static_cast<double>(std::max(c.head_width(), c.v_head_width())) + static_cast<double>(c.rope_size));
  check(widest <= INT32_MAX, "LoRA: the heads have {:.0f} channels, more than {}", widest, INT32_MAX);
  const int64_t q = c.n_head * c.head_width(), k = c.kv_heads() * c.head_width();
  struct Size {
    const char* module;
    int64_t in, out;
  };
  std::vector<Size> sizes = {{"mlp.c_fc", c.n_embd, c.hidden_width()}, {"mlp.c_proj", c.hidden_width(), c.n_embd}};
  if (c.mlp == MlpKind::swiglu) sizes.push_back({"mlp.c_gate", c.n_embd, c.hidden_width()});
  if (c.latent()) {
    if (c.q_latent_size > 0) sizes.push_back({"attn.q_down", c.n_embd, c.q_latent_size});
    sizes.push_back({"attn.q_up", c.q_latent_size > 0 ? c.q_latent_size : c.n_embd, q + c.n_head * c.rope_size});
    sizes.push_back({"attn.kv_down", c.n_embd, c.kv_latent_size + c.rope_size});
    sizes.push_back({"attn.c_proj", c.n_head * c.v_head_width(), c.n_embd});
  } else {
    sizes.push_back({"attn.c_attn", c.n_embd, q + 2 * k});
    sizes.push_back({"attn.c_proj", q, c.n_embd});
  }
  std::vector<LoraSite> sites;
  for (const LoraTarget& target : lora_targets()) {
    if (target.name == "c_attn" && c.positions != Positions::learned) continue;
    const auto size =
        std::find_if(sizes.begin(), sizes.end(), [&](const Size& s) { return target.module == s.module; });
    if (size == sizes.end()) continue;  // this model has no such layer
    LoraSite site{target, size->in, 0, size->out, target.part < 0};
    if (target.part >= 0) site.begin = target.part == 0 ? 0 : q + (target.part - 1) * k;
    if (target.part >= 0) site.end = site.begin + (target.part == 0 ? q : k);
    sites.push_back(std::move(site));
  }
  return sites;
}

// Whether `module` is `end` or ends with ".end".
bool ends_in(const std::string& module, const std::string& end) {
  return fmt::format(".{}", module).ends_with(fmt::format(".{}", end));
}

std::vector<std::string> parts_of_list(const std::string& list) {
  std::vector<std::string> parts;
  std::stringstream text(list);
  for (std::string one; std::getline(text, one, ',');) parts.push_back(one);
  return parts;
}

// Adds sign·scale·B·A to the weights of all layers with adapters.
void add_to_weights(Transformer& model, double sign) {
  NoGrad no_grad;
  for (const LoraSite& site : lora_sites(model.config)) {
    for (TransformerBlock& block : model.h) {
      Linear& layer = layer_of(block, site.target.module);
      check(!layer.int8,
            "LoRA: the model has 8-bit weights (nn/int8.h); merge the adapters before the weights are 8-bit");
      for (const LoraAdapter& adapter : layer.lora) {
        if (adapter.begin != site.begin || adapter.end != site.end) continue;
        const Tensor rows = layer.weight.detach().view_slice(0, adapter.begin, adapter.end);
        const Tensor product = matmul(adapter.b.detach(), adapter.a.detach()) * (sign * adapter.scale);
        rows.copy_from(rows.to(product.dtype()) + product);
        ++layer.weight.storage()->version;
      }
      layer.lora_merged = sign > 0;
    }
  }
  model.config.lora.merged = sign > 0;
}

}  // namespace

std::vector<Field> fields(LoraConfig& c) {
  return {{"lora-rank", &c.rank, "rank of low-rank adapters, which are trained instead of the weights; 0: none",
           whole_from(0, INT32_MAX)},
          {"lora-alpha", &c.alpha, "scales the adapters' terms by lora-alpha / lora-rank", kPositive},
          {"lora-dropout", &c.dropout, "probability of setting an input of an adapter to zero", kBelowOne},
          {"lora-targets", &c.targets, "the linear layers with adapters, as in q_proj,v_proj, or all-linear"}};
}

const std::vector<LoraTarget>& lora_targets() {
  static const std::vector<LoraTarget> rows = {
      {"q_proj", "attn.c_attn", 0},    {"k_proj", "attn.c_attn", 1},    {"v_proj", "attn.c_attn", 2},
      {"c_attn", "attn.c_attn", -1},   {"q_down", "attn.q_down", -1},   {"q_up", "attn.q_up", -1},
      {"kv_down", "attn.kv_down", -1}, {"o_proj", "attn.c_proj", -1},   {"gate_proj", "mlp.c_gate", -1},
      {"up_proj", "mlp.c_fc", -1},     {"down_proj", "mlp.c_proj", -1},
  };
  return rows;
}

std::vector<LoraSite> lora_sites(const TransformerConfig& c) {
  const std::vector<LoraSite> possible = possible_sites(c);
  const bool has_c_attn = c.positions == Positions::learned;
  std::vector<bool> chosen(possible.size());
  for (const std::string& wanted : parts_of_list(c.lora.targets)) {
    bool found = false;
    for (size_t i = 0; i < possible.size(); ++i) {
      const LoraTarget& t = possible[i].target;
      const bool by_module = (t.part < 0 || !has_c_attn) && (wanted == "all-linear" || ends_in(t.module, wanted));
      if (wanted != t.name && !by_module) continue;
      chosen[i] = found = true;
    }
    if (found) continue;
    std::vector<std::string> known = {"all-linear"};
    const auto add = [&](const std::string& name) {
      if (std::find(known.begin(), known.end(), name) == known.end()) known.push_back(name);
    };
    for (const LoraSite& site : possible) add(site.target.name);
    for (const LoraSite& site : possible) add(site.target.module.substr(site.target.module.find('.') + 1));
    for (const LoraSite& site : possible) add(site.target.module);
    fail_unknown("LoRA: the targets of this model", wanted, known);
  }
  std::vector<LoraSite> sites;
  for (size_t i = 0; i < possible.size(); ++i) {
    if (!chosen[i]) continue;
    for (const LoraSite& other : sites) {
      check(other.target.module != possible[i].target.module || other.end <= possible[i].begin ||
                possible[i].end <= other.begin,
            "LoRA: the targets {} and {} have rows of {} in common; name one of them", other.target.name,
            possible[i].target.name, other.target.module);
    }
    sites.push_back(possible[i]);
  }
  check(!sites.empty(), "LoRA: targets names no linear layer");
  return sites;
}

bool is_adapter(std::string_view parameter) { return parameter.ends_with(".lora_A") || parameter.ends_with(".lora_B"); }

double lora_parameters(const TransformerConfig& c) {
  if (c.lora.rank == 0) return 0;
  double columns_and_rows = 0;
  for (const LoraSite& site : lora_sites(c)) columns_and_rows += static_cast<double>(site.in + site.end - site.begin);
  return static_cast<double>(c.n_layer) * static_cast<double>(c.lora.rank) * columns_and_rows;
}

void detail::attach_lora(Transformer& model, Generator* generator) {
  const LoraConfig& c = model.config.lora;
  const std::vector<LoraSite> sites = lora_sites(model.config);
  Visitor freeze([](const std::string&, Tensor& parameter) { parameter.set_requires_grad(false); });
  model.visit(freeze);
  const DType dtype = model.config.trained_dtype();
  for (TransformerBlock& block : model.h) {
    for (const LoraSite& site : sites) {
      const double bound = 1 / std::sqrt(static_cast<double>(site.in));
      const Shape shape = {c.rank, site.in};
      const Tensor a =
          generator ? Tensor::uniform(shape, -bound, bound, *generator, dtype) : Tensor::zeros(shape, dtype);
      const Tensor b = Tensor::zeros({site.end - site.begin, c.rank}, dtype);
      Linear& layer = layer_of(block, site.target.module);
      layer.lora_merged = c.merged;
      layer.lora.push_back({.prefix = site.all_rows ? "" : site.target.name + ".",
                            .begin = site.begin,
                            .end = site.end,
                            .scale = c.alpha / static_cast<double>(c.rank),
                            .dropout = c.dropout,
                            .a = a.to(model.device()).set_requires_grad(),
                            .b = b.to(model.device()).set_requires_grad()});
    }
  }
}

void add_lora(Transformer& model, const LoraConfig& config, Generator& generator) {
  check(model.config.lora.rank == 0, "add_lora: the model has adapters of rank {} already; remove_lora() removes them",
        model.config.lora.rank);
  LoraConfig copy = config;
  check(copy.rank >= 1, "add_lora: rank must be at least 1, got {}", copy.rank);
  check_fields("add_lora", fields(copy));
  TransformerConfig whole = model.config;
  whole.lora = copy;
  whole.lora.merged = false;
  lora_sites(whole);
  model.config = whole;
  detail::attach_lora(model, &generator);
}

void merge_lora(Transformer& model) {
  check(model.config.lora.rank > 0 && !model.config.lora.merged,
        "merge_lora: the model has no adapters, or they are "
        "merged already");
  add_to_weights(model, 1);
}

void unmerge_lora(Transformer& model) {
  check(model.config.lora.rank > 0 && model.config.lora.merged, "unmerge_lora: the model has no merged adapters");
  add_to_weights(model, -1);
}

void remove_lora(Transformer& model) {
  check(model.config.lora.rank > 0, "remove_lora: the model has no adapters");
  for (const LoraSite& site : lora_sites(model.config)) {
    for (TransformerBlock& block : model.h) {
      Linear& layer = layer_of(block, site.target.module);
      layer.lora.clear();
      layer.lora_merged = false;
    }
  }
  model.config.lora = {};
  Visitor thaw([](const std::string&, Tensor& parameter) { parameter.set_requires_grad(); });
  model.visit(thaw);
}

}  // namespace pg
