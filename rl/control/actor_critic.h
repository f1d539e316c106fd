#pragma once
// A policy and a value function for environments with vector observations: two multilayer perceptrons with tanh
// activations, or one with two heads. N observations of D values; N actions of k values. A discrete action is one
// value, its index 0, 1, ….
#include <vector>

#include "nn/layers.h"
#include "rl/control/gaussian.h"
#include "tasks/environment.h"

namespace pg::rl {

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
