#pragma once
// What a step of training is judged by: numbers with names, and lamps that say which of them are not well.
#include <string>
#include <utility>
#include <vector>

#include "rl/algorithm.h"
#include "rl/text/experience.h"
#include "tensor/tensor.h"

namespace pg::rl {

// In the order they were added; "group/name" makes charts.
class Metrics {
 public:
  void add(std::string_view name, double value) { values_.emplace_back(name, value); }
  bool has(std::string_view name) const;
  double at(std::string_view name) const;  // Error when there is none
  const std::vector<std::pair<std::string, double>>& values() const { return values_; }

 private:
  std::vector<std::pair<std::string, double>> values_;
};

// Rewards and their parts, lengths, ends, groups: what was rolled out.
void add_rollout_metrics(Metrics& metrics, const Experience& experience);

// Sums over the tokens of an update, micro-batch after micro-batch.
class PolicyStats {
 public:
  // log_prob, old_log_prob, entropy [B, T], without the tape; ref_log_prob [B, T] or undefined.
  void add(const Algorithm& algorithm, const Tensor& log_prob, const Tensor& old_log_prob, const Tensor& entropy,
           const Tensor& advantage, const TokenRows& rows);
  void report(Metrics& metrics) const;
  double worst_ratio_error() const { return worst_ratio_error_; }  // max |ρ - 1|

 private:
  double tokens_ = 0, entropy_ = 0, k1_ = 0, k3_ = 0, low_ = 0, high_ = 0, ratio_ = 0, ratio_min_ = 1, ratio_max_ = 1,
         worst_ratio_error_ = 0;
};

struct Lamp {
  std::string name;
  bool ok;
  std::string why;  // what is wrong and what it means, when it is not ok
};
// The lamps of one step: first ratio 1, log-probabilities <= 0, probabilities sum to 1, every parameter has a gradient,
// KL to the reference 0 at the start, groups that teach, advantages other than 0, rewards that are not shuffled, clip
// fraction, entropy, repetition, truncation.
std::vector<Lamp> lamps(const Algorithm& algorithm, const Metrics& metrics, int64_t step, int64_t vocab_size);

}  // namespace pg::rl
