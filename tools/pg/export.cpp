// pg export: a run's model as a folder that Hugging Face's transformers loads.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "nn/atomic_file.h"
#include "nn/lora.h"
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
  std::string run, folder;
  bool best = false;
  DType dtype = f32;
};

int export_model(const ExportOptions& o) {
  check(!std::filesystem::exists(std::filesystem::path(o.folder) / "config.json"),
        "export: {} holds a model already; choose another folder", o.folder);
  const RunModel model = load_run_model(o.run, Device{}, o.best, o.dtype);
  const auto* tokenizer = dynamic_cast<const BpeTokenizer*>(model.tokenizer.get());
  if (const LoraConfig& lora = model.model->config.lora; lora.rank > 0) {
    if (!lora.merged) merge_lora(*model.model);
    remove_lora(*model.model);
  }
  save_pretrained(*model.model, o.folder);
  const auto path = [&](const char* name) { return (std::filesystem::path(o.folder) / name).string(); };
  if (tokenizer) {
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
    write_file_atomically(path("tokenizer.json"), tokenizer->to_json());
    write_file_atomically(path("tokenizer_config.json"), config.dump(2) + "\n");
  } else {
    remark(stderr, "the tokenizer is not byte-level BPE; the folder holds the model only\n");
  }
  fmt::print("{}\n", o.folder);
  return 0;
}

}  // namespace

Command export_command() {
  const auto o = std::make_shared<ExportOptions>();
  return {
      .name = "export",
      .about = "write a model as a folder that Hugging Face's transformers loads",
      .fields = {best_field(o->best), {"dtype", float_type(o->dtype), "type of the weights, for a pretrained model"}},
      .run = [o](Given&) { return export_model(*o); },
      .arguments = {{"run", &o->run, "a run, a checkpoint, a Hugging Face folder or a GGUF file"},
                    {"folder", &o->folder, "the folder to write"}}};
}

}  // namespace pg::tools
