#pragma once
// The models that a KL keeps the policy close to.
#include <memory>
#include <span>

#include "rl/text/models.h"
#include "tasks/text/text_task.h"
#include "tensor/base/random.h"

namespace pg::rl {

// The model that the KL term keeps the policy close to.
class Reference {
 public:
  virtual ~Reference() = default;
  virtual LogitsAt logits(const TokenRows& rows, double temperature) const = 0;  // without gradient
  Tensor log_prob(const TokenRows& rows, double temperature) const;              // [B, T], 0 where the mask is 0
  virtual size_t bytes() const = 0;                                              // of its weights
};

// A copy of a model. It is frozen unless its weights are changed; for a random reference, pass an untrained model.
class ModelReference final : public Reference {
 public:
  explicit ModelReference(Transformer& model);
  LogitsAt logits(const TokenRows& rows, double temperature) const override;
  size_t bytes() const override;
  void follow(Transformer& model);  // copies its weights
  Transformer& model() { return *model_; }
  const Transformer& model() const { return *model_; }

 private:
  std::unique_ptr<Transformer> model_;
};

// P(j | i) = (count of j after i, plus one) / (count of i before any token, plus V), from a text.
class BigramReference final : public Reference {
 public:
  BigramReference(std::span<const int32_t> text, int64_t vocab_size);
  LogitsAt logits(const TokenRows& rows, double temperature) const override;
  size_t bytes() const override;
  Tensor log_probs() const { return table_; }  // [V, V]: row i for the token after i

 private:
  Tensor table_;
};

// What a ReferenceKind makes its model from.
struct ReferenceRequest {
  Transformer& policy;
  const TextTask& task;
  Transformer* given;  // the user's model, or nullptr
  Generator random;    // for a model with random weights
};

}  // namespace pg::rl
