// pg info: what a run is, and what to do next; what a model or token file holds.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>

#include "nn/files/hf_config.h"
#include "tasks/data/text_data.h"
#include "tensor/base/error.h"
#include "tensor/base/json.h"
#include "tensor/base/text.h"
#include "tools/pg/cli/commands.h"
#include "tools/pg/cli/objective.h"
#include "tools/pg/cli/terminal_text.h"
#include "tools/pg/run/run_dir.h"
#include "tools/pg/run/run_model.h"
#include "tools/pg/show/model_info.h"

namespace pg::tools {
namespace {

// The commands that make runs.
struct Kind {
  const char* name;
  const char* steps;  // the option that sets the number of steps
  const char* next;   // the command to use a finished run with
};
constexpr Kind kKinds[] = {
    {"train", "steps", "pg sample {run}"},
    {"sft", "steps", "pg rl --task {task} --init {run}"},
    {"rl", "steps", "pg sample {run}"},
    {"reward-model", "steps", "pg rl --task {task} --init {init} --reward-model {run}"},
    {"dpo", "steps", "pg sample {run}"},
    {"expert-iteration", "iterations", "pg sample {run}"},
    {"env", "total-steps", ""},
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
  const std::string path = folder + "/metrics.jsonl";
  std::istringstream in(std::filesystem::exists(path) ? read_file(path) : "");
  for (std::string line; std::getline(in, line);) {
    const Json object = Json::try_parse(line);
    if (!object["step"].is_number_integer()) continue;
    for (const char* name : kMeasurements) {
      if (object[name].is_number()) {
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
    const TransformerConfig model = checkpoint.model_config();
    const std::string_view type = hf_model_type(model);
    json["architecture"] = type.empty() ? "transformer" : type;
    json["model"] = Json::parse(to_json(model));
    // A model whose parameters fit into the file has a cache of fewer bytes than 2^63.
    json["cache_bytes_per_token"] = static_cast<int64_t>(cache_bytes_per_token(model));
  }
  for (const char* name : {"corpus", "validation", "task"}) {
    if (texts.contains(name)) json[name] = texts.at(name);
  }
  if (const ChatTemplate format = chat_template_in(texts)) json["chat_template"] = format.about();
  if (texts.contains("best_val_loss")) {
    json["best"] = {{"step", std::strtoll(value_or(texts, "best_step", "0").c_str(), nullptr, 10)},
                    {"val_loss", std::strtod(texts.at("best_val_loss").c_str(), nullptr)}};
  }
}

Json describe(const std::string& run) {
  if (const Json file = describe_file(run); !file.is_null()) return file;
  namespace fs = std::filesystem;
  std::error_code error;
  const bool folder = fs::is_directory(run, error);
  const std::string home = folder ? run : fs::path(run).parent_path().string();
  const std::string config_path = (fs::path(home) / "config.yaml").string();
  const Values config = config_values(config_path);
  const std::string path = folder ? checkpoint_path(run) : run;
  const bool saved = !folder || fs::exists(path, error);
  if (!saved) check_run(run);

  Json json = {{"run", shell_word(run)}, {"kind", kind_in_config(config_path)}};
  if (saved) {
    const Checkpoint checkpoint = load_checkpoint(path);
    if (const std::string kind = kind_of(checkpoint); !kind.empty()) json["kind"] = kind;
    add_checkpoint(json, checkpoint);
  }
  const std::string name = json["kind"].text();
  const Kind* kind = std::find_if(std::begin(kKinds), std::end(kKinds), [&](const Kind& k) { return k.name == name; });
  if (kind == std::end(kKinds)) return json;
  if (name == "train" && json.contains("model")) {
    json["objective"] = objective_of(transformer_config_from_json(json["model"].dump())).name;
  }
  const int64_t total = std::strtoll(value_or(config, kind->steps, "0").c_str(), nullptr, 10);
  if (total > 0) json["steps"] = total;
  if (name == "env") json["environment"] = value_or(config, "environment", "");
  if (folder) json["last"] = last_measurements(run);
  const int64_t step = json.value("step", int64_t{0});
  if (folder && step < total) {
    json["go_on"] = fmt::format("pg {} --resume {}", name, shell_word(run));
  } else {
    const bool on_file = name == "sft" && !json.contains("task");  // pg sft --data
    const char* next = !on_file ? kind->next : json.contains("chat_template") ? "pg chat {run}" : "pg sample {run}";
    json["go_on"] = filled_in(
        next,
        {{"run", run}, {"task", json.value("task", "TASK")}, {"init", shell_word(value_or(config, "init", "RUN"))}});
  }
  return json;
}

void print(const Json& json) {
  if (json.contains("format")) return print_file(json);
  const std::string kind = json["kind"].text();
  show("run", json["run"].get<std::string>());
  show("kind", kind.empty() ? "a model whose command is not recorded" : "pg " + kind);
  if (json.contains("model")) {
    const Json& m = json["model"];
    show("model", fmt::format("{}, {} layers, {} heads, width {}, context {}, vocabulary {}, {}",
                              json["architecture"].get<std::string>(), m["n_layer"].dump(), m["n_head"].dump(),
                              m["n_embd"].dump(), m["block_size"].dump(), m["vocab_size"].dump(),
                              m["dtype"].get<std::string>()));
  }
  if (json.contains("objective")) show("objective", json["objective"].get<std::string>());
  if (json.contains("model") && json["model"].contains("lora_rank")) {
    const TransformerConfig model = transformer_config_from_json(json["model"].dump());
    const LoraConfig& lora = model.lora;
    const std::string own = lora.modules.empty() ? "" : "some modules of ";
    show("adapters", fmt::format("LoRA of rank {}, alpha {:g}, {}{}{}", lora.rank, lora.alpha, own, lora.targets,
                                 lora.merged ? ", merged" : ""));
  }
  if (json.contains("parameters")) show("parameters", json["parameters"].dump());
  if (json.contains("cache_bytes_per_token")) {
    show("cache", json["cache_bytes_per_token"].dump() + " bytes per token");
  }
  const std::string total = json.contains("steps") ? " of " + json["steps"].dump() : "";
  show("step", json.contains("step") ? json["step"].dump() + total : "no checkpoint yet");
  for (const char* name : {"corpus", "validation", "task", "environment"}) {
    if (json.contains(name)) show(name, json[name].get<std::string>());
  }
  if (json.contains("chat_template")) show("chat", excerpt(json["chat_template"].text(), 200));
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
  std::vector<std::string> runs;  // folders, checkpoints or files
  bool json = false;
  bool verify = false;
};

// Whether all files of a run are right; prints a line for each.
bool verify(const std::string& run, bool json) {
  bool right = true;
  for (const VerifiedFile& file : verify_files(run)) {
    right = right && file.damage.empty();
    if (json) {
      Json line = {{"file", file.path}, {"checksum", nullptr}};
      if (!file.checksum.empty()) line["checksum"] = file.checksum;
      if (!file.damage.empty()) line["error"] = file.damage;
      fmt::print("{}\n", line.dump(-1, Json::Utf8::replace));
    } else if (!file.damage.empty()) {
      show("damaged", file.damage);
    } else if (file.checksum.empty()) {
      show("no checksum", file.path);
    } else {
      show("right", fmt::format("{}, {}", file.path, file.checksum));
    }
  }
  return right;
}

int info(const InfoOptions& o) {
  if (o.verify) {
    bool right = true;
    for (const std::string& run : o.runs) right = verify(run, o.json) && right;
    return right ? 0 : 1;
  }
  for (const std::string& run : o.runs) {
    const Json json = describe(run);
    if (o.json) {
      fmt::print("{}\n", json.dump(-1, Json::Utf8::replace));
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
  return {
      .name = "info",
      .about = "what a run is, how far it is, and the command that continues it; what a model or token file holds",
      .fields = {json_field(o->json, "a line with a JSON object for each run or file"),
                 flag("verify", o->verify, "read the files whole and compare them with their checksums instead")},
      .run = [o](Given&) { return info(*o); },
      .arguments = {{"runs", &o->runs,
                     "folders of runs or Hugging Face models, checkpoints, GGUF files or token files; with --verify "
                     "also folders of adapters and of token files"}}};
}

}  // namespace pg::tools
