// Weights of pretrained models: the names and layouts of others, and ours.
#include "nn/files/pretrained.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>

#include "autograd/tape.h"
#include "nn/files/safetensors_header.h"
#include "nn/variants/lora.h"
#include "tensor/base/atomic_file.h"
#include "tensor/base/error.h"
#include "tensor/base/files/gguf.h"
#include "tensor/base/files/mapped_file.h"
#include "tensor/base/table.h"

namespace pg {
namespace {

// The names of one module. '#' is the number of the block. Several names joined by a comma: their rows follow each
// other in our tensor.
struct ModuleName {
  const char* ours;
  const char* gpt2;  // in safetensors of transformers
  const char* llama;
  const char* gguf;
};
constexpr ModuleName kModules[] = {
    {"wte", "wte", "model.embed_tokens", "token_embd"},
    {"wpe", "wpe", "", ""},
    {"h.#.ln_1", "h.#.ln_1", "model.layers.#.input_layernorm", "blk.#.attn_norm"},
    {"h.#.attn.c_attn", "h.#.attn.c_attn",
     "model.layers.#.self_attn.q_proj,model.layers.#.self_attn.k_proj,model.layers.#.self_attn.v_proj",
     "blk.#.attn_q,blk.#.attn_k,blk.#.attn_v"},
    {"h.#.attn.q_norm", "", "model.layers.#.self_attn.q_norm", "blk.#.attn_q_norm"},
    {"h.#.attn.k_norm", "", "model.layers.#.self_attn.k_norm", "blk.#.attn_k_norm"},
    {"h.#.attn.c_proj", "h.#.attn.c_proj", "model.layers.#.self_attn.o_proj", "blk.#.attn_output"},
    {"h.#.ln_2", "h.#.ln_2", "model.layers.#.post_attention_layernorm", "blk.#.ffn_norm"},
    {"h.#.mlp.c_gate", "", "model.layers.#.mlp.gate_proj", "blk.#.ffn_gate"},
    {"h.#.mlp.c_fc", "h.#.mlp.c_fc", "model.layers.#.mlp.up_proj", "blk.#.ffn_up"},
    {"h.#.mlp.c_proj", "h.#.mlp.c_proj", "model.layers.#.mlp.down_proj", "blk.#.ffn_down"},
    {"ln_f", "ln_f", "model.norm", "output_norm"},
    {"lm_head", "lm_head", "lm_head", "output"},
};
// Ends of names of tensors that hold no weights: masks and frequencies.
constexpr std::string_view kIgnored[] = {".attn.bias", ".attn.masked_bias", "rotary_emb.inv_freq", "rope_freqs.weight"};

enum class Layout { gpt2, llama, gguf };

Layout layout_of(const TransformerConfig& c, bool gguf) {
  return gguf ? Layout::gguf : c.positions == Positions::rope ? Layout::llama : Layout::gpt2;
}

// One stored tensor, and the rows of our parameter that it fills.
struct Part {
  std::string name;
  Tensor rows;
  bool transposed = false;  // stored as [in, out]
  int64_t interleaved = 0;  // heads whose rows are stored for rotation of neighbours; 0: none
};

// Splits "h.12.attn.c_attn.weight" into the module with '#', the number and the suffix "weight".
struct Name {
  std::string module, block, suffix;
  explicit Name(std::string name) {
    const size_t dot = name.rfind('.');
    suffix = name.substr(dot + 1);
    module = name.substr(0, dot);
    if (module.starts_with("h.")) {
      const size_t end = module.find('.', 2);
      block = module.substr(2, end - 2);
      module = "h.#" + module.substr(end);
    }
  }
};

// The names of our module in this layout, several if its rows are stored as several tensors. Empty: none.
std::vector<std::string> names_of_module(const Name& name, Layout layout) {
  const auto row = std::find_if(std::begin(kModules), std::end(kModules),
                                [&](const ModuleName& m) { return m.ours == name.module; });
  std::string theirs = row == std::end(kModules) ? ""
                       : layout == Layout::gpt2  ? row->gpt2
                       : layout == Layout::llama ? row->llama
                                                 : row->gguf;
  for (size_t at; (at = theirs.find('#')) != std::string::npos;) theirs.replace(at, 1, name.block);
  std::vector<std::string> names;
  std::stringstream list(theirs);
  for (std::string one; std::getline(list, one, ',');) names.push_back(one);
  return names;
}

std::vector<Part> parts_of(const std::string& ours, const Tensor& parameter, const TransformerConfig& c, Layout layout,
                           const std::string& prefix, bool interleaved) {
  const Name name(ours);
  std::vector<std::string> names = names_of_module(name, layout);
  check(!names.empty(), "pretrained: the parameter '{}' has no name in this format", ours);
  for (std::string& one : names) one = prefix + one + "." + name.suffix;
  if (names.size() == 1) {
    const bool conv = layout == Layout::gpt2 && parameter.rank() == 2 && name.block != "";
    return {{names[0], conv ? parameter.detach().view_transpose(0, 1) : parameter.detach(), conv}};
  }
  std::vector<Part> parts;
  const int64_t sizes[] = {c.n_head, c.kv_heads(), c.kv_heads()};
  int64_t begin = 0;
  for (size_t i = 0; i < 3; ++i) {
    const int64_t end = begin + sizes[i] * c.head_width();
    parts.push_back(
        {names[i], parameter.detach().view_slice(0, begin, end), false, interleaved && i < 2 ? sizes[i] : 0});
    begin = end;
  }
  return parts;
}

constexpr const char* kHead = "lm_head.weight";

// The embedding in a Hugging Face file; null if there is none of a known name.
const SourceTensor* embedding_of(const TensorSource& source) {
  for (const char* name :
       {"model.embed_tokens.weight", "embed_tokens.weight", "transformer.wte.weight", "wte.weight"}) {
    if (const SourceTensor* embedding = source.find(name)) return embedding;
  }
  return nullptr;
}

// Whether the file has a head that differs from the embedding. transformers 5 then does not tie them, whatever
// tie_word_embeddings says; PEFT's modules_to_save makes such files.
bool has_own_head(const TensorSource& source) {
  const SourceTensor *head = source.find(kHead), *embedding = embedding_of(source);
  if (!head || !embedding) return false;
  return head->type != embedding->type || head->shape != embedding->shape ||
         !std::equal(head->data.begin(), head->data.end(), embedding->data.begin(), embedding->data.end());
}

bool ignored(const std::string& name, const TransformerConfig& c) {
  if (c.tied && name.ends_with("lm_head.weight")) return true;
  return std::any_of(std::begin(kIgnored), std::end(kIgnored),
                     [&](std::string_view end) { return name.ends_with(end); });
}

std::string text_of(const std::string& path) {
  const MappedFile file(path);
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

}  // namespace

TransformerConfig pretrained_config(const std::string& path, const TensorSource& source) {
  TransformerConfig config;
  if (source.gguf()) {
    config = config_from_gguf(source);
  } else {
    const std::filesystem::path p(path);
    const std::string file = ((std::filesystem::is_directory(p) ? p : p.parent_path()) / "config.json").string();
    check(std::filesystem::exists(file), "{}: there is no config.json beside the tensors", path);
    config = config_from_hf(text_of(file), file);
    if (config.tied && has_own_head(source)) config.tied = false;
    check(config.tied || source.find(kHead) || !embedding_of(source),
          "{}: there is no tensor '{}', and tie_word_embeddings is false in {}", path, kHead, file);
  }
  double values = 0;
  for (const SourceTensor& tensor : source.tensors()) values += static_cast<double>(numel(tensor.shape));
  check(least_parameters(config) <= values && config.n_layer <= static_cast<int64_t>(source.tensors().size()),
        "{}: the configuration describes a model of at least {:.0f} parameters, the file has {:.0f} values", path,
        least_parameters(config), values);
  return config;
}

void load_weights(Transformer& model, const TensorSource& source) {
  verify_checksums(source);
  const TransformerConfig& c = model.config;
  const Layout layout = layout_of(c, source.gguf() != nullptr);
  const bool interleaved = source.gguf() && source.gguf()->string_at("general.architecture") == "llama";
  const std::string prefix = source.find("transformer.wte.weight") ? "transformer." : "";
  // A model without its head, as AutoModel saves it, has names that do not begin with "model.".
  const bool bare = layout == Layout::llama && source.find("embed_tokens.weight");
  std::set<std::string> used;
  for (const auto& [name, parameter] : named_parameters(model)) {
    if (is_adapter(name)) continue;
    const std::string own = name.starts_with("lm_head") ? "" : prefix;
    for (Part& part : parts_of(name, parameter, c, layout, own, interleaved)) {
      if (bare && part.name.starts_with("model.")) part.name.erase(0, std::string_view("model.").size());
      part.interleaved > 0 ? source.read_interleaved_into(part.name, part.rows, part.interleaved)
                           : source.read_into(part.name, part.rows);
      used.insert(part.name);
    }
  }
  for (const SourceTensor& tensor : source.tensors()) {
    check(used.contains(tensor.name) || ignored(tensor.name, c),
          "{}: the tensor '{}' belongs to no parameter of the model that the configuration describes", source.path(),
          tensor.name);
  }
}

std::vector<std::string> hf_modules(const TransformerConfig& config, const std::string& module) {
  check_no_latent(config);
  const Layout layout = layout_of(config, false);
  std::vector<std::string> names = names_of_module(Name(module + ".weight"), layout);
  const bool prefixed = layout == Layout::gpt2 && module != "lm_head";
  for (std::string& name : names) name = (prefixed ? "transformer." : "") + name;
  return names;
}

Transformer load_pretrained(const std::string& path, DType dtype) {
  const TensorSource source = open_tensors(path);
  TransformerConfig config = pretrained_config(path, source);
  config.dtype = dtype;
  Transformer model = Transformer::zeros(config);
  load_weights(model, source);
  return model;
}

void save_pretrained(Transformer& model, const std::string& folder) {
  check_causal(model.config, "save_pretrained");
  check(
      model.config.lora.rank == 0 || model.config.lora.merged,
      "save_pretrained: the model has adapters that are not merged; merge_lora() adds them to the weights, save_peft() "
      "writes them alone");
  const std::string config = config_to_hf(model.config);
  NamedTensors tensors;
  const Layout layout = layout_of(model.config, false);
  for (const auto& [name, parameter] : named_parameters(model)) {
    if (is_adapter(name)) continue;  // merged
    const std::string prefix = layout == Layout::gpt2 && !name.starts_with("lm_head") ? "transformer." : "";
    for (const Part& part : parts_of(name, parameter, model.config, layout, prefix, false)) {
      tensors.emplace_back(part.name, part.transposed ? part.rows.clone() : part.rows);
    }
  }
  make_folder(folder);
  const std::filesystem::path to(folder);
  save_safetensors((to / "model.safetensors").string(), tensors, {{"format", "pt"}});
  write_file_atomically((to / "config.json").string(), config);
}

}  // namespace pg
