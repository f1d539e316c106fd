// The Environment base class, and the registry of environments by name.
#include "tasks/act/environment.h"

#include <algorithm>
#include <cmath>

#include "tasks/act/bandit.h"
#include "tasks/act/control.h"
#include "tensor/base/error.h"

namespace pg {

Environment::Environment(Box observations, ActionSpace actions, int64_t time_limit, size_t state_size)
    : s_(state_size),
      observation_space_(std::move(observations)),
      action_space_(std::move(actions)),
      time_limit_(time_limit) {
  check(time_limit >= 1, "Environment: the time limit must be at least 1 step, got {}", time_limit);
}

std::vector<double> Environment::reset(Generator& g) {
  begin(g);
  steps_ = 0;
  ended_ = false;
  return observe();
}

Transition Environment::step(std::span<const double> action) {
  check(!ended_, "Environment: the episode has ended; call reset() before step()");
  const auto size = static_cast<size_t>(action_space_.size());
  check(action.size() == size, "Environment: an action has {} values, got {}", size, action.size());
  std::vector<double> valid(action.begin(), action.end());
  if (action_space_.discrete()) {
    check(valid[0] >= 0 && valid[0] < static_cast<double>(action_space_.choices) && valid[0] == std::floor(valid[0]),
          "Environment: the action must be one of 0 … {}, got {}", action_space_.choices - 1, valid[0]);
  } else {
    for (size_t i = 0; i < size; ++i) {
      check(!std::isnan(valid[i]), "Environment: number {} of the action is NaN", i);
      valid[i] = std::clamp(valid[i], action_space_.box.low[i], action_space_.box.high[i]);
    }
  }
  const Outcome outcome = advance(valid);
  ++steps_;
  const bool truncated = steps_ >= time_limit_;
  ended_ = outcome.terminated || truncated;
  return {observe(), outcome.reward, outcome.terminated, truncated};
}

std::vector<double> Environment::state() const {
  std::vector<double> result = {static_cast<double>(steps_), ended_ ? 1.0 : 0.0};
  result.insert(result.end(), s_.begin(), s_.end());
  return result;
}

void Environment::set_state(std::span<const double> state) {
  check(state.size() == s_.size() + 2, "Environment: a state has {} values, got {}", s_.size() + 2, state.size());
  check(state[0] >= 0 && state[0] <= static_cast<double>(time_limit_) && (state[1] == 0 || state[1] == 1),
        "Environment: a state begins with the steps taken, 0 … {}, and 0 or 1, got {} and {}", time_limit_, state[0],
        state[1]);
  steps_ = static_cast<int64_t>(state[0]);
  ended_ = state[1] == 1;
  std::copy(state.begin() + 2, state.end(), s_.begin());
}

const std::vector<EnvironmentRow>& environments() {
  static const std::vector<EnvironmentRow> all = {
      {"Acrobot-v1", "swing up two links (Gymnasium)", [] { return std::make_unique<Acrobot>(); }},
      {"ArmReach-torque", "bring the hand of a robot arm to a target by torques",
       [] { return std::make_unique<ArmReach>(ArmReach::Control::torque); }},
      {"ArmReach-velocity", "the same by velocities of the joints",
       [] { return std::make_unique<ArmReach>(ArmReach::Control::velocity); }},
      {"BernoulliBandit", "ten arms that pay 0 or 1", [] { return std::make_unique<Bandit>(bernoulli_bandit()); }},
      {"CartPole-v1", "balance a pole on a cart (Gymnasium)", [] { return std::make_unique<CartPole>(); }},
      {"GaussianBandit", "ten arms that pay a normal number",
       [] { return std::make_unique<Bandit>(gaussian_bandit()); }},
      {"MountainCar-v0", "drive up a hill with too little power (Gymnasium)",
       [] { return std::make_unique<MountainCar>(); }},
      {"Pendulum-v1", "swing up a pendulum by a torque (Gymnasium)", [] { return std::make_unique<Pendulum>(); }},
  };
  return all;
}

std::unique_ptr<Environment> make_environment(std::string_view name) {
  return find_row(environments(), "environment", name).make();
}

}  // namespace pg
