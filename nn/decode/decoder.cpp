// Decoding token by token with a KV cache.
#include "nn/decode/decoder.h"

#include <bit>

#include "autograd/ops.h"
#include "nn/decode/kv_cache.h"
#include "tensor/kernels.h"

namespace pg {
namespace {

size_t bytes_of(const Tensor& x) { return static_cast<size_t>(x.numel()) * size_of(x.dtype()); }

// [n] elements of another dtype in the memory of x, from a byte of x on.
Tensor view_as(const Tensor& x, DType dtype, size_t at, int64_t n) {
  const size_t begin = static_cast<size_t>(x.offset()) * size_of(x.dtype()) + at;
  return Tensor::view_of(x.storage(), static_cast<int64_t>(begin / size_of(dtype)), {n}, {1}, dtype);
}

// The positions in the inputs of a pass of n rows.
Tensor before_in(const Tensor& inputs, int64_t n) { return view_as(inputs, i32, static_cast<size_t>(n) * 8, n); }
Tensor after_in(const Tensor& inputs, int64_t n) { return view_as(inputs, i32, static_cast<size_t>(n) * 12, n); }

}  // namespace

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
      results_(Tensor::zeros({2 * rows}, sum_type(model.config.dtype), model.device())),
      log_probs_(results_.view_slice(0, 0, rows)),
      ids_(view_as(results_, i32, bytes_of(log_probs_), rows)),
      inputs_(Tensor::zeros({2 * rows}, f64, model.device())) {}

void Decoder::prefill(int64_t first, std::span<const std::span<const int32_t>> prompts, int64_t copies,
                      std::span<const double> u) {
  NoGrad no_grad;
  const auto count = static_cast<int64_t>(prompts.size()), length = static_cast<int64_t>(prompts[0].size());
  const int64_t rows = count * copies;
  const Tensor ids = Tensor::empty({count, length}, i32);
  auto to = ids.data<int32_t>().begin();
  for (const auto& prompt : prompts) to = std::copy(prompt.begin(), prompt.end(), to);
  inputs_.view_slice(0, first, first + rows).copy_from(Tensor::from(u, {rows}));
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
  inputs_.view_slice(0, first, first + count).copy_from(Tensor::from(u, {count}));
  for (int64_t row = first; row < first + count; ++row) cache_.copy_row(rows_, row);
  const Tensor same = Tensor::zeros({count}, i32, held_logits_.device());
  choose(index_select(held_logits_, 0, same), first, count);
  send(first, count);
}

void Decoder::extend(int64_t row, std::span<const int32_t> tokens, double u) {
  NoGrad no_grad;
  const auto count = static_cast<int64_t>(tokens.size());
  inputs_.view_slice(0, row, row + 1).fill(u);
  const KvCache part = cache_.slice(row, row + 1);
  choose(model_.head(select(model_.hidden(Tensor::from(tokens, {1, count}), &part), 1, count - 1)), row, 1);
  send(row, 1);
}

void Decoder::rewind(int64_t row, int64_t length) {
  int32_t& now = cache_.lengths.data<int32_t>()[static_cast<size_t>(row)];
  check(length >= 0 && length <= now, "Decoder: row {} has read {} positions, {} are to be kept", row, now, length);
  now = static_cast<int32_t>(length);
}

void Decoder::next(std::span<const double> u) {
  NoGrad no_grad;
  const auto n = static_cast<int64_t>(u.size());
  // The row count is rounded up to a power of two, so that few different passes are recorded. The rows from n on
  // compute results at position 0 that nobody reads.
  const int64_t rows = on_host() ? n : std::min(rows_, static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(n))));
  const Tensor inputs = Tensor::zeros({2 * rows}, f64);
  std::copy(u.begin(), u.end(), inputs.data<double>().begin());
  const auto before = before_in(inputs, rows).data<int32_t>(), after = after_in(inputs, rows).data<int32_t>();
  std::fill(after.begin(), after.end(), 1);
  const auto lengths = cache_.lengths.data<int32_t>();
  for (int64_t i = 0; i < n; ++i) {
    check(lengths[i] < cache_.room(), "Decoder: row {} has no room for another position", i);
    before[i] = lengths[i];
    after[i] = ++lengths[i];
  }
  inputs_.view_slice(0, 0, 2 * rows).copy_from(inputs);
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
  const KvCache part = cache_.slice(0, rows);
  choose(model_.logits_next(ids_.view_slice(0, 0, rows), part.slots(before_in(inputs_, rows), after_in(inputs_, rows))),
         0, rows);
}

void Decoder::choose(const Tensor& logits, int64_t first, int64_t rows) const {
  const auto part = [&](const Tensor& x) { return x.view_slice(0, first, first + rows); };
  choose_tokens(logits, options_, part(inputs_), part(ids_), part(log_probs_));
}

void Decoder::send(int64_t first, int64_t rows) {
  const Tensor ids = ids_.view_slice(0, first, first + rows), log_probs = log_probs_.view_slice(0, first, first + rows);
  if (on_host()) {
    const auto tokens = ids.data<int32_t>();
    arrived_.push_back({{tokens.begin(), tokens.end()}, log_probs.to_vector()});
    return;
  }
  if (spare_.empty()) {
    kernels(ids_.device());  // makes it the device that this thread works with
    spare_.push_back(std::make_unique<PendingCopy>());
    spare_.back()->copy = backend(ids_.device()).async_copy(bytes_of(results_));
  }
  auto pending = std::move(spare_.back());
  spare_.pop_back();
  const auto* begin = static_cast<const char*>(log_probs.view().data);
  const auto* tokens = static_cast<const char*>(ids.view().data);
  pending->tokens_at = static_cast<size_t>(tokens - begin);
  pending->count = rows;
  pending->copy->start(begin, pending->tokens_at + bytes_of(ids));
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
  const auto* results = static_cast<const char*>(pending->copy->wait());
  const auto* tokens = reinterpret_cast<const int32_t*>(results + pending->tokens_at);
  choices.tokens.assign(tokens, tokens + pending->count);
  visit_floating(log_probs_.dtype(), "Decoder", [&]<class T>(std::type_identity<T>) {
    const T* values = reinterpret_cast<const T*>(results);
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
