// Fills in the masks of sequences in several steps.
#include "nn/variants/unmask.h"

#include <algorithm>
#include <cmath>

#include "autograd/op_util.h"
#include "nn/decode/decoder.h"

namespace pg {
namespace {

struct Row {
  std::vector<int64_t> masked;  // positions, ascending
  int64_t masks;                // at the beginning
  Generator generator;
};

void by_confidence(std::vector<Prediction>& predictions, Generator&) {
  std::stable_sort(predictions.begin(), predictions.end(),
                   [](const Prediction& a, const Prediction& b) { return a.log_prob > b.log_prob; });
}

std::vector<Row> rows_of(const Tensor& ids, int32_t mask_id, const UnmaskOptions& o) {
  const int64_t length = ids.size(1);
  const auto values = ids.data<const int32_t>();
  std::vector<Row> rows;
  for (int64_t row = 0; row < ids.size(0); ++row) {
    rows.push_back({{}, 0, random_stream(o.seed, o.first_row + static_cast<uint64_t>(row))});
    for (int64_t i = 0; i < length; ++i) {
      if (values[static_cast<size_t>(row * length + i)] == mask_id) rows.back().masked.push_back(i);
    }
    rows.back().masks = std::ssize(rows.back().masked);
    check(o.steps >= 1 && o.steps <= rows.back().masks,
          "unmask: steps must be from 1 to the {} masks of row {}, one token per step, got {}", rows.back().masks, row,
          o.steps);
  }
  return rows;
}

// One prediction for each mask of each row.
std::vector<std::vector<Prediction>> predict(const MaskedDenoiser& model, const Tensor& ids, std::vector<Row>& rows,
                                             const DecodingOptions& decoding) {
  std::vector<int32_t> indices;
  std::vector<double> u;
  for (size_t row = 0; row < rows.size(); ++row) {
    for (const int64_t position : rows[row].masked) {
      indices.push_back(static_cast<int32_t>(static_cast<int64_t>(row) * ids.size(1) + position));
      u.push_back(rows[row].generator.uniform());
    }
  }
  const auto n = static_cast<int64_t>(u.size());
  const Tensor given = model.logits(ids, Tensor::from(indices, {n}));
  check(given.rank() == 2 && given.size(0) == n && given.size(1) == model.vocab_size,
        "unmask: expected logits [{}, {}], got {}", n, model.vocab_size, given.shape());
  const Tensor logits = given.detach().contiguous_copy();
  const Tensor tokens = Tensor::empty({n}, i32, logits.device());
  const Tensor log_probs = Tensor::empty({n}, sum_type(logits.dtype()), logits.device());
  choose_tokens(logits, decoding, Tensor::from(u, {n}).to(logits.device()), tokens, log_probs);
  const std::vector<double> chosen = tokens.to_vector(), scores = log_probs.to_vector();
  std::vector<std::vector<Prediction>> predictions(rows.size());
  size_t i = 0;
  for (size_t row = 0; row < rows.size(); ++row) {
    for (const int64_t position : rows[row].masked) {
      check(!std::isnan(scores[i]), "unmask: the logits of row {} at position {} are not finite", row, position);
      predictions[row].push_back({position, static_cast<int32_t>(chosen[i]), scores[i]});
      ++i;
    }
  }
  return predictions;
}

}  // namespace

const std::vector<UnmaskOrder>& UnmaskOrder::table() {
  static const std::vector<UnmaskOrder> rows = {
      {"confidence", "the most probable tokens first", by_confidence},
      {"random", "all orders equally likely", [](std::vector<Prediction>& p, Generator& g) { shuffle(p, g); }}};
  return rows;
}

Tensor masks_after(std::span<const int32_t> prompt, int64_t length, int32_t mask_id) {
  const int64_t given = std::ssize(prompt);
  check(length > given, "masks_after: the prompt has {} tokens, which leaves no mask in a length of {}", given, length);
  const Tensor ids = Tensor::full({1, length}, static_cast<double>(mask_id), i32);
  std::copy(prompt.begin(), prompt.end(), ids.data<int32_t>().begin());
  return ids;
}

Tensor unmask(const MaskedDenoiser& model, const Tensor& given, const UnmaskOptions& o) {
  check(given.defined() && given.rank() == 2 && given.dtype() == i32 && given.numel() > 0,
        "unmask: expected ids i32 [B, L] with at least one token, got {}",
        given.defined() ? fmt::format("{} {}", given.dtype(), given.shape()) : "an undefined tensor");
  if (!o.greedy) check_sample_options(o.sampling);
  NoGrad no_grad;
  const Tensor ids = given.to(Device{}).clone();
  detail::check_ids(ids, model.vocab_size + 1, "unmask");
  std::vector<Row> rows = rows_of(ids, model.mask_id(), o);
  const DecodingOptions decoding{o.greedy, o.sampling, false};
  for (int64_t step = 1; step <= o.steps; ++step) {
    auto predictions = predict(model, ids, rows, decoding);
    for (size_t i = 0; i < rows.size(); ++i) {
      Row& row = rows[i];
      o.order.sort(predictions[i], row.generator);
      const int64_t left = row.masks - row.masks * step / o.steps;
      predictions[i].resize(row.masked.size() - static_cast<size_t>(left));
      for (const Prediction& p : predictions[i]) {
        ids.data<int32_t>()[static_cast<size_t>(static_cast<int64_t>(i) * ids.size(1) + p.position)] = p.token;
        std::erase(row.masked, p.position);
      }
    }
    if (o.on_step) o.on_step(step, ids);
  }
  return ids;
}

Tensor unmask(Transformer& model, const Tensor& ids, const UnmaskOptions& options) {
  EvalMode eval_mode(model);
  return unmask(masked_denoiser(model), ids, options);
}

}  // namespace pg
