#pragma once
// The stages of RLHF, one file each: sft.cpp, reward_model.cpp, ppo.cpp, dpo.cpp.
#include "lessons/08_rlhf/human.h"
#include "lessons/08_rlhf/lesson.h"
#include "rl/text/preferences.h"
#include "rl/text/rollout.h"

namespace pg::lesson08 {

TransformerConfig config(const TextTask& task);
// A new model with the weights of `model`.
std::unique_ptr<Transformer> copy_of(const TransformerConfig& config, Transformer& model);
using rl::pointers;
// Responses of `policy` to problems of the task.
rl::Experience write(Transformer& policy, const TextTask& task, int64_t problems, int64_t samples, uint64_t seed);

// Stage 1. Returns the first and the last loss.
std::pair<double, double> imitate(const Impl& impl, Transformer& model, const TextTask& task, int64_t steps);

// Stage 2. Returns the chosen responses of these pairs, then the rejected ones.
std::vector<Response> both(std::span<const rl::Preference> pairs);
void learn_preferences(const Impl& impl, rl::ScalarModel& model, const std::vector<rl::Preference>& pairs,
                       int64_t steps, uint64_t seed);
// The fraction of the pairs in which the chosen response scores higher.
double accuracy(const rl::ScalarModel& model, const std::vector<rl::Preference>& pairs);

// Stage 3. Per step: the mean reward model score, the mean human score, and the KL to the reference in nats.
struct Curve {
  std::vector<double> proxy, human, kl;
};
struct PpoOptions {
  double beta;  // weight of the KL in the reward
  double lr;
  int64_t steps, batch = 64;
  uint64_t seed;
};
Curve improve(const Impl& impl, Transformer& policy, const TextTask& task, const rl::Judge& judge,
              const PpoOptions& options);

// Stage 3, alternative without reward model, critic and sampling. Per step:
struct DpoCurve {
  std::vector<double> loss, chosen, rejected;  // mean log-probabilities minus those of the reference
};
DpoCurve prefer(const Impl& impl, Transformer& policy, const std::vector<rl::Preference>& pairs, double beta,
                int64_t steps, uint64_t seed);

}  // namespace pg::lesson08
