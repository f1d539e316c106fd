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
#include "tools/pg/cli/process.h"
#include "tools/pg/cli/progress.h"
#include "tools/pg/cli/terminal_text.h"
#include "tools/pg/run/profile_report.h"
#include "tools/pg/run/ranks.h"
#include "tools/pg/run/run_dir.h"
#include "tools/pg/run/run_model.h"
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

int sft_on_data(const SftDataOptions& o, SftDataRun r, Comm& comm) {
  OpenedRun opened = open_run(comm, r.run.resume);
  const bool resumed = opened.has_checkpoint;
  start_threads(r.run.threads, comm);
  RunModel start = load_run_model(resumed ? r.run.resume : r.init, comm.device(),
                                  {.dtype = r.dtype, .adapter = resumed ? "" : r.adapter});
  const auto* tokenizer = dynamic_cast<const BpeTokenizer*>(start.tokenizer.get());
  check(tokenizer, "sft: {} does not read text by a byte-level tokenizer, which --data needs", start.path);
  if (!resumed) add_adapters(*start.model, r.lora, r.init, r.train.seed);
  const PromptStyle& style = find_row(prompt_styles(), "--prompt-style", r.chat.prompt.style);
  ChatTemplate format = chosen_template(start.chat_template, r.chat_template, r.chat);
  // Lines in the style "chat" are turns, or plain text for a model without a template, as they stand.
  std::optional<Prompt> prompt;
  if (r.chat.prompt.style != PromptOptions{}.style) {
    prompt.emplace(r.chat.prompt, std::make_shared<const BpeTokenizer>(*tokenizer), format);
    if (prompt->chat_template()) format = prompt->chat_template();
    if (const std::string note = prompt->note(); !note.empty()) remark(stderr, "{}\n", note);
  } else {
    format = format.with(r.chat.prompt.template_kwargs);
  }
  std::unique_ptr<TextTask> task;
  std::vector<Problem> problems;
  if (r.evaluation) {
    task = make_task(*r.evaluation);
    check(task->tokenizer().to_json() == tokenizer->to_json(), "sft: {} does not have the tokenizer of {}", r.init,
          start.path);
    problems = task->held_out(r.eval_problems);
    start.model = without_unused_rows(std::move(start.model), task->vocab_size());
  }
  const int64_t longest = std::min(o.max_length, start.model->config.block_size + 1);
  const ChatData data = read_chat_data(o.file, *tokenizer,
                                       {.format = format,
                                        .prompt = prompt ? &*prompt : nullptr,
                                        .unique = o.unique,
                                        .max_length = longest,
                                        .val_share = o.val_share,
                                        .seed = r.train.seed});
  if (data.prompts < o.unique) {
    remark(stderr, "{}: it has {} distinct prompts, fewer than --unique {}\n", o.file, data.prompts, o.unique);
  }

  Texts texts(data.train, r.batch, r.train.seed), held_out(data.val, r.batch, 0);
  if (!r.steps_given) {
    const double batches = std::ceil(o.epochs * static_cast<double>(texts.per_epoch()));
    r.train.max_steps = static_cast<int64_t>(std::ceil(batches / static_cast<double>(r.train.micro_batches)));
    r.train.schedule.decay_steps = r.train.max_steps;
    check_schedule("sft", r.train.schedule, r.train.max_steps);
  }
  print_memory(stdout,
               {.model = start.model->config,
                .trained = 1,
                .ranks = comm.size(),
                .zero = r.train.zero,
                .rows = 1,
                .columns = most_tokens(data, r.batch),
                .micro_batches = ranks_share(r.train.micro_batches, comm.size()),
                .cache_rows = ranks_share(std::ssize(problems), comm.size()),
                .cache_columns = task ? used_config(*start.model, *task).block_size : 0},
               comm.device(), weight_bytes(*start.model),
               "a smaller --batch with a larger --accumulate, a smaller --max-length, --lora-rank, or --dtype bf16");
  int64_t next = 0;
  Trainer trainer(
      *start.model, r.train, [&](Generator&) { return texts.batch(next++); }, &comm);
  if (resumed) trainer.resume(load_checkpoint(checkpoint_path(r.run.resume)));
  const int64_t first = trainer.steps();
  next = first * r.train.micro_batches;
  std::optional<RunDir> run = start_run(comm, std::move(opened.folder), first, r.run.out,
                                        r.run.name.empty() ? "sft" : r.run.name);  // of rank 0
  const std::string path = path_on_ranks(comm, run, r.train.zero);
  if (run) run->save_config(r.config(r.train));
  if (!data.note.empty()) remark(stderr, "{}\n", data.note);
  remark(stdout,
         "{}: {} texts, {} left out because they have more than {} tokens; {} distinct prompts; {} for validation; {} "
         "tokens, {} of them learned\n{}; {} steps of {} texts; {}\n",
         o.file, data.lines, data.too_long, longest, data.prompts, data.val.size(), data.tokens, data.learned,
         parameter_text(*start.model, r.init), r.train.max_steps, r.batch * r.train.micro_batches, path);

  catch_interrupt();
  Progress progress(first, r.train.max_steps);
  std::string last;
  TrainHooks hooks;
  hooks.on_step = [&](const StepReport& report) {
    if (run) {
      run->log(report.step, {{"loss", report.loss},
                             {"lr", report.lr},
                             {"grad_norm", report.grad_norm},
                             {"learned_tokens", static_cast<double>(report.tokens)}});
    }
    progress.update(report.step, fmt::format("loss {:.4f}{}", report.loss, last));
  };
  hooks.on_eval = [&](int64_t step) {
    rl::Metrics metrics;
    last = "";
    if (!data.val.empty()) {
      int64_t at = 0;
      const double loss =
          trainer.evaluate([&](Generator&) { return held_out.batch(at++, false); }, held_out.per_epoch());
      metrics.add("val_loss", loss);
      last = fmt::format("  validation {:.4f}", loss);
    }
    if (task) {
      rl::Metrics answers;
      trainer.with_all_weights([&] { answers = rl::evaluate_on_ranks(comm, *start.model, *task, problems); });
      start.model->train();
      for (const auto& [name, value] : answers.values()) metrics.add(name, value);
      last += fmt::format("  held-out reward {:.3f}, solved {:.1f} %", answers.at("eval/reward"),
                          100 * answers.at("eval/solved"));
    }
    if (run && !metrics.values().empty() && (step > first || first == 0))  // else a finished run, already logged
      run->log(step, metrics.values());
  };
  const auto save = [&](int64_t) {
    ChatTaskOptions chat = r.chat;
    std::map<std::string, std::string> texts_of_run = {{"kind", "sft"},
                                                       {"tokenizer", tokenizer->to_json()},
                                                       {"prompt", start.prompt},
                                                       {"chat_options", to_json(fields(chat))}};
    texts_of_run.merge(metadata_of(format));
    if (task) texts_of_run.merge(policy_texts(*r.evaluation, *task, "sft"));
    trainer.save(checkpoint_path(path), texts_of_run);
    if (run) note_saved(*run);
  };
  hooks.on_checkpoint = save;
  hooks.should_stop = [&] { return interrupted_anywhere(comm); };
  const ProfileReport profile(r.profile);
  const bool complete = trainer.run(hooks);
  profile.print(stdout, trainer.memory());
  if (!complete) {
    save(trainer.steps());
    return run ? end_stopped(progress, *run, "sft", fmt::format("step {}", trainer.steps())) : interrupt_status();
  }
  const std::string advice = task ? fmt::format("now let it learn from rewards:  pg rl --task {} --init", task->name())
                             : format && style.chat ? "talk with it:  pg chat"
                                                    : "hear it speak:  pg sample";
  progress.print(fmt::format("after {} steps:{}\n{} {}", r.train.max_steps, last, advice, shell_word(path)));
  return 0;
}

}  // namespace pg::tools
