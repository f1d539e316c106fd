// pg eval: the loss of a model on a text.
#include "tools/pg/eval.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "autograd/ops.h"
#include "tasks/fetch.h"
#include "tasks/text_data.h"
#include "tensor/backend.h"
#include "tensor/base/error.h"
#include "tools/pg/commands.h"
#include "tools/pg/run/process.h"
#include "tools/pg/run/progress.h"
#include "tools/pg/run/run_model.h"

namespace pg::tools {

double text_loss(Transformer& model, const std::vector<int32_t>& ids) {
  check(ids.size() >= 2, "eval: the text has {} tokens; a prediction needs one before it and one to predict",
        ids.size());
  NoGrad no_grad;
  EvalMode eval_mode(model);
  const int64_t length = model.config.block_size, windows = window_count(ids, length);
  constexpr int64_t logits = int64_t{1} << 24;  // at a time: 64 MB in f32
  double nats = 0;
  const auto add = [&](const Batch& batch) {
    const Shape shape = {batch.rows, batch.length};
    CrossEntropyOptions options;
    options.reduction = Reduction::sum;
    const Tensor targets = Tensor::from(batch.y, shape).to(model.device());
    const Tensor hidden = model.hidden(Tensor::from(batch.x, shape));
    const int64_t columns = std::max<int64_t>(1, logits / (batch.rows * model.config.vocab_size));
    for (int64_t first = 0; first < batch.length; first += columns) {
      const int64_t last = std::min(first + columns, batch.length);
      nats += cross_entropy(model.head(slice(hidden, 1, first, last)), slice(targets, 1, first, last), options).item();
    }
  };
  const int64_t rows = std::clamp<int64_t>(logits / (length * model.config.vocab_size), 1, 64);
  for (int64_t first = 0; first < windows; first += rows) {
    add(window_batch(ids, first, std::min(rows, windows - first), length));
  }
  const std::vector<int32_t> rest(ids.begin() + windows * length, ids.end());
  if (rest.size() >= 2) add(window_batch(rest, 0, 1, std::ssize(rest) - 1));
  return nats;
}

namespace {

struct EvalOptions {
  std::string run, text;  // run: a run's folder or a checkpoint; text: a file, "stories" or "tinyshakespeare"
  std::string device = "cpu";
  int threads = 0;
  bool best = false, exact = false, json = false;
};

std::vector<Field> fields(EvalOptions& o) {
  return {best_field(o.best), json_field(o.json), device_field(o.device), threads_field(o.threads),
          exact_field(o.exact)};
}

int evaluate(const EvalOptions& o) {
  const Device device = parse_device(o.device);
  backend(device).set_exact(o.exact);
  start_threads(o.threads);
  RunModel m = load_run_model(o.run, device, o.best);
  const Corpus corpus = load_corpus(o.text);
  if (!corpus.note.empty()) remark(stderr, "{}\n", corpus.note);
  check_vocabulary(*m.tokenizer, corpus.text, o.run);
  const std::vector<int32_t> ids = m.tokenizer->encode(corpus.text);
  const double nats = text_loss(*m.model, ids);
  const auto tokens = std::ssize(ids) - 1;  // number of predicted tokens: all but the first
  const size_t bytes = corpus.text.size() - m.tokenizer->continuation(-1, ids[0]).size();
  const double loss = nats / static_cast<double>(tokens);
  const double bits_per_byte = nats / std::log(2.0) / static_cast<double>(bytes);
  if (o.json) {
    const nlohmann::ordered_json json = {{"run", o.run},
                                         {"checkpoint", m.path},
                                         {"step", m.state.step},
                                         {"text", corpus.name},
                                         {"tokens", tokens},
                                         {"bytes", bytes},
                                         {"loss", loss},
                                         {"perplexity", std::exp(loss)},
                                         {"bits_per_byte", bits_per_byte}};
    fmt::print("{}\n", json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    return 0;
  }
  fmt::print("{}: {} tokens, {} bytes; {}{}\n", corpus.name, tokens, bytes, m.path,
             m.kind == "pretrained" ? "" : fmt::format(" of step {}", m.state.step));
  fmt::print("loss           {:.4f} nats per token\n", loss);
  fmt::print("perplexity     {:.4g}\n", std::exp(loss));
  fmt::print("bits per byte  {:.4f}\n", bits_per_byte);
  return 0;
}

}  // namespace

Command eval_command() {
  const auto o = std::make_shared<EvalOptions>();
  return {.name = "eval",
          .about = "how well a model of text predicts another text",
          .fields = fields(*o),
          .run = [o](Given&) { return evaluate(*o); },
          .arguments = {{"run", &o->run, "a run's folder, or a checkpoint"},
                        {"text", &o->text, "a text file, or tinyshakespeare, or stories"}}};
}

}  // namespace pg::tools
