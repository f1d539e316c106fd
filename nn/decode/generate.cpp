// Generates many sequences at once, in groups that share a prompt.
#include "nn/decode/generate.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <numeric>

#include "nn/decode/decoder.h"
#include "nn/decode/kept_decoders.h"
#include "tensor/base/random.h"

namespace pg {
namespace {

struct Row {
  std::vector<int32_t> ids;  // prompt and all later tokens
  Generator generator;
  int64_t limit;       // tokens to sample
  int64_t chosen = 0;  // sampled so far, including those the host has not seen yet
  int64_t unseen = 0;
  int64_t taken = 0;      // sampled tokens that the host has seen
  bool answered = false;  // by `respond`: its tokens have not been read by the model yet
  bool finished = false;
};

class Generation {
 public:
  Generation(Transformer& model, KeptDecoders& kept, const std::vector<std::vector<int32_t>>& prompts,
             const GenerateOptions& options)
      : model_(model),
        kept_(kept),
        options_(options),
        decoding_{options.greedy, options.sampling, options.log_prob_at_temperature},
        block_size_(model.config.block_size),
        results_(prompts.size() * static_cast<size_t>(options.samples)) {
    for (size_t i = 0; i < prompts.size(); ++i) {
      const auto length = static_cast<int64_t>(prompts[i].size());
      check(length >= 1 && length <= block_size_, "generate: prompt {} has {} tokens, expected 1 to {} (block_size)", i,
            length, block_size_);
      for (int64_t sample = 0; sample < options.samples; ++sample) {
        rows_.push_back(
            {prompts[i], random_stream(options.seed, options.first_row + rows_.size()), options.max_new_tokens});
        // Without sliding, the token after the last position is the row's last.
        if (!options.slide) rows_.back().limit = std::min(rows_.back().limit, block_size_ - length + 1);
      }
    }
  }

  std::vector<Generated> run();

 private:
  class Scheduler;

  // Samples one more token for each row, recomputing all of its last positions.
  void advance(const std::vector<size_t>& rows) {
    for (size_t begin = 0; begin < rows.size();) {
      const auto length = [&](size_t i) { return std::min<size_t>(rows_[rows[i]].ids.size(), block_size_); };
      size_t end = begin + 1;
      while (end < rows.size() && length(end) == length(begin)) ++end;
      const auto batch = std::span(rows).subspan(begin, end - begin);
      const auto n = static_cast<int64_t>(batch.size()), count = static_cast<int64_t>(length(begin));
      const Tensor ids = Tensor::empty({n, count}, i32);
      auto to = ids.data<int32_t>().begin();
      for (const size_t i : batch) to = std::copy(rows_[i].ids.end() - count, rows_[i].ids.end(), to);
      const Tensor logits = model_.head(select(model_.hidden(ids), 1, count - 1));
      const Tensor chosen = Tensor::empty({n}, i32, logits.device());
      const Tensor log_probs = Tensor::empty({n}, sum_type(logits.dtype()), logits.device());
      choose_tokens(logits, decoding_, Tensor::from(draws(batch), {n}).to(logits.device()), chosen, log_probs);
      const std::vector<double> tokens = chosen.to_vector(), scores = log_probs.to_vector();
      for (size_t i = 0; i < batch.size(); ++i) take(batch[i], static_cast<int32_t>(tokens[i]), scores[i]);
      begin = end;
    }
  }

  // One uniform number for each row, from the row's own stream.
  std::vector<double> draws(std::span<const size_t> rows) {
    std::vector<double> u;
    for (const size_t i : rows) {
      u.push_back(rows_[i].generator.uniform());
      ++rows_[i].chosen;
      ++rows_[i].unseen;
    }
    return u;
  }

  // Handles the next token of row i; tokens sampled for a row after its end are ignored.
  void take(size_t i, int32_t token, double log_prob) {
    Row& row = rows_[i];
    if (row.finished) return;
    check(!std::isnan(log_prob), "generate: the logits of row {} after {} tokens are not finite", i, row.ids.size());
    --row.unseen;
    ++row.taken;
    append(i, token, log_prob, true);
    Generated& result = results_[i];
    if (options_.on_token) options_.on_token(static_cast<int64_t>(i), token);
    const auto& stops = options_.stop_ids;
    const bool stopped = std::find(stops.begin(), stops.end(), token) != stops.end() ||
                         (options_.stop && options_.stop(static_cast<int64_t>(i), result.tokens));
    if (stopped) result.finish = FinishReason::stop;
    const bool full = !options_.slide && static_cast<int64_t>(row.ids.size()) > block_size_;
    row.finished = stopped || full || row.taken == row.limit;
    if (stopped && row.taken < row.limit && options_.respond) go_on(i);
  }

  // Asks the environment for its answer to row i, which has stopped.
  void go_on(size_t i) {
    Row& row = rows_[i];
    const std::vector<int32_t> answer = options_.respond(static_cast<int64_t>(i), results_[i].tokens);
    if (answer.empty() || static_cast<int64_t>(row.ids.size() + answer.size()) > block_size_) return;
    for (const int32_t id : answer) append(i, id, 0, false);
    row.answered = true;
    row.finished = false;
    results_[i].finish = FinishReason::length;
  }

  void append(size_t i, int32_t token, double log_prob, bool chosen) {
    rows_[i].ids.push_back(token);
    results_[i].tokens.push_back(token);
    results_[i].log_probs.push_back(log_prob);
    results_[i].action_mask.push_back(chosen);
  }

  bool should_stop() { return stopped_ = stopped_ || (options_.should_stop && options_.should_stop()); }

  size_t samples() const { return static_cast<size_t>(options_.samples); }

  Transformer& model_;
  KeptDecoders& kept_;
  const GenerateOptions& options_;
  const DecodingOptions decoding_;
  const int64_t block_size_;
  std::vector<Row> rows_;  // row i belongs to prompt i / samples
  std::vector<Generated> results_;
  GenerateStats stats_;
  bool stopped_ = false;  // by should_stop
};

// Gives the slots of a cache to rows until each row is finished or has outgrown the cache.
class Generation::Scheduler {
 public:
  explicit Scheduler(Generation& all)
      : all_(all),
        capacity_(all.options_.max_rows == 0 ? all.rows_.size()
                                             : std::min(all.rows_.size(), static_cast<size_t>(all.options_.max_rows))),
        // On a GPU, step t + 1 is launched before step t's tokens are read: one step is in flight. That is not possible
        // when the environment must answer in between.
        ahead_(all.model_.device().on_host() || all.options_.respond ? 0 : 1),
        waiting_(all.rows_.size() / all.samples()),
        // A prompt whose rows find too few slots is held until the last of them has one.
        kept_(all.kept_.take(static_cast<int64_t>(capacity_), room(), all.decoding_,
                             capacity_ < all.rows_.size() && all.samples() > 1)),
        decoder_(&kept_->decoder) {
    // Prompts of equal length are read as one batch.
    std::iota(waiting_.begin(), waiting_.end(), size_t{0});
    std::stable_sort(waiting_.begin(), waiting_.end(), [&](size_t a, size_t b) { return length(a) < length(b); });
  }

  void run() {
    admit();
    while (!in_flight_.empty()) {
      if (all_.should_stop()) return;
      while (in_flight_.size() > ahead_ || (!in_flight_.empty() && slots_.empty())) take_oldest();
      evict();
      if (admit()) continue;  // the first token of a row may be its last
      if (!slots_.empty()) next();
    }
    all_.kept_.keep(std::move(kept_));
  }

 private:
  size_t length(size_t prompt) const { return all_.rows_[prompt * all_.samples()].ids.size(); }

  // The positions that a row may need.
  int64_t room() const {
    if (all_.options_.respond) return all_.block_size_;
    int64_t room = 0;
    for (const Row& row : all_.rows_) room = std::max(room, std::ssize(row.ids) + row.limit - 1);
    return std::min(room, all_.block_size_);
  }

  // Gives free slots to waiting rows; true if any got one.
  bool admit() {
    for (const size_t before = slots_.size();;) {
      const size_t first = slots_.size(), room_for = capacity_ - first;
      for (; held_ < held_end_ && slots_.size() < capacity_; ++held_) slots_.push_back(held_);
      if (slots_.size() > first) {
        const auto batch = std::span(slots_).subspan(first);
        decoder_->start_held(static_cast<int64_t>(first), all_.draws(batch));
        in_flight_.emplace_back(batch.begin(), batch.end());
        continue;
      }
      if (room_for == 0 || read_ == waiting_.size() || all_.should_stop()) return first > before;
      room_for < all_.samples() ? hold() : prefill();
    }
  }
  // Reads a prompt for whose rows there are too few slots.
  void hold() {
    held_ = waiting_[read_++] * all_.samples();
    held_end_ = held_ + all_.samples();
    decoder_->hold(all_.rows_[held_].ids);
    all_.stats_.prompt_tokens += std::ssize(all_.rows_[held_].ids);
  }
  // Reads the next prompts of one length.
  void prefill() {
    const size_t first = slots_.size(), length_now = length(waiting_[read_]);
    std::vector<std::span<const int32_t>> prompts;
    while (read_ < waiting_.size() && slots_.size() + all_.samples() <= capacity_ &&
           length(waiting_[read_]) == length_now) {
      const size_t row = waiting_[read_++] * all_.samples();
      prompts.emplace_back(all_.rows_[row].ids);
      for (size_t sample = 0; sample < all_.samples(); ++sample) slots_.push_back(row + sample);
    }
    const auto batch = std::span(slots_).subspan(first);
    decoder_->prefill(static_cast<int64_t>(first), prompts, all_.options_.samples, all_.draws(batch));
    all_.stats_.prompt_tokens += static_cast<int64_t>(length_now * prompts.size());
    in_flight_.emplace_back(batch.begin(), batch.end());
  }

  void take_oldest() {
    const Decoder::Choices choices = decoder_->take();
    const std::vector<size_t> rows = std::move(in_flight_.front());
    in_flight_.pop_front();
    for (size_t i = 0; i < rows.size(); ++i) all_.take(rows[i], choices.tokens[i], choices.log_probs[i]);
  }

  // Reads what the environment has answered, and frees the slots of rows that are done.
  void evict() {
    for (size_t p = slots_.size(); p-- > 0;) {
      Row& row = all_.rows_[slots_[p]];
      while (row.answered) {
        row.answered = false;
        const auto slot = static_cast<int64_t>(p);
        const auto ids = std::span(row.ids).subspan(static_cast<size_t>(decoder_->length(slot)));
        decoder_->extend(slot, ids, all_.draws({&slots_[p], 1})[0]);
        all_.stats_.prompt_tokens += std::ssize(ids);
        in_flight_.push_back({slots_[p]});
        take_oldest();
      }
      const bool full = std::ssize(row.ids) + row.unseen > all_.block_size_;
      if (!row.finished && row.chosen < row.limit && !full) continue;
      if (p + 1 != slots_.size()) {
        decoder_->move_row(std::ssize(slots_) - 1, static_cast<int64_t>(p));
        slots_[p] = slots_.back();
      }
      slots_.pop_back();
    }
  }

  // A token for every row that has a slot.
  void next() {
    decoder_->next(all_.draws(slots_));
    in_flight_.push_back(slots_);
    GenerateStats& stats = all_.stats_;
    stats.rows_of_pass.push_back(std::ssize(slots_));
    if (held_ == held_end_ && read_ == waiting_.size()) return;
    const auto before = static_cast<double>(stats.crowded_passes++);
    const double busy = static_cast<double>(slots_.size()) / static_cast<double>(capacity_);
    stats.slots_busy = (stats.slots_busy * before + busy) / (before + 1);
  }

  Generation& all_;
  const size_t capacity_, ahead_;
  std::vector<size_t> waiting_;  // prompts
  std::unique_ptr<KeptDecoder> kept_;
  Decoder* const decoder_;                     // of `kept_`
  std::vector<size_t> slots_;                  // the row in each slot of the cache
  std::deque<std::vector<size_t>> in_flight_;  // the rows of each pass whose results have not been taken
  size_t read_ = 0;                            // prompts already read
  size_t held_ = 0, held_end_ = 0;             // the rows of the held prompt that have no slot yet
};

std::vector<Generated> Generation::run() {
  std::vector<size_t> uncached;
  if (options_.kv_cache) {
    Scheduler(*this).run();
    for (size_t i = 0; i < rows_.size() && !stopped_; ++i) {
      if (!rows_[i].finished) uncached.push_back(i);  // past block_size
    }
  } else {
    uncached.resize(rows_.size());
    std::iota(uncached.begin(), uncached.end(), size_t{0});
  }
  while (!uncached.empty() && !should_stop()) {
    advance(uncached);
    std::erase_if(uncached, [this](size_t i) { return rows_[i].finished; });
  }
  if (options_.stats) *options_.stats = stats_;
  return std::move(results_);
}

}  // namespace

Sampler::Sampler(Transformer& model) : model_(model), kept_(std::make_unique<KeptDecoders>(model)) {}
Sampler::~Sampler() = default;
void Sampler::release() { kept_->release(); }

std::vector<Generated> Sampler::generate(const std::vector<std::vector<int32_t>>& prompts,
                                         const GenerateOptions& options) {
  check_causal(model_.config, "generate");
  check(options.max_new_tokens >= 0, "generate: max_new_tokens must not be negative, got {}", options.max_new_tokens);
  check(options.samples >= 1 && options.max_rows >= 0,
        "generate: expected at least one sample per prompt and max_rows 0 or more, got {} and {}", options.samples,
        options.max_rows);
  check(!options.respond || !options.slide,
        "generate: respond and slide cannot be combined: respond needs all positions in the cache");
  if (!options.greedy) check_sample_options(options.sampling);
  NoGrad no_grad;
  EvalMode eval_mode(model_);
  Generation generation(model_, *kept_, prompts, options);
  if (options.max_new_tokens == 0) return std::vector<Generated>(prompts.size() * static_cast<size_t>(options.samples));
  return generation.run();
}

std::vector<Generated> generate(Transformer& model, const std::vector<std::vector<int32_t>>& prompts,
                                const GenerateOptions& options) {
  return Sampler(model).generate(prompts, options);
}

}  // namespace pg
