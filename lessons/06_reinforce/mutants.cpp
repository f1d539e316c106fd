// Wrong answers to lesson 6. The checks must call each WRONG and say why; everything else must stay
// ok. The last rows are right answers.
#include "lessons/kit/mutants.h"

#include <cmath>

#include "lessons/06_reinforce/answers.h"
#include "lessons/06_reinforce/checks.h"

namespace pg::lesson06 {
namespace {

using T = const Tensor&;

// Σ_k≥t gamma^k·r[k], divided by gamma^t.
Tensor return_divided(T rewards, double gamma) {
  const Tensor sums = weighted_sums(rewards, [=](int64_t t, int64_t k) { return k < t ? 0 : std::pow(gamma, k); });
  return weighted_sums(sums, [=](int64_t t, int64_t k) { return k == t ? 1 / std::pow(gamma, t) : 0; });
}
Tensor return_in_place(T rewards, double gamma) {
  rewards.copy_from(return_to_go(rewards, gamma));
  return rewards;
}
Tensor advantage_in_place(Baseline& b, T returns) {
  if (b.weight > 0) returns.copy_from(returns - b.sum / b.weight);
  const Tensor result = returns.clone();
  b.sum = b.decay * b.sum + mean(returns).item();
  b.weight = b.decay * b.weight + 1;
  return result;
}
Tensor advantage_shared(Baseline& baseline, T returns) {
  static Baseline shared;
  shared.decay = baseline.decay;
  return advantage(shared, returns);
}

// Right but unusual answers.

// A product with rows of 0 and one 1.
Tensor right_one_hot(T logits, T ids) {
  return sum(one_hot(ids, logits.size(1), logits.dtype()) * log_softmax(logits), {1});
}

// log p = score - log Σ e^score, with the largest score of the row subtracted first. Subtracting it is no step of its
// own for the gradient.
Tensor right_by_maximum(T logits, T ids) {
  const Tensor moved = logits - amax(logits, std::vector<int>{1}, true).detach();
  return reshape(gather(moved - log(sum(exp(moved), {1}, true)), 1, unsqueeze(ids, 1)), {logits.size(0)});
}

// The mean over episodes of the sums of their steps.
Tensor right_mean_of_episodes(T log_prob, T advantage, T mask) {
  const Tensor zero = Tensor::scalar(0, log_prob.dtype());
  const Tensor gains = where(mask, advantage, zero).detach();
  return neg(mean(sum(gains * where(mask, log_prob, zero), {1})));
}

// The definition, step by step.
Tensor right_by_definition(T rewards, double gamma) {
  const std::vector<double> r = rewards.to_vector();
  const auto steps = static_cast<size_t>(rewards.size(1));
  std::vector<double> result;
  for (size_t i = 0; i < r.size(); ++i) {
    double total = 0, factor = 1;
    for (size_t k = i; k < (i / steps + 1) * steps; ++k, factor *= gamma) total += factor * r[k];
    result.push_back(total);
  }
  return Tensor::from(result, rewards.shape());
}

// rewards [B, T] times the matrix [T, T] with gamma^(k - t) in row k ≥ t, column t.
Tensor right_by_matrix(T rewards, double gamma) {
  const int64_t steps = rewards.size(1);
  std::vector<double> weights;
  for (int64_t k = 0; k < steps; ++k) {
    for (int64_t t = 0; t < steps; ++t) weights.push_back(k < t ? 0 : std::pow(gamma, static_cast<double>(k - t)));
  }
  return matmul(rewards, Tensor::from(weights, {steps, steps}));
}

// In plain double, with a running mean.
Tensor right_running_mean(Baseline& baseline, T returns) {
  std::vector<double> x = returns.to_vector();
  double mean = 0, count = 0;
  for (const double r : x) mean += (r - mean) / ++count;
  const double usual = baseline.weight == 0 ? 0 : baseline.sum / baseline.weight;
  for (double& r : x) r -= usual;
  baseline.weight = 1 + baseline.decay * baseline.weight;
  baseline.sum = mean + baseline.decay * baseline.sum;
  return Tensor::from(x, returns.shape()).to(returns.dtype());
}

// The reference as a constant.
Tensor right_k1(T log_prob, T ref_log_prob) { return neg(ref_log_prob.detach() - log_prob); }
Tensor right_k2(T log_prob, T ref_log_prob) {
  const Tensor half = (ref_log_prob.detach() - log_prob) * std::sqrt(0.5);
  return half * half;
}
Tensor right_k3(T log_prob, T ref_log_prob) {
  return expm1(ref_log_prob.detach() - log_prob) + right_k1(log_prob, ref_log_prob);
}

}  // namespace

const kit::Mutants<Impl> of_log_prob(&Impl::token_log_prob, log_prob_mistakes(),
                                     {{"log_prob_row_kept", "06.1", "only the shape is not",
                                       [](T x, T ids) { return gather(log_softmax(x), 1, unsqueeze(ids, 1)); }},
                                      {"right_one_hot", "06.1", "ok", right_one_hot},
                                      {"right_by_maximum", "06.1", "ok", right_by_maximum}});
const kit::Mutants<Impl> of_loss(&Impl::reinforce_loss, loss_mistakes(),
                                 {{"right_mean_of_episodes", "06.2", "ok", right_mean_of_episodes}});
const kit::Mutants<Impl> of_return(&Impl::return_to_go, return_mistakes(),
                                   {{"return_divided", "06.3", "a division by zero", return_divided},
                                    {"return_in_place", "06.3", "work on a clone", return_in_place},
                                    {"right_by_definition", "06.3", "ok", right_by_definition},
                                    {"right_by_matrix", "06.3", "ok", right_by_matrix}});
const kit::Mutants<Impl> of_advantage(&Impl::advantage, advantage_mistakes(),
                                      {{"advantage_in_place", "06.4", "the returns were overwritten",
                                        advantage_in_place},
                                       {"advantage_shared", "06.4", "learned nothing", advantage_shared},
                                       {"right_running_mean", "06.4", "ok", right_running_mean}});
const kit::Mutants<Impl> of_k1(&Impl::k1, k1_mistakes());
const kit::Mutants<Impl> of_k2(&Impl::k2, k2_mistakes(),
                               {{"k2_half_gradient", "06.5", "one of two contributions is missing",
                                 [](T lp, T ref) { return (lp - ref) * (lp - ref).detach() * 0.5; }}});
const kit::Mutants<Impl> of_k3(
    &Impl::k3, k3_mistakes(),
    {{"k3_exp", "06.5", "use expm1", [](T lp, T ref) { return exp(ref - lp) - 1.0 - (ref - lp); }},
     {"k3_ratio", "06.5", "use expm1", [](T lp, T ref) { return exp(ref) / exp(lp) - 1.0 - (ref - lp); }}});
const kit::Mutants<Impl> mutants = {
    {"right_constant_reference", "06.5", "ok", [](Impl& m) { m.k1 = right_k1, m.k2 = right_k2, m.k3 = right_k3; }}};

}  // namespace pg::lesson06
