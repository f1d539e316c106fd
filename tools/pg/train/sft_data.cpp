// Supervised fine-tuning of a pretrained model on conversations.
#include "tools/pg/train/sft_data.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "nn/config_json.h"
#include "rl/text/imitation.h"
#include "rl/text/ranks.h"
#include "tasks/chat/chat_data.h"
#include "tensor/base/error.h"
#include "tensor/base/table.h"
#include "tools/pg/cli/model_options.h"
#include "tools/pg/cli/terminal_text.h"
#include "tools/pg/run/run_model.h"
#include "tools/pg/run/session.h"
#include "tools/pg/train/text_rl.h"

namespace pg::tools {
namespace {

// Batches of texts: each epoch has its own order, which follows from the seed and the number of the epoch, so that a
// resumed run reads what the stopped one would have read.
class Texts {
 public:
  Texts(const std::vector<TunedText>& texts, int64_t batch, uint64_t seed)
      : texts_(texts), batch_(batch), seed_(seed) {}

  int64_t per_epoch() const { return (std::ssize(texts_) + batch_ - 1) / batch_; }
  // Batch `index` of all epochs. Without `shuffled` in the order of the file.
  TokenBatch batch(int64_t index, bool shuffled = true) {
    const int64_t epoch = index / per_epoch();
    if (epoch != epoch_) {
      order_.resize(texts_.size());
      std::iota(order_.begin(), order_.end(), size_t{0});
      Generator draws = random_stream(seed_, static_cast<uint64_t>(epoch));
      if (shuffled) shuffle(order_, draws);
      epoch_ = epoch;
    }
    const int64_t begin = index % per_epoch() * batch_, end = std::min(begin + batch_, std::ssize(texts_));
    std::vector<rl::Sequence> rows;
    for (int64_t i = begin; i < end; ++i) {
      const TunedText& text = texts_[order_[static_cast<size_t>(i)]];
      const std::span<const int32_t> ids(text.ids);
      rows.push_back({ids.first(1), ids.subspan(1), std::span(text.learned).subspan(1)});
    }
    return rl::packed_batch(rows);
  }

 private:
  const std::vector<TunedText>& texts_;
  const int64_t batch_;
  const uint64_t seed_;
  int64_t epoch_ = -1;
  std::vector<size_t> order_;
};

// The tokens of a batch of `batch` texts at most.
int64_t most_tokens(const ChatData& data, int64_t batch) {
  std::vector<int64_t> lengths;
  for (const auto* texts : {&data.train, &data.val}) {
    for (const TunedText& text : *texts) lengths.push_back(std::ssize(text.ids));
  }
  std::sort(lengths.rbegin(), lengths.rend());
  lengths.resize(static_cast<size_t>(std::min(batch, std::ssize(lengths))));
  return std::accumulate(lengths.begin(), lengths.end(), int64_t{0});
}

}  // namespace

std::vector<Field> fields(SftDataOptions& o) {
  return {{"data", &o.file, "a JSONL file of messages, or of prompts with responses, instead of a task"},
          {"epochs", &o.epochs, "with --data: passes over the file, unless --steps is given", kPositive},
          {"val-share", &o.val_share, "with --data: share of the texts for validation", kBelowOne},
          {"max-length", &o.max_length, "with --data: texts of more tokens are left out", whole_from(2, 1000000)},
          {"unique", &o.unique, "with --data: only the lines of the first N distinct prompts; 0: all", whole_from(0)}};
}

namespace {

// The model, the words around the texts, the task that is evaluated, and the texts.
struct Tuning {
  RunModel start;
  const BpeTokenizer* tokenizer = nullptr;  // of `start`
  ChatTemplate format = {};
  bool chat_style = false;
  std::unique_ptr<TextTask> task = {};
  std::vector<Problem> problems = {};
  int64_t longest = 0;  // tokens of a text
  ChatData data = {};
};

void add_task(Tuning& t, const SftDataRun& r) {
  t.task = make_task(*r.evaluation);
  check(t.task->tokenizer().to_json() == t.tokenizer->to_json(), "sft: {} does not have the tokenizer of {}", r.init,
        t.start.path);
  t.problems = t.task->held_out(r.eval_problems);
  t.start.model = without_unused_rows(std::move(t.start.model), t.task->vocab_size());
}

Tuning prepare(const SftDataOptions& o, const SftDataRun& r, const RunSession& session) {
  const bool resumed = session.resumed();
  Tuning t{load_run_model(resumed ? r.run.resume : r.init, session.comm().device(),
                          {.dtype = r.dtype, .adapter = resumed ? "" : r.adapter})};
  t.tokenizer = dynamic_cast<const BpeTokenizer*>(t.start.tokenizer.get());
  check(t.tokenizer, "sft: {} does not read text by a byte-level tokenizer, which --data needs", t.start.path);
  if (!resumed) add_adapters(*t.start.model, r.lora, r.init, r.train.seed);
  t.chat_style = find_row(prompt_styles(), "--prompt-style", r.chat.prompt.style).chat;
  t.format = chosen_template(t.start.chat_template, r.chat_template, r.chat);
  // Lines in the style "chat" are turns, or plain text for a model without a template, as they stand.
  std::optional<Prompt> prompt;
  if (r.chat.prompt.style != PromptOptions{}.style) {
    prompt.emplace(r.chat.prompt, std::make_shared<const BpeTokenizer>(*t.tokenizer), t.format);
    if (prompt->chat_template()) t.format = prompt->chat_template();
    if (const std::string note = prompt->note(); !note.empty()) remark(stderr, "{}\n", note);
  } else {
    t.format = t.format.with(r.chat.prompt.template_kwargs);
  }
  if (r.evaluation) add_task(t, r);
  t.longest = std::min(o.max_length, t.start.model->config.block_size + 1);
  t.data = read_chat_data(o.file, *t.tokenizer,
                          {.format = t.format,
                           .prompt = prompt ? &*prompt : nullptr,
                           .unique = o.unique,
                           .max_length = t.longest,
                           .val_share = o.val_share,
                           .seed = r.train.seed});
  if (t.data.prompts < o.unique) {
    remark(stderr, "{}: it has {} distinct prompts, fewer than --unique {}\n", o.file, t.data.prompts, o.unique);
  }
  return t;
}

// The steps of `epochs`, for a run without --steps.
void settle_steps(TrainConfig& train, double epochs, int64_t batches_per_epoch) {
  const double batches = std::ceil(epochs * static_cast<double>(batches_per_epoch));
  train.max_steps = static_cast<int64_t>(std::ceil(batches / static_cast<double>(train.micro_batches)));
  train.schedule.decay_steps = train.max_steps;
  check_schedule("sft", train.schedule, train.max_steps);
}

void print_tuning_memory(const Tuning& t, const SftDataRun& r, Comm& comm) {
  print_memory(stdout,
               {.model = t.start.model->config,
                .trained = 1,
                .ranks = comm.size(),
                .zero = r.train.zero,
                .rows = 1,
                .columns = most_tokens(t.data, r.batch),
                .micro_batches = ranks_share(r.train.micro_batches, comm.size()),
                .cache_rows = ranks_share(std::ssize(t.problems), comm.size()),
                .cache_columns = t.task ? used_config(*t.start.model, *t.task).block_size : 0},
               comm.device(), weight_bytes(*t.start.model),
               "a smaller --batch with a larger --accumulate, a smaller --max-length, --lora-rank, or --dtype bf16");
}

// Logs the loss of the held-out texts and the answers to the task's problems, and returns both as text.
std::string evaluate(Tuning& t, Texts& held_out, Trainer& trainer, Sampler& sampler, RunSession& session,
                     int64_t step) {
  rl::Metrics metrics;
  std::string text;
  if (!t.data.val.empty()) {
    int64_t at = 0;
    const double loss = trainer.evaluate([&](Generator&) { return held_out.batch(at++, false); }, held_out.per_epoch());
    metrics.add("val_loss", loss);
    text = fmt::format("  validation {:.4f}", loss);
  }
  if (t.task) {
    rl::Metrics answers;
    trainer.with_all_weights([&] {
      answers = rl::evaluate_on_ranks(session.comm(), *t.start.model, *t.task, t.problems, {.sampler = &sampler});
    });
    t.start.model->train();
    for (const auto& [name, value] : answers.values()) metrics.add(name, value);
    text += fmt::format("  held-out reward {:.3f}, solved {:.1f} %", answers.at("eval/reward"),
                        100 * answers.at("eval/solved"));
  }
  session.log_evaluation(step, metrics.values());
  return text;
}

// Metadata of the checkpoints.
std::map<std::string, std::string> texts_of(const Tuning& t, const SftDataRun& r) {
  ChatTaskOptions chat = r.chat;
  std::map<std::string, std::string> texts = {{"kind", "sft"},
                                              {"tokenizer", t.tokenizer->to_json()},
                                              {"prompt", t.start.prompt},
                                              {"chat_options", to_json(fields(chat))}};
  texts.merge(metadata_of(t.format));
  if (t.task) texts.merge(policy_texts(*r.evaluation, *t.task, "sft"));
  return texts;
}

std::string advice(const Tuning& t) {
  if (t.task) return fmt::format("now let it learn from rewards:  pg rl --task {} --init", t.task->name());
  return t.format && t.chat_style ? "talk with it:  pg chat" : "hear it speak:  pg sample";
}

}  // namespace

int sft_on_data(const SftDataOptions& o, SftDataRun r, Comm& comm) {
  RunSession session(comm, r.run, "sft");
  Tuning t = prepare(o, r, session);
  Texts texts(t.data.train, r.batch, r.train.seed), held_out(t.data.val, r.batch, 0);
  if (!r.steps_given) settle_steps(r.train, o.epochs, texts.per_epoch());
  print_tuning_memory(t, r, comm);
  int64_t next = 0;
  Trainer trainer(
      *t.start.model, r.train, [&](Generator&) { return texts.batch(next++); }, &comm);
  if (session.resumed()) trainer.resume(load_checkpoint(session.resumed_checkpoint()));
  next = trainer.steps() * r.train.micro_batches;
  session.begin(trainer.steps(), r.train.max_steps, "sft", r.train.zero);
  if (session.folder()) session.folder()->save_config(r.config(r.train));  // with the steps of the epochs
  if (!t.data.note.empty()) remark(stderr, "{}\n", t.data.note);
  remark(stdout,
         "{}: {} texts, {} left out because they have more than {} tokens; {} distinct prompts; {} for validation; {} "
         "tokens, {} of them learned\n{}; {} steps of {} texts; {}\n",
         o.file, t.data.lines, t.data.too_long, t.longest, t.data.prompts, t.data.val.size(), t.data.tokens,
         t.data.learned, parameter_text(*t.start.model, r.init), r.train.max_steps, r.batch * r.train.micro_batches,
         session.path());

  Sampler sampler(*t.start.model);
  std::string last;
  TrainHooks hooks;
  hooks.on_step = [&](const StepReport& report) {
    session.log(report.step, {{"loss", report.loss},
                              {"lr", report.lr},
                              {"grad_norm", report.grad_norm},
                              {"learned_tokens", static_cast<double>(report.tokens)}});
    session.progress().update(report.step, fmt::format("loss {:.4f}{}", report.loss, last));
  };
  hooks.on_eval = [&](int64_t step) { last = evaluate(t, held_out, trainer, sampler, session, step); };
  hooks.on_checkpoint = [&](int64_t) {
    trainer.save(checkpoint_path(session.path()), texts_of(t, r));
    session.saved();
  };
  if (!run_trainer(session, trainer, hooks, r.profile, stdout)) {
    return session.stopped(fmt::format("step {}", trainer.steps()));
  }
  session.progress().print(
      fmt::format("after {} steps:{}\n{} {}", r.train.max_steps, last, advice(t), shell_word(session.path())));
  return 0;
}

}  // namespace pg::tools
