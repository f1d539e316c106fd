#pragma once
// PPO from the lesson's pieces. B environments, T steps of each per rollout, N = B·T; D numbers per observation, k per
// action. rl::EnvTrainer is the same loop with everything that a long run needs besides.
#include "lessons/07_ppo/lesson.h"
#include "nn/optim.h"
#include "rl/control/trainer.h"

namespace pg::lesson07 {

// rl::env_recipe(), and a mistake for the ablations.
struct Recipe : rl::EnvTrainConfig {
  bool truncation_ends = false;  // takes an episode that the clock cut for one that ended
};
constexpr double kNoClip = 1e9;

// A rollout, row b·T + t being step t of environment b.
struct Rollout {
  Tensor seen, actions;        // [N, D], [N, k]
  Tensor log_prob, values;     // [N], of the policy that acted
  Tensor advantages, returns;  // [N]
};

struct Curve {
  // After each rollout; returns: mean of the last hundred episodes, 0 before the first ends.
  std::vector<double> steps, returns, entropy, explained;
  double last() const { return returns.back(); }
  double mean() const;  // of the returns: how fast, and how high
};

// What an update was like.
struct Diagnostics {
  double first_ratio_error = 0;  // largest |ratio - 1| of the first mini-batch
  double clipped = 0, entropy = 0;
  double explained = 0;  // variance of the returns that the values explain
};

class Ppo {
 public:
  Ppo(const Impl& impl, const Recipe& recipe);
  Ppo(const Ppo&) = delete;

  Rollout rollout();
  Diagnostics update(const Rollout& data);
  // Rollouts and updates until recipe.total_steps.
  Curve train();

  rl::ActorCritic& model() { return model_; }
  const ParamSlab& slab() const { return slab_; }
  const rl::VectorEnv& environments() const { return envs_; }
  double worst_first_ratio() const { return worst_first_ratio_; }  // of all updates
  double clipped() const { return clipped_; }                      // share of ratios, mean of all updates

  struct Evaluation {
    Tensor log_prob, entropy, value;  // [N]
  };
  Evaluation evaluate(const Tensor& seen, const Tensor& actions) const;

 private:
  Impl impl_;
  Recipe recipe_;
  Generator actions_, order_;
  rl::VectorEnv envs_;
  rl::ActorCritic model_;
  ParamSlab slab_;
  AdamW optimizer_;
  int64_t steps_ = 0;
  double worst_first_ratio_ = 0, clipped_ = 0;
};

}  // namespace pg::lesson07
