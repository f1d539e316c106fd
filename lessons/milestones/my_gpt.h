#pragma once
// A small GPT of the learner's pieces of lessons 1 to 4. The engine has only what is below them: storage, the tape's
// walk, sums, exp, changes of shape.
#include <map>
#include <string>

#include "lessons/01_tensors/lesson.h"
#include "lessons/02_autograd/lesson.h"
#include "lessons/03_language_model/lesson.h"
#include "lessons/04_gpt/lesson.h"
#include "lessons/05_tokens/lesson.h"

namespace pg::milestones {

struct GptPieces {
  lesson01::Impl tensors;
  lesson02::Impl tape;
  lesson03::Impl language;
  lesson04::Impl gpt;
};

// One layer in f64: embeddings, attention of kHeads heads, an MLP with GELU, layer norms, a head that is the token
// embedding. `pieces` must outlive it.
class MyGpt {
 public:
  static constexpr int64_t kContext = 32, kWidth = 48, kHeads = 2, kHeadSize = kWidth / kHeads;

  // The first weights are those of the learner's init_weights, for a vocabulary of v.
  MyGpt(const GptPieces& pieces, int64_t v, Generator& generator);
  // ids i32 [B, T] → logits [B·T, V], on the tape.
  Tensor logits(const Tensor& ids) const;
  // The mean cross-entropy of the targets i32 [B·T]; its backward is the learner's cross_entropy_backward.
  Tensor loss(const Tensor& logits, const Tensor& targets) const;
  // The learner's softmax of the logits, and of each row the probability of its target: f64 [B·T, 1].
  Tensor chosen(const Tensor& logits, const Tensor& targets) const;
  // Gradients of one batch and a step of the learner's adamw. Returns the loss.
  double train(const Tensor& ids, const Tensor& targets, double lr);
  // The block, x [B, T, C] → [B, T, C].
  Tensor block(const Tensor& x) const;
  // Continues the ids by `count` tokens with a cache; their number and count are at most kContext together. `last`, if
  // not null, gets the logits after the last of the ids.
  std::vector<int32_t> write(std::vector<int32_t> ids, int64_t count, const SampleOptions& options, Generator& g,
                             std::vector<double>* last = nullptr) const;

 private:
  using Attend = std::function<Tensor(const Tensor& q, const Tensor& k, const Tensor& v)>;
  const Tensor& weight(const std::string& name) const { return weights_.at(name); }
  Tensor norm(const Tensor& x, const std::string& name) const;    // [..., C]
  Tensor linear(const Tensor& x, const std::string& name) const;  // [R, in] → [R, out]
  Tensor gelu(const Tensor& x) const;
  Tensor block_with(const Attend& attend, const Tensor& x) const;
  // One token at one position through the model, with views and the matrix product of lesson 1: → logits [V].
  std::vector<double> next_logits(const KvCache& cache, int32_t id, int64_t position) const;

  const GptPieces& pieces_;
  int64_t v_, steps_ = 0;
  std::map<std::string, Tensor> weights_;  // by GPT-2's names
  std::map<std::string, std::vector<double>> m_, v_of_;
};

// Trains on windows of a text, and shows the losses.
void train(kit::Demo& demo, MyGpt& model, std::span<const int32_t> text, Generator& g);

// -log p of each id in the first windows of a text, in nats, and the ids.
struct Surprises {
  std::vector<double> nats;
  std::vector<int32_t> ids;
  double mean() const;
};
Surprises surprises(const MyGpt& model, std::span<const int32_t> text);

// my_tokens.cpp: the same model on the learner's tokens. `character_loss` is that of the model of characters, in nats.
void show_tokens(kit::Demo& demo, const GptPieces& pieces, const lesson05::Impl& impl, double character_loss);

}  // namespace pg::milestones
