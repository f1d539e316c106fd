#include "nn/checkpoint.h"

#include <nlohmann/json.hpp>

namespace pg {
namespace {

constexpr const char* kStateKey = "policygrad";  // the metadata entry that holds RunState
constexpr std::string_view kOptimizerPrefix = "optim.";

bool is_optimizer_tensor(const std::string& name) { return name.starts_with(kOptimizerPrefix); }

// The bits of a Generator as text: JSON numbers above 2^53 do not survive every reader.
nlohmann::json generator_json(const Generator& g) { return {std::to_string(g.seed()), std::to_string(g.offset())}; }

Generator generator_from(const nlohmann::json& json) {
  Generator g;
  g.set_state(std::stoull(json.at(0).get<std::string>()), std::stoull(json.at(1).get<std::string>()));
  return g;
}

}  // namespace

void save_checkpoint(const std::string& path, Module& model, const Optimizer* optimizer, const RunState& state) {
  NamedTensors tensors = state_dict(model);
  nlohmann::json json = {{"step", state.step}, {"texts", state.texts}, {"generators", nlohmann::json::object()}};
  for (const auto& [name, generator] : state.generators) json["generators"][name] = generator_json(generator);
  if (optimizer) {
    json["optimizer_steps"] = optimizer->steps();
    for (auto& [name, tensor] : optimizer->state()) {
      tensors.emplace_back(std::string(kOptimizerPrefix) + name, std::move(tensor));
    }
  }
  std::string text;
  try {
    text = json.dump();
  } catch (const nlohmann::json::exception& e) {
    fail("save {}: the texts must be UTF-8: {}", path, e.what());
  }
  // transformers refuses files without "format".
  save_safetensors(path, tensors, {{"format", "pt"}, {kStateKey, text}});
}

Checkpoint load_checkpoint(const std::string& path) {
  Checkpoint checkpoint{load_safetensors(path), {}};
  check(checkpoint.file.metadata.count(kStateKey), "{}: this is no checkpoint of policygrad, only tensors", path);
  try {
    const auto json = nlohmann::json::parse(checkpoint.file.metadata.at(kStateKey));
    RunState& state = checkpoint.state;
    state.step = json.at("step").get<int64_t>();
    state.texts = json.at("texts").get<std::map<std::string, std::string>>();
    for (const auto& [name, bits] : json.at("generators").items()) state.generators[name] = generator_from(bits);
    checkpoint.optimizer_steps = json.value("optimizer_steps", int64_t{-1});
  } catch (const std::exception& e) {  // nlohmann's own, or a number out of range
    fail("{}: the checkpoint's state is damaged: {}", path, e.what());
  }
  return checkpoint;
}

const std::string& Checkpoint::text(const std::string& name) const {
  const auto found = state.texts.find(name);
  check(found != state.texts.end(), "{}: the checkpoint has no text '{}'", file.path, name);
  return found->second;
}

const Generator& Checkpoint::generator(const std::string& name) const {
  const auto found = state.generators.find(name);
  check(found != state.generators.end(), "{}: the checkpoint has no random stream '{}'", file.path, name);
  return found->second;
}

void Checkpoint::restore(Module& model) const {
  NamedTensors weights;
  for (const auto& entry : file.tensors) {
    if (!is_optimizer_tensor(entry.first)) weights.push_back(entry);
  }
  try {
    load_state_dict(model, weights);
  } catch (const Error& e) {
    fail("{}: {}", file.path, e.what());
  }
}

void Checkpoint::restore(Optimizer& optimizer) const {
  check(optimizer_steps >= 0, "{}: the checkpoint holds weights only, no optimizer", file.path);
  NamedTensors tensors;
  for (const auto& [name, tensor] : file.tensors) {
    if (is_optimizer_tensor(name)) tensors.emplace_back(name.substr(kOptimizerPrefix.size()), tensor);
  }
  try {
    optimizer.load_state(tensors, optimizer_steps);
  } catch (const Error& e) {
    fail("{}: {}", file.path, e.what());
  }
}

}  // namespace pg
