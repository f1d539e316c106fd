#pragma once
// Right but unusual answers to lesson 6: the checks must accept them. mutants.cpp has the table.
#include <cmath>

#include "lessons/06_reinforce/lesson.h"

namespace pg::lesson06 {

// A product with rows of 0 and one 1.
inline Tensor right_one_hot(const Tensor& logits, const Tensor& ids) {
  return sum(one_hot(ids, logits.size(1), logits.dtype()) * log_softmax(logits), {1});
}

// log p = score - log Σ e^score, with the largest score of the row subtracted first. Subtracting it is no step of its
// own for the gradient.
inline Tensor right_by_maximum(const Tensor& logits, const Tensor& ids) {
  const Tensor moved = logits - amax(logits, std::vector<int>{1}, true).detach();
  return reshape(gather(moved - log(sum(exp(moved), {1}, true)), 1, unsqueeze(ids, 1)), {logits.size(0)});
}

// The mean over episodes of the sums of their steps.
inline Tensor right_mean_of_episodes(const Tensor& log_prob, const Tensor& advantage, const Tensor& mask) {
  const Tensor zero = Tensor::scalar(0, log_prob.dtype());
  const Tensor gains = where(mask, advantage, zero).detach();
  return neg(mean(sum(gains * where(mask, log_prob, zero), {1})));
}

// The definition, step by step.
inline Tensor right_by_definition(const Tensor& rewards, double gamma) {
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
inline Tensor right_by_matrix(const Tensor& rewards, double gamma) {
  const int64_t steps = rewards.size(1);
  std::vector<double> weights;
  for (int64_t k = 0; k < steps; ++k) {
    for (int64_t t = 0; t < steps; ++t) weights.push_back(k < t ? 0 : std::pow(gamma, static_cast<double>(k - t)));
  }
  return matmul(rewards, Tensor::from(weights, {steps, steps}));
}

// In plain double, with a running mean.
inline Tensor right_running_mean(Baseline& baseline, const Tensor& returns) {
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
inline Tensor right_k1(const Tensor& log_prob, const Tensor& ref_log_prob) {
  return neg(ref_log_prob.detach() - log_prob);
}
inline Tensor right_k2(const Tensor& log_prob, const Tensor& ref_log_prob) {
  const Tensor half = (ref_log_prob.detach() - log_prob) * std::sqrt(0.5);
  return half * half;
}
inline Tensor right_k3(const Tensor& log_prob, const Tensor& ref_log_prob) {
  return expm1(ref_log_prob.detach() - log_prob) + right_k1(log_prob, ref_log_prob);
}

}  // namespace pg::lesson06
