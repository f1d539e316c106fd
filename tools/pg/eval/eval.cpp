// pg eval: the loss of a model on a text; eval_task.cpp has what it does on a task.
#include "tools/pg/eval/eval.h"

#include <algorithm>
#include <cmath>

#include "autograd/ops.h"
#include "nn/variants/denoiser.h"
#include "tasks/data/fetch.h"
#include "tasks/data/text_data.h"
#include "tensor/backend.h"
#include "tensor/base/error.h"
#include "tensor/base/json.h"
#include "tools/pg/cli/commands.h"
#include "tools/pg/cli/model_options.h"
#include "tools/pg/cli/objective.h"
#include "tools/pg/cli/process.h"
#include "tools/pg/cli/progress.h"
#include "tools/pg/eval/eval_task.h"
#include "tools/pg/run/run_model.h"

namespace pg::tools {
namespace {

constexpr uint64_t kSeed = 1;                  // of the masks
constexpr int64_t kLogits = int64_t{1} << 24;  // at a time: 64 MB in f32

// Windows of this length that fit in the limit on logits, from 1 to 64.
int64_t windows_at_once(const TransformerConfig& model) {
  return std::clamp<int64_t>(kLogits / (model.block_size * model.vocab_size), 1, 64);
}

}  // namespace

double text_loss(Transformer& model, const std::vector<int32_t>& ids) {
  check(ids.size() >= 2, "eval: the text has {} tokens; a prediction needs one before it and one to predict",
        ids.size());
  NoGrad no_grad;
  EvalMode eval_mode(model);
  const int64_t length = model.config.block_size, windows = window_count(ids, length);
  double nats = 0;
  const auto add = [&](const Windows& batch) {
    const Shape shape = {batch.rows, batch.length};
    CrossEntropyOptions options;
    options.reduction = Reduction::sum;
    const Tensor targets = Tensor::from(batch.y, shape).to(model.device());
    const Tensor hidden = model.hidden(Tensor::from(batch.x, shape));
    const int64_t columns = std::max<int64_t>(1, kLogits / (batch.rows * model.config.vocab_size));
    for (int64_t first = 0; first < batch.length; first += columns) {
      const int64_t last = std::min(first + columns, batch.length);
      nats += cross_entropy(model.head(slice(hidden, 1, first, last)), slice(targets, 1, first, last), options).item();
    }
  };
  const int64_t rows = windows_at_once(model.config);
  for (int64_t first = 0; first < windows; first += rows) {
    add(window_batch(ids, first, std::min(rows, windows - first), length));
  }
  const std::vector<int32_t> rest(ids.begin() + windows * length, ids.end());
  if (rest.size() >= 2) add(window_batch(rest, 0, 1, std::ssize(rest) - 1));
  return nats;
}

TextBound text_bound(Transformer& model, const std::vector<int32_t>& ids, int64_t draws) {
  check(!ids.empty(), "eval: the text has no tokens");
  NoGrad no_grad;
  EvalMode eval_mode(model);
  const MaskedDenoiser denoiser = masked_denoiser(model);
  const int64_t length = model.config.block_size, windows = std::ssize(ids) / length;
  const std::span<const int32_t> text = ids;
  TextBound bound;
  std::vector<double> totals;
  for (int64_t draw = 0; draw < draws; ++draw) {
    Generator generator = random_stream(kSeed, static_cast<uint64_t>(draw));
    double nats = 0;
    const auto add = [&](int64_t first, int64_t rows, int64_t columns) {
      const auto part = text.subspan(static_cast<size_t>(first), static_cast<size_t>(rows * columns));
      const Tensor tokens = Tensor::from(part, {rows, columns});
      nats += summed_denoising_loss(denoiser, mask_counts(tokens, denoiser.mask_id(), generator)).item();
    };
    const int64_t rows = windows_at_once(model.config);
    for (int64_t first = 0; first < windows; first += rows) {
      add(first * length, std::min(rows, windows - first), length);
    }
    if (const int64_t rest = std::ssize(ids) - windows * length; rest > 0) add(windows * length, 1, rest);
    totals.push_back(nats);
    bound.nats += nats / static_cast<double>(draws);
  }
  for (const double nats : totals) bound.standard_error += std::pow(nats - bound.nats, 2);
  bound.standard_error = std::sqrt(bound.standard_error / static_cast<double>(draws) / static_cast<double>(draws - 1));
  return bound;
}

namespace {

struct EvalOptions {
  EvalModelOptions model;  // its run: a run's folder or a checkpoint
  EvalTaskOptions on_task;
  std::string text;  // a file, "stories" or "tinyshakespeare"
  int64_t draws = 4;
};

std::vector<Field> fields(EvalOptions& o) {
  EvalModelOptions& m = o.model;
  return joined(
      {{best_field(m.best),
        adapter_field(m.adapter),
        json_field(m.json),
        device_field(m.device),
        threads_field(m.threads),
        exact_field(m.exact),
        dtype_field(o.on_task.common.dtype),
        {"draws", &o.draws, "of masks for each window of a text, for a masked denoiser", whole_from(1, 1000000)}},
       fields(o.on_task)});
}

int evaluate_text(const EvalOptions& options, const Given& given) {
  const EvalModelOptions& o = options.model;
  const Device device = parse_device(o.device);
  backend(device).set_exact(o.exact);
  start_threads(o.threads);
  RunModel m = load_run_model(
      o.run, device, {.best = o.best, .dtype = options.on_task.common.dtype, .denoisers = true, .adapter = o.adapter});
  const Objective& objective = objective_of(m.model->config);
  const bool causal = objective.causal;
  check(!causal || !given.has("draws"), "eval: --draws is for a masked denoiser; {} predicts the next token", o.run);
  const Corpus corpus = load_corpus(options.text);
  if (!corpus.note.empty()) remark(stderr, "{}\n", corpus.note);
  check_vocabulary(*m.tokenizer, corpus.text, o.run);
  const std::vector<int32_t> ids = m.tokenizer->encode(corpus.text);
  print_memory(stderr, {.model = m.model->config}, device, weight_bytes(*m.model), "--dtype bf16");
  // A language model predicts all tokens but the first; a denoiser predicts all tokens.
  const TextBound bound = causal ? TextBound{text_loss(*m.model, ids)} : text_bound(*m.model, ids, options.draws);
  const auto tokens = std::ssize(ids) - (causal ? 1 : 0);
  const size_t bytes = corpus.text.size() - (causal ? m.tokenizer->continuation(-1, ids[0]).size() : 0);
  const double loss = bound.nats / static_cast<double>(tokens);
  check(std::isfinite(loss), "eval: the loss of {} on {} is not finite; it may have weights that are not", m.path,
        corpus.name);
  const double bits_per_byte = bound.nats / std::log(2.0) / static_cast<double>(bytes);
  const double error = bound.standard_error / static_cast<double>(tokens);
  if (o.json) {
    Json json = {{"run", o.run},
                 {"checkpoint", m.path},
                 {"step", m.state.step},
                 {"text", corpus.name},
                 {"tokens", tokens},
                 {"bytes", bytes},
                 {"loss", loss},
                 {"perplexity", std::exp(loss)},
                 {"bits_per_byte", bits_per_byte}};
    if (!causal) {
      json["upper_bound"] = true;
      json["draws"] = options.draws;
      json["standard_error"] = std::isfinite(error) ? Json(error) : nullptr;
    }
    fmt::print("{}\n", json.dump(-1, Json::Utf8::replace));
    return 0;
  }
  fmt::print("{}: {} tokens, {} bytes; {}{}\n", corpus.name, tokens, bytes, m.path,
             m.kind == "pretrained" ? "" : fmt::format(" of step {}", m.state.step));
  fmt::print("loss           {}{:.4f} nats per token\n", objective.bound, loss);
  fmt::print("perplexity     {}{:.4g}\n", objective.bound, std::exp(loss));
  fmt::print("bits per byte  {}{:.4f}\n", objective.bound, bits_per_byte);
  if (!causal) {
    fmt::print("the bound is the mean of {} draws of masks{}\n", options.draws,
               std::isfinite(error) ? fmt::format("; the standard error of the loss is {:.4f}", error) : "");
  }
  return 0;
}

}  // namespace

Command eval_command() {
  const auto o = std::make_shared<EvalOptions>();
  Command command =
      text_command("eval", "how well a model predicts another text, or solves the problems of a task", fields(*o), {});
  command.usual = {"best", "json", "device", "task", "file", "problems", "samples", "k", "greedy", "system", "out"};
  std::vector<std::string> of_task = names_of(fields(o->on_task));  // options that need --task
  for (const std::string& name : names_of(command.changes.front().fields)) of_task.push_back(name);
  command.arguments = {
      {"run", &o->model.run, "a run's folder, or a checkpoint"},
      {"text", &o->text, "a text file, or tinyshakespeare, or stories; without it the run's task, or --task",
       /*required=*/false},
      {"--against", &o->on_task.against, "with --task: another model beside the first; may be given several times",
       /*required=*/false}};
  command.run = [o, of_task](Given& given) {
    check(!given.has("task") || o->text.empty(), "pg eval takes a text or --task NAME; it got both");
    const bool task = given.has("task") || (o->text.empty() && has_task(o->model.run));
    check(
        task || !o->text.empty(),
        "pg eval needs a text or --task NAME, as in pg eval RUN my.txt or pg eval RUN --task sort, unless the run was "
        "trained on a task; {} was not",
        o->model.run);
    if (task) {
      check(!given.has("draws"), "pg eval: --draws is for the text of a masked denoiser, not for --task");
      return evaluate_task(o->on_task, o->model, given);
    }
    for (const std::string& name : of_task) check(!given.has(name), "pg eval: --{} needs --task NAME", name);
    check(o->on_task.against.empty(), "pg eval: --against needs --task NAME");
    return evaluate_text(*o, given);
  };
  return command;
}

}  // namespace pg::tools
