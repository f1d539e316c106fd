// A multi-armed bandit.
#include "tasks/act/bandit.h"

#include <algorithm>

#include "tensor/base/error.h"

namespace pg {

Bandit::Bandit(Pays pays, std::vector<double> means)
    : Environment({{1}, {1}}, {.choices = static_cast<int64_t>(means.size())}, 1, means.size()),
      pays_(pays),
      means_(std::move(means)) {
  check(means_.size() >= 2, "Bandit: there must be at least two arms, got {}", means_.size());
  for (double mean : means_) {
    check(pays != Pays::bernoulli || (mean >= 0 && mean <= 1), "Bandit: a probability must be in [0, 1], got {}", mean);
  }
}

int64_t Bandit::best_arm() const { return std::max_element(means_.begin(), means_.end()) - means_.begin(); }

void Bandit::begin(Generator& g) {
  for (size_t arm = 0; arm < means_.size(); ++arm) {
    s_[arm] = pays_ == Pays::gaussian ? means_[arm] + g.normal() : (g.uniform() < means_[arm] ? 1.0 : 0.0);
  }
}

Environment::Outcome Bandit::advance(std::span<const double> action) {
  return {s_[static_cast<size_t>(action[0])], true};
}

Bandit gaussian_bandit() {
  return Bandit(Bandit::Pays::gaussian, {0.2, -0.8, 1.5, 0.4, 1.2, -1.5, -0.2, -1.0, 0.9, -0.5});
}

Bandit bernoulli_bandit() {
  return Bandit(Bandit::Pays::bernoulli, {0.3, 0.5, 0.1, 0.6, 0.2, 0.4, 0.8, 0.1, 0.5, 0.3});
}

}  // namespace pg
