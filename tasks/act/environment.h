#pragma once
// Reinforcement learning environments: reset() begins an episode, step() takes an action until the episode ends. Names,
// dynamics, initial states and time limits of the classic control problems are those of Gymnasium 1.x
// (https://gymnasium.farama.org).
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/base/random.h"
#include "tensor/base/table.h"

namespace pg {

// All vectors with low[i] <= x[i] <= high[i]; a bound may be infinite.
struct Box {
  std::vector<double> low, high;
  int64_t size() const { return static_cast<int64_t>(low.size()); }
};

// Discrete: one of `choices` actions, given as a single value 0, 1, …. Continuous, if choices is 0: a vector of the
// box.
struct ActionSpace {
  int64_t choices = 0;
  Box box = {};
  bool discrete() const { return choices > 0; }
  int64_t size() const { return discrete() ? 1 : box.size(); }  // dimensions of an action
};

// An episode can end in two ways. Terminated: the environment reached a terminal state, with no further reward.
// Truncated: the time limit was reached in a state from which more reward could follow. Both can happen at once.
struct Transition {
  std::vector<double> observation;  // after the step, also if it was the last
  double reward = 0;
  bool terminated = false, truncated = false;
  bool last() const { return terminated || truncated; }
};

class Environment {
 public:
  virtual ~Environment() = default;

  const Box& observation_space() const { return observation_space_; }
  const ActionSpace& action_space() const { return action_space_; }
  int64_t time_limit() const { return time_limit_; }  // steps after which an episode is truncated

  // Samples the initial state of an episode → its observation. All randomness is used here: step() is a deterministic
  // function of state and action.
  std::vector<double> reset(Generator& g);
  // Continuous actions outside the box are clipped to it. Error for an invalid action, and after the episode's end.
  Transition step(std::span<const double> action);

  // {steps taken, 1 if the episode has ended, then the state described in the environment's own header}: sufficient to
  // continue bit-identically.
  std::vector<double> state() const;
  void set_state(std::span<const double> state);

 protected:
  Environment(Box observations, ActionSpace actions, int64_t time_limit, size_t state_size);

  struct Outcome {
    double reward;
    bool terminated;
  };
  virtual void begin(Generator& g) = 0;  // fills s_
  // `action` is valid: an integer in [0, choices), or a vector of the box.
  virtual Outcome advance(std::span<const double> action) = 0;
  virtual std::vector<double> observe() const = 0;
  std::vector<double> s_;

 private:
  Box observation_space_;
  ActionSpace action_space_;
  int64_t time_limit_, steps_ = 0;
  bool ended_ = true;
};

struct EnvironmentRow {
  std::string name, about;  // about: one line
  std::function<std::unique_ptr<Environment>()> make;
};
// The environments with a name. One of one's own needs no row: EnvTrainer takes any.
const std::vector<EnvironmentRow>& environments();
// The environment of that name. Throws Error with the known names for another one.
std::unique_ptr<Environment> make_environment(std::string_view name);

}  // namespace pg
