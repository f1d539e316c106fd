// The kinds of references, and the models behind them.
#include "rl/text/references.h"

#include "nn/train/trainer.h"
#include "rl/methods/algorithm.h"
#include "rl/text/rollout.h"
#include "tensor/base/error.h"
#include "tensor/paged_memory.h"

namespace pg::rl {
namespace {

std::unique_ptr<Transformer> copy_of(Transformer& model) {
  Generator unused(0);
  auto copy = std::make_unique<Transformer>(model.config, unused);
  load_state_dict(*copy, state_dict(model));
  copy->to(model.device());
  copy->eval();
  return copy;
}

std::unique_ptr<Reference> copy_of_policy(const ReferenceRequest& r) {
  return std::make_unique<ModelReference>(r.policy);
}

std::unique_ptr<Reference> average_of_policy(const ReferenceRequest& r) {
  check(r.policy.config.dtype != bf16,
        "RlTrainer: reference \"ema\" needs an f32 policy: its small changes would be lost in bf16; take \"moving\"");
  return copy_of_policy(r);
}

std::unique_ptr<Reference> random_model(const ReferenceRequest& r) {
  Generator generator = r.random;
  Transformer fresh(r.policy.config, generator);
  fresh.to(r.policy.device());
  return std::make_unique<ModelReference>(fresh);
}

std::unique_ptr<Reference> bigram_counts(const ReferenceRequest& r) {
  check(!r.task.corpus().empty(), "RlTrainer: {} has no text to count neighbours in; take another reference",
        r.task.name());
  return std::make_unique<BigramReference>(r.task.corpus(), r.task.vocab_size());
}

std::unique_ptr<Reference> given_model(const ReferenceRequest& r) {
  check(r.given, "RlTrainer: reference \"given\" needs a model (--reference-model RUN)");
  Transformer& given = *r.given;
  check(given.config.vocab_size == r.task.vocab_size() && given.config.block_size >= block_size_for(r.task),
        "RlTrainer: the reference has {} tokens and a block_size of {}, the task {} needs {} and {}",
        given.config.vocab_size, given.config.block_size, r.task.name(), r.task.vocab_size(), block_size_for(r.task));
  check(given.device() == r.policy.device(), "RlTrainer: the reference is on {}, the policy on {}",
        to_string(given.device()), to_string(r.policy.device()));
  check_finite(given, "the reference");
  return std::make_unique<ModelReference>(given);
}

void copy_at_interval(Reference& reference, Transformer& policy, int64_t step, const Algorithm& a) {
  if (step % a.reference_interval == 0) static_cast<ModelReference&>(reference).follow(policy);
}

// θ_ref ← d·θ_ref + (1 - d)·θ.
void average(Reference& reference, Transformer& policy, int64_t, const Algorithm& a) {
  NoGrad no_grad;
  const NamedTensors to = trainable_parameters(static_cast<ModelReference&>(reference).model()),
                     from = trainable_parameters(policy);  // frozen weights are equal
  for (size_t i = 0; i < to.size(); ++i) {
    const double d = a.reference_decay;
    to[i].second.detach().copy_from(to[i].second * d + from[i].second * (1 - d));
  }
}

}  // namespace

const std::vector<ReferenceKind>& ReferenceKind::table() {
  static const std::vector<ReferenceKind> rows = {
      {"none", "none", {}},
      {"frozen", "the policy as it was at the start", copy_of_policy, {}, /*is_policy=*/true},
      {"moving", "the policy as it was up to {reference-interval} steps ago", copy_of_policy, copy_at_interval,
       /*is_policy=*/true},
      {"ema",
       "an average of the policy's weights: ref = {reference-decay} ref + (1 - {reference-decay}) policy, each step",
       average_of_policy, average, /*is_policy=*/true},
      {"random", "a model with random weights", random_model},
      {"bigram", "counts of neighbours in the text, one added to each", bigram_counts},
      {"given", "a given model, which stays as it is", given_model, {}, false, /*is_given=*/true}};
  return rows;
}

Tensor Reference::log_prob(const TokenRows& rows, double temperature) const {
  NoGrad no_grad;
  const LogitsAt logits_of = logits(rows, temperature);
  const int64_t count = rows.indices.size(0), size = logit_rows(logits_of(0, 1).size(1));
  std::vector<Tensor> pieces;
  in_chunks(count, size, [&](int64_t begin, int64_t end) {
    const Tensor piece = logits_of(begin, end);
    pieces.push_back(token_log_prob(piece, slice(rows.tokens, 0, begin, end).to(piece.device())).first);
  });
  return spread(cat(pieces), rows);
}

ModelReference::ModelReference(Transformer& model) : model_(copy_of(model)) {}

LogitsAt ModelReference::logits(const TokenRows& rows, double temperature) const {
  return logits_at(*model_, rows, temperature);
}

size_t ModelReference::bytes() const {
  size_t bytes = 0;
  for (const auto& [name, parameter] : named_parameters(*model_)) bytes += resident_bytes(parameter);
  return bytes;
}

size_t BigramReference::bytes() const { return resident_bytes(table_); }

void ModelReference::follow(Transformer& model) { load_state_dict(*model_, state_dict(model)); }

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

LogitsAt BigramReference::logits(const TokenRows& rows, double temperature) const {
  const Tensor last = Tensor::empty(rows.indices.shape(), i32);
  const auto ids = rows.ids.data<const int32_t>(), indices = rows.indices.data<const int32_t>();
  for (size_t i = 0; i < indices.size(); ++i) last.data<int32_t>()[i] = ids[static_cast<size_t>(indices[i])];
  return [last, temperature, table = table_](int64_t begin, int64_t end) {
    NoGrad no_grad;
    return at_temperature(embedding(table, slice(last, 0, begin, end)), temperature);
  };
}

}  // namespace pg::rl
