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
  Generation(Transformer& model, const std::vector<std::vector<int32_t>>& prompts, const GenerateOptions& options)
      : model_(model),
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

  std::vector<Generated> run() {
    std::vector<size_t> uncached;
    if (options_.kv_cache) {
      run_cached();
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

 private:
  // Runs until each row is finished or has outgrown the cache.
  void run_cached() {
    // Prompts of equal length are read as one batch.
    std::vector<size_t> waiting(rows_.size() / samples());  // prompts
    std::iota(waiting.begin(), waiting.end(), size_t{0});
    const auto length = [this](size_t prompt) { return rows_[prompt * samples()].ids.size(); };
    std::stable_sort(waiting.begin(), waiting.end(), [&](size_t a, size_t b) { return length(a) < length(b); });
    const size_t capacity =
        options_.max_rows == 0 ? rows_.size() : std::min(rows_.size(), static_cast<size_t>(options_.max_rows));
    int64_t room = 0;
    for (const Row& row : rows_) room = std::max(room, static_cast<int64_t>(row.ids.size()) + row.limit - 1);
    if (options_.respond) room = block_size_;
    // A prompt whose rows find too few slots is held until the last of them has one.
    DecoderLease decoder(model_, static_cast<int64_t>(capacity), std::min(room, block_size_), decoding_,
                         capacity < rows_.size() && samples() > 1);
    std::vector<size_t> slots;                  // the row in each slot of the cache
    std::deque<std::vector<size_t>> in_flight;  // the rows of each pass whose results have not been taken
    size_t read = 0;                            // prompts already read
    size_t held = 0, held_end = 0;              // the rows of the held prompt that have no slot yet
    // Gives free slots to waiting rows; true if any got one.
    const auto admit = [&] {
      for (const size_t before = slots.size();;) {
        const size_t first = slots.size(), room_for = capacity - first;
        for (; held < held_end && slots.size() < capacity; ++held) slots.push_back(held);
        if (slots.size() > first) {
          const auto batch = std::span(slots).subspan(first);
          decoder->start_held(static_cast<int64_t>(first), draws(batch));
          in_flight.emplace_back(batch.begin(), batch.end());
          continue;
        }
        if (room_for == 0 || read == waiting.size() || should_stop()) return first > before;
        const size_t length_now = length(waiting[read]);
        if (room_for < samples()) {
          held = waiting[read++] * samples();
          held_end = held + samples();
          decoder->hold(rows_[held].ids);
          stats_.prompt_tokens += static_cast<int64_t>(length_now);
          continue;
        }
        std::vector<std::span<const int32_t>> prompts;
        while (read < waiting.size() && slots.size() + samples() <= capacity && length(waiting[read]) == length_now) {
          const size_t row = waiting[read++] * samples();
          prompts.emplace_back(rows_[row].ids);
          for (size_t sample = 0; sample < samples(); ++sample) slots.push_back(row + sample);
        }
        const auto batch = std::span(slots).subspan(first);
        decoder->prefill(static_cast<int64_t>(first), prompts, options_.samples, draws(batch));
        stats_.prompt_tokens += static_cast<int64_t>(length_now * prompts.size());
        in_flight.emplace_back(batch.begin(), batch.end());
      }
    };
    const auto take_oldest = [&] {
      const Decoder::Choices choices = decoder->take();
      const std::vector<size_t> rows = std::move(in_flight.front());
      in_flight.pop_front();
      for (size_t i = 0; i < rows.size(); ++i) take(rows[i], choices.tokens[i], choices.log_probs[i]);
    };
    // On a GPU, launch step t + 1 before reading step t's tokens: one step is in flight. That is not possible when the
    // environment must answer in between.
    const size_t ahead = model_.device().on_host() || options_.respond ? 0 : 1;
    admit();
    while (!in_flight.empty()) {
      if (should_stop()) return;
      while (in_flight.size() > ahead || (!in_flight.empty() && slots.empty())) take_oldest();
      for (size_t p = slots.size(); p-- > 0;) {
        Row& row = rows_[slots[p]];
        while (row.answered) {
          row.answered = false;
          const auto slot = static_cast<int64_t>(p);
          const auto ids = std::span(row.ids).subspan(static_cast<size_t>(decoder->length(slot)));
          decoder->extend(slot, ids, draws({&slots[p], 1})[0]);
          stats_.prompt_tokens += std::ssize(ids);
          in_flight.push_back({slots[p]});
          take_oldest();
        }
        const bool full = static_cast<int64_t>(row.ids.size()) + row.unseen > block_size_;
        if (!row.finished && row.chosen < row.limit && !full) continue;
        if (p + 1 != slots.size()) {
          decoder->move_row(static_cast<int64_t>(slots.size()) - 1, static_cast<int64_t>(p));
          slots[p] = slots.back();
        }
        slots.pop_back();
      }
      if (admit()) continue;  // the first token of a row may be its last
      if (!slots.empty()) {
        decoder->next(draws(slots));
        in_flight.push_back(slots);
        stats_.rows_of_pass.push_back(std::ssize(slots));
        if (held < held_end || read < waiting.size()) {
          const auto before = static_cast<double>(stats_.crowded_passes++);
          const double busy = static_cast<double>(slots.size()) / static_cast<double>(capacity);
          stats_.slots_busy = (stats_.slots_busy * before + busy) / (before + 1);
        }
      }
    }
    decoder.keep();
  }

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
    results_[i].chosen.push_back(chosen);
  }

  bool should_stop() { return stopped_ = stopped_ || (options_.should_stop && options_.should_stop()); }

  size_t samples() const { return static_cast<size_t>(options_.samples); }

  Transformer& model_;
  const GenerateOptions& options_;
  const DecodingOptions decoding_;
  const int64_t block_size_;
  std::vector<Row> rows_;  // row i belongs to prompt i / samples
  std::vector<Generated> results_;
  GenerateStats stats_;
  bool stopped_ = false;  // by should_stop
};

}  // namespace

std::vector<Generated> generate(Transformer& model, const std::vector<std::vector<int32_t>>& prompts,
                                const GenerateOptions& options) {
  check_causal(model.config, "generate");
  check(options.max_new_tokens >= 0, "generate: max_new_tokens must not be negative, got {}", options.max_new_tokens);
  check(options.samples >= 1 && options.max_rows >= 0,
        "generate: expected at least one sample per prompt and max_rows 0 or more, got {} and {}", options.samples,
        options.max_rows);
  check(!options.respond || !options.slide,
        "generate: respond and slide cannot be combined: respond needs all positions in the cache");
  if (!options.greedy) check_sample_options(options.sampling);
  NoGrad no_grad;
  EvalMode eval_mode(model);
  Generation generation(model, prompts, options);
  if (options.max_new_tokens == 0) return std::vector<Generated>(prompts.size() * static_cast<size_t>(options.samples));
  return generation.run();
}

}  // namespace pg
