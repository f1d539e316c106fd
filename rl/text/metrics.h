#pragma once
// Metrics of a training step: named values, and health checks of them.
#include <string>
#include <utility>
#include <vector>

#include "rl/methods/algorithm.h"
#include "rl/text/experience.h"
#include "tensor/tensor.h"

namespace pg::rl {

// Named values in the order they were added. A prefix "group/" groups charts.
class Metrics {
 public:
  void add(std::string_view name, double value) { values_.emplace_back(name, value); }
  bool has(std::string_view name) const;
  double at(std::string_view name) const;  // throws Error if there is none
  const std::vector<std::pair<std::string, double>>& values() const { return values_; }

 private:
  std::vector<std::pair<std::string, double>> values_;
};

// Metrics of a rollout: rewards and their parts, lengths, endings, groups.
void add_rollout_metrics(Metrics& metrics, const Experience& experience);

// The metrics of one response to each held-out problem, with RolloutOptions::entropy: "eval/reward"; "eval/solved" with
// its interval (wilson_interval), "eval/solved_low" to "eval/solved_high"; "eval/format", the share in the form that
// was asked for, if the task asks for one; means "eval/length", "eval/prompt_length", and "eval/entropy" in nats per
// token. Error if there are several responses to a problem.
void add_eval_metrics(Metrics& metrics, const Experience& experience);

// How a number of two parts of an update is that of both.
enum class Merge { sum, least, most };

// Sums over the tokens of a micro-batch or of several.
class PolicyStats {
 public:
  // log_prob, old_log_prob, entropy, advantage [B, T], without gradient.
  void add(const Algorithm& algorithm, const Tensor& log_prob, const Tensor& old_log_prob, const Tensor& entropy,
           const Tensor& advantage, const TokenRows& rows);
  // "clip/low" and "clip/high" are the shares of the tokens that the clip stopped because the ratio was too low or too
  // high; a surrogate without a clip has neither.
  void report(const Algorithm& algorithm, Metrics& metrics) const;
  double worst_ratio_error() const { return worst_ratio_error_; }  // max |ρ - 1|
  // Calls f(number, how it is merged) for all numbers.
  template <class F>
  void each(F f) {
    for (double* x : {&tokens_, &entropy_, &k1_, &k3_, &low_, &high_, &ratio_}) f(*x, Merge::sum);
    f(ratio_min_, Merge::least);
    for (double* x : {&ratio_max_, &worst_ratio_error_}) f(*x, Merge::most);
  }

 private:
  double tokens_ = 0, entropy_ = 0, k1_ = 0, k3_ = 0, low_ = 0, high_ = 0, ratio_ = 0, ratio_min_ = 1, ratio_max_ = 1,
         worst_ratio_error_ = 0;
};

// A health check of a step.
struct HealthCheck {
  std::string name;
  bool ok;
  std::string why;  // if not ok: what is wrong and what it means
};
// The health checks of one step: first ratio 1, log-probabilities <= 0, probabilities sum to 1, every parameter has a
// gradient, KL to the reference 0 at the start, groups with a learning signal, advantages other than 0, rewards that
// are not shuffled, clip fraction, entropy, repetition, truncation.
std::vector<HealthCheck> health_checks(const Algorithm& algorithm, const Metrics& metrics, int64_t step,
                                       int64_t vocab_size);

// The share of the policy's tokens whose advantage is exactly 0.
double share_without_advantage(const Batch& batch);
// The standard deviation of the rewards of all responses.
double reward_std(const Experience& experience);

}  // namespace pg::rl
