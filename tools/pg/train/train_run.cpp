// A run of pg train: the model, the trainer, what is logged and saved, and the last lines.
#include <cmath>
#include <limits>
#include <optional>

#include "nn/files/pretrained.h"
#include "tensor/backend.h"
#include "tensor/base/clock.h"
#include "tensor/base/error.h"
#include "tensor/base/json.h"
#include "tools/pg/cli/model_options.h"
#include "tools/pg/cli/objective.h"
#include "tools/pg/cli/process.h"
#include "tools/pg/cli/terminal_text.h"
#include "tools/pg/run/run_model.h"
#include "tools/pg/run/samples.h"
#include "tools/pg/run/session.h"
#include "tools/pg/train/train.h"

namespace pg::tools {
namespace {

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

// A run of pg train.
class TrainRun {
 public:
  TrainRun(const TrainOptions& options, Comm& comm);
  int run();

 private:
  void read_source();
  TransformerConfig settled_config() const;
  void make_model();
  void make_trainer();
  std::map<std::string, std::string> texts() const;
  void on_step(const StepReport& report);
  void print_sample(int64_t step);
  void on_eval(int64_t step);
  void save();
  bool should_stop() const;
  void print_end(bool complete);
  void print_json(bool complete) const;

  const TrainOptions& o_;
  RunSession session_;
  std::FILE* const out_ = o_.json ? stderr : stdout;
  TrainConfig train_ = o_.train;
  std::optional<Checkpoint> source_;  // of this run, otherwise of --init, otherwise none
  std::string pretrained_;            // the path of a pretrained model of --init, otherwise empty
  std::optional<TensorSource> weights_;
  TrainText text_;
  bool characters_ = false;  // whether the tokens are characters
  TransformerConfig config_;
  std::unique_ptr<Transformer> model_;
  std::unique_ptr<Trainer> trainer_;

  Best best_;
  std::string val_text_;
  double val_loss_ = 0;
  double rate_ = 0;    // tokens/s, an exponential moving average
  int64_t drawn_ = 0;  // ShuffledWindows::drawn after the finished steps
  Timer timer_, step_timer_;
};

TrainRun::TrainRun(const TrainOptions& options, Comm& comm) : o_(options), session_(comm, options.run, "train") {
  train_.zero = o_.ranks.zero;
  check(!train_.adamw.stochastic_rounding || o_.model.dtype == bf16,
        "train: --stochastic-rounding rounds bf16 weights, those of --dtype {} are not rounded; add --dtype bf16 or "
        "leave it out",
        name_of(o_.model.dtype));
  if (o_.exact && comm.device().on_host()) {
    remark(stderr, "--exact has no effect on the CPU: there log-probabilities are always equal to the bit\n");
  }
  backend(comm.device()).set_exact(o_.exact);
  read_source();
  text_ = load_train_text(o_, source_ ? &*source_ : nullptr, session_.resumed());
  characters_ = dynamic_cast<const CharTokenizer*>(text_.tokenizer.get()) != nullptr;
  make_model();
  make_trainer();
}

// Opens what the weights are from, if they are not new.
void TrainRun::read_source() {
  if (session_.resumed()) {
    source_ = load_checkpoint(session_.resumed_checkpoint());
  } else if (!o_.init.empty()) {
    pretrained_ = pretrained_path(o_.init);
    if (pretrained_.empty()) source_ = load_checkpoint(checkpoint_of(o_.init));
  }
  if (!pretrained_.empty()) weights_ = open_tensors(pretrained_);
}

TransformerConfig TrainRun::settled_config() const {
  TransformerConfig config = o_.model;
  const int64_t tokens = text_.tokenizer->vocab_size() + objective_of(config).extra_tokens;
  config.vocab_size = tokens;
  if (config.in_proj_std == 0) config.in_proj_std = 1 / std::sqrt(static_cast<double>(config.n_embd));
  // A pretrained model may have more rows of embeddings than its tokenizer has tokens.
  if (source_) {
    config.vocab_size = source_->model_config().vocab_size;
    config.bias = source_->model_config().bias;
    config.lora = source_->model_config().lora;
  }
  if (weights_) config.vocab_size = pretrained_config(pretrained_, *weights_).vocab_size;
  check(tokens <= config.vocab_size,
        "train: the tokenizer of {} has {} tokens and its model {}; they do not belong together", o_.init,
        text_.tokenizer->vocab_size(), config.vocab_size);
  return config;
}

void TrainRun::make_model() {
  config_ = settled_config();
  const Comm& comm = session_.comm();
  check_model_memory(config_);
  check_batch_memory(config_, o_.batch, "a smaller --batch (--accumulate adds batches up) or --context");
  print_memory(out_,
               {.model = config_,
                .trained = 1,
                .ranks = comm.size(),
                .zero = train_.zero,
                .rows = o_.batch,
                .columns = config_.block_size,
                .micro_batches = ranks_share(train_.micro_batches, comm.size()),
                .checkpoint_blocks = o_.checkpoint_blocks},
               comm.device(), 0,
               "a smaller --batch with a larger --accumulate, a smaller --context or model, --checkpoint-blocks, or "
               "--dtype bf16");
  Generator init(train_.seed);
  model_ = std::make_unique<Transformer>(config_, init);
  model_->checkpoint_blocks = o_.checkpoint_blocks;
  if (source_ && !session_.resumed()) source_->restore(*model_);
  if (weights_) load_weights(*model_, *weights_);
  weights_.reset();
  model_->to(comm.device());
}

// The trainer of the model, in the state of a resumed run.
void TrainRun::make_trainer() {
  const auto batch = [this](Generator& g) {
    return objective_of(config_).training(text_.train_batch(o_.batch, g), config_, g);
  };
  trainer_ = std::make_unique<Trainer>(*model_, train_, batch, &session_.comm());
  if (session_.resumed()) {
    trainer_->resume(*source_);
    best_.read(*source_);
    if (text_.shuffled) text_.shuffled->drawn = windows_drawn(*source_);
  }
  if (text_.shuffled) drawn_ = text_.shuffled->drawn;
  source_.reset();
}

// Metadata of the checkpoints.
std::map<std::string, std::string> TrainRun::texts() const {
  std::map<std::string, std::string> all = text_.texts;
  best_.write(all);
  if (text_.shuffled) all[kWindowsDrawn] = fmt::format("{}", drawn_);
  return all;
}

void TrainRun::on_step(const StepReport& report) {
  const double tokens_per_s = static_cast<double>(report.tokens) / step_timer_.lap();
  rate_ = rate_ == 0 ? tokens_per_s : 0.95 * rate_ + 0.05 * tokens_per_s;
  if (text_.shuffled) drawn_ = text_.shuffled->drawn;
  session_.log(
      report.step,
      {{"loss", report.loss}, {"lr", report.lr}, {"grad_norm", report.grad_norm}, {"tokens_per_s", tokens_per_s}});
  session_.progress().update(report.step, fmt::format("loss {:.4f}{}  {:.0f} tokens/s", report.loss, val_text_, rate_));
  if (o_.sample_every > 0 && report.step % o_.sample_every == 0) print_sample(report.step);
}

void TrainRun::print_sample(int64_t step) {
  const std::string prompt = default_prompt(*text_.tokenizer);
  trainer_->with_all_weights([&] {
    if (!session_.folder()) return;
    const std::string sample = short_sample(*model_, *text_.tokenizer, prompt, train_.seed);
    append_text_sample(*session_.folder(), step, prompt, sample);
    session_.progress().print(fmt::format("sample at step {}:\n{}", step, with_bars(sample)));
  });
  step_timer_ = {};
}

void TrainRun::on_eval(int64_t step) {
  const Objective& objective = objective_of(config_);
  const bool final = step == train_.max_steps;
  // Every evaluation uses the same batches, so that estimates are comparable. The last step logs full_loss() instead.
  const double estimate = trainer_->evaluate(
      [&](Generator& g) { return objective.evaluation(text_.val_batch(o_.batch, g), config_, g); }, o_.eval_batches);
  if (estimate < best_.loss) {
    best_ = {estimate, step};
    auto all = texts();
    all["model"] = to_json(model_->config);
    trainer_->with_all_weights([&] {
      if (!session_.folder()) return;
      save_checkpoint(best_checkpoint_path(session_.path()), *model_, nullptr, {step, {}, all});
    });
  }
  val_loss_ = final ? full_loss(*trainer_, text_, config_, std::min<int64_t>(64, o_.batch)) : estimate;
  session_.log_evaluation(step, {{"val_loss", val_loss_}, {"val_bits_per_byte", val_loss_ * text_.bits_per_nat}});
  val_text_ = fmt::format("  val {:.4f}", val_loss_);
  step_timer_ = {};
}

void TrainRun::save() {
  trainer_->save(checkpoint_path(session_.path()), texts());
  session_.saved();
  step_timer_ = {};
}

bool TrainRun::should_stop() const {
  const bool over = o_.minutes > 0 && timer_.seconds() >= 60 * o_.minutes;
  return interrupted_anywhere(session_.comm()) || agreed(session_.comm(), over);
}

int TrainRun::run() {
  session_.begin(trainer_->steps(), train_.max_steps, "", train_.zero);
  const Comm& comm = session_.comm();
  remark(out_, "{}: {} {}, a vocabulary of {}; {} parameters; {}\n", text_.name, text_.tokens,
         characters_ ? "characters" : "tokens", text_.tokenizer->vocab_size(), count_parameters(*model_),
         session_.folder() ? session_.path() : fmt::format("rank {} of {}", comm.rank(), comm.size()));
  timer_ = step_timer_ = {};
  TrainHooks hooks;
  hooks.on_step = [this](const StepReport& report) { on_step(report); };
  hooks.on_eval = [this](int64_t step) { on_eval(step); };
  hooks.on_checkpoint = [this](int64_t) { save(); };
  hooks.should_stop = [this] { return should_stop(); };
  const bool complete = run_trainer(session_, *trainer_, hooks, o_.profile, out_);
  if (session_.folder()) print_end(complete);
  return interrupted() && !complete ? interrupt_status() : 0;
}

void TrainRun::print_end(bool complete) {
  const std::string best = best_.step < 0 ? ""
                                          : fmt::format("best at step {}: {:.4f}, in {}\n", best_.step, best_.loss,
                                                        best_checkpoint_path(session_.path()));
  if (complete) {
    const Objective& objective = objective_of(config_);
    remark(out_,
           "validation loss {}{:.4f} nats per {}, {}{:.4f} bits per byte, over the whole validation text{}\n{}hear it "
           "speak:  pg sample {}\n",
           objective.bound, val_loss_, characters_ ? "character" : "token", objective.bound,
           val_loss_ * text_.bits_per_nat, objective.note, best, shell_word(session_.path()));
  } else {
    remark(out_, "{}stopped after step {}{}; continue with:  pg train --resume {}\n", best, trainer_->steps(),
           interrupted() ? "" : fmt::format(", for {:g} minutes are over", o_.minutes), shell_word(session_.path()));
  }
  if (o_.json) print_json(complete);
}

void TrainRun::print_json(bool complete) const {
  Json json = {{"kind", "train"}, {"run", session_.path()}, {"step", trainer_->steps()}, {"complete", complete}};
  if (complete) {
    json["val_loss"] = val_loss_;
    json["val_bits_per_byte"] = val_loss_ * text_.bits_per_nat;
  }
  if (best_.step >= 0) json["best"] = {{"step", best_.step}, {"val_loss", best_.loss}};
  fmt::print("{}\n", json.dump(-1, Json::Utf8::replace));
}

}  // namespace

int train_on_text(const TrainOptions& options, Comm& comm) { return TrainRun(options, comm).run(); }

}  // namespace pg::tools
