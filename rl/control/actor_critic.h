#pragma once
// A policy and a value function for environments whose observations are vectors: two perceptrons with tanh, or two
// heads on one. N observations of D numbers; N actions of k numbers, where a discrete action is the one number 0, 1, ….
#include <vector>

#include "nn/layers.h"
#include "tasks/environment.h"

namespace pg::rl {

struct ActorCriticOptions {
  int64_t hidden = 64;  // width of the hidden layers
  int64_t layers = 2;   // hidden layers
  bool shared = false;  // one set of hidden layers for policy and value, not two
};

// Weights are orthogonal with gain √2, but 0.01 in the last layer of the policy (all actions begin nearly equally
// likely) and 1 in that of the value; biases are 0. A policy over a box is Gaussian with a standard deviation that is a
// parameter, not a function of the observation, and begins as 1.
struct ActorCritic : Module {
  std::vector<Linear> actor, critic;  // hidden layers; critic is empty when they are shared
  Linear policy_head, value_head;
  Tensor log_std;  // [k], or undefined for discrete actions

  ActorCritic(int64_t observation_size, const ActionSpace& actions, const ActorCriticOptions& options,
              Generator& generator, DType dtype = f32);

  // observations [N, D] → logits [N, choices], or means [N, k].
  Tensor policy(const Tensor& observations) const;
  // observations [N, D] → [N].
  Tensor value(const Tensor& observations) const;

  struct Evaluation {
    Tensor log_prob, entropy, value;  // [N] each, nats
  };
  // actions [N, k].
  Evaluation evaluate(const Tensor& observations, const Tensor& actions) const;

  // Sampled actions [N, k]: the rows draw from the generator in turn. Without a generator the most likely ones. Records
  // nothing.
  Tensor act(const Tensor& observations, Generator* generator) const;

  void visit(Visitor& visitor) override;

 private:
  Evaluation evaluation(const Tensor& policy, const Tensor& actions, const Tensor& value) const;
};

}  // namespace pg::rl
