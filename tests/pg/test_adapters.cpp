// Adapters through the commands of pg: a run gives a folder of PEFT, which on the base model is that run.
#include <filesystem>

#include "nn/config_json.h"
#include "nn/files/checkpoint.h"
#include "nn/files/peft.h"
#include "tasks/data/text_data.h"
#include "tests/catch.h"
#include "tests/pg/chat_model.h"
#include "tests/tensors.h"
#include "tools/pg/cli/commands.h"
#include "tools/pg/run/run_model.h"
#include "tools/pg/train/sft_data.h"
#include "tools/pg/train/text_rl.h"

using namespace pg;
using namespace pg::tools;
using namespace pg::testing;
namespace fs = std::filesystem;

namespace {

// A run that begins with the model of `base`: with those of `adapter`, or new adapters of this rank.
std::string tuned_run(const TempDir& dir, const std::string& base, const std::string& name, int64_t rank = 2,
                      const std::string& adapter = "") {
  write_chat_data(dir.file("data.jsonl"));
  const SftDataOptions options = {.file = dir.file("data.jsonl"), .max_length = 60};
  SftDataRun r;
  r.run = {.name = name, .out = dir.file(name), .threads = 1};
  r.init = base;
  r.adapter = adapter;
  r.chat_template = "chatml";
  if (rank > 0) r.lora = {.rank = rank, .alpha = 3, .targets = "q_proj,v_proj,o_proj,down_proj"};
  r.train.max_steps = 3;
  r.train.schedule = {.kind = Schedule::Kind::constant, .lr = 0.1};
  r.train.eval_interval = 0;
  r.batch = 4;
  r.steps_given = true;
  r.config = [&](const TrainConfig&) { return "init: " + base + "\n"; };
  REQUIRE(sft_on_data(options, r, *single_rank()) == 0);
  return fs::directory_iterator(dir.file(name))->path().string();
}

void export_with(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"pg", "export"});
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  const int status = run_command({{"", {export_command()}}}, static_cast<int>(argv.size()), argv.data());
  CHECK(status == 0);
}

Tensor logits_of(const std::string& run, const LoadOptions& options = {}) {
  const RunModel m = load_run_model(run, Device{}, options);
  NoGrad no_grad;
  std::vector<int32_t> ids;
  for (int32_t i = 0; i < 24; ++i) ids.push_back(i * 37 % 258);
  return (*m.model)(Tensor::from(ids, {2, 12}));
}

std::string files_of(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  std::string all;
  for (const std::string& name : names) all += name + " ";
  return all;
}

}  // namespace

TEST_CASE("adapters: the reward model of a run scores without dropout", "[pg][lora]") {
  const TempDir dir;
  const auto task = make_text_task("keyword");
  Generator g(3);
  Transformer trunk({.vocab_size = task->vocab_size(), .block_size = 32, .n_layer = 1, .n_head = 2, .n_embd = 16}, g);
  add_lora(trunk, {.rank = 2, .dropout = 0.5}, g);
  rl::ScalarModel model(trunk, 0.5, g);
  save_checkpoint(
      dir.file("run"), model, nullptr,
      {1, {}, {{"model", to_json(trunk.config)}, {"task", "keyword"}, {"score_mean", "0"}, {"score_std", "1"}}});
  const RewardModel loaded = load_reward_model(dir.file("run"), *task, Device{});
  CHECK_FALSE(loaded.model->training);
  CHECK_FALSE(loaded.model->trunk.training);
}

TEST_CASE("adapters: a run, its folder of PEFT on the base model, and its merged export are one model", "[pg][lora]") {
  const TempDir dir;
  const std::string base = dir.file("base"), adapter = dir.file("adapter"), merged = dir.file("merged");
  write_chat_model(base);
  const std::string run = tuned_run(dir, base, "run");
  export_with({run, adapter, "--adapter-only"});
  export_with({run, merged});
  CHECK(files_of(adapter) == "adapter_config.json adapter_model.safetensors tokenizer.json tokenizer_config.json ");
  CHECK(files_of(merged) ==
        "config.json generation_config.json model.safetensors tokenizer.json tokenizer_config.json ");
  CHECK(contains(read_file(adapter + "/adapter_config.json"), "\"base_model_name_or_path\": \"" + base + "\""));

  const Tensor plain = logits_of(base), tuned = logits_of(run);
  CHECK(largest_difference(plain, tuned) > 0.1);
  CHECK(largest_difference(logits_of(base, {.adapter = adapter}), tuned) == 0);
  CHECK(largest_difference(logits_of(merged), tuned) < 1e-5);  // W + BA is rounded once more

  // From the folder again: the same bits, merged and alone.
  export_with({base, dir.file("merged2"), "--adapter", adapter});
  export_with({base, dir.file("adapter2"), "--adapter", adapter, "--adapter-only"});
  for (const char* name : {"model.safetensors", "config.json", "tokenizer.json", "tokenizer_config.json"}) {
    INFO(name);
    CHECK(read_file(merged + "/" + name) == read_file(dir.file("merged2/") + name));
  }
  for (const char* name : {"adapter_config.json", "adapter_model.safetensors", "tokenizer_config.json"}) {
    INFO(name);
    CHECK(read_file(adapter + "/" + name) == read_file(dir.file("adapter2/") + name));
  }

  // The base model in bf16 keeps adapters of f32.
  Transformer half = load_pretrained(base, bf16);
  load_peft(half, adapter);
  half.eval();
  const RunModel m = load_run_model(base, Device{}, {.dtype = bf16, .adapter = adapter});
  CHECK(m.model->config == half.config);
  const NamedTensors want = state_dict(half), got = state_dict(*m.model);
  REQUIRE(want.size() == got.size());
  for (size_t i = 0; i < want.size(); ++i) {
    INFO(want[i].first);
    CHECK(got[i].second.dtype() == (is_adapter(want[i].first) ? f32 : bf16));
    CHECK(got[i].second.to_vector() == want[i].second.to_vector());
  }
}

TEST_CASE("adapters: a model of a folder of PEFT is trained further", "[pg][lora]") {
  const TempDir dir;
  const std::string base = dir.file("base"), adapter = dir.file("adapter");
  write_chat_model(base);
  const std::string run = tuned_run(dir, base, "run");
  export_with({run, adapter, "--adapter-only"});
  // The new run begins where that run ended; the base's own weights stay.
  const std::string from_folder = tuned_run(dir, base, "further", 0, adapter);
  const std::string from_run = tuned_run(dir, run, "again", 0);
  CHECK(read_file(from_folder + "/checkpoint.safetensors") != read_file(run + "/checkpoint.safetensors"));
  const auto weights = [](const std::string& path) {
    std::map<std::string, std::vector<double>> values;
    for (const auto& [name, tensor] : state_dict(*load_run_model(path, Device{}).model)) {
      values[name] = tensor.to_vector();
    }
    return values;
  };
  const auto further = weights(from_folder), plain = weights(base);
  CHECK(further == weights(from_run));
  // Both have adapters for the model that the first run began with.
  for (const std::string& one : {from_folder, from_run}) {
    const std::string folder = dir.file("of_" + fs::path(one).parent_path().filename().string());
    export_with({one, folder, "--adapter-only"});
    CHECK(contains(read_file(folder + "/adapter_config.json"), "\"base_model_name_or_path\": \"" + base + "\""));
  }
  for (const auto& [name, values] : plain) {
    INFO(name);
    CHECK(further.at(name) == values);
  }
}

TEST_CASE("adapters: what cannot be added or written is refused with a sentence", "[pg][lora]") {
  const TempDir dir;
  const std::string base = dir.file("base"), adapter = dir.file("adapter");
  write_chat_model(base);
  const std::string run = tuned_run(dir, base, "run");
  export_with({run, adapter, "--adapter-only"});
  const auto refused = [&](const std::string& model, const std::string& folder) {
    return error_of([&] { load_run_model(model, Device{}, {.adapter = folder}); });
  };
  CHECK(refused(run, adapter) ==
        fmt::format("--adapter {}: the model of {} has adapters of rank 2 already; name the model without them, or "
                    "merge them with pg export",
                    adapter, run));
  CHECK(refused(base, base) ==
        fmt::format("--adapter {0} for the model of {0}: load_peft: expected a folder of PEFT with adapter_config.json "
                    "and adapter_model.safetensors, {0} has no adapter_config.json",
                    base));
  // Adapters for a model of other sizes.
  const std::string wide = dir.file("wide");
  TransformerConfig config = load_run_model(base, Device{}).model->config;
  config.n_embd = 32;
  Transformer model(config);
  save_pretrained(model, wide);
  fs::copy(base + "/tokenizer.json", wide + "/tokenizer.json");
  CHECK(contains(refused(wide, adapter),
                 "lora_A.weight' is [2, 16], expected [2, 32] for r = 2 and this model; the "
                 "adapters are for " +
                     base));

  const auto export_refused = [&](std::vector<std::string> arguments) {
    return error_of([&] { export_with(std::move(arguments)); });
  };
  CHECK(export_refused({base, dir.file("none"), "--adapter-only"}) ==
        fmt::format("export: {} has no adapters; without --adapter-only its whole model is written", base));
  CHECK(!fs::exists(dir.file("none")));
  // Neither beside a model nor beside adapters: transformers would add them to it.
  for (const std::string& folder : {base, adapter}) {
    const std::string before = files_of(folder);
    for (const char* only : {"--adapter-only", "--best"}) {
      CHECK(contains(export_refused({run, folder, only}), "; choose another folder"));
      CHECK(files_of(folder) == before);
    }
  }
  const std::string file = dir.file("data.jsonl");
  CHECK(contains(export_refused({run, file, "--adapter-only"}), "cannot make the folder '" + file + "'"));
  CHECK(contains(export_refused({run, file + "/x"}), "cannot make the folder '" + file + "/x'"));
}
