#pragma once
// What the tests of trainers begin with: a policy, its imitation of right answers, and its weights.
#include <vector>

#include "nn/train/trainer.h"
#include "nn/transformer.h"
#include "rl/text/imitation.h"
#include "rl/text/rollout.h"

namespace pg::testing {

// One block with two heads, the same weights at every call. `in_proj_std` as in TransformerConfig.
inline Transformer small_policy(const TextTask& task, int64_t n_embd = 16, double in_proj_std = 0.25) {
  Generator g(5);
  return Transformer({.vocab_size = task.vocab_size(),
                      .block_size = rl::block_size_for(task),
                      .n_layer = 1,
                      .n_head = 2,
                      .n_embd = n_embd,
                      .in_proj_std = in_proj_std},
                     g);
}

// Trains on the correct answers for some steps, so that rewards differ.
inline void warm_up(Transformer& policy, const TextTask& task, int64_t steps) {
  TrainConfig config;
  config.schedule = {.kind = Schedule::Kind::constant, .lr = 3e-3};
  Trainer trainer(policy, config, rl::sft_batches(task, 32));
  for (int64_t i = 0; i < steps; ++i) trainer.step();
}

// All values of a module's state, in the order of their names.
inline std::vector<double> weights(Module& model) {
  std::vector<double> all;
  for (const auto& [name, tensor] : state_dict(model)) {
    const auto values = tensor.to_vector();
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

}  // namespace pg::testing
