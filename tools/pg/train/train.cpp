// pg train: trains a GPT-2 or a masked denoiser on a text.
#include "tools/pg/train/train.h"

#include <chrono>
#include <cmath>
#include <limits>
#include <optional>

#include "nn/files/pretrained.h"
#include "nn/train/trainer.h"
#include "tensor/backend.h"
#include "tensor/base/error.h"
#include "tensor/base/json.h"
#include "tools/pg/cli/commands.h"
#include "tools/pg/cli/model_options.h"
#include "tools/pg/cli/objective.h"
#include "tools/pg/cli/process.h"
#include "tools/pg/cli/progress.h"
#include "tools/pg/cli/terminal_text.h"
#include "tools/pg/run/profile_report.h"
#include "tools/pg/run/run_dir.h"
#include "tools/pg/run/run_model.h"
#include "tools/pg/run/samples.h"

namespace pg::tools {

namespace {

// The architecture of a model, which --init decides.
std::vector<Field> architecture_fields(TransformerConfig& model) {
  return titled(
      "Model",
      joined(
          {size_fields(model),
           {{"objective", objective_field(model), "what is learned: to predict the next token, or masked ones"},
            {"context", &model.block_size, "tokens the model sees at once", whole_from(1, 1000000)},
            {"in-proj-std", &model.in_proj_std,
             "standard deviation of the initial weights of what reads the residual stream; 0: 1/sqrt(width)",
             kNotNegative},
            {"bias", &model.bias, "linear layers and layer norms have biases"},
            {"dtype", float_type(model.dtype), "type of weights and activations; bf16 has f32 masters of the weights"}},
           family_fields(model)}));
}

// The configuration of the model of --init.
TransformerConfig config_of_init(const std::string& init) {
  const std::string pretrained = pretrained_path(init);
  if (pretrained.empty()) return load_checkpoint(checkpoint_of(init)).model_config();
  return pretrained_config(pretrained, open_tensors(pretrained));
}

// With --init the architecture is that of its model. Throws Error for an option that says otherwise, except --dtype of
// a pretrained model, and a --context that is shorter than that of rotary positions.
void take_architecture_of_init(TrainOptions& o, const Given& given) {
  TransformerConfig model = config_of_init(o.init);
  if (!pretrained_path(o.init).empty()) model.dtype = o.model.dtype;
  if (model.positions == Positions::rope && given.has("context")) {
    model.block_size = std::min(model.block_size, o.model.block_size);
  }
  const std::vector<Field> mine = architecture_fields(o.model), its = architecture_fields(model);
  for (size_t i = 0; i < mine.size(); ++i) {
    const std::string name = mine[i].name, text = its[i].text();
    check(!given.has(name) || mine[i].text() == text,
          "train: --{} {} differs from the {} of the model in {}; leave it out", name, mine[i].text(), text, o.init);
    mine[i].set(text);
  }
}

// Loss over every window of the validation text, each evaluated once, `rows` of them at a time.
double full_loss(Trainer& trainer, const TrainText& text, const TransformerConfig& model, int64_t rows) {
  const int64_t windows = text.val_windows;
  int64_t next = 0;
  return trainer.evaluate(
      [&](Generator& g) {
        const int64_t first = next;
        next = std::min(windows, next + rows);
        return objective_of(model).evaluation(text.val_window_batch(first, next - first), model, g);
      },
      (windows + rows - 1) / rows);
}

// Checkpoint metadata of a training on token files: ShuffledWindows::drawn.
constexpr const char* kWindowsDrawn = "windows_drawn";

int64_t windows_drawn(const Checkpoint& checkpoint) {
  int64_t drawn = 0;
  Field{.name = kWindowsDrawn, .value = &drawn, .about = "", .range = whole_from(0)}.set(
      checkpoint.text(kWindowsDrawn));
  return drawn;
}

// The objective's sample, and the same with a bar before each line. If sampling fails because the logits are not
// finite, it returns that error message instead: showing a sample must not end the training.
std::string short_sample(Transformer& model, const Tokenizer& tokenizer, const std::string& prompt, uint64_t seed) {
  try {
    return tokenizer.decode(objective_of(model.config).sample(model, tokenizer.encode(prompt), seed));
  } catch (const Error& e) {
    return e.what();
  }
}
std::string with_bars(const std::string& sample) {
  std::string text = "  | ";
  for (const char c : sample) {
    text += c;
    if (c == '\n') text += "  | ";
  }
  return text;
}

// The lowest validation loss so far and its step, stored in the run's checkpoints.
struct Best {
  double loss = std::numeric_limits<double>::infinity();
  int64_t step = -1;

  void read(const Checkpoint& checkpoint) {
    const auto& texts = checkpoint.state.metadata;
    if (!texts.contains("best_val_loss")) return;
    loss = std::strtod(texts.at("best_val_loss").c_str(), nullptr);
    step = std::strtoll(checkpoint.text("best_step").c_str(), nullptr, 10);
  }
  void write(std::map<std::string, std::string>& texts) const {
    if (step < 0) return;
    texts["best_val_loss"] = fmt::format("{}", loss);
    texts["best_step"] = fmt::format("{}", step);
  }
};

int train(const TrainOptions& o, Comm& comm) {
  OpenedRun opened = open_run(comm, o.run.resume);
  const bool resumed = opened.has_checkpoint;
  const Device device = comm.device();
  TrainConfig train = o.train;
  train.zero = o.ranks.zero;
  check(!train.adamw.stochastic_rounding || o.model.dtype == bf16,
        "train: --stochastic-rounding rounds bf16 weights, those of --dtype {} are not rounded; add --dtype bf16 or "
        "leave it out",
        name_of(o.model.dtype));
  if (o.exact && device.on_host()) {
    remark(stderr, "--exact has no effect on the CPU: there log-probabilities are always equal to the bit\n");
  }
  backend(device).set_exact(o.exact);
  start_threads(o.run.threads, comm);
  std::FILE* const out = o.json ? stderr : stdout;

  std::optional<Checkpoint> source;  // of this run, otherwise of --init, otherwise none
  const std::string pretrained = resumed || o.init.empty() ? "" : pretrained_path(o.init);
  if (resumed) {
    source = load_checkpoint(checkpoint_path(o.run.resume));
  } else if (!o.init.empty() && pretrained.empty()) {
    source = load_checkpoint(checkpoint_of(o.init));
  }
  const TrainText text = load_train_text(o, source ? &*source : nullptr, resumed);

  TransformerConfig config = o.model;
  const Objective& objective = objective_of(config);
  config.vocab_size = text.tokenizer->vocab_size() + objective.extra_tokens;
  if (config.in_proj_std == 0) config.in_proj_std = 1 / std::sqrt(static_cast<double>(config.n_embd));
  // A pretrained model may have more rows of embeddings than its tokenizer has tokens.
  if (source) {
    config.vocab_size = source->model_config().vocab_size;
    config.bias = source->model_config().bias;
    config.lora = source->model_config().lora;
  }
  std::optional<TensorSource> weights;
  if (!pretrained.empty()) {
    weights = open_tensors(pretrained);
    config.vocab_size = pretrained_config(pretrained, *weights).vocab_size;
  }
  check(text.tokenizer->vocab_size() + objective.extra_tokens <= config.vocab_size,
        "train: the tokenizer of {} has {} tokens and its model {}; they do not belong together", o.init,
        text.tokenizer->vocab_size(), config.vocab_size);
  check_model_memory(config);
  check_batch_memory(config, o.batch, "a smaller --batch (--accumulate adds batches up) or --context");
  print_memory(out,
               {.model = config,
                .trained = 1,
                .ranks = comm.size(),
                .zero = train.zero,
                .rows = o.batch,
                .columns = config.block_size,
                .micro_batches = ranks_share(train.micro_batches, comm.size()),
                .checkpoint_blocks = o.checkpoint_blocks},
               device, 0,
               "a smaller --batch with a larger --accumulate, a smaller --context or model, --checkpoint-blocks, or "
               "--dtype bf16");
  Generator init(train.seed);
  Transformer model(config, init);
  model.checkpoint_blocks = o.checkpoint_blocks;
  if (source && !resumed) source->restore(model);
  if (weights) load_weights(model, *weights);
  weights.reset();
  model.to(device);
  const auto train_batch = [&](Generator& g) { return objective.training(text.train_batch(o.batch, g), config, g); };
  const auto val_batch = [&](Generator& g) { return objective.evaluation(text.val_batch(o.batch, g), config, g); };
  Trainer trainer(model, train, train_batch, &comm);
  Best best;
  if (resumed) {
    trainer.resume(*source);
    best.read(*source);
    if (text.shuffled) text.shuffled->drawn = windows_drawn(*source);
  }
  source.reset();
  const int64_t start = trainer.steps();
  std::optional<RunDir> run = start_run(comm, std::move(opened.folder), start, o.run.out, o.run.name);  // of rank 0
  const std::string path = path_on_ranks(comm, run, train.zero);
  if (run) run->save_config(o.run.config);
  const bool characters = dynamic_cast<const CharTokenizer*>(text.tokenizer.get()) != nullptr;
  remark(out, "{}: {} {}, a vocabulary of {}; {} parameters; {}\n", text.name, text.tokens,
         characters ? "characters" : "tokens", text.tokenizer->vocab_size(), count_parameters(model),
         run ? path : fmt::format("rank {} of {}", comm.rank(), comm.size()));

  catch_interrupt();
  std::optional<Progress> progress(std::in_place, start, train.max_steps);
  std::string val_text;
  double val_loss = 0;
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  Clock::time_point last = begin;
  double rate = 0;                                           // tokens/s, an exponential moving average
  int64_t drawn = text.shuffled ? text.shuffled->drawn : 0;  // by the finished steps
  const auto texts = [&] {
    std::map<std::string, std::string> all = text.texts;
    best.write(all);
    if (text.shuffled) all[kWindowsDrawn] = fmt::format("{}", drawn);
    return all;
  };
  const auto save = [&] {
    trainer.save(checkpoint_path(path), texts());
    if (run) note_saved(*run);
  };
  const std::string prompt = default_prompt(*text.tokenizer);

  TrainHooks hooks;
  hooks.on_step = [&](const StepReport& report) {
    const auto now = Clock::now();
    const double tokens_per_s = static_cast<double>(report.tokens) / std::chrono::duration<double>(now - last).count();
    rate = rate == 0 ? tokens_per_s : 0.95 * rate + 0.05 * tokens_per_s;
    last = now;
    if (text.shuffled) drawn = text.shuffled->drawn;
    if (run)
      run->log(
          report.step,
          {{"loss", report.loss}, {"lr", report.lr}, {"grad_norm", report.grad_norm}, {"tokens_per_s", tokens_per_s}});
    progress->update(report.step, fmt::format("loss {:.4f}{}  {:.0f} tokens/s", report.loss, val_text, rate));
    if (o.sample_every > 0 && report.step % o.sample_every == 0) {
      trainer.with_all_weights([&] {
        if (!run) return;
        const std::string sample = short_sample(model, *text.tokenizer, prompt, train.seed);
        append_text_sample(*run, report.step, prompt, sample);
        progress->print(fmt::format("sample at step {}:\n{}", report.step, with_bars(sample)));
      });
      last = Clock::now();
    }
  };
  hooks.on_eval = [&](int64_t step) {
    const bool final = step == train.max_steps;
    // Every evaluation uses the same batches, so that estimates are comparable. The last step logs full_loss() instead.
    const double estimate = trainer.evaluate(val_batch, o.eval_batches);
    if (estimate < best.loss) {
      best = {estimate, step};
      auto all = texts();
      all["model"] = to_json(model.config);
      trainer.with_all_weights([&] {
        if (run) save_checkpoint(best_checkpoint_path(path), model, nullptr, {step, {}, all});
      });
    }
    val_loss = final ? full_loss(trainer, text, config, std::min<int64_t>(64, o.batch)) : estimate;
    if (run && (step > start || start == 0))  // else a finished run, already logged
      run->log(step, {{"val_loss", val_loss}, {"val_bits_per_byte", val_loss * text.bits_per_nat}});
    val_text = fmt::format("  val {:.4f}", val_loss);
    last = Clock::now();
  };
  hooks.on_checkpoint = [&](int64_t) {
    save();
    last = Clock::now();
  };
  hooks.should_stop = [&] {
    const bool over = o.minutes > 0 && Clock::now() - begin >= std::chrono::duration<double>(60 * o.minutes);
    return interrupted_anywhere(comm) || agreed(comm, over);
  };

  const ProfileReport profile(o.profile);
  const bool complete = trainer.run(hooks);
  progress.reset();
  profile.print(out, trainer.memory());
  if (!complete) save();
  const int status = interrupted() && !complete ? interrupt_status() : 0;
  if (!run) return status;
  const std::string best_text =
      best.step < 0 ? ""
                    : fmt::format("best at step {}: {:.4f}, in {}\n", best.step, best.loss, best_checkpoint_path(path));
  if (complete) {
    remark(out,
           "validation loss {}{:.4f} nats per {}, {}{:.4f} bits per byte, over the whole validation text{}\n{}hear it "
           "speak:  pg sample {}\n",
           objective.bound, val_loss, characters ? "character" : "token", objective.bound, val_loss * text.bits_per_nat,
           objective.note, best_text, shell_word(path));
  } else {
    remark(out, "{}stopped after step {}{}; continue with:  pg train --resume {}\n", best_text, trainer.steps(),
           interrupted() ? "" : fmt::format(", for {:g} minutes are over", o.minutes), shell_word(path));
  }
  if (o.json) {
    Json json = {{"kind", "train"}, {"run", path}, {"step", trainer.steps()}, {"complete", complete}};
    if (complete) {
      json["val_loss"] = val_loss;
      json["val_bits_per_byte"] = val_loss * text.bits_per_nat;
    }
    if (best.step >= 0) json["best"] = {{"step", best.step}, {"val_loss", best.loss}};
    fmt::print("{}\n", json.dump(-1, Json::Utf8::replace));
  }
  return status;
}

}  // namespace

std::vector<Field> fields(TrainOptions& o) {
  const std::vector<Field> data = {
      {"data", &o.data, "tinyshakespeare, stories, any text file, or token files: one or a folder of them"},
      {"val", &o.val,
       "text, token file or folder to validate on; empty: the token files val*, else the last tenth of the data"},
      {"tokenizer", &o.tokenizer,
       "a tokenizer.json, another file or a folder that pg tokenize reads; empty: the characters of the texts"}};
  const std::vector<Field> model = {
      {"init", &o.init,
       "a run, checkpoint, Hugging Face folder or GGUF file whose model is trained on: it decides sizes and "
       "vocabulary"},
      flag("checkpoint-blocks", o.checkpoint_blocks,
           "keep only the inputs of the blocks, compute the rest again: less memory, more time"),
      {"dropout", &o.model.dropout, "probability of setting an activation to zero", kBelowOne}};
  const std::vector<Field> training = {
      {"batch", &o.batch, "sequences per batch", whole_from(1, 1000000)},
      flag("stochastic-rounding", o.train.adamw.stochastic_rounding,
           "with bf16: weights are rounded up or down with the probabilities that keep their mean"),
      {"eval-batches", &o.eval_batches, "batches of an evaluation; the last one reads the whole text", whole_from(1)},
      {"sample-every", &o.sample_every, "steps between short samples on standard error; 0: none", whole_from(0)},
      {"minutes", &o.minutes, "minutes of training, after which it is saved and stopped; 0: no limit", kNotNegative}};
  const std::vector<Field> train =
      annotated(fields(o.train), {{"min-lr", "unless given, a tenth of --lr"},
                                  {"accumulate", kOneForEachRank},
                                  {"warmup", "unless given, a tenth of --steps in a run of 100 steps or fewer"}});
  return joined({fields(o.run),
                 {profile_field(o.profile),
                  json_field(o.json, "end with a JSON object, and write nothing else to standard output"),
                  device_field(o.device), exact_field(o.exact)},
                 titled("Data", data),
                 titled("Model", model),
                 architecture_fields(o.model),
                 titled("Training", joined({training, train})),
                 fields(o.ranks),
                 {zero_field(o.ranks)}});
}

Command train_command() {
  const auto o = std::make_shared<TrainOptions>();
  const auto run = [o](Given& given) {
    check(o->init.empty() || o->run.resume.empty(),
          "train: --init begins a run and --resume continues one; leave one of them out");
    read_files(given, o->run);
    check(o->init.empty() || o->tokenizer.empty(),
          "train: the model of --init has a tokenizer of its own; leave --tokenizer out");
    if (!o->init.empty() && o->run.resume.empty()) take_architecture_of_init(*o, given);
    TrainConfig& train = o->train;
    if (!given.has("warmup") && train.max_steps <= train.schedule.warmup_steps)
      train.schedule.warmup_steps = train.max_steps / 10;
    settle(train.schedule, train.max_steps, given);
    train.adamw.seed = train.seed;
    settle_batches(train, o->ranks, given);
    o->run.config = given.yaml(fields(*o));
    return run_on_ranks(o->ranks, o->device, o->run, [&](Comm& comm) { return tools::train(*o, comm); });
  };
  return {.name = "train",
          .about = "a GPT-2 or a masked denoiser learns a text, its characters or tokens",
          .fields = fields(*o),
          .run = run,
          .usual = {"config", "name", "resume", "device", "data", "tokenizer", "init", "layers", "heads", "width",
                    "context", "dtype", "batch", "steps", "minutes", "lr", "seed", "ranks"}};
}

}  // namespace pg::tools
