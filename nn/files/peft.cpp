// Adapter folders of PEFT, in and out.
#include "nn/files/peft.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "nn/files/peft_pattern.h"
#include "nn/files/pretrained.h"
#include "nn/files/safetensors_header.h"
#include "nn/files/tensor_source.h"
#include "nn/variants/lora.h"
#include "tensor/base/atomic_file.h"
#include "tensor/base/error.h"
#include "tensor/base/files/mapped_file.h"
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
      {"rank_pattern"},
      {"alpha_pattern"},
      {"layers_to_transform"},  // the tensors say what these three say
      {"layers_pattern"},
      {"exclude_modules"},
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

// The numbers of rank_pattern or alpha_pattern.
PeftPattern pattern(const Json& json, const char* key, const std::string& file, const Range& range) {
  const Json& value = json[key];
  check(value.is_null() || value.is_object(), "{}: '{}' must be an object of names and numbers, got {}", file, key,
        printed(value));
  for (const auto& [name, number] : value.items()) {
    check(number.is_number() && contains(range, number.get<double>()), "{}: '{}' of '{}' must be {}, got {}", file, key,
          excerpt(name), to_text(range), printed(number));
  }
  return {value, fmt::format("{}: '{}'", file, key)};
}

bool is_set(const Json& value) { return !value.is_null() && !(value.is_structured() && value.empty()); }

// Which modules target_modules names, where that can be compared with the tensors.
class Targets {
 public:
  Targets(const Json& json, const std::string& file) : value_(json["target_modules"]) {
    bool known = value_.is_string() || value_.is_array();
    if (value_.is_array()) {
      for (const Json& name : value_) known = known && name.is_string();
    }
    check(known, "{}: 'target_modules' must be a list of names or a string", file);
    check(value_ != "" && !(value_.is_array() && value_.empty()), "{}: 'target_modules' names no linear layer", file);
    limited_ = is_set(json["layers_to_transform"]) || is_set(json["exclude_modules"]);
  }
  // A module with this name may have an adapter.
  bool may(const std::string& module) const { return !value_.is_array() || listed(module); }
  // It must have one.
  bool must(const std::string& module) const {
    return !limited_ && (value_ == "all-linear" || (value_.is_array() && listed(module)));
  }
  // An Error for a name of the list that none of these modules has.
  void check_names(const std::vector<std::string>& modules, const std::vector<std::string>& known,
                   const std::string& file) const {
    if (!value_.is_array()) return;
    for (const Json& name : value_) {
      const bool found = std::any_of(modules.begin(), modules.end(), [&](const std::string& m) { return is(m, name); });
      if (!found) fail_unknown(file + ": 'target_modules' of this model", excerpt(name.text()), known);
    }
  }

 private:
  // PEFT's rule: the module's name, or the end of it after a point.
  static bool is(const std::string& module, const Json& name) {
    return fmt::format(".{}", module).ends_with(fmt::format(".{}", name.text()));
  }
  bool listed(const std::string& module) const {
    return std::any_of(value_.begin(), value_.end(), [&](const Json& name) { return is(module, name); });
  }

  const Json& value_;
  bool limited_ = false;
};

Json read_json(const std::string& file) {
  const MappedFile mapped(file);
  const std::string content(reinterpret_cast<const char*>(mapped.bytes().data()), mapped.bytes().size());
  Json json = Json::try_parse(shallow_json(content, file));
  check(json.is_object(), "{}: expected a JSON object, got '{}'", file, excerpt(content));
  return json;
}

// Whole numbers without a point, as PEFT writes them.
Json number_of(double x) { return x == std::floor(x) && x < 0x1p53 ? Json(static_cast<int64_t>(x)) : Json(x); }

// The adapters of the model under their names in PEFT, or an Error for one that has none.
NamedTensors by_peft_names(Transformer& model) {
  std::map<std::string, Tensor> own;
  for (auto& [name, tensor] : state_dict(model)) own[name] = tensor;
  NamedTensors result;
  for (const auto& [site, block, rank, alpha] : lora_places(model.config)) {
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
  return result;
}

// One adapter as the file has it.
struct FileAdapter {
  const LoraSite* site = nullptr;
  int64_t block = 0, rank = 0;
  double alpha = 0;
};

// What adapter_config.json says of a module: its rank and alpha.
class Ranks {
 public:
  Ranks(const Json& json, const std::string& file)
      : rank_(number(json, "r", file, kRanks)),
        alpha_(number(json, "lora_alpha", file, kPositive)),
        ranks_(pattern(json, "rank_pattern", file, kRanks)),
        alphas_(pattern(json, "alpha_pattern", file, kPositive)) {
    if (!json.contains("use_rslora")) return;
    const Json& rslora = json["use_rslora"];
    check(rslora.is_boolean(), "{}: 'use_rslora' must be true or false, got {}", file, printed(rslora));
    rslora_ = rslora.get<bool>();
  }
  int64_t rank(const std::string& module) const { return static_cast<int64_t>(ranks_.value(module).value_or(rank_)); }
  double alpha(const std::string& module) const {
    const double alpha = alphas_.value(module).value_or(alpha_);
    return rslora_ ? alpha * std::sqrt(static_cast<double>(rank(module))) : alpha;
  }

 private:
  static constexpr Range kRanks = whole_from(1, INT32_MAX);
  double rank_, alpha_;
  PeftPattern ranks_, alphas_;
  bool rslora_ = false;
};

// `adapters` in block after block, as a configuration: by their targets if every block has the same, else one by one.
LoraConfig config_of(const std::vector<FileAdapter>& adapters, const std::vector<LoraSite>& all, int64_t blocks) {
  LoraConfig lora;
  lora.targets.clear();
  const FileAdapter& first = adapters.front();
  bool alike = true;
  for (const LoraSite& site : all) {
    const auto of_site =
        std::count_if(adapters.begin(), adapters.end(), [&](const FileAdapter& a) { return a.site == &site; });
    if (of_site > 0) lora.targets += (lora.targets.empty() ? "" : ",") + site.target.name;
    alike = alike && (of_site == 0 || of_site == blocks);
  }
  for (const FileAdapter& a : adapters) {
    alike = alike && a.rank == first.rank && a.alpha == first.alpha;
    if (a.rank <= lora.rank) continue;
    lora.rank = a.rank;
    lora.alpha = a.alpha;
  }
  if (alike) return lora;
  for (const FileAdapter& a : adapters) {
    lora.modules +=
        fmt::format("{}{}.{}:{}:{}", lora.modules.empty() ? "" : ",", a.block, a.site->target.name, a.rank, a.alpha);
  }
  return lora;
}

// The adapters that the tensors are, with the ranks and alphas of adapter_config.json (`json`, read from `file`).
LoraConfig read_lora(const TransformerConfig& c, const Json& json, const std::string& file,
                     const TensorSource& source) {
  const Targets targets(json, file);
  const Ranks ranks(json, file);
  const std::vector<LoraSite> all = all_sites(c);
  const Json& named = json["base_model_name_or_path"];
  const std::string base =
      named.is_string() && named != "" ? fmt::format("; the adapters are for {}", excerpt(named.text())) : "";
  std::vector<std::string> modules, known;
  for (const LoraSite& site : all) known.push_back(target_name(c, site));
  for (int64_t block = 0; block < c.n_layer; ++block) {
    for (const LoraSite& site : all) modules.push_back(hf_module(c, site, block));
  }
  targets.check_names(modules, known, file);

  std::vector<FileAdapter> adapters;
  std::set<std::string> used;
  for (size_t i = 0; i < modules.size(); ++i) {
    const std::string a = tensor_name(modules[i], "lora_A"), b = tensor_name(modules[i], "lora_B");
    if (!targets.may(modules[i])) continue;
    if (!targets.must(modules[i]) && !source.find(a) && !source.find(b)) continue;
    const LoraSite& site = all[i % all.size()];
    const int64_t rank = ranks.rank(modules[i]);
    const auto check_tensor = [&](const std::string& name, const Shape& shape) {
      const SourceTensor& tensor = source.at(name);
      check(tensor.shape == shape, "{}: '{}' is {}, expected {} for r = {} and this model{}", source.path(), name,
            tensor.shape, shape, rank, base);
      used.insert(name);
    };
    check_tensor(a, {rank, site.in});
    check_tensor(b, {site.end - site.begin, rank});
    adapters.push_back({&site, static_cast<int64_t>(i / all.size()), rank, ranks.alpha(modules[i])});
  }
  for (const SourceTensor& tensor : source.tensors()) {
    check(used.contains(tensor.name), "{}: the tensor '{}' belongs to none of the targets of {} in this model{}",
          source.path(), tensor.name, kConfigFile, base);
  }
  check(!adapters.empty(), "{}: 'target_modules' is {}, and the file has no adapter of a linear layer of this model",
        file, printed(json["target_modules"]));
  LoraConfig lora = config_of(adapters, all, c.n_layer);
  lora.dropout = json.contains("lora_dropout") ? number(json, "lora_dropout", file, kBelowOne) : 0;
  return lora;
}

}  // namespace

void save_peft(Transformer& model, const std::string& folder, const std::string& base) {
  const TransformerConfig& c = model.config;
  check(c.lora.rank > 0, "save_peft: the model has no adapters");
  const NamedTensors tensors = by_peft_names(model);
  Json targets = Json::array(), ranks = Json::object(), alphas = Json::object();
  if (c.lora.modules.empty()) {
    for (const LoraSite& site : lora_sites(c)) targets.push_back(target_name(c, site));
  } else {
    for (const LoraPlace& place : lora_places(c)) {
      const std::string module = hf_module(c, place.site, place.block);
      targets.push_back(module);
      if (place.rank != c.lora.rank) ranks[module] = place.rank;
      if (place.alpha != c.lora.alpha) alphas[module] = number_of(place.alpha);
    }
  }
  const Json json = {{"peft_type", "LORA"},
                     {"task_type", "CAUSAL_LM"},
                     {"base_model_name_or_path", base},
                     {"inference_mode", true},
                     {"r", c.lora.rank},
                     {"lora_alpha", number_of(c.lora.alpha)},
                     {"lora_dropout", c.lora.dropout},
                     {"target_modules", targets},
                     {"fan_in_fan_out", c.positions == Positions::learned},  // GPT-2's Conv1D
                     {"bias", "none"},
                     {"use_rslora", false},
                     {"use_dora", false},
                     {"modules_to_save", nullptr},
                     {"rank_pattern", ranks},
                     {"alpha_pattern", alphas},
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
  const TensorSource source = open_tensors((std::filesystem::path(folder) / kTensorFile).string());
  verify_checksums(source);
  const LoraConfig lora = read_lora(c, json, file, source);
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
