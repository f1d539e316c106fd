#pragma once
#include "tasks/act/environment.h"

namespace pg {

// A multi-armed bandit with k arms: an episode is one pull. The observation is always {1}, so the only thing to learn
// is which arm has the highest mean reward. State: the reward of each arm in this episode.
class Bandit final : public Environment {
 public:
  enum class Pays { gaussian, bernoulli };  // N(mean, 1); or 1 with probability `mean`, else 0
  Bandit(Pays pays, std::vector<double> means);

  const std::vector<double>& means() const { return means_; }
  int64_t best_arm() const;

 private:
  void begin(Generator& g) override;
  Outcome advance(std::span<const double> action) override;
  std::vector<double> observe() const override { return {1}; }
  Pays pays_;
  std::vector<double> means_;
};

// Both have ten arms. Gaussian: the means are a sample of N(0, 1), as in the testbed of Sutton & Barto, chapter 2.
Bandit gaussian_bandit();
Bandit bernoulli_bandit();

}  // namespace pg
