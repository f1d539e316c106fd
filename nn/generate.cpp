#include "nn/generate.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "nn/random_stream.h"
#include "tensor/parallel.h"

namespace pg {
namespace {

// A sequence that is not finished.
struct Row {
  int64_t index;             // of the prompt
  std::vector<int32_t> ids;  // prompt and what came after
  Generator generator;
};

class Generation {
 public:
  Generation(const Gpt2& model, const std::vector<std::vector<int32_t>>& prompts, const GenerateOptions& options)
      : model_(model), options_(options), block_size_(model.config.block_size), results_(prompts.size()) {
    std::vector<Row> rows;
    int64_t room = 0;
    for (size_t i = 0; i < prompts.size(); ++i) {
      const auto length = static_cast<int64_t>(prompts[i].size());
      check(length >= 1 && length <= block_size_, "generate: prompt {} has {} tokens, expected 1 to {} (block_size)", i,
            length, block_size_);
      room = std::max(room, std::min(block_size_, length + options.max_new_tokens));
      rows.push_back({static_cast<int64_t>(i), prompts[i], random_stream(options.seed, options.first_row + i)});
    }
    // Rows of equal length stand together: each such run is one batch.
    std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.ids.size() < b.ids.size(); });
    if (options.kv_cache && !rows.empty()) {
      cache_ = model.new_cache(static_cast<int64_t>(rows.size()), room);
      cached_ = std::move(rows);
    } else {
      uncached_ = std::move(rows);
    }
  }

  std::vector<Generated> run() {
    while (!cached_.empty() || !uncached_.empty()) {
      std::vector<bool> finished = advance(uncached_, false);
      for (size_t i = uncached_.size(); i-- > 0;) {
        if (finished[i]) uncached_.erase(uncached_.begin() + static_cast<std::ptrdiff_t>(i));
      }
      finished = advance(cached_, true);
      for (size_t i = cached_.size(); i-- > 0;) {
        const bool outgrown = static_cast<int64_t>(cached_[i].ids.size()) > block_size_;
        if (!finished[i] && outgrown) uncached_.push_back(cached_[i]);
        if (finished[i] || outgrown) drop_cached(i);
      }
    }
    return std::move(results_);
  }

 private:
  // The last row takes the place of row i.
  void drop_cached(size_t i) {
    const size_t last = cached_.size() - 1;
    if (i != last) {
      cache_->copy_row(static_cast<int64_t>(last), static_cast<int64_t>(i));
      cached_[i] = std::move(cached_[last]);
    }
    cached_.pop_back();
  }

  // Tokens of a row that the model must see for the next one.
  int64_t pending(const Row& row, size_t place, bool cached) const {
    const auto length = static_cast<int64_t>(row.ids.size());
    return cached ? length - cache_->lengths.data<int32_t>()[place] : std::min(length, block_size_);
  }

  // One more token for each row; says which rows are finished by it.
  std::vector<bool> advance(std::vector<Row>& rows, bool cached) {
    std::vector<bool> finished(rows.size());
    for (size_t begin = 0; begin < rows.size();) {
      const int64_t count = pending(rows[begin], begin, cached);
      size_t end = begin + 1;
      while (end < rows.size() && pending(rows[end], end, cached) == count) ++end;
      const Tensor logits = last_logits(std::span(rows).subspan(begin, end - begin), begin, count, cached);
      append_tokens(std::span(rows).subspan(begin, end - begin), logits);
      for (; begin < end; ++begin) finished[begin] = finish_if_done(rows[begin]);
    }
    return finished;
  }

  // The logits [rows, V] that follow the last `count` tokens of each row; rows stand at `first` in the cache.
  Tensor last_logits(std::span<const Row> rows, size_t first, int64_t count, bool cached) const {
    const auto n = static_cast<int64_t>(rows.size());
    const Tensor ids = Tensor::empty({n, count}, i32);
    auto to = ids.data<int32_t>().begin();
    for (const Row& row : rows) to = std::copy(row.ids.end() - count, row.ids.end(), to);
    Tensor hidden;
    if (cached) {
      const auto begin = static_cast<int64_t>(first);
      const KvCache part = cache_->slice(begin, begin + n);
      hidden = model_.hidden(ids, &part);
    } else {
      hidden = model_.hidden(ids);
    }
    return model_.head(select(hidden, 1, count - 1));
  }

  void append_tokens(std::span<Row> rows, const Tensor& logits) {
    const Tensor here = logits.to(Device{});
    const int64_t vocab = logits.size(1);
    std::vector<int32_t> tokens(rows.size());
    visit_stored(here.dtype(), "generate", [&]<class S, class T>(std::type_identity<S>, std::type_identity<T>) {
      const std::span<const S> all = here.data<S>();
      parallel_for(static_cast<int64_t>(rows.size()), 1, [&](int64_t i, int64_t end) {
        for (; i < end; ++i) tokens[i] = choose<T>(all.subspan(i * vocab, vocab), rows[i].generator);
      });
    });
    const Tensor ids = Tensor::from(tokens, {logits.size(0)}).to(logits.device());
    const auto [log_probs, entropy] = token_log_prob(logits, ids);
    const std::vector<double> scores = log_probs.to_vector();
    for (size_t i = 0; i < rows.size(); ++i) {
      Generated& result = results_[rows[i].index];
      rows[i].ids.push_back(tokens[i]);
      result.tokens.push_back(tokens[i]);
      result.log_probs.push_back(scores[i]);
      if (options_.on_token) options_.on_token(rows[i].index, tokens[i]);
    }
  }

  template <class T, class S>
  int32_t choose(std::span<const S> logits, Generator& generator) const {
    if (options_.greedy) {
      const auto less = [](S a, S b) { return static_cast<T>(a) < static_cast<T>(b); };
      return static_cast<int32_t>(std::max_element(logits.begin(), logits.end(), less) - logits.begin());
    }
    std::vector<double> values;
    for (const S x : logits) values.push_back(static_cast<T>(x));
    return sample_token(filtered_probs(values, options_.sampling), generator.uniform());
  }

  bool finish_if_done(const Row& row) {
    Generated& result = results_[row.index];
    const auto& stops = options_.stop_ids;
    if (std::find(stops.begin(), stops.end(), row.ids.back()) != stops.end()) {
      result.finish = FinishReason::stop;
      return true;
    }
    const bool full = static_cast<int64_t>(row.ids.size()) > block_size_ && !options_.slide;
    return full || static_cast<int64_t>(result.tokens.size()) == options_.max_new_tokens;
  }

  const Gpt2& model_;
  const GenerateOptions& options_;
  const int64_t block_size_;
  std::vector<Generated> results_;
  std::vector<Row> cached_;  // row i stands at place i of the cache
  std::vector<Row> uncached_;
  std::optional<KvCache> cache_;
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
