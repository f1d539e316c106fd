#pragma once
// Reinforcement learning of a small GPT on a text task, by the learner's pieces of lessons 6 to 10. The engine has what
// is below them: the GPT, its gradients, sampling, AdamW.
#include <memory>
#include <string>
#include <vector>

#include "lessons/06_reinforce/lesson.h"
#include "lessons/07b_ppo/lesson.h"
#include "lessons/08_rlhf/lesson.h"
#include "lessons/09_grpo/lesson.h"
#include "lessons/10_rlvr/lesson.h"
#include "rl/text/rollout.h"

namespace pg::milestones {

struct PolicyPieces {
  lesson06::Impl reinforce;
  lesson07b::Impl ppo;
  lesson08::Impl rlhf;
  lesson09::Impl grpo;
  lesson10::Impl verify;
};

// A way to learn from rewards.
struct Method {
  std::string name;
  Tensor (*advantage)(const PolicyPieces& pieces, const Tensor& rewards) = nullptr;  // [P, G]; null: REINFORCE
  lesson09::Aggregation aggregation = lesson09::Aggregation::sequence_mean;
  bool per_sequence = false;  // the ratio
  bool shuffled = false;      // a control: each response gets the reward of another
};

struct Learned {
  std::vector<double> rewards;    // mean reward of the samples, by step
  double silent = 0;              // share of the groups without a signal
  double solved = 0;              // share of held-out problems, one greedy response each
  double any_of_8 = 0;            // pass@8 on them, by the learner's pass_at_k
  double vote = 0;                // of 8 responses, by the learner's majority_vote
  double k1 = 0, k2 = 0, k3 = 0;  // estimates of the KL from the start, per token
};

// A new GPT that imitates answers, in batches of the learner's sft_batch.
std::unique_ptr<Transformer> imitator(const PolicyPieces& pieces, const TextTask& task);
// Trains a copy of `start` by `method` for `steps` steps of kPrompts prompts with kSamples responses each.
inline constexpr int64_t kPrompts = 16, kSamples = 8;
Learned learn(const PolicyPieces& pieces, Transformer& start, const TextTask& task, const Method& method,
              int64_t steps);
// The largest difference between the learner's sequence_log_probs and the sums of their token_log_prob.
double log_prob_difference(const PolicyPieces& pieces, Transformer& policy, const TextTask& task);

}  // namespace pg::milestones
