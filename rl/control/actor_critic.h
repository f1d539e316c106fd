#pragma once
// A policy and a value function for environments with vector observations: two multilayer perceptrons with tanh
// activations, or one with two heads. N observations of D values; N actions of k values. A discrete action is one
// value, its index 0, 1, ….
#include <functional>
#include <utility>
#include <vector>

#include "nn/layers.h"
#include "tasks/act/environment.h"

namespace pg::rl {

// The log-probability density of actions [N, k] whose k components are independent N(mean, exp(log_std)²), and the
// entropy of the distribution, in nats: two tensors [N]. mean [N, k]; log_std [k], equal in every state.
//   log p = -Σ_i ((a_i - mean_i)² / (2 std_i²) + log std_i + log(2π)/2),   H = Σ_i (log std_i + log(2πe)/2)
// A density may be above 1, so log p may be positive and H negative.
std::pair<Tensor, Tensor> gaussian_log_prob(const Tensor& mean, const Tensor& log_std, const Tensor& actions);
// A function with the arguments and results of gaussian_log_prob().
using GaussianLogProb = std::function<std::pair<Tensor, Tensor>(const Tensor&, const Tensor&, const Tensor&)>;

struct ActorCriticOptions {
  int64_t hidden = 64;  // width of each hidden layer
  int64_t layers = 2;   // number of hidden layers
  bool shared = false;  // policy and value share one set of hidden layers
};

// Weights are orthogonal with gain √2, except 0.01 in the last layer of the policy (all actions start nearly equally
// likely) and 1 in that of the value function. Biases are 0. For a box action space the policy is Gaussian. Its
// standard deviation is a parameter, not a function of the observation, and starts at 1.
struct ActorCritic : Module {
  std::vector<Linear> actor, critic;  // hidden layers; critic is empty when they are shared
  Linear policy_head, value_head;
  Tensor log_std;  // [k], or undefined for discrete actions

  ActorCritic(int64_t observation_size, const ActionSpace& actions, const ActorCriticOptions& options,
              Generator& generator, DType dtype = f32);

  // observations [N, D] → logits [N, choices], or means [N, k] for a box.
  Tensor policy(const Tensor& observations) const;
  // observations [N, D] → [N].
  Tensor value(const Tensor& observations) const;

  struct Evaluation {
    Tensor log_prob, entropy, value;  // [N] each, nats
  };
  // observations [N, D], actions [N, k]. `density` gives the log-probability and entropy of a Gaussian policy; a policy
  // over discrete actions does not use it.
  Evaluation evaluate(const Tensor& observations, const Tensor& actions,
                      const GaussianLogProb& density = gaussian_log_prob) const;

  // Sampled actions [N, k]: the rows draw from the generator in order. Without a generator: the most likely actions. No
  // gradient is recorded.
  Tensor act(const Tensor& observations, Generator* generator) const;

  void visit(Visitor& visitor) override;

 private:
  Evaluation evaluation(const Tensor& policy, const Tensor& actions, const Tensor& value,
                        const GaussianLogProb& density) const;
};

}  // namespace pg::rl
