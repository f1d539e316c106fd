#pragma once
// PPO built from the lesson's functions. B environments take T steps each per rollout, N = B·T. An observation has D
// elements, an action has k. rl::EnvTrainer is the same loop with everything else that a long run needs.
#include "lessons/07_ppo/lesson.h"
#include "nn/optim.h"
#include "rl/control/trainer.h"

namespace pg::lesson07 {

// rl::env_recipe(), with an optional mistake for the ablations.
struct Recipe : rl::EnvTrainConfig {
  bool truncation_ends = false;  // treats truncation by the time limit as a termination
};
constexpr double kNoClip = 1e9;

// A rollout. Row b·T + t is step t of environment b.
struct Rollout {
  Tensor seen, actions;        // [N, D], [N, k]
  Tensor log_prob, values;     // [N], of the policy that sampled the actions
  Tensor advantages, returns;  // [N]
};

struct Curve {
  // One element per rollout. returns: mean of the last hundred episodes, 0 before the first episode ends.
  std::vector<double> steps, returns, entropy, explained;
  double last() const { return returns.back(); }
  double mean() const;  // of the returns: measures both speed and level of learning
};

// Diagnostics of an update.
struct Diagnostics {
  double first_ratio_error = 0;  // largest |ratio - 1| of the first mini-batch
  double clipped = 0, entropy = 0;
  double explained = 0;  // fraction of the returns' variance that the values explain
};

class Ppo {
 public:
  Ppo(const Impl& impl, const Recipe& recipe);
  Ppo(const Ppo&) = delete;

  Rollout rollout();
  Diagnostics update(const Rollout& data);
  // Alternates rollouts and updates until recipe.total_steps.
  Curve train();

  rl::ActorCritic& model() { return model_; }
  const ParamSlab& slab() const { return slab_; }
  const rl::VectorEnv& environments() const { return envs_; }
  double worst_first_ratio() const { return worst_first_ratio_; }  // over all updates
  double clipped() const { return clipped_; }                      // fraction of clipped ratios, mean over all updates

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
