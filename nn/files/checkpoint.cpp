// Writes and reads checkpoints: weights, optimizer, random state, metadata.
#include "nn/files/checkpoint.h"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "nn/files/safetensors_header.h"
#include "nn/transformer.h"
#include "tensor/base/json.h"
#include "tensor/base/text.h"
#include "tensor/comm/comm.h"

namespace pg {
namespace {

namespace fs = std::filesystem;

constexpr const char* kStateKey = "policygrad";  // the metadata entry that holds RunState
constexpr int64_t kVersion = 2;                  // of the layout; 2 has a checksum
constexpr std::string_view kOptimizerPrefix = "optim.";

constexpr std::string_view kPartPrefix = "part.";

std::string prefix_of(const std::string& part) { return part.empty() ? "" : fmt::format("{}{}.", kPartPrefix, part); }

// The tensors of one part, under their names within the part: its weights, or its optimizer's state.
NamedTensors tensors_of(const SafetensorsFile& file, const std::string& part, bool optimizer) {
  const std::string prefix = prefix_of(part);
  NamedTensors result;
  for (const auto& [full, tensor] : file.tensors) {
    if (!full.starts_with(prefix) || (part.empty() && full.starts_with(kPartPrefix))) continue;
    const std::string name = full.substr(prefix.size());
    if (name.starts_with(kOptimizerPrefix) != optimizer) continue;
    result.emplace_back(optimizer ? name.substr(kOptimizerPrefix.size()) : name, tensor);
  }
  return result;
}

// The state of a Generator as strings: not every JSON reader preserves numbers above 2^53.
Json generator_json(const Generator& g) { return {std::to_string(g.seed()), std::to_string(g.offset())}; }

Generator generator_from(const Json& json) {
  Generator g;
  g.set_state(std::stoull(json.at(0).get<std::string>()), std::stoull(json.at(1).get<std::string>()));
  return g;
}

int64_t whole(const Json& json, int64_t low) {
  check(json.is_integer_in(low, INT64_MAX), "the number of steps must be an integer of at least {}", low);
  return json.get<int64_t>();
}

// The completed steps of each part's optimizer, -1 for weights only. Before there were parts this was a number.
std::map<std::string, int64_t> optimizer_steps_from(const Json& json) {
  if (json.is_null()) return {{"", -1}};
  if (!json.is_object()) return {{"", whole(json, 0)}};
  std::map<std::string, int64_t> result;
  for (const auto& [part, steps] : json.items()) result[part] = whole(steps, -1);
  return result;
}

void check_version(const Json& version, bool has_checksum) {
  if (version.is_null()) return;
  check(version.is_integer_in(2, INT64_MAX), "its version must be an integer of at least 2");
  check(version.get<int64_t>() <= kVersion,
        "its version is {}, and this program reads versions up to {}: a later policygrad wrote it", version.dump(),
        kVersion);
  check(has_checksum, "its checksum is gone");
}

// "checkpoint-step200-00001-of-00004.safetensors", beside "checkpoint.safetensors".
std::string shard_name(const fs::path& path, int64_t step, int rank, int ranks) {
  return fmt::format("{}-step{}-{:05}-of-{:05}{}", path.stem().string(), step, rank + 1, ranks,
                     path.extension().string());
}

// Whether a text has the form "-step200-00001-of-00004".
bool ends_name_of_shard(std::string text) {
  for (char& c : text) {
    if (std::isdigit(static_cast<unsigned char>(c))) c = '0';
  }
  constexpr std::string_view step = "-step0", part = "-00000-of-00000";
  return text.starts_with(step) && text.ends_with(part) &&
         text.find_first_not_of('0', step.size()) == text.size() - part.size();
}

// Deletes the files of shards of earlier checkpoints of this path.
void delete_other_shards(const fs::path& path, const std::vector<std::string>& shards) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(path.has_parent_path() ? path.parent_path() : ".", error)) {
    const std::string name = entry.path().filename().string();
    const bool named = std::find(shards.begin(), shards.end(), name) != shards.end();
    if (is_shard_of(path.string(), name) && !named) fs::remove(entry.path(), error);
  }
}

}  // namespace

bool is_shard_of(const std::string& path, const std::string& name) {
  const std::string stem = fs::path(path).stem().string(), extension = fs::path(path).extension().string();
  return name.starts_with(stem) && name.ends_with(extension) && name.size() >= stem.size() + extension.size() &&
         ends_name_of_shard(name.substr(stem.size(), name.size() - stem.size() - extension.size()));
}

void save_checkpoint(const std::string& path, Module& model, const Optimizer* optimizer, const RunState& state,
                     const std::vector<CheckpointPart>& parts) {
  Json json = {{"version", kVersion}, {"step", state.step}, {"texts", state.metadata}, {"generators", Json::object()}};
  for (const auto& [name, generator] : state.generators) json["generators"][name] = generator_json(generator);
  NamedTensors tensors, shard;
  Comm* comm = nullptr;  // of the ranks that share out the optimizers' state
  json["optimizer_steps"] = Json::object();
  const auto add = [&](const std::string& part, Module& module, const Optimizer* owner) {
    for (auto& [name, tensor] : state_dict(module)) tensors.emplace_back(prefix_of(part) + name, std::move(tensor));
    json["optimizer_steps"][part] = owner ? owner->steps() : -1;
    if (!owner) return;
    if (owner->slab().comm()) comm = owner->slab().comm();
    for (auto& [name, tensor] : owner->state()) {
      (owner->slab().comm() ? shard : tensors)
          .emplace_back(prefix_of(part) + std::string(kOptimizerPrefix) + name, std::move(tensor));
    }
  };
  add("", model, optimizer);
  for (const CheckpointPart& part : parts) add(part.name, *part.module, part.optimizer);
  std::vector<std::string> shards;
  for (int rank = 0; comm && rank < comm->size(); ++rank) {
    shards.push_back(shard_name(path, state.step, rank, comm->size()));
  }
  if (comm) {
    json["shards"] = shards;
    const auto rank = static_cast<size_t>(comm->rank());
    save_safetensors((fs::path(path).parent_path() / shards[rank]).string(), shard, {{"format", "pt"}});
    comm->barrier();
    if (rank != 0) return;
  }
  std::string text;
  try {
    text = sorted_by_key(std::move(json)).dump();
  } catch (const Error& e) {
    fail("save {}: the metadata must be UTF-8: {}", path, e.what());
  }
  // transformers refuses files without "format".
  save_safetensors(path, tensors, {{"format", "pt"}, {kStateKey, text}});
  delete_other_shards(path, shards);
}

Checkpoint load_checkpoint(const std::string& path) {
  LoadedSafetensors loaded = load_verified(path);
  Checkpoint checkpoint{std::move(loaded.file), {}};
  check(checkpoint.file.metadata.count(kStateKey), "{}: not a policygrad checkpoint: the file has only tensors", path);
  try {
    const Json json = Json::parse(shallow_json(checkpoint.file.metadata.at(kStateKey), path));
    check_version(json["version"], loaded.checksum.has_value());
    RunState& state = checkpoint.state;
    state.step = whole(json.at("step"), 0);
    state.metadata = json.at("texts").get<std::map<std::string, std::string>>();
    for (const auto& [name, bits] : json.at("generators").items()) state.generators[name] = generator_from(bits);
    checkpoint.optimizer_steps = optimizer_steps_from(json["optimizer_steps"]);
    checkpoint.shards = json.value("shards", std::vector<std::string>());
    for (const std::string& name : checkpoint.shards) {
      check(fs::path(name).filename() == name, "the shard '{}' is not a file beside it", excerpt(name, 100));
    }
  } catch (const std::exception& e) {  // an Error, or one of stoull
    fail("{}: the checkpoint's state cannot be read: {}", path, excerpt(e.what(), 200));
  }
  return checkpoint;
}

const std::string& Checkpoint::text(const std::string& name) const {
  const auto found = state.metadata.find(name);
  check(found != state.metadata.end(), "{}: the checkpoint has no metadata '{}'", file.path, name);
  return found->second;
}

const Generator& Checkpoint::generator(const std::string& name) const {
  const auto found = state.generators.find(name);
  check(found != state.generators.end(), "{}: the checkpoint has no random stream '{}'", file.path, name);
  return found->second;
}

void Checkpoint::check_model(const TransformerConfig& config) const {
  const TransformerConfig saved = transformer_config_from_json(text("model"));
  check(saved == config, "{}: the checkpoint is of another model: it has {}", file.path, differences(saved, config));
}

TransformerConfig Checkpoint::model_config() const {
  const TransformerConfig config = transformer_config_from_json(text("model"));
  double values = 0;
  for (const auto& [name, tensor] : file.tensors) values += static_cast<double>(tensor.numel());
  check(least_parameters(config) <= values,
        "{}: the checkpoint says its model has {} blocks of width {}, {:.3g} parameters and more, but it holds {:.3g} "
        "values",
        file.path, config.n_layer, config.n_embd, least_parameters(config), values);
  return config;
}

void Checkpoint::restore(Module& model, const std::string& part) const {
  check(optimizer_steps.contains(part), "{}: the checkpoint has no part '{}'", file.path, part);
  try {
    load_state_dict(model, tensors_of(file, part, false));
  } catch (const Error& e) {
    fail("{}: {}", file.path, e.what());
  }
}

void Checkpoint::restore(Optimizer& optimizer, const std::string& part) const {
  const auto steps = optimizer_steps.find(part);
  check(steps != optimizer_steps.end() && steps->second >= 0, "{}: the checkpoint holds weights only, no optimizer{}",
        file.path, part.empty() ? "" : " of part '" + part + "'");
  NamedTensors state = tensors_of(file, part, true);
  for (const std::string& name : shards) {
    const SafetensorsFile shard = load_safetensors((fs::path(file.path).parent_path() / name).string());
    for (auto& entry : tensors_of(shard, part, true)) state.push_back(std::move(entry));
    for (const auto& [tensor, values] : shard.tensors) {
      check(tensor.find(kOptimizerPrefix) != std::string::npos, "{}: the tensor '{}' is no state of an optimizer",
            shard.path, tensor);
    }
  }
  try {
    optimizer.load_state(state, steps->second);
  } catch (const Error& e) {
    fail("{}: {}", file.path, e.what());
  }
}

}  // namespace pg
