#include "rl/models.h"

#include "tensor/error.h"

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

Tensor masked_logits(const Gpt2& model, const Tensor& hidden, const TokenRows& rows, double temperature) {
  const Tensor flat = reshape(hidden, {-1, hidden.size(2)});
  const Tensor logits = model.head(index_select(flat, 0, rows.places.to(flat.device())));
  return temperature == 1 ? logits : logits / temperature;
}

}  // namespace

Tensor spread(const Tensor& values, const TokenRows& rows) {
  const Tensor flat = Tensor::zeros({rows.ids.numel()}, values.dtype(), values.device());
  return reshape(scatter_add(flat, 0, rows.places.to(values.device()), values), rows.ids.shape());
}

TokenScores score_tokens(const Gpt2& policy, const TokenRows& rows, double temperature) {
  return score_hidden(policy, policy.hidden(rows.packed), rows, temperature);
}

TokenScores score_hidden(const Gpt2& policy, const Tensor& hidden, const TokenRows& rows, double temperature) {
  TokenScores scores;
  scores.logits = masked_logits(policy, hidden, rows, temperature);
  const auto [log_prob, entropy] = token_log_prob(scores.logits, rows.tokens.to(scores.logits.device()));
  scores.log_prob = spread(log_prob, rows);
  scores.entropy = spread(entropy, rows);
  return scores;
}

Tensor Reference::log_prob(const TokenRows& rows, double temperature) const {
  NoGrad no_grad;
  const Tensor at_places = logits(rows, temperature);
  return spread(token_log_prob(at_places, rows.tokens.to(at_places.device())).first, rows);
}

ModelReference::ModelReference(Gpt2& model) : model_(copy_of(model)) {}

Tensor ModelReference::logits(const TokenRows& rows, double temperature) const {
  NoGrad no_grad;
  return masked_logits(*model_, model_->hidden(rows.packed), rows, temperature);
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

Tensor BigramReference::logits(const TokenRows& rows, double temperature) const {
  NoGrad no_grad;
  const Tensor last = Tensor::empty(rows.places.shape(), i32);
  const auto ids = rows.ids.data<int32_t>(), places = rows.places.data<int32_t>();
  for (size_t i = 0; i < places.size(); ++i) last.data<int32_t>()[i] = ids[static_cast<size_t>(places[i])];
  return embedding(table_, last) / temperature;
}

Tensor scalar_at_positions(const Linear& head, const Tensor& hidden) {
  return reshape(head(hidden), {hidden.size(0), hidden.size(1)});
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
