// pg train: a GPT-2 learns the characters of a text.
#include <sys/resource.h>

#include <chrono>
#include <cmath>
#include <optional>

#include "nn/interrupt.h"
#include "nn/progress.h"
#include "nn/remark.h"
#include "nn/run_dir.h"
#include "nn/trainer.h"
#include "tasks/char_tokenizer.h"
#include "tasks/fetch.h"
#include "tasks/sha256.h"
#include "tasks/text_data.h"
#include "tensor/cuda/runtime.h"
#include "tensor/error.h"
#include "tensor/profile.h"
#include "tools/pg/commands.h"
#include "tools/pg/memory.h"
#include "tools/pg/process.h"
#include "tools/pg/run.h"

namespace pg::tools {

namespace {

TokenBatch to_tensors(const Batch& batch) {
  const Shape shape = {batch.rows, batch.length};
  return {Tensor::from(batch.x, shape), Tensor::from(batch.y, shape)};
}

TrainConfig train_config(const TrainOptions& o) {
  TrainConfig config;
  config.max_steps = o.steps;
  config.micro_batches = o.accumulate;
  if (o.schedule == "constant") config.schedule.kind = Schedule::Kind::constant;
  if (o.schedule == "linear") config.schedule.kind = Schedule::Kind::linear;
  config.schedule.lr = o.lr;
  config.schedule.min_lr = o.min_lr;
  config.schedule.warmup_steps = o.warmup;
  config.schedule.decay_steps = o.steps;
  config.adamw.beta1 = o.beta1;
  config.adamw.beta2 = o.beta2;
  config.adamw.weight_decay = o.weight_decay;
  config.adamw.stochastic_rounding = o.stochastic_rounding;
  config.adamw.seed = o.seed;
  config.max_grad_norm = o.clip;
  config.eval_interval = o.eval_every;
  config.checkpoint_interval = o.save_every;
  config.seed = o.seed;
  return config;
}

// Loss over every window of the validation text, each read once.
double full_loss(Trainer& trainer, const std::vector<int32_t>& tokens, int64_t length) {
  constexpr int64_t rows = 64;
  const int64_t windows = window_count(tokens, length);
  int64_t next = 0;
  return trainer.evaluate(
      [&](Generator&) {
        const int64_t first = next;
        next = std::min(windows, next + rows);
        return to_tensors(window_batch(tokens, first, next - first, length));
      },
      (windows + rows - 1) / rows);
}

std::string memory_line(const StepMemory& m) {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto mb = [](size_t bytes) { return static_cast<double>(bytes) / 1e6; };
#if defined(__APPLE__)
  const auto resident = static_cast<size_t>(usage.ru_maxrss);
#else
  const auto resident = static_cast<size_t>(usage.ru_maxrss) * 1024;
#endif
  return fmt::format(
      "memory of a step in MB: weights {:.1f}, gradients {:.1f}, optimizer {:.1f}, activations {:.1f}; "
      "{:.1f} resident at most\n",
      mb(m.weights), mb(m.gradients), mb(m.optimizer), mb(m.activations), mb(resident));
}

}  // namespace

int train(const TrainOptions& o) {
  std::optional<RunDir> opened = open_run(o.resume);
  const bool resumed = has_checkpoint(opened);
  const Device device = parse_device(o.device);
  check(!o.stochastic_rounding || o.dtype == "bf16",
        "train: --stochastic-rounding rounds bf16 weights, those of --dtype {} are not rounded; add --dtype bf16 or "
        "leave "
        "it out",
        o.dtype);
  if (o.exact && device.kind == Device::Kind::cpu) {
    remark(stderr, "--exact has no effect on the CPU: there log-probabilities are always equal to the bit\n");
  }
  cuda::set_exact(o.exact);
  start_threads(o.threads);

  const Corpus corpus = load_corpus(o.data);
  if (!corpus.note.empty()) remark(stderr, "{}\n", corpus.note);
  const CharTokenizer tokenizer(corpus.text);
  const TextData text = split_text(tokenizer.encode(corpus.text));
  check(window_count(text.val, o.context) > 0,
        "train: the text has {} characters, too few for a context of {}; "
        "use a longer text or a smaller --context",
        text.train.size() + text.val.size(), o.context);

  const Gpt2Config config = {
      .vocab_size = tokenizer.vocab_size(),
      .block_size = o.context,
      .n_layer = o.layers,
      .n_head = o.heads,
      .n_embd = o.width,
      .dropout = o.dropout,
      .in_proj_std = o.in_proj_std > 0 ? o.in_proj_std : 1 / std::sqrt(static_cast<double>(o.width)),
      .dtype = o.dtype == "bf16" ? bf16 : f32};
  check_model_memory(config);
  check_batch_memory(config, o.batch, "a smaller --batch (--accumulate adds batches up) or --context");
  Generator init(o.seed);
  Gpt2 model(config, init);
  model.checkpoint_blocks = o.checkpoint_blocks;
  model.to(device);
  const auto train_batch = [&](Generator& g) { return to_tensors(random_batch(text.train, o.batch, o.context, g)); };
  const auto val_batch = [&](Generator& g) { return to_tensors(random_batch(text.val, o.batch, o.context, g)); };
  Trainer trainer(model, train_config(o), train_batch);

  const std::map<std::string, std::string> texts = {{"kind", "train"},
                                                    {"tokenizer", tokenizer.to_json()},
                                                    {"corpus", corpus.name},
                                                    {"corpus_sha256", sha256(corpus.text)}};
  if (resumed) {
    const Checkpoint checkpoint = load_checkpoint(checkpoint_path(o.resume));
    check(checkpoint.text("corpus_sha256") == texts.at("corpus_sha256"),
          "train: the text ({}) is not the one that {} was trained on", corpus.name, o.resume);
    trainer.resume(checkpoint);
  }
  const int64_t start = trainer.steps();
  RunDir run = start_run(std::move(opened), start, o.out, o.name);
  run.save_config(o.config);
  remark(stdout, "{}: {} characters, {} different; {} parameters; {}\n", corpus.name,
         text.train.size() + text.val.size(), tokenizer.vocab_size(), count_parameters(model), run.path());

  catch_interrupt();
  std::optional<Progress> progress(std::in_place, start, o.steps);
  std::string val_text;
  double val_loss = 0;
  using Clock = std::chrono::steady_clock;
  Clock::time_point last = Clock::now();
  double rate = 0;  // tokens/s, a moving average
  const auto save = [&] {
    trainer.save(checkpoint_path(run.path()), texts);
    note_saved(run);
  };

  TrainHooks hooks;
  hooks.on_step = [&](const StepReport& report) {
    const auto now = Clock::now();
    const double tokens_per_s = static_cast<double>(report.tokens) / std::chrono::duration<double>(now - last).count();
    rate = rate == 0 ? tokens_per_s : 0.95 * rate + 0.05 * tokens_per_s;
    last = now;
    run.log(
        report.step,
        {{"loss", report.loss}, {"lr", report.lr}, {"grad_norm", report.grad_norm}, {"tokens_per_s", tokens_per_s}});
    progress->update(report.step, fmt::format("loss {:.4f}{}  {:.0f} tokens/s", report.loss, val_text, rate));
  };
  hooks.on_eval = [&](int64_t step) {
    const bool final = step == o.steps;
    val_loss = final ? full_loss(trainer, text.val, o.context) : trainer.evaluate(val_batch, o.eval_batches);
    if (step > start || start == 0) run.log(step, {{"val_loss", val_loss}});  // else a finished run, logged before
    val_text = fmt::format("  val {:.4f}", val_loss);
    last = Clock::now();
  };
  hooks.on_checkpoint = [&](int64_t) {
    save();
    last = Clock::now();
  };
  hooks.should_stop = interrupted;

  std::optional<Profile> profile;
  if (o.profile) profile.emplace();
  const bool complete = trainer.run(hooks);
  progress.reset();
  if (profile) remark(stdout, "{}\n{}", profile->table(), memory_line(trainer.memory()));
  if (!complete) {
    save();
    remark(stdout, "stopped after step {}; go on with:  pg train --resume {}\n", trainer.steps(), run.path());
    return interrupt_status();
  }
  remark(stdout,
         "validation loss {:.4f} nats per character over the whole validation text\nhear it speak:  pg sample {}\n",
         val_loss, run.path());
  return 0;
}

}  // namespace pg::tools
