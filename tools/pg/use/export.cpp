// pg export: a run's model as a folder that Hugging Face's transformers loads, or its adapters as one for PEFT.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <iterator>

#include "autograd/ops.h"
#include "nn/files/peft.h"
#include "nn/files/pretrained.h"
#include "nn/files/tensor_source.h"
#include "nn/variants/lora.h"
#include "tasks/bpe/bpe_tokenizer.h"
#include "tensor/base/atomic_file.h"
#include "tensor/base/error.h"
#include "tensor/base/json.h"
#include "tools/pg/cli/commands.h"
#include "tools/pg/cli/progress.h"
#include "tools/pg/run/run_dir.h"
#include "tools/pg/run/run_model.h"
#include "tools/pg/use/export_ids.h"

namespace pg::tools {
namespace {

namespace fs = std::filesystem;

struct ExportOptions {
  std::string run, folder, adapter;
  bool best = false, adapter_only = false;
  std::optional<DType> dtype;
};

bool has_adapters(const std::string& run) {
  const std::string path = fs::is_directory(run) ? checkpoint_path(run) : run;
  if (!fs::is_regular_file(path) || !pretrained_path(run).empty()) return false;
  const TensorSource source = open_tensors(path);
  return std::any_of(source.tensors().begin(), source.tensors().end(),
                     [](const SourceTensor& tensor) { return is_adapter(tensor.name); });
}

// The model that the adapters of a run were added to: of the runs that began with each other's model (--init), what the
// first one with adapters began with.
std::string base_of(const std::string& run) {
  std::string at = run;
  for (int i = 0; i < 100; ++i) {  // a config.yaml that was changed by hand might name its own run
    const fs::path home = fs::is_directory(at) ? fs::path(at) : fs::path(at).parent_path();
    const auto config = config_values((home / "config.yaml").string());
    const auto init = config.find("init");
    if (init == config.end() || init->second.empty()) break;
    at = init->second;
    if (!has_adapters(at)) break;
  }
  return at == "smollm2" ? "HuggingFaceTB/SmolLM2-135M-Instruct" : at;
}

// The text of tokenizer_config.json.
std::string tokenizer_config(const RunModel& model, const BpeTokenizer& tokenizer, const TokenIds& ids) {
  Json config = {{"tokenizer_class", "PreTrainedTokenizerFast"},
                 {"model_max_length", model.model->config.block_size},
                 {"clean_up_tokenization_spaces", false}};
  const std::optional<int32_t> eos = ids.eos.empty() ? std::nullopt : std::optional(ids.eos[0]);
  for (const auto& [key, id] :
       {std::pair("eos_token", eos), std::pair("bos_token", ids.bos), std::pair("pad_token", ids.pad)}) {
    if (id && !model.chat_template.reads(key)) config[key] = tokenizer.decode({&*id, 1});
  }
  if (!model.chat_template) return config.dump(2) + "\n";
  // A token that the template writes by its name stays the one that it is run with here.
  for (const auto& [name, value] : model.chat_template.variables().items()) {
    if (name.ends_with("_token") && model.chat_template.reads(name)) config[name] = value;
  }
  config["chat_template"] = model.chat_template.program();
  return config.dump(2) + "\n";
}

bool is_finite(const Tensor& tensor) {
  constexpr int64_t kAtOnce = 1 << 20;
  const Tensor flat = reshape(tensor, {-1});
  for (int64_t first = 0; first < flat.numel(); first += kAtOnce) {
    const auto part = slice(flat, 0, first, std::min(first + kAtOnce, flat.numel())).to_vector();
    if (!std::all_of(part.begin(), part.end(), [](double x) { return std::isfinite(x); })) return false;
  }
  return true;
}

// Error for a weight that is NaN or infinite, as training with too high a rate leaves it.
void check_finite(Transformer& model, const std::string& run, bool adapters_only) {
  NoGrad no_grad;
  for (const auto& [name, tensor] : state_dict(model)) {
    if (adapters_only && !is_adapter(name)) continue;
    check(is_finite(tensor), "export: '{}' of {} has numbers that are not finite; nothing was written", name, run);
  }
}

// The file without which a folder is no model, or no adapters. Both: transformers adds the adapters of a folder to the
// model of the same folder.
constexpr const char* kConfigs[] = {"config.json", "adapter_config.json"};

// Calls write(FOLDER) for a folder within `folder`, and then moves the files that it has written up into `folder`, the
// configuration last: what is no whole export has none. After an exception both folders are gone, unless `folder` was
// there. An inner folder that a killed process has left is removed.
void write_whole(const std::string& folder, const std::function<void(const std::string&)>& write) {
  const fs::path to(folder), unfinished = to / "unfinished_export";
  std::error_code error;
  const bool is_new = !fs::exists(to, error);
  make_folder(folder);
  fs::remove_all(unfinished, error);
  try {
    make_folder(unfinished.string());
    write(unfinished.string());
    std::vector<fs::path> files(fs::directory_iterator(unfinished), fs::directory_iterator{});
    const auto is_config = [](const fs::path& file) {
      return std::count(std::begin(kConfigs), std::end(kConfigs), file.filename().string()) > 0;
    };
    std::stable_partition(files.begin(), files.end(), [&](const fs::path& file) { return !is_config(file); });
    for (const fs::path& file : files) fs::rename(file, to / file.filename());
  } catch (...) {
    fs::remove_all(unfinished, error);
    if (is_new) fs::remove(to, error);
    throw;
  }
  fs::remove(unfinished, error);
}

int export_model(const ExportOptions& o) {
  for (const char* name : kConfigs) {
    std::error_code error;
    check(!fs::exists(fs::path(o.folder) / name, error), "export: {} holds a model already, {}; choose another folder",
          o.folder, name);
  }
  const RunModel m = load_run_model(o.run, Device{}, {.best = o.best, .dtype = o.dtype, .adapter = o.adapter});
  const LoraConfig& lora = m.model->config.lora;
  check(!o.adapter_only || lora.rank > 0,
        "export: {} has no adapters; without --adapter-only its whole model is written", o.run);
  const std::string source = o.adapter.empty() ? o.run : o.run + " with " + o.adapter;
  const TokenIds ids = token_ids_of(o.run, m);
  const auto* tokenizer = dynamic_cast<const BpeTokenizer*>(m.tokenizer.get());
  const std::string config = tokenizer ? tokenizer_config(m, *tokenizer, ids) : "";  // an Error comes before any file
  check_finite(*m.model, source, /*adapters_only=*/true);
  if (!o.adapter_only) {
    if (lora.rank > 0 && !lora.merged) merge_lora(*m.model);
    if (lora.rank > 0) remove_lora(*m.model);
    check_finite(*m.model, source, /*adapters_only=*/false);
  }
  write_whole(o.folder, [&](const std::string& folder) {
    if (o.adapter_only) {
      save_peft(*m.model, folder, o.adapter.empty() ? base_of(o.run) : o.run);
    } else {
      save_pretrained(*m.model, folder);
      write_token_ids(ids, folder);
    }
    if (!tokenizer) return;
    write_file_atomically((fs::path(folder) / "tokenizer.json").string(), tokenizer->to_json());
    write_file_atomically((fs::path(folder) / "tokenizer_config.json").string(), config);
  });
  if (!tokenizer) remark(stderr, "the tokenizer is not byte-level BPE; the folder has no tokenizer\n");
  fmt::print("{}\n", o.folder);
  return 0;
}

}  // namespace

Command export_command() {
  const auto o = std::make_shared<ExportOptions>();
  return {.name = "export",
          .about = "write a model as a folder that Hugging Face's transformers loads, or its adapters for PEFT",
          .fields = {best_field(o->best), adapter_field(o->adapter),
                     flag("adapter-only", o->adapter_only, "write the adapters alone, as a folder of PEFT"),
                     dtype_field(o->dtype)},
          .run = [o](Given&) { return export_model(*o); },
          .arguments = {{"run", &o->run, "a run, a checkpoint, a Hugging Face folder or a GGUF file"},
                        {"folder", &o->folder, "the folder to write"}}};
}

}  // namespace pg::tools
