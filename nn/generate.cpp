#include "nn/generate.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <numeric>

#include "nn/decoder.h"
#include "nn/random_stream.h"

namespace pg {
namespace {

struct Row {
  std::vector<int32_t> ids;  // prompt and what came after
  Generator generator;
  int64_t limit;       // tokens to come
  int64_t chosen = 0;  // of them, also those that the host has not seen yet
  bool finished = false;
};

class Generation {
 public:
  Generation(const Gpt2& model, const std::vector<std::vector<int32_t>>& prompts, const GenerateOptions& options)
      : model_(model), options_(options), block_size_(model.config.block_size), results_(prompts.size()) {
    for (size_t i = 0; i < prompts.size(); ++i) {
      const auto length = static_cast<int64_t>(prompts[i].size());
      check(length >= 1 && length <= block_size_, "generate: prompt {} has {} tokens, expected 1 to {} (block_size)", i,
            length, block_size_);
      rows_.push_back({prompts[i], random_stream(options.seed, options.first_row + i), options.max_new_tokens});
      // Without sliding, the token that follows the last position is the last.
      if (!options.slide) rows_[i].limit = std::min(rows_[i].limit, block_size_ - length + 1);
    }
  }

  std::vector<Generated> run() {
    std::vector<size_t> uncached;
    if (options_.kv_cache) {
      run_cached();
      for (size_t i = 0; i < rows_.size(); ++i) {
        if (!rows_[i].finished) uncached.push_back(i);  // past block_size
      }
    } else {
      uncached.resize(rows_.size());
      std::iota(uncached.begin(), uncached.end(), size_t{0});
    }
    while (!uncached.empty()) {
      advance(uncached);
      std::erase_if(uncached, [this](size_t i) { return rows_[i].finished; });
    }
    return std::move(results_);
  }

 private:
  // Until each row is finished or has outgrown the cache.
  void run_cached() {
    std::vector<size_t> places(rows_.size());  // place p of the cache holds row places[p]
    std::iota(places.begin(), places.end(), size_t{0});
    // Rows of equal length stand together: each such run is one batch.
    const auto length = [this](size_t i) { return rows_[i].ids.size(); };
    std::stable_sort(places.begin(), places.end(), [&](size_t a, size_t b) { return length(a) < length(b); });
    int64_t room = 0;
    for (const Row& row : rows_) room = std::max(room, static_cast<int64_t>(row.ids.size()) + row.limit - 1);
    Decoder decoder(model_, static_cast<int64_t>(rows_.size()), std::min(room, block_size_), options_.greedy,
                    options_.sampling);
    std::deque<std::vector<size_t>> flights;  // the rows of each pass whose choices have not been taken
    for (size_t begin = 0, end; begin < places.size(); begin = end) {
      std::vector<std::span<const int32_t>> prompts;
      for (end = begin; end < places.size() && length(places[end]) == length(places[begin]); ++end) {
        prompts.emplace_back(rows_[places[end]].ids);
      }
      const auto batch = std::span(places).subspan(begin, end - begin);
      decoder.prefill(static_cast<int64_t>(begin), prompts, draws(batch));
      flights.emplace_back(batch.begin(), batch.end());
    }
    // A GPU has the next pass to do while the host looks at the choices of the last.
    const size_t ahead = model_.device().kind == Device::Kind::cpu ? 0 : 1;
    while (!flights.empty()) {
      while (flights.size() > ahead || (!flights.empty() && places.empty())) {
        const Decoder::Choices choices = decoder.take();
        for (size_t i = 0; i < choices.tokens.size(); ++i) {
          take(flights.front()[i], choices.tokens[i], choices.log_probs[i]);
        }
        flights.pop_front();
      }
      for (size_t p = places.size(); p-- > 0;) {
        const Row& row = rows_[places[p]];
        const bool full = row.chosen >= block_size_ - prompt_length(places[p]) + 1;
        if (!row.finished && row.chosen < row.limit && !full) continue;
        if (p + 1 != places.size()) {
          decoder.move_row(static_cast<int64_t>(places.size()) - 1, static_cast<int64_t>(p));
          places[p] = places.back();
        }
        places.pop_back();
      }
      if (places.empty()) continue;
      decoder.next(draws(places));
      flights.push_back(places);
    }
  }

  // One more token for each row, all of its last positions computed anew.
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
      choose_tokens(logits, options_.greedy, options_.sampling, Tensor::from(draws(batch), {n}).to(logits.device()),
                    chosen, log_probs);
      const std::vector<double> tokens = chosen.to_vector(), scores = log_probs.to_vector();
      for (size_t i = 0; i < batch.size(); ++i) take(batch[i], static_cast<int32_t>(tokens[i]), scores[i]);
      begin = end;
    }
  }

  // One number for each row, from its own stream.
  std::vector<double> draws(std::span<const size_t> rows) {
    std::vector<double> u;
    for (const size_t i : rows) {
      u.push_back(rows_[i].generator.uniform());
      ++rows_[i].chosen;
    }
    return u;
  }

  // The next token of row i; what was chosen for it after its end does not count.
  void take(size_t i, int32_t token, double log_prob) {
    Row& row = rows_[i];
    if (row.finished) return;
    check(!std::isnan(log_prob), "generate: the logits of row {} after {} tokens are not finite", i, row.ids.size());
    Generated& result = results_[i];
    row.ids.push_back(token);
    result.tokens.push_back(token);
    result.log_probs.push_back(log_prob);
    if (options_.on_token) options_.on_token(static_cast<int64_t>(i), token);
    const auto& stops = options_.stop_ids;
    const bool stopped = std::find(stops.begin(), stops.end(), token) != stops.end();
    if (stopped) result.finish = FinishReason::stop;
    row.finished = stopped || static_cast<int64_t>(result.tokens.size()) == row.limit;
  }

  int64_t prompt_length(size_t i) const {
    return static_cast<int64_t>(rows_[i].ids.size() - results_[i].tokens.size());
  }

  const Gpt2& model_;
  const GenerateOptions& options_;
  const int64_t block_size_;
  std::vector<Row> rows_;  // row i is prompt i
  std::vector<Generated> results_;
};

}  // namespace

std::vector<Generated> generate(Gpt2& model, const std::vector<std::vector<int32_t>>& prompts,
                                const GenerateOptions& options) {
  check(options.max_new_tokens >= 0, "generate: max_new_tokens must not be negative, got {}", options.max_new_tokens);
  if (!options.greedy) check_sample_options(options.sampling);
  NoGrad no_grad;
  EvalMode eval_mode(model);
  Generation generation(model, prompts, options);
  if (options.max_new_tokens == 0) return std::vector<Generated>(prompts.size());
  return generation.run();
}

}  // namespace pg
