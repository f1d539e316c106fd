// Loads the model, tokenizer and task of a run.
#include "tools/pg/run/run_model.h"

#include <algorithm>
#include <filesystem>

#include "autograd/ops.h"
#include "nn/config_json.h"
#include "nn/decode/generate.h"
#include "nn/files/peft.h"
#include "nn/files/pretrained.h"
#include "nn/variants/int8.h"
#include "tasks/bpe/tokenizer_files.h"
#include "tasks/data/fetch.h"
#include "tasks/data/text_data.h"
#include "tasks/data/tokenizer.h"
#include "tasks/data/utf8.h"
#include "tasks/text/text_task.h"
#include "tensor/base/error.h"
#include "tensor/base/files/gguf.h"
#include "tensor/base/json.h"
#include "tensor/base/text.h"
#include "tools/pg/cli/objective.h"
#include "tools/pg/cli/options.h"
#include "tools/pg/cli/progress.h"
#include "tools/pg/run/run_dir.h"

namespace pg::tools {
namespace {

bool has(const Checkpoint& checkpoint, const char* text) { return checkpoint.state.metadata.contains(text); }

// Pretrained models may have more rows of embeddings than their tokenizer has tokens; others have as many, and masked
// denoisers one more.
void check_sizes(const Tokenizer& tokenizer, const TransformerConfig& config, const std::string& path) {
  const bool is_bpe = dynamic_cast<const BpeTokenizer*>(&tokenizer) != nullptr;
  const int64_t tokens = config.vocab_size - objective_of(config).extra_tokens;
  check(is_bpe && config.causal ? tokenizer.vocab_size() <= tokens : tokenizer.vocab_size() == tokens,
        "{}: the tokenizer has {} tokens and the model {}; they do not belong together", path, tokenizer.vocab_size(),
        tokens);
}

// The task that a checkpoint names. Its options are those of the checkpoint; a checkpoint of an older version has
// none, and they are those of config.yaml in the same folder.
std::unique_ptr<TextTask> task_of(const Checkpoint& checkpoint) {
  const std::string& path = checkpoint.file.path;
  const TextTaskSetup setup = find_row(text_tasks(), path + ": task", checkpoint.text("task")).setup();
  if (has(checkpoint, "task_options")) {
    set_from_json(setup.fields, checkpoint.text("task_options"), path + ": task_options");
  } else {
    const auto config = config_values((std::filesystem::path(path).parent_path() / "config.yaml").string());
    for (const Field& field : setup.fields) {
      if (const auto found = config.find(field.name); found != config.end()) field.set(found->second);
    }
  }
  return setup.make();
}

}  // namespace

std::string example_prompt(const TextTask& task) {
  const std::vector<Problem> problems = task.held_out(1);
  return problems.empty() ? default_prompt(task.tokenizer()) : task.text(problems[0].prompt);
}

std::string default_prompt(const Tokenizer& tokenizer) {
  try {
    if (!tokenizer.encode("\n").empty()) return "\n";
  } catch (const Error&) {
  }
  const int32_t first = std::max(0, tokenizer.end_id());
  return tokenizer.decode({&first, 1});
}

std::string kind_of(const Checkpoint& checkpoint) {
  if (has(checkpoint, "kind")) return checkpoint.text("kind");
  if (has(checkpoint, "env_train_config")) return "env";
  if (has(checkpoint, "score_mean")) return "reward-model";
  if (has(checkpoint, "kl_beta")) return "rl";
  if (has(checkpoint, "corpus")) return "train";
  return "";
}

std::unique_ptr<Tokenizer> tokenizer_of(const Checkpoint& checkpoint, bool denoisers) {
  const std::string& path = checkpoint.file.path;
  const std::string kind = kind_of(checkpoint);
  check(kind != "env", "{}: a policy of pg env acts in an environment, it writes no text", path);
  check(kind != "reward-model", "{}: a reward model scores responses, it writes none; name the policy's run", path);
  check(has(checkpoint, "tokenizer") || has(checkpoint, "task"),
        "{}: the checkpoint names neither a tokenizer nor a task, so its tokens mean nothing", path);
  auto tokenizer = tokenizer_from_json(has(checkpoint, "tokenizer") ? checkpoint.text("tokenizer")
                                                                    : task_of(checkpoint)->tokenizer().to_json());
  const TransformerConfig config = checkpoint.model_config();
  check(denoisers || config.causal,
        "{}: a masked denoiser (pg train --objective denoise) predicts masked tokens, not the next one; pg sample, pg "
        "eval, pg info and pg train take it",
        path);
  check_sizes(*tokenizer, config, path);
  return tokenizer;
}

bool is_pretrained(const std::string& path) {
  namespace fs = std::filesystem;
  if (!fs::is_directory(path)) return is_gguf_path(path);
  return fs::exists(fs::path(path) / "config.json") || !gguf_files_in(path).empty();
}

std::string pretrained_path(const std::string& run) {
  if (run == "smollm2" && !std::filesystem::exists(run)) {
    static std::string said;
    const std::string path = smollm2_path();
    if (said != path) remark(stderr, "smollm2 is {}\n", path);
    said = path;
    return path;
  }
  return is_pretrained(run) ? run : "";
}

namespace {

// The object in a file of a folder; an empty one if there is no such file.
Json object_in(const std::string& file) {
  if (!std::filesystem::exists(file)) return Json::object();
  const std::string text = read_file(file);
  Json json = Json::try_parse(shallow_json(text, file));
  check(json.is_object(), "{}: expected a JSON object, got '{}'", file, excerpt(text));
  return json;
}

// The special tokens that templates write by name. Later versions of transformers write them into the first file only.
Json special_tokens_in(const std::filesystem::path& folder, const Json& config) {
  const Json map = object_in(folder / "special_tokens_map.json");
  Json tokens = Json::object();
  for (const char* const name :
       {"bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"}) {
    const Json& value = config.contains(name) ? config[name] : map[name];
    const Json& text = value.is_object() ? value["content"] : value;
    if (text.is_string()) tokens[name] = text;
  }
  return tokens;
}

// The chat template that a folder carries in the files of transformers.
ChatTemplate template_in_folder(const std::filesystem::path& folder) {
  const Json config = object_in(folder / "tokenizer_config.json");
  std::string program;
  const Json& own = config["chat_template"];
  if (own.is_string()) program = own.text();
  if (own.is_array()) {
    for (const Json& one : own) {
      if (one.is_object() && one["name"] == "default" && one["template"].is_string()) program = one["template"].text();
    }
  }
  if (std::filesystem::exists(folder / "chat_template.jinja")) program = read_file(folder / "chat_template.jinja");
  return ChatTemplate(std::move(program), special_tokens_in(folder, config));
}

}  // namespace

ChatTemplate chat_template_of(const std::string& path, const TensorSource& source) {
  if (!source.gguf()) return template_in_folder(path);
  const GgufFile& file = *source.gguf();
  const char* const key = "tokenizer.chat_template";
  Json tokens = Json::object();
  if (file.find("tokenizer.ggml.model") && file.string_at("tokenizer.ggml.model") == "gpt2") {
    const GgufVocabulary v = gguf_vocabulary(file);
    for (const auto& [name, id] : {std::pair("bos_token", v.bos), std::pair("eos_token", v.eos)}) {
      if (id >= 0 && id < std::ssize(v.tokens)) tokens[name] = v.tokens[static_cast<size_t>(id)];
    }
  }
  return ChatTemplate(file.find(key) ? std::string(file.string_at(key)) : "", std::move(tokens));
}

void load_adapter(Transformer& model, const std::string& run, const std::string& folder) {
  if (folder.empty()) return;
  check(model.config.lora.rank == 0,
        "--adapter {}: the model of {} has adapters of rank {} already; name the model without them, or merge them "
        "with pg export",
        folder, run, model.config.lora.rank);
  try {
    load_peft(model, folder);
  } catch (const Error& e) {
    fail("--adapter {} for the model of {}: {}", folder, run, e.what());
  }
}

namespace {

RunModel load_pretrained_model(const std::string& path, DType dtype) {
  RunModel m;
  m.path = path;
  m.kind = "pretrained";
  m.tokenizer = load_tokenizer(path);
  const TensorSource source = open_tensors(path);
  TransformerConfig config = pretrained_config(path, source);
  check_sizes(*m.tokenizer, config, path);
  config.dtype = dtype;
  m.model = std::make_unique<Transformer>(Transformer::zeros(config));
  load_weights(*m.model, source);
  m.chat_template = chat_template_of(path, source);
  m.prompt = default_prompt(*m.tokenizer);
  return m;
}

RunModel load_checkpoint_model(const std::string& run, const LoadOptions& o) {
  Checkpoint checkpoint = load_checkpoint(checkpoint_of(run, o.best));
  RunModel m;
  m.path = checkpoint.file.path;
  m.kind = kind_of(checkpoint);
  m.tokenizer = tokenizer_of(checkpoint, o.denoisers);
  if (!checkpoint.model_config().causal) {
    m.prompt = "";
  } else if (has(checkpoint, "prompt")) {
    m.prompt = checkpoint.text("prompt");
  } else if (has(checkpoint, "task")) {
    m.prompt = example_prompt(*task_of(checkpoint));
  } else {
    m.prompt = default_prompt(*m.tokenizer);
  }
  m.chat_template = chat_template_in(checkpoint.state.metadata);
  TransformerConfig config = checkpoint.model_config();
  config.dtype = o.dtype.value_or(config.dtype);
  m.model = std::make_unique<Transformer>(Transformer::zeros(config));
  checkpoint.restore(*m.model);
  m.state = std::move(checkpoint.state);
  return m;
}

}  // namespace

RunModel load_run_model(const std::string& run, const Device& device, const LoadOptions& o) {
  const std::string pretrained = pretrained_path(run);
  RunModel m =
      pretrained.empty() ? load_checkpoint_model(run, o) : load_pretrained_model(pretrained, o.dtype.value_or(f32));
  if (!o.adapter.empty()) {
    load_adapter(*m.model, run, o.adapter);
    if (ChatTemplate format = template_in_folder(o.adapter)) m.chat_template = std::move(format);
  }
  m.model->to(device);
  m.model->eval();
  return m;
}

std::optional<ChatFormat> chat_format_of(const std::string& run) {
  const std::string pretrained = pretrained_path(run);
  std::shared_ptr<const Tokenizer> tokenizer;
  ChatTemplate format;
  int64_t context = 0;
  if (!pretrained.empty()) {
    tokenizer = load_tokenizer(pretrained);
    const TensorSource source = open_tensors(pretrained);
    format = chat_template_of(pretrained, source);
    context = pretrained_config(pretrained, source).block_size;
  } else {
    const Checkpoint checkpoint = load_checkpoint(checkpoint_of(run));
    tokenizer = tokenizer_of(checkpoint);
    format = chat_template_in(checkpoint.state.metadata);
    context = checkpoint.model_config().block_size;
  }
  auto bpe = std::dynamic_pointer_cast<const BpeTokenizer>(tokenizer);
  if (!bpe) return {};
  return ChatFormat{std::move(bpe), std::move(format), context};
}

std::unique_ptr<Transformer> without_unused_rows(std::unique_ptr<Transformer> model, int64_t tokens) {
  if (model->config.vocab_size <= tokens) return model;
  std::vector<Tensor*> weights = {&model->wte.weight};
  if (model->lm_head) weights.push_back(&model->lm_head->weight);
  for (Tensor* const weight : weights) {
    check(weight->defined(), "without_unused_rows: a weight of the model is quantized");
    Tensor rows = slice(weight->detach(), 0, 0, tokens).clone();
    rows.set_requires_grad(weight->requires_grad());
    *weight = std::move(rows);
  }
  model->config.vocab_size = tokens;
  return model;
}

void check_vocabulary(const Tokenizer& tokenizer, std::string_view text, const std::string& owner) {
  try {
    tokenizer.encode(text);
    return;
  } catch (const Error& e) {
    check(dynamic_cast<const CharTokenizer*>(&tokenizer) != nullptr, "the vocabulary of {}: {}", owner, e.what());
  }
  std::u32string characters = decode_utf8(text, "vocabulary");
  std::sort(characters.begin(), characters.end());
  characters.erase(std::unique(characters.begin(), characters.end()), characters.end());
  std::string missing;
  int64_t count = 0;
  for (const char32_t c : characters) {
    std::string one;
    append_utf8(one, c);
    try {
      tokenizer.encode(one);
    } catch (const Error&) {
      if (++count <= 8) missing += fmt::format("{}{}", count > 1 ? ", " : "", describe_character(c));
    }
  }
  fail("the vocabulary of {} ({} tokens) lacks {} of the text's {} characters: {}{}", owner, tokenizer.vocab_size(),
       count, characters.size(), missing, count > 8 ? ", …" : "");
}

void hold_int8(RunModel& m, const std::string& text) {
  constexpr size_t kFewest = 64, kMost = 256;
  Transformer& model = *m.model;
  check(model.config.causal, "--int8 is for models that predict the next token; {} is a masked denoiser", m.path);
  const auto context = static_cast<size_t>(model.config.block_size);
  check(context >= 2, "--int8 compares predictions of two tokens; {} has a context of one", m.path);
  std::vector<int32_t> ids = m.tokenizer->encode(text.empty() ? m.prompt : text);
  check(!ids.empty(), "--int8: the prompt must have at least one token");
  if (const size_t most = std::min(kMost, context); ids.size() > most) {
    ids.erase(ids.begin(), ids.end() - static_cast<int64_t>(most));
  }
  if (const size_t fewest = std::min(kFewest, context); ids.size() < fewest) {
    const GenerateOptions options{.max_new_tokens = static_cast<int64_t>(fewest - ids.size()), .seed = 1};
    const Generated more = generate(model, {ids}, options)[0];
    ids.insert(ids.end(), more.tokens.begin(), more.tokens.end());
  }
  const Int8Effect effect = quantize_weights(model, ids);
  remark(stderr,
         "8-bit weights: {:.4g} MB become {:.4g} MB; on {} tokens a log-probability changes by {:.2g} on average and "
         "{:.2g} at most, KL {:.2g} nats, {:.3g} % of the likeliest tokens stay\n",
         static_cast<double>(effect.bytes_before) / 1e6, static_cast<double>(effect.bytes_after) / 1e6, effect.tokens,
         effect.mean_difference, effect.largest_difference, effect.kl, 100 * effect.same_choice);
}

}  // namespace pg::tools
