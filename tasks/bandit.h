#pragma once
#include "tasks/environment.h"

namespace pg {

// A machine with k arms: an episode is one pull. There is nothing to see (the observation is always {1}) and only one
// thing to learn: which arm pays most on average. State: what each arm would pay in this episode.
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

// Ten arms each. Gaussian: the means are a sample of N(0, 1), as in the testbed of Sutton & Barto, chapter 2.
Bandit gaussian_bandit();
Bandit bernoulli_bandit();

}  // namespace pg
