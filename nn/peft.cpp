// Adapter folders of PEFT, in and out.
#include "nn/peft.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "nn/atomic_file.h"
#include "nn/pretrained.h"
#include "nn/safetensors_checksum.h"
#include "nn/tensor_source.h"
#include "tensor/base/error.h"
#include "tensor/base/json.h"
#include "tensor/base/table.h"
#include "tensor/base/text.h"

namespace pg {
namespace {

constexpr const char* kConfigFile = "adapter_config.json";
constexpr const char* kTensorFile = "adapter_model.safetensors";

// The name in transformers of the module of a site in one block; empty if it has none.
std::string hf_module(const TransformerConfig& c, const LoraSite& site, int64_t block) {
  const auto names = hf_modules(c, "h." + std::to_string(block) + "." + site.target.module);
  const size_t i = site.all_rows ? 0 : static_cast<size_t>(site.target.part);
  return names.size() == (site.all_rows ? 1u : 3u) ? names[i] : "";
}

std::string tensor_name(const std::string& hf_module, const char* matrix) {
  return "base_model.model." + hf_module + "." + matrix + ".weight";
}

// The sites that PEFT's adapters of this model can have.
std::vector<LoraSite> all_sites(TransformerConfig c) {
  c.lora.targets = "all-linear";
  return lora_sites(c);
}

// The last `count` components of a name with dots.
std::string tail(const std::string& name, int count) {
  size_t at = name.size();
  while (count-- > 0 && at != std::string::npos && at > 0) at = name.rfind('.', at - 1);
  return at == std::string::npos ? name : name.substr(at + 1);
}

// A name that PEFT's rule for targets (equal to the end of a module's name) gives to this site only.
std::string target_name(const TransformerConfig& c, const LoraSite& site) {
  const std::string name = hf_module(c, site, 0);
  int64_t alike = 0;
  for (const LoraSite& other : all_sites(c)) alike += tail(hf_module(c, other, 0), 1) == tail(name, 1);
  return tail(name, alike == 1 ? 1 : 2);
}

std::string printed(const Json& value) { return excerpt(value.dump(-1, Json::Utf8::replace)); }

// A key of adapter_config.json, and its values that mean plain LoRA. None: it does not change the result, or load_peft
// reads it.
struct Key {
  std::string name;
  std::vector<Json> allowed = {};
};
const std::vector<Key>& keys() {
  static const std::vector<Key> rows = {
      {"peft_type", {"LORA"}},
      {"bias", {"none"}},
      // Other initial values than these change the base weights too (PiSSA, OLoRA, LoftQ, CorDA).
      {"init_lora_weights", {true, false, nullptr, "gaussian", "eva", "orthogonal"}},
      {"r"},
      {"lora_alpha"},
      {"lora_dropout"},
      {"target_modules"},
      {"use_rslora"},
      {"task_type"},
      {"auto_mapping"},
      {"peft_version"},
      {"base_model_name_or_path"},
      {"revision"},
      {"inference_mode"},
      {"fan_in_fan_out"},  // a layout of the base weights
      {"megatron_core"},
      {"qalora_group_size"},
  };
  return rows;
}

// Throws Error for a setting that is not computed here. A key that is not in the table must be off: null, false or
// empty.
void check_keys(const Json& json, const std::string& file) {
  check(json.contains("peft_type"), "{}: 'peft_type' is missing", file);
  for (const auto& [name, value] : json.items()) {
    const auto row =
        std::find_if(keys().begin(), keys().end(), [&name = name](const Key& k) { return k.name == name; });
    const bool off = value.is_null() || value == false || value == "" || (value.is_structured() && value.empty());
    if (row == keys().end()) {
      check(off, "{}: '{}' is {}; adapters with that are not supported", file, excerpt(name), printed(value));
    } else if (!row->allowed.empty()) {
      const auto found = std::find(row->allowed.begin(), row->allowed.end(), value);
      std::string allowed;
      for (const Json& one : row->allowed) allowed += (allowed.empty() ? "" : ", ") + one.dump();
      check(found != row->allowed.end(), "{}: '{}' is {}; supported: {}", file, name, printed(value), allowed);
    }
  }
}

double number(const Json& json, const char* key, const std::string& file, const Range& range) {
  check(json.contains(key), "{}: '{}' is missing", file, key);
  const Json& value = json[key];
  check(value.is_number() && contains(range, value.get<double>()), "{}: '{}' must be {}, got {}", file, key,
        to_text(range), printed(value));
  return value.get<double>();
}

// The sites that target_modules names: a list of ends of module names, "all-linear", or a regular expression, for which
// the tensors of the first block decide.
std::vector<LoraSite> sites_of(const Json& json, const TransformerConfig& c, const TensorSource& source,
                               const std::string& file) {
  const std::vector<LoraSite> all = all_sites(c);
  check(json.contains("target_modules") && (json["target_modules"].is_array() || json["target_modules"].is_string()),
        "{}: 'target_modules' must be a list of names or a string", file);
  const Json& targets = json["target_modules"];
  std::vector<bool> chosen(all.size());
  if (targets == "all-linear") {
    chosen.assign(all.size(), true);
  } else if (targets.is_string()) {
    for (size_t i = 0; i < all.size(); ++i) chosen[i] = source.find(tensor_name(hf_module(c, all[i], 0), "lora_A"));
  } else {
    for (const Json& target : targets) {
      check(target.is_string(), "{}: 'target_modules' must be a list of names or a string", file);
      const std::string name = target.get<std::string>();
      bool found = false;
      for (size_t i = 0; i < all.size(); ++i) {
        if (!fmt::format(".{}", hf_module(c, all[i], 0)).ends_with(fmt::format(".{}", name))) continue;
        chosen[i] = found = true;
      }
      std::vector<std::string> known;
      for (const LoraSite& site : all) known.push_back(target_name(c, site));
      if (!found) fail_unknown(file + ": 'target_modules' of this model", excerpt(name), known);
    }
  }
  std::vector<LoraSite> sites;
  for (size_t i = 0; i < all.size(); ++i) {
    if (chosen[i]) sites.push_back(all[i]);
  }
  check(!sites.empty(), "{}: 'target_modules' is {}, which names no linear layer of this model", file,
        printed(targets));
  return sites;
}

Json read_json(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  check(in.good(), "{}: the file cannot be read", file);
  const std::string content = text.str();
  Json json = Json::try_parse(shallow_json(content, file));
  check(json.is_object(), "{}: expected a JSON object, got '{}'", file, excerpt(content));
  return json;
}

// The adapters of the model under their names in PEFT, or an Error for one that has none.
NamedTensors by_peft_names(Transformer& model) {
  std::map<std::string, Tensor> own;
  for (auto& [name, tensor] : state_dict(model)) own[name] = tensor;
  NamedTensors result;
  for (const LoraSite& site : lora_sites(model.config)) {
    for (int64_t block = 0; block < model.config.n_layer; ++block) {
      const std::string module = hf_module(model.config, site, block);
      check(!module.empty(),
            "save_peft: {} has no name in PEFT's adapters of this model, where queries, keys and values are one module "
            "c_attn; merge_lora() and save_pretrained() write the whole model",
            site.target.name);
      const std::string prefix =
          fmt::format("h.{}.{}.{}", block, site.target.module, site.all_rows ? "" : site.target.name + ".");
      for (const char* matrix : {"lora_A", "lora_B"}) {
        result.emplace_back(tensor_name(module, matrix), own.at(prefix + matrix));
      }
    }
  }
  return result;
}

}  // namespace

void save_peft(Transformer& model, const std::string& folder, const std::string& base) {
  const TransformerConfig& c = model.config;
  check(c.lora.rank > 0, "save_peft: the model has no adapters");
  const NamedTensors tensors = by_peft_names(model);
  Json targets = Json::array();
  for (const LoraSite& site : lora_sites(c)) targets.push_back(target_name(c, site));
  const bool whole = c.lora.alpha == std::floor(c.lora.alpha) && c.lora.alpha < 0x1p53;
  const Json json = {{"peft_type", "LORA"},
                     {"task_type", "CAUSAL_LM"},
                     {"base_model_name_or_path", base},
                     {"inference_mode", true},
                     {"r", c.lora.rank},
                     {"lora_alpha", whole ? Json(static_cast<int64_t>(c.lora.alpha)) : Json(c.lora.alpha)},
                     {"lora_dropout", c.lora.dropout},
                     {"target_modules", targets},
                     {"fan_in_fan_out", c.positions == Positions::learned},  // GPT-2's Conv1D
                     {"bias", "none"},
                     {"use_rslora", false},
                     {"use_dora", false},
                     {"modules_to_save", nullptr},
                     {"rank_pattern", Json::object()},
                     {"alpha_pattern", Json::object()},
                     {"init_lora_weights", true}};
  const std::string text = json.dump(2, Json::Utf8::replace) + "\n";
  make_folder(folder);
  const std::filesystem::path to(folder);
  save_safetensors((to / kTensorFile).string(), tensors, {{"format", "pt"}});
  write_file_atomically((to / kConfigFile).string(), text);
}

void load_peft(Transformer& model, const std::string& folder) {
  const TransformerConfig& c = model.config;
  check(c.lora.rank == 0, "load_peft: the model has adapters of rank {} already", c.lora.rank);
  for (const char* name : {kConfigFile, kTensorFile}) {
    std::error_code error;
    check(std::filesystem::is_regular_file(std::filesystem::path(folder) / name, error),
          "load_peft: expected a folder of PEFT with {} and {}, {} has no {}", kConfigFile, kTensorFile, folder, name);
  }
  const std::string file = (std::filesystem::path(folder) / kConfigFile).string();
  const Json json = read_json(file);
  check_keys(json, file);
  LoraConfig lora;
  lora.rank = static_cast<int64_t>(number(json, "r", file, whole_from(1, INT32_MAX)));
  lora.alpha = number(json, "lora_alpha", file, kPositive);
  lora.dropout = json.contains("lora_dropout") ? number(json, "lora_dropout", file, kBelowOne) : 0;
  if (json.contains("use_rslora")) {
    const Json& rslora = json["use_rslora"];
    check(rslora.is_boolean(), "{}: 'use_rslora' must be true or false, got {}", file, printed(rslora));
    if (rslora == true) lora.alpha *= std::sqrt(static_cast<double>(lora.rank));
  }

  const TensorSource source = open_tensors((std::filesystem::path(folder) / kTensorFile).string());
  verify_checksums(source);
  const std::vector<LoraSite> sites = sites_of(json, c, source, file);
  lora.targets.clear();
  std::set<std::string> used;
  const Json& named = json["base_model_name_or_path"];
  const std::string base =
      named.is_string() && named != "" ? fmt::format("; the adapters are for {}", excerpt(named.text())) : "";
  const auto check_tensor = [&](const std::string& name, const Shape& shape) {
    const SourceTensor& tensor = source.at(name);
    check(tensor.shape == shape, "{}: '{}' is {}, expected {} for r = {} and this model{}", source.path(), name,
          tensor.shape, shape, lora.rank, base);
    used.insert(name);
  };
  for (const LoraSite& site : sites) {
    lora.targets += (lora.targets.empty() ? "" : ",") + site.target.name;
    for (int64_t block = 0; block < c.n_layer; ++block) {
      const std::string module = hf_module(c, site, block);
      check_tensor(tensor_name(module, "lora_A"), {lora.rank, site.in});
      check_tensor(tensor_name(module, "lora_B"), {site.end - site.begin, lora.rank});
    }
  }
  for (const SourceTensor& tensor : source.tensors()) {
    check(used.contains(tensor.name), "{}: the tensor '{}' belongs to none of the targets of {}", source.path(),
          tensor.name, kConfigFile);
  }
  Generator unused(0);
  add_lora(model, lora, unused);
  try {
    for (const auto& [name, tensor] : by_peft_names(model)) source.read_into(name, tensor);
  } catch (...) {
    remove_lora(model);
    throw;
  }
}

}  // namespace pg
