// pg export: a run's model as a folder that Hugging Face's transformers loads, or its adapters as one for PEFT.
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "nn/atomic_file.h"
#include "nn/lora.h"
#include "nn/peft.h"
#include "nn/pretrained.h"
#include "tasks/bpe/bpe_tokenizer.h"
#include "tasks/chat.h"
#include "tensor/base/error.h"
#include "tools/pg/commands.h"
#include "tools/pg/run/progress.h"
#include "tools/pg/run/run_model.h"

namespace pg::tools {
namespace {

struct ExportOptions {
  std::string run, folder, adapter;
  bool best = false, adapter_only = false;
  DType dtype = f32;
};

// What PEFT calls the base model: the model that the adapters were added to.
std::string base_of(const ExportOptions& o, const RunModel& model) {
  if (!o.adapter.empty()) return o.run;
  const auto home = std::filesystem::path(model.path).parent_path();
  const auto config = config_values((home / "config.yaml").string());
  const auto init = config.find("init");
  return init == config.end() || init->second.empty() ? o.run : init->second;
}

// tokenizer.json and tokenizer_config.json, for byte-level BPE only.
void save_tokenizer(const RunModel& model, const std::string& folder) {
  const auto* tokenizer = dynamic_cast<const BpeTokenizer*>(model.tokenizer.get());
  if (!tokenizer) return remark(stderr, "the tokenizer is not byte-level BPE; the folder has no tokenizer\n");
  nlohmann::ordered_json config = {{"tokenizer_class", "PreTrainedTokenizerFast"},
                                   {"model_max_length", model.model->config.block_size},
                                   {"clean_up_tokenization_spaces", false}};
  if (tokenizer->end_id() >= 0) {
    const int32_t end = tokenizer->end_id();
    config["eos_token"] = tokenizer->decode({&end, 1});
  }
  if (!model.chat_template.empty()) {
    const auto& rows = chat_templates();
    const auto row =
        std::find_if(rows.begin(), rows.end(), [&](const ChatTemplate& t) { return t.name == model.chat_template; });
    config["chat_template"] = row == rows.end() ? model.chat_template : jinja_of(*row);
  }
  const std::filesystem::path to(folder);
  write_file_atomically((to / "tokenizer.json").string(), tokenizer->to_json());
  write_file_atomically((to / "tokenizer_config.json").string(), config.dump(2) + "\n");
}

int export_model(const ExportOptions& o) {
  // Both: transformers adds the adapters of a folder to the model of the same folder.
  for (const char* name : {"config.json", "adapter_config.json"}) {
    std::error_code error;
    check(!std::filesystem::exists(std::filesystem::path(o.folder) / name, error),
          "export: {} holds a model already, {}; choose another folder", o.folder, name);
  }
  const RunModel m = load_run_model(o.run, Device{}, {.best = o.best, .dtype = o.dtype, .adapter = o.adapter});
  const LoraConfig& lora = m.model->config.lora;
  if (o.adapter_only) {
    check(lora.rank > 0, "export: {} has no adapters; without --adapter-only its whole model is written", o.run);
    save_peft(*m.model, o.folder, base_of(o, m));
  } else {
    if (lora.rank > 0 && !lora.merged) merge_lora(*m.model);
    if (lora.rank > 0) remove_lora(*m.model);
    save_pretrained(*m.model, o.folder);
  }
  save_tokenizer(m, o.folder);
  fmt::print("{}\n", o.folder);
  return 0;
}

}  // namespace

Command export_command() {
  const auto o = std::make_shared<ExportOptions>();
  return {.name = "export",
          .about = "write a model as a folder that Hugging Face's transformers loads, or its adapters for PEFT",
          .fields = {best_field(o->best),
                     adapter_field(o->adapter),
                     flag("adapter-only", o->adapter_only, "write the adapters alone, as a folder of PEFT"),
                     {"dtype", float_type(o->dtype), "type of the weights, for a pretrained model"}},
          .run = [o](Given&) { return export_model(*o); },
          .arguments = {{"run", &o->run, "a run, a checkpoint, a Hugging Face folder or a GGUF file"},
                        {"folder", &o->folder, "the folder to write"}}};
}

}  // namespace pg::tools
