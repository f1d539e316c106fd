#pragma once
// The demonstration's single pictures.
#include "lessons/08_rlhf/stages.h"

namespace pg::lesson08 {

// Stage 1, with the masks of two problems.
void show_imitation(kit::Demo& demo, const Impl& impl, Gpt2& model, const TextTask& task);
// Which of the four models reads what, gives what, learns when, and takes how much memory.
void show_models(kit::Demo& demo, Gpt2& policy, rl::ScalarModel& reward_model);
// One response, token by token: log-probabilities, KL, reward.
void show_tokens(kit::Demo& demo, const Impl& impl, Gpt2& policy, Gpt2& reference, const TextTask& task,
                 const rl::Judge& judge, double beta);
// Share of the pairs whose chosen response the human would really score higher.
double share_right(const TextTask& task, const std::vector<rl::Preference>& pairs);

}  // namespace pg::lesson08
