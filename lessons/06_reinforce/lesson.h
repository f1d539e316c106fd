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

struct Impl {
  Tensor (*token_log_prob)(const Tensor&, const Tensor&);
  Tensor (*reinforce_loss)(const Tensor&, const Tensor&, const Tensor&);
  Tensor (*return_to_go)(const Tensor&, double);
  Tensor (*advantage)(Baseline&, const Tensor&);
  Tensor (*k1)(const Tensor&, const Tensor&);
  Tensor (*k2)(const Tensor&, const Tensor&);
  Tensor (*k3)(const Tensor&, const Tensor&);
};
Impl reference();
Impl learner();
std::vector<kit::Check<Impl>> checks();
void demo(kit::Demo& demo, const Impl& impl);

// The two parts of the demonstration.
void show_bandit(kit::Demo& demo, const Impl& impl);
void show_writer(kit::Demo& demo, const Impl& impl);

}  // namespace pg::lesson06
