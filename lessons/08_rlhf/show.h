#pragma once
// The individual displays of the demonstration.
#include "lessons/08_rlhf/stages.h"

namespace pg::lesson08 {

// Stage 1, with the loss masks of two problems.
void show_imitation(kit::Demo& demo, const Impl& impl, Transformer& model, const TextTask& task);
// For each of the four models: its input, its output, when it is trained, and its memory use.
void show_models(kit::Demo& demo, Transformer& policy, rl::ScalarModel& reward_model);
// One response, token by token: log-probabilities, KL, reward.
void show_tokens(kit::Demo& demo, const Impl& impl, Transformer& policy, Transformer& reference, const TextTask& task,
                 const rl::Judge& judge, double beta);
// The fraction of the pairs whose chosen response has the higher score from the human.
double share_right(const TextTask& task, const std::vector<rl::Preference>& pairs);

}  // namespace pg::lesson08
