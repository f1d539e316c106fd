// Decoding token by token with a KV cache.
#include "nn/decoder.h"

#include <bit>

#include "autograd/ops.h"

namespace pg {

void choose_tokens(Tensor logits, DecodingOptions options, const Tensor& u, const Tensor& ids,
                   const Tensor& log_probs) {
  if (options.log_prob_at_temperature && options.sampling.temperature != 1) {
    logits = logits / options.sampling.temperature;
    options.sampling.temperature = 1;
  }
  const Kernels& k = kernels(logits.device());
  if (options.greedy) {
    k.argmax(ids, logits);
  } else {
    k.sample(ids, logits, u, options.sampling);
  }
  const Tensor entropy = empty_like(log_probs);
  const Tensor stats = Tensor::empty({log_probs.numel(), 2}, log_probs.dtype(), log_probs.device());
  k.token_log_prob(log_probs, entropy, stats, logits, ids);
}

Decoder::Decoder(const Transformer& model, int64_t rows, int64_t room, const DecodingOptions& options, bool holds)
    : model_(model),
      options_(options),
      rows_(rows),
      cache_(model.new_cache(rows + holds, room)),
      ids_(Tensor::zeros({rows}, i32, model.device())),
      log_probs_(Tensor::zeros({rows}, sum_type(model.config.dtype), model.device())),
      u_(Tensor::zeros({rows}, f64, model.device())),
      before_(zeros_like(ids_)),
      after_(zeros_like(ids_)) {}

void Decoder::prefill(int64_t first, std::span<const std::span<const int32_t>> prompts, int64_t copies,
                      std::span<const double> u) {
  NoGrad no_grad;
  const auto count = static_cast<int64_t>(prompts.size()), length = static_cast<int64_t>(prompts[0].size());
  const int64_t rows = count * copies;
  const Tensor ids = Tensor::empty({count, length}, i32);
  auto to = ids.data<int32_t>().begin();
  for (const auto& prompt : prompts) to = std::copy(prompt.begin(), prompt.end(), to);
  u_.view_slice(0, first, first + rows).copy_from(Tensor::from(u, {rows}));
  const KvCache part = cache_.slice(first, first + count);
  part.lengths.fill(0);
  Tensor logits = model_.head(select(model_.hidden(ids, &part), 1, length - 1));
  if (copies > 1) {
    const Tensor prompt_of_row = Tensor::empty({rows}, i32);
    for (int64_t i = count; i-- > 0;) {  // backwards: no prompt is overwritten before it is copied
      for (int64_t row = i * copies; row < (i + 1) * copies; ++row) {
        if (row != i) cache_.copy_row(first + i, first + row);
        prompt_of_row.data<int32_t>()[row] = static_cast<int32_t>(i);
      }
    }
    logits = index_select(logits, 0, prompt_of_row.to(logits.device()));
  }
  choose(logits, first, rows);
  send(first, rows);
}

void Decoder::hold(std::span<const int32_t> prompt) {
  NoGrad no_grad;
  check(cache_.rows() > rows_, "Decoder: hold() needs a decoder that was made with a place for it");
  const KvCache place = cache_.slice(rows_, rows_ + 1);
  place.lengths.fill(0);
  const auto length = static_cast<int64_t>(prompt.size());
  held_logits_ = model_.head(select(model_.hidden(Tensor::from(prompt, {1, length}), &place), 1, length - 1));
}

void Decoder::start_held(int64_t first, std::span<const double> u) {
  NoGrad no_grad;
  check(held_logits_.defined(), "Decoder: start_held() needs a prompt that hold() read");
  const auto count = static_cast<int64_t>(u.size());
  u_.view_slice(0, first, first + count).copy_from(Tensor::from(u, {count}));
  for (int64_t row = first; row < first + count; ++row) cache_.copy_row(rows_, row);
  const Tensor same = Tensor::zeros({count}, i32, held_logits_.device());
  choose(index_select(held_logits_, 0, same), first, count);
  send(first, count);
}

void Decoder::extend(int64_t row, std::span<const int32_t> tokens, double u) {
  NoGrad no_grad;
  const auto count = static_cast<int64_t>(tokens.size());
  u_.view_slice(0, row, row + 1).fill(u);
  const KvCache part = cache_.slice(row, row + 1);
  choose(model_.head(select(model_.hidden(Tensor::from(tokens, {1, count}), &part), 1, count - 1)), row, 1);
  send(row, 1);
}

void Decoder::next(std::span<const double> u) {
  NoGrad no_grad;
  const auto n = static_cast<int64_t>(u.size());
  // The row count is rounded up to a power of two, so that few different passes are recorded. The rows from n on
  // compute results at position 0 that nobody reads.
  const int64_t rows = on_host() ? n : std::min(rows_, static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(n))));
  std::vector<int32_t> before(static_cast<size_t>(rows)), after(before.size(), 1);
  std::vector<double> draws(u.begin(), u.end());
  draws.resize(before.size());
  const auto lengths = cache_.lengths.data<int32_t>();
  for (int64_t i = 0; i < n; ++i) {
    check(lengths[i] < cache_.room(), "Decoder: row {} has no room for another position", i);
    before[i] = lengths[i];
    after[i] = ++lengths[i];
  }
  before_.view_slice(0, 0, rows).copy_from(Tensor::from(before, {rows}));
  after_.view_slice(0, 0, rows).copy_from(Tensor::from(after, {rows}));
  u_.view_slice(0, 0, rows).copy_from(Tensor::from(draws, {rows}));
  Pass& pass = passes_[rows];
  if (backend(ids_.device()).records() && pass.ran && !pass.graph) {
    pass.graph = std::make_unique<Graph>(ids_.device(), [&] { compute(rows); });
  }
  pass.graph ? pass.graph->replay() : compute(rows);
  pass.ran = true;
  send(0, n);
}

// The device part of a pass.
void Decoder::compute(int64_t rows) const {
  const auto part = [rows](const Tensor& x) { return x.view_slice(0, 0, rows); };
  const Tensor hidden = model_.hidden_next(part(ids_), cache_.slice(0, rows).slots(part(before_), part(after_)));
  choose(model_.head(hidden), 0, rows);
}

void Decoder::choose(const Tensor& logits, int64_t first, int64_t rows) const {
  const auto part = [&](const Tensor& x) { return x.view_slice(0, first, first + rows); };
  choose_tokens(logits, options_, part(u_), part(ids_), part(log_probs_));
}

void Decoder::send(int64_t first, int64_t rows) {
  const Tensor ids = ids_.view_slice(0, first, first + rows), log_probs = log_probs_.view_slice(0, first, first + rows);
  if (on_host()) {
    const auto tokens = ids.data<int32_t>();
    arrived_.push_back({{tokens.begin(), tokens.end()}, log_probs.to_vector()});
    return;
  }
  if (spare_.empty())
    spare_.push_back(std::make_unique<PendingCopy>(backend(ids_.device()), static_cast<size_t>(rows_)));
  auto pending = std::move(spare_.back());
  spare_.pop_back();
  const auto bytes = [](const Tensor& x) { return static_cast<size_t>(x.numel()) * size_of(x.dtype()); };
  pending->tokens->start(ids.view().data, bytes(ids));
  pending->log_probs->start(log_probs.view().data, bytes(log_probs));
  pending->count = rows;
  in_flight_.push_back(std::move(pending));
}

Decoder::Choices Decoder::take() {
  Choices choices;
  if (on_host()) {
    choices = std::move(arrived_.front());
    arrived_.pop_front();
    return choices;
  }
  auto pending = std::move(in_flight_.front());
  in_flight_.pop_front();
  const auto* tokens = static_cast<const int32_t*>(pending->tokens->wait());
  const void* log_probs = pending->log_probs->wait();
  choices.tokens.assign(tokens, tokens + pending->count);
  visit_floating(log_probs_.dtype(), "Decoder", [&]<class T>(std::type_identity<T>) {
    const T* values = static_cast<const T*>(log_probs);
    choices.log_probs.assign(values, values + pending->count);
  });
  spare_.push_back(std::move(pending));
  return choices;
}

void Decoder::move_row(int64_t from, int64_t to) const {
  cache_.copy_row(from, to);
  ids_.view_slice(0, to, to + 1).copy_from(ids_.view_slice(0, from, from + 1));
}

}  // namespace pg
