#pragma once
// Several copies of an environment in parallel, so that one forward pass serves all of them. A copy whose episode ends
// is reset immediately. B copies, D values per observation. Ranks share out the steps of the copies.
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tasks/act/environment.h"
#include "tensor/comm/comm.h"

namespace pg::rl {

// Mean and variance per component of all vectors seen so far, by Welford's recurrence (1962), which loses no precision
// when the mean is large.
struct RunningMoments {
  double count = 0;
  std::vector<double> mean, squares;  // squares: Σ (x - mean)²

  explicit RunningMoments(size_t size) : mean(size), squares(size) {}
  void add(std::span<const double> x) {
    ++count;
    for (size_t i = 0; i < mean.size(); ++i) {
      const double before = x[i] - mean[i];
      mean[i] += before / count;
      squares[i] += before * (x[i] - mean[i]);
    }
  }
  double variance(size_t i) const { return count > 0 ? squares[i] / count : 0; }  // divided by n, not n - 1
};

using MakeEnvironment = std::function<std::unique_ptr<Environment>()>;

struct VectorEnvOptions {
  // Observations minus their running mean, divided by their running standard deviation, and clipped to ±10.
  bool normalize_observations = false;
  // Rewards divided by the running standard deviation of the discounted sum of rewards so far in each episode, and
  // clipped to ±10. They keep their mean, because shifting rewards would change which policy is best.
  bool normalize_rewards = false;
  double gamma = 0.99;  // discount of that sum
};

class VectorEnv {
 public:
  // Each copy draws from its own random stream.
  //
  // On the ranks of `comm` (nullptr: one), which must outlive the result, every rank has all copies, and all must be
  // given the same arguments. step() is then a collective: a rank steps the copies of shard_of(B, rank, size) and sends
  // what they return and their state to the others, so that all ranks are always in the state of one. The first step
  // compares the states: an Error names a rank whose environments differ.
  VectorEnv(const MakeEnvironment& make, int64_t count, const VectorEnvOptions& options, uint64_t seed,
            Comm* comm = nullptr);

  int64_t count() const { return static_cast<int64_t>(copies_.size()); }
  int64_t observation_size() const { return environment().observation_space().size(); }
  const Environment& environment() const { return *copies_[0].environment; }

  // The current observations of the copies, normalised if enabled: B·D values.
  const std::vector<double>& observations() const { return observations_; }

  struct Step {
    std::vector<double> rewards;  // normalised if enabled
    std::vector<bool> terminated, truncated;
    // The last observation of an episode that ended, which observations() no longer contains. Empty for other copies.
    std::vector<std::vector<double>> final_observations;
  };
  // actions: B times the values of one action, equal on all ranks. Throws Error if an environment returns a value that
  // is not finite.
  Step step(std::span<const double> actions);

  // The number of episodes finished since the start, and the mean raw return and length of the last hundred of them.
  // The means are NaN before the first.
  int64_t episodes() const { return episodes_; }
  double mean_return() const { return mean_of(returns_); }
  double mean_length() const { return mean_of(lengths_); }

  // x normalised like the input of the policy.
  std::vector<double> normalized(std::span<const double> x) const;

  // The state of all copies, of the random streams and of the running statistics, as text.
  std::string state() const;
  // Continues from a text of state(). Throws Error if it is damaged or of another number of copies.
  void set_state(const std::string& text);

 private:
  struct Copy {
    std::unique_ptr<Environment> environment;
    Generator generator;
    double episode_return = 0, discounted = 0;
    int64_t episode_length = 0;
  };
  // What a copy returns from a step.
  struct Moved {
    Transition transition;
    std::vector<double> next;  // the current observation: the first of the next episode if this one ended
  };
  Moved move(size_t copy, std::span<const double> action);
  void compare_ranks();
  // Gives every rank what the copies of the others returned, and their states.
  void share(std::vector<Moved>& moved);
  // Stores an observation of a copy, normalised if enabled, in observations_.
  void set_observation(size_t copy, std::span<const double> observation);
  static double mean_of(const std::deque<double>& values);

  VectorEnvOptions options_;
  Comm* comm_;
  bool compared_ = false;  // the states of the ranks
  std::vector<Copy> copies_;
  std::vector<double> observations_;
  RunningMoments observation_moments_, return_moments_;
  int64_t episodes_ = 0;
  std::deque<double> returns_, lengths_;
};

}  // namespace pg::rl
