#pragma once
// Lesson 6: the functions that you write, with the engine's own names.
#include "autograd/ops.h"
#include "lessons/kit/lesson.h"

namespace pg::lesson06 {

// The state of a moving baseline: sums over the batches so far, in which older batches have smaller weights.
struct Baseline {
  double decay = 0.9;
  double sum = 0;     // Σ_k decay^(n-k) · mean return of batch k
  double weight = 0;  // Σ_k decay^(n-k)
};

Tensor token_log_prob(const Tensor& logits, const Tensor& ids);
Tensor reinforce_loss(const Tensor& log_prob, const Tensor& advantage, const Tensor& mask);
Tensor return_to_go(const Tensor& rewards, double gamma);
Tensor advantage(Baseline& baseline, const Tensor& returns);
Tensor k1(const Tensor& log_prob, const Tensor& ref_log_prob);
Tensor k2(const Tensor& log_prob, const Tensor& ref_log_prob);
Tensor k3(const Tensor& log_prob, const Tensor& ref_log_prob);

// The pieces: the learner's, unless others are named.
struct Impl {
  decltype(lesson06::token_log_prob)* token_log_prob = lesson06::token_log_prob;
  decltype(lesson06::reinforce_loss)* reinforce_loss = lesson06::reinforce_loss;
  decltype(lesson06::return_to_go)* return_to_go = lesson06::return_to_go;
  decltype(lesson06::advantage)* advantage = lesson06::advantage;
  decltype(lesson06::k1)* k1 = lesson06::k1;
  decltype(lesson06::k2)* k2 = lesson06::k2;
  decltype(lesson06::k3)* k3 = lesson06::k3;
};
Impl reference();
std::vector<kit::Check<Impl>> checks();
void demo(kit::Demo& demo, const Impl& impl);

// The two parts of the demonstration.
void show_bandit(kit::Demo& demo, const Impl& impl);
void show_writer(kit::Demo& demo, const Impl& impl);

}  // namespace pg::lesson06
