// Log-probabilities of responses under policy and reference; reference models.
#include "rl/text/models.h"

#include <algorithm>
#include <cmath>

#include "rl/kl.h"
#include "tensor/base/error.h"

namespace pg::rl {
namespace {

std::unique_ptr<Gpt2> copy_of(Gpt2& model) {
  Generator unused(0);
  auto copy = std::make_unique<Gpt2>(model.config, unused);
  load_state_dict(*copy, state_dict(model));
  copy->to(model.device());
  copy->eval();
  return copy;
}

Tensor at_places(const Tensor& hidden, const TokenRows& rows) {
  return index_select(reshape(hidden, {-1, hidden.size(2)}), 0, rows.places.to(hidden.device()));
}

Tensor over(const Tensor& logits, double temperature) { return temperature == 1 ? logits : logits / temperature; }

// Calls f(begin, end) for chunks of 0 … count.
template <class F>
void in_pieces(int64_t count, int64_t size, F f) {
  for (int64_t begin = 0; begin < count; begin += size) f(begin, std::min(count, begin + size));
}

}  // namespace

Tensor spread(const Tensor& values, const TokenRows& rows) {
  const Tensor flat = Tensor::zeros({rows.ids.numel()}, values.dtype(), values.device());
  return reshape(scatter_add(flat, 0, rows.places.to(values.device()), values), rows.ids.shape());
}

int64_t logit_rows(int64_t vocab_size) { return std::max<int64_t>(1, (int64_t{1} << 22) / vocab_size); }

PlaceLogits place_logits(const Gpt2& model, const TokenRows& rows, double temperature) {
  NoGrad no_grad;
  return [&model, temperature, hidden = at_places(model.hidden(rows.packed), rows)](int64_t begin, int64_t end) {
    NoGrad inner;
    return over(model.head(hidden.view_slice(0, begin, end)), temperature);
  };
}

TokenScores score_tokens(const Gpt2& policy, const TokenRows& rows, double temperature, const Reference* full_kl_to) {
  return score_hidden(policy, policy.hidden(rows.packed), rows, temperature, full_kl_to);
}

TokenScores score_hidden(const Gpt2& policy, const Tensor& hidden, const TokenRows& rows, double temperature,
                         const Reference* full_kl_to) {
  const Tensor picked = at_places(hidden, rows), tokens = rows.tokens.to(hidden.device());
  const PlaceLogits reference = full_kl_to ? full_kl_to->logits(rows, temperature) : PlaceLogits{};
  const int64_t count = picked.size(0);
  // Log-probability, entropy and KL at the indices begin … end - 1 of rows.places, each [end - begin].
  const auto score = [&policy, tokens, temperature, reference](const Tensor& states, int64_t begin, int64_t end) {
    const Tensor logits = over(policy.head(states), temperature);
    const auto [log_prob, entropy] = token_log_prob(logits, slice(tokens, 0, begin, end));
    std::vector<Tensor> all = {log_prob, entropy};
    if (reference) {
      const DType dtype = log_prob.dtype();
      all.push_back(full_kl(cast(logits, dtype), reference(begin, end).to(logits.device()).to(dtype)));
    }
    return all;
  };
  // The full KL holds several tensors of the logits' size.
  const int64_t size = std::max<int64_t>(1, logit_rows(policy.config.vocab_size) / (reference ? 4 : 1));
  std::vector<Tensor> all;
  if (count <= size) {
    all = score(picked, 0, count);
  } else {
    std::vector<Tensor> pieces;  // [2 or 3, rows of the chunk]
    in_pieces(count, size, [&](int64_t begin, int64_t end) {
      pieces.push_back(
          checkpoint([score, begin, end](const Tensor& states) { return stack(score(states, begin, end)); },
                     slice(picked, 0, begin, end)));
    });
    const Tensor joined = cat(pieces, 1);
    for (int64_t i = 0; i < joined.size(0); ++i) all.push_back(select(joined, 0, i));
  }
  TokenScores scores{spread(all[0], rows), spread(all[1], rows), {}};
  if (reference) scores.full_kl = spread(all[2], rows);
  return scores;
}

Tensor Reference::log_prob(const TokenRows& rows, double temperature) const {
  NoGrad no_grad;
  const PlaceLogits of_places = logits(rows, temperature);
  const int64_t count = rows.places.size(0), size = logit_rows(of_places(0, 1).size(1));
  std::vector<Tensor> pieces;
  in_pieces(count, size, [&](int64_t begin, int64_t end) {
    const Tensor piece = of_places(begin, end);
    pieces.push_back(token_log_prob(piece, slice(rows.tokens, 0, begin, end).to(piece.device())).first);
  });
  return spread(cat(pieces), rows);
}

ModelReference::ModelReference(Gpt2& model) : model_(copy_of(model)) {}

PlaceLogits ModelReference::logits(const TokenRows& rows, double temperature) const {
  return place_logits(*model_, rows, temperature);
}

void ModelReference::follow(Gpt2& model) { load_state_dict(*model_, state_dict(model)); }

BigramReference::BigramReference(std::span<const int32_t> text, int64_t vocab_size)
    : table_(Tensor::ones({vocab_size, vocab_size}, f64)) {
  const auto v = static_cast<size_t>(vocab_size);
  const auto counts = table_.data<double>();
  for (size_t i = 0; i + 1 < text.size(); ++i) {
    check(text[i] >= 0 && text[i] < vocab_size && text[i + 1] >= 0 && text[i + 1] < vocab_size,
          "BigramReference: ids must be in [0, {}), got {} and {}", vocab_size, text[i], text[i + 1]);
    ++counts[static_cast<size_t>(text[i]) * v + static_cast<size_t>(text[i + 1])];
  }
  table_ = log_softmax(log(table_)).to(f32);
}

PlaceLogits BigramReference::logits(const TokenRows& rows, double temperature) const {
  const Tensor last = Tensor::empty(rows.places.shape(), i32);
  const auto ids = rows.ids.data<const int32_t>(), places = rows.places.data<const int32_t>();
  for (size_t i = 0; i < places.size(); ++i) last.data<int32_t>()[i] = ids[static_cast<size_t>(places[i])];
  return [last, temperature, table = table_](int64_t begin, int64_t end) {
    NoGrad no_grad;
    return over(embedding(table, slice(last, 0, begin, end)), temperature);
  };
}

void check_finite(const Module& model, std::string_view what) {
  for (const auto& [name, parameter] : named_parameters(const_cast<Module&>(model))) {  // only read here
    const std::vector<double> values = parameter.detach().to_vector();
    const auto bad = std::find_if(values.begin(), values.end(), [](double x) { return !std::isfinite(x); });
    check(bad == values.end(), "{} holds {} in its weight '{}'", what, bad == values.end() ? 0 : *bad, name);
  }
}

Tensor scalar_at_positions(const Linear& head, const Tensor& hidden) {
  const DType dtype = sum_type(hidden.dtype());
  const Tensor all = linear(cast(hidden, dtype), cast(head.weight, dtype), cast(head.bias, dtype));
  return reshape(all, {hidden.size(0), hidden.size(1)});
}

ScalarModel::ScalarModel(Gpt2& model, double head_std, Generator& generator)
    : trunk(model.config, generator), head(model.config.n_embd, 1, true, Init::zeros(model.config.dtype)) {
  load_state_dict(trunk, state_dict(model));
  if (head_std > 0) {
    head.weight.detach().copy_from(Tensor::normal(head.weight.shape(), 0, head_std, generator, model.config.dtype));
  }
  to(model.device());
}

Tensor ScalarModel::operator()(const Tensor& ids) const { return scalar_at_positions(head, trunk.hidden(ids)); }

Tensor ScalarModel::operator()(const PackedRows& rows) const { return scalar_at_positions(head, trunk.hidden(rows)); }

void ScalarModel::visit(Visitor& visitor) {
  visitor("trunk", trunk);
  visitor("head", head);
}

}  // namespace pg::rl
