// pg info: what a run is, and what to do next; what a GGUF file holds.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <variant>

#include "tensor/base/error.h"
#include "tensor/base/gguf.h"
#include "tensor/base/text.h"
#include "tools/pg/commands.h"
#include "tools/pg/run/run_dir.h"
#include "tools/pg/run/run_model.h"

namespace pg::tools {
namespace {

using Json = nlohmann::ordered_json;

// The commands that make runs.
struct Kind {
  const char* name;
  const char* steps;  // the option that sets the number of steps
  bool resumes;
  const char* next;  // the command to use a finished run with
};
constexpr Kind kKinds[] = {
    {"train", "steps", true, "pg sample {run}"},
    {"sft", "steps", true, "pg rl --task {task} --init {run}"},
    {"rl", "steps", true, "pg sample {run}"},
    {"reward-model", "steps", false, "pg rl --task {task} --init {init} --reward-model {run}"},
    {"dpo", "steps", false, "pg sample {run}"},
    {"expert-iteration", "iterations", true, "pg sample {run}"},
    {"env", "total-steps", true, ""},
};

// Measurements of a model's quality, by their names in metrics.jsonl.
constexpr const char* kMeasurements[] = {"loss",          "val_loss",    "eval/reward",    "eval/solved",
                                         "eval/accuracy", "reward/mean", "episode_return", "accuracy"};

using Values = std::map<std::string, std::string>;

std::string value_or(const Values& values, const std::string& key, const std::string& otherwise) {
  const auto found = values.find(key);
  return found == values.end() ? otherwise : found->second;
}

// The last value of each measurement in metrics.jsonl, with its step.
Json last_measurements(const std::string& folder) {
  Json last = Json::object();
  std::ifstream in(folder + "/metrics.jsonl");
  for (std::string line; std::getline(in, line);) {
    const Json object = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!object.is_object() || !object.contains("step") || !object["step"].is_number_integer()) continue;
    for (const char* name : kMeasurements) {
      if (object.contains(name) && object[name].is_number()) {
        last[name] = {{"step", object["step"]}, {"value", object[name]}};
      }
    }
  }
  return last;
}

// The KIND of "pg KIND" in the first line of config.yaml, a comment.
std::string kind_in_config(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line.starts_with("# pg ") ? line.substr(5) : "";
}

std::string filled_in(std::string text, const Values& values) {
  for (const auto& [name, value] : values) {
    const std::string gap = "{" + name + "}";
    for (size_t at = 0; (at = text.find(gap, at)) != std::string::npos; at += value.size()) {
      text.replace(at, gap.size(), value);
    }
  }
  return text;
}

void add_checkpoint(Json& json, const Checkpoint& checkpoint) {
  const auto& texts = checkpoint.state.metadata;
  json["checkpoint"] = checkpoint.file.path;
  json["step"] = checkpoint.state.step;
  int64_t parameters = 0;
  for (const auto& [name, tensor] : checkpoint.file.tensors) {
    if (!name.starts_with("optim.") && !name.starts_with("part.")) parameters += tensor.numel();
  }
  json["parameters"] = parameters;
  if (texts.contains("model")) {
    json["model"] = Json::parse(to_json(checkpoint.model_config()));
  }
  for (const char* name : {"corpus", "validation", "task"}) {
    if (texts.contains(name)) json[name] = texts.at(name);
  }
  if (texts.contains("best_val_loss")) {
    json["best"] = {{"step", std::strtoll(value_or(texts, "best_step", "0").c_str(), nullptr, 10)},
                    {"val_loss", std::strtod(texts.at("best_val_loss").c_str(), nullptr)}};
  }
}

bool is_gguf(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return false;  // the open of a pipe would wait for a writer
  std::ifstream in(path, std::ios::binary);
  char magic[4] = {};
  return in.read(magic, 4) && std::string_view(magic, 4) == "GGUF";
}

Json value_of(const GgufValue& value) {
  return std::visit(
      [](const auto& v) -> Json {
        if constexpr (std::is_same_v<std::decay_t<decltype(v)>, GgufArray>) {
          return {{"array_of", name_of(v.type)}, {"count", v.count}};
        } else {
          return v;
        }
      },
      value.value);
}

// The sizes of a language model: keys of the metadata after "ARCHITECTURE.", and their names for readers.
struct Size {
  const char *key, *name;
};
constexpr Size kSizes[] = {{"block_count", "layers"},
                           {"attention.head_count", "heads"},
                           {"attention.head_count_kv", "heads of keys and values"},
                           {"embedding_length", "width"},
                           {"feed_forward_length", "hidden width"},
                           {"context_length", "context"}};

Json describe_gguf(const std::string& path) {
  const GgufFile file(path);
  Json json = {{"file", path}, {"format", fmt::format("GGUF {}", file.version())}};
  const bool known = file.find("general.architecture");
  const std::string architecture(known ? file.string_at("general.architecture") : "");
  if (known) json["architecture"] = architecture;
  Json sizes = Json::object();
  for (const Size& size : kSizes) {
    const GgufValue* value = file.find(architecture + "." + size.key);
    if (value && !std::holds_alternative<GgufArray>(value->value)) sizes[size.key] = value_of(*value);
  }
  json["sizes"] = sizes;
  int64_t parameters = 0;
  Json types = Json::object();
  for (const GgufTensor& tensor : file.tensors()) {
    const int64_t elements = static_cast<int64_t>(tensor.bytes) / tensor.type->bytes * tensor.type->block;
    parameters += elements;
    Json& type = types[tensor.type->name];
    if (type.is_null()) type = {{"tensors", 0}, {"elements", 0}, {"bytes", 0}};
    type["tensors"] = type["tensors"].get<int64_t>() + 1;
    type["elements"] = type["elements"].get<int64_t>() + elements;
    type["bytes"] = type["bytes"].get<uint64_t>() + tensor.bytes;
  }
  json["parameters"] = parameters;
  json["types"] = types;
  if (file.find("tokenizer.ggml.model")) {
    json["tokenizer"] = {{"model", file.string_at("tokenizer.ggml.model")}};
    if (file.find("tokenizer.ggml.pre")) json["tokenizer"]["pre"] = file.string_at("tokenizer.ggml.pre");
    if (file.find("tokenizer.ggml.tokens")) {
      json["tokenizer"]["tokens"] = file.strings_at("tokenizer.ggml.tokens").size();
    }
  }
  for (const auto& [key, value] : file.metadata()) json["metadata"][std::string(key)] = value_of(value);
  return json;
}

Json describe(const std::string& run) {
  if (is_gguf(run)) return describe_gguf(run);
  namespace fs = std::filesystem;
  std::error_code error;
  const bool folder = fs::is_directory(run, error);
  const std::string home = folder ? run : fs::path(run).parent_path().string();
  const std::string config_path = (fs::path(home) / "config.yaml").string();
  const Values config = config_values(config_path);
  const std::string path = folder ? checkpoint_path(run) : run;
  const bool saved = !folder || fs::exists(path, error);
  check(saved || !config.empty(), "info: {} is no run: it has neither a checkpoint nor a config.yaml", run);

  Json json = {{"run", run}, {"kind", kind_in_config(config_path)}};
  if (saved) {
    const Checkpoint checkpoint = load_checkpoint(path);
    if (const std::string kind = kind_of(checkpoint); !kind.empty()) json["kind"] = kind;
    add_checkpoint(json, checkpoint);
  }
  const std::string name = json["kind"];
  const Kind* kind = std::find_if(std::begin(kKinds), std::end(kKinds), [&](const Kind& k) { return k.name == name; });
  if (kind == std::end(kKinds)) return json;
  const int64_t total = std::strtoll(value_or(config, kind->steps, "0").c_str(), nullptr, 10);
  if (total > 0) json["steps"] = total;
  if (name == "env") json["environment"] = value_or(config, "environment", "");
  if (folder) json["last"] = last_measurements(run);
  const int64_t step = json.value("step", int64_t{0});
  if (folder && kind->resumes && step < total) {
    json["go_on"] = fmt::format("pg {} --resume {}", name, run);
  } else {
    json["go_on"] = filled_in(
        kind->next, {{"run", run}, {"task", json.value("task", "TASK")}, {"init", value_or(config, "init", "RUN")}});
  }
  return json;
}

void show(const std::string& what, const std::string& value) { fmt::print("{:<12}{}\n", what, value); }

// A value of a file's metadata on one line.
std::string one_line(const Json& value) {
  if (value.is_object()) return fmt::format("{} × {}", value["count"].dump(), value["array_of"].get<std::string>());
  return excerpt(value.is_string() ? value.get<std::string>() : value.dump(), 60);
}

void print_gguf(const Json& json) {
  show("file", json["file"].get<std::string>());
  show("format", json["format"].get<std::string>());
  if (json.contains("architecture")) {
    std::string model = one_line(json["architecture"]);
    for (const Size& size : kSizes) {
      if (json["sizes"].contains(size.key))
        model += fmt::format(", {} {}", size.name, one_line(json["sizes"][size.key]));
    }
    show("model", model);
  }
  show("parameters", json["parameters"].dump());
  for (const auto& [name, type] : json["types"].items()) {
    show("type", fmt::format("{}, tensors {}, elements {}, bytes {}", name, type["tensors"].dump(),
                             type["elements"].dump(), type["bytes"].dump()));
  }
  if (json.contains("tokenizer")) {
    std::string text;
    for (const auto& [name, value] : json["tokenizer"].items()) {
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, one_line(value));
    }
    show("tokenizer", text);
  }
  if (!json.contains("metadata")) return;
  for (const auto& [key, value] : json["metadata"].items()) {
    show("metadata", fmt::format("{} = {}", excerpt(key), one_line(value)));
  }
}

void print(const Json& json) {
  if (json.contains("format")) return print_gguf(json);
  const std::string kind = json["kind"];
  show("run", json["run"].get<std::string>());
  show("kind", kind.empty() ? "a model whose command is not recorded" : "pg " + kind);
  if (json.contains("model")) {
    const Json& m = json["model"];
    show("model", fmt::format("GPT-2, {} layers, {} heads, width {}, context {}, vocabulary {}, {}",
                              m["n_layer"].dump(), m["n_head"].dump(), m["n_embd"].dump(), m["block_size"].dump(),
                              m["vocab_size"].dump(), m["dtype"].get<std::string>()));
  }
  if (json.contains("model") && json["model"].contains("lora_rank")) {
    const TransformerConfig model = transformer_config_from_json(json["model"].dump());
    show("adapters", fmt::format("LoRA of rank {}, alpha {:g}, {}{}", model.lora.rank, model.lora.alpha,
                                 model.lora.targets, model.lora.merged ? ", merged" : ""));
  }
  if (json.contains("parameters")) show("parameters", json["parameters"].dump());
  const std::string total = json.contains("steps") ? " of " + json["steps"].dump() : "";
  show("step", json.contains("step") ? json["step"].dump() + total : "no checkpoint yet");
  for (const char* name : {"corpus", "validation", "task", "environment"}) {
    if (json.contains(name)) show(name, json[name].get<std::string>());
  }
  if (json.contains("best")) {
    show("best", fmt::format("validation loss {:.4f} at step {}", json["best"]["val_loss"].get<double>(),
                             json["best"]["step"].dump()));
  }
  if (json.contains("last")) {
    for (const auto& [name, at] : json["last"].items()) {
      show("last", fmt::format("{} {:.4f} at step {}", name, at["value"].get<double>(), at["step"].dump()));
    }
  }
  const std::string go_on = json.value("go_on", "");
  if (!go_on.empty()) show("continue with", go_on);
}

struct InfoOptions {
  std::vector<std::string> runs;  // folders, checkpoints or GGUF files
  bool json = false;
};

int info(const InfoOptions& o) {
  for (const std::string& run : o.runs) {
    const Json json = describe(run);
    if (o.json) {
      fmt::print("{}\n", json.dump(-1, ' ', false, Json::error_handler_t::replace));
    } else {
      if (&run != &o.runs.front()) fmt::print("\n");
      print(json);
    }
  }
  return 0;
}

}  // namespace

Command info_command() {
  const auto o = std::make_shared<InfoOptions>();
  return {.name = "info",
          .about = "what a run is, how far it is, and the command that continues it; what a GGUF file holds",
          .fields = {json_field(o->json, "a line with a JSON object for each run or file")},
          .run = [o](Given&) { return info(*o); },
          .arguments = {{"runs", &o->runs, "folders of runs, checkpoints, or GGUF files"}}};
}

}  // namespace pg::tools
