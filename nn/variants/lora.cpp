// Low-rank adapters of a transformer: their sites, initial values, merging.
#include "nn/variants/lora.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <sstream>
#include <tuple>

#include "autograd/ops.h"
#include "nn/transformer.h"
#include "nn/variants/latent_attention.h"
#include "tensor/base/error.h"
#include "tensor/base/text.h"

namespace pg {
namespace {

// The layer of a block that a target's `module` names.
Linear& layer_of(TransformerBlock& block, const std::string& module) {
  if (module == "attn.c_attn") return block.attn->c_attn;
  if (module == "attn.q_down") return *latent_attention_of(block).q_down;
  if (module == "attn.q_up") return latent_attention_of(block).q_up;
  if (module == "attn.kv_down") return latent_attention_of(block).kv_down;
  if (module == "attn.c_proj") return block.attn ? block.attn->c_proj : latent_attention_of(block).c_proj;
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
  for (const auto& [site, block, rank, alpha] : lora_places(model.config)) {
    Linear& layer = layer_of(model.h[static_cast<size_t>(block)], site.target.module);
    check(!layer.int8,
          "LoRA: the model has 8-bit weights (nn/variants/int8.h); merge the adapters before the weights are 8-bit");
    for (const LoraAdapter& adapter : layer.lora) {
      if (adapter.begin != site.begin || adapter.end != site.end) continue;
      const Tensor rows = layer.weight.detach().view_slice(0, adapter.begin, adapter.end);
      const Tensor product = matmul(adapter.b.detach(), adapter.a.detach()) * (sign * adapter.scale);
      rows.copy_from(rows.to(product.dtype()) + product);
      ++layer.weight.storage()->version;
    }
    layer.lora_merged = sign > 0;
  }
  model.config.lora.merged = sign > 0;
}

// An element of LoraConfig::modules: a possible site in a block, with rank and alpha.
LoraPlace place_of(const std::string& text, const TransformerConfig& c, const std::vector<LoraSite>& possible) {
  LoraPlace p;
  const size_t dot = text.find('.'), rank = text.find(':'), alpha = text.rfind(':');
  const auto number = [&](size_t from, size_t to, auto& value) {
    const auto [end, error] = std::from_chars(text.data() + from, text.data() + to, value);
    return error == std::errc() && end == text.data() + to;
  };
  const bool parts = dot < rank && rank < alpha && alpha != std::string::npos && number(0, dot, p.block) &&
                     number(rank + 1, alpha, p.rank) && number(alpha + 1, text.size(), p.alpha);
  check(parts && p.block >= 0 && p.block < c.n_layer && p.rank >= 1 && p.rank <= INT32_MAX && p.alpha > 0 &&
            std::isfinite(p.alpha),
        "LoRA: expected BLOCK.TARGET:RANK:ALPHA with a block from 0 to {}, a rank of at least 1 and an alpha above 0, "
        "as in 0.q_proj:8:16, got {}",
        c.n_layer - 1, excerpt(text));
  const std::string name = text.substr(dot + 1, rank - dot - 1);
  const auto site =
      std::find_if(possible.begin(), possible.end(), [&](const LoraSite& s) { return s.target.name == name; });
  if (site == possible.end()) {
    std::vector<std::string> known;
    for (const LoraSite& one : possible) known.push_back(one.target.name);
    fail_unknown("LoRA: the targets of this model", excerpt(name), known);
  }
  p.site = *site;
  return p;
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

std::vector<LoraPlace> lora_places(const TransformerConfig& c) {
  std::vector<LoraPlace> places;
  if (c.lora.modules.empty()) {
    const std::vector<LoraSite> sites = lora_sites(c);
    for (int64_t block = 0; block < c.n_layer; ++block) {
      for (const LoraSite& site : sites) places.push_back({site, block, c.lora.rank, c.lora.alpha});
    }
    return places;
  }
  const std::vector<LoraSite> possible = possible_sites(c);
  for (const std::string& module : parts_of_list(c.lora.modules)) places.push_back(place_of(module, c, possible));
  // The rows of a layer in their order, as Linear needs them.
  const auto order = [](const LoraPlace& p) { return std::tuple(p.block, p.site.target.module, p.site.begin); };
  std::sort(places.begin(), places.end(), [&](const auto& a, const auto& b) { return order(a) < order(b); });
  for (size_t i = 1; i < places.size(); ++i) {
    const LoraSite &a = places[i - 1].site, &b = places[i].site;
    check(places[i - 1].block != places[i].block || a.target.module != b.target.module || a.end <= b.begin,
          "LoRA: the adapters {} and {} of block {} have rows of {} in common", a.target.name, b.target.name,
          places[i].block, a.target.module);
  }
  return places;
}

bool is_adapter(std::string_view parameter) { return parameter.ends_with(".lora_A") || parameter.ends_with(".lora_B"); }

double lora_parameters(const TransformerConfig& c) {
  if (c.lora.rank == 0) return 0;
  if (!c.lora.modules.empty()) {
    double values = 0;
    for (const LoraPlace& p : lora_places(c)) {
      values += static_cast<double>(p.rank) * static_cast<double>(p.site.in + p.site.end - p.site.begin);
    }
    return values;
  }
  double columns_and_rows = 0;
  for (const LoraSite& site : lora_sites(c)) columns_and_rows += static_cast<double>(site.in + site.end - site.begin);
  return static_cast<double>(c.n_layer) * static_cast<double>(c.lora.rank) * columns_and_rows;
}

void attach_adapters(Transformer& model, Generator* generator) {
  LoraConfig c = model.config.lora;
  check_fields("Transformer", fields(c));
  const std::vector<LoraPlace> places = lora_places(model.config);
  Visitor freeze([](const std::string&, Tensor& parameter) { parameter.set_requires_grad(false); });
  model.visit(freeze);
  const DType dtype = model.config.trained_dtype();
  for (const auto& [site, block, rank, alpha] : places) {
    const double bound = 1 / std::sqrt(static_cast<double>(site.in));
    const Shape shape = {rank, site.in};
    const Tensor a = generator ? Tensor::uniform(shape, -bound, bound, *generator, dtype) : Tensor::zeros(shape, dtype);
    const Tensor b = Tensor::zeros({site.end - site.begin, rank}, dtype);
    Linear& layer = layer_of(model.h[static_cast<size_t>(block)], site.target.module);
    layer.lora_merged = c.merged;
    layer.lora.push_back({.prefix = site.all_rows ? "" : site.target.name + ".",
                          .begin = site.begin,
                          .end = site.end,
                          .scale = alpha / static_cast<double>(rank),
                          .dropout = c.dropout,
                          .a = a.to(model.device()).set_requires_grad(),
                          .b = b.to(model.device()).set_requires_grad()});
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
  lora_places(whole);
  model.config = whole;
  attach_adapters(model, &generator);
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
  for (const LoraPlace& place : lora_places(model.config)) {
    Linear& layer = layer_of(model.h[static_cast<size_t>(place.block)], place.site.target.module);
    layer.lora.clear();
    layer.lora_merged = false;
  }
  model.config.lora = {};
  Visitor thaw([](const std::string&, Tensor& parameter) { parameter.set_requires_grad(); });
  model.visit(thaw);
}

}  // namespace pg
