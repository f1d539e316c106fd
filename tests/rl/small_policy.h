#pragma once
// What the tests of rollouts and trainers begin with: a policy, its imitation of right answers, its weights, problems
// and configurations.
#include <vector>

#include "nn/train/trainer.h"
#include "nn/transformer.h"
#include "rl/text/imitation.h"
#include "rl/text/rollout.h"
#include "rl/text/trainer.h"
#include "tests/tensors.h"

namespace pg::testing {

struct PolicySize {
  int64_t n_layer = 1, n_embd = 16;
  double in_proj_std = 0.25, dropout = 0;  // as in TransformerConfig
  DType dtype = f32;
};
// Two heads, the same weights at every call.
inline Transformer small_policy(const TextTask& task, const PolicySize& size = {}) {
  Generator g(5);
  return Transformer({.vocab_size = task.vocab_size(),
                      .block_size = rl::block_size_for(task),
                      .n_layer = size.n_layer,
                      .n_head = 2,
                      .n_embd = size.n_embd,
                      .dropout = size.dropout,
                      .in_proj_std = size.in_proj_std,
                      .dtype = size.dtype},
                     g);
}
// One that learns a task within a few hundred steps.
inline Transformer wide_policy(const TextTask& task, DType dtype = f32, double dropout = 0) {
  return small_policy(task, {.n_embd = 32, .in_proj_std = 0.18, .dropout = dropout, .dtype = dtype});
}

// Trains on the correct answers for some steps, so that rewards differ.
inline void warm_up(Transformer& policy, const TextTask& task, int64_t steps, int64_t rows = 32) {
  TrainConfig config;
  config.schedule = {.kind = Schedule::Kind::constant, .lr = 3e-3};
  Trainer trainer(policy, config, rl::sft_batches(task, rows));
  for (int64_t i = 0; i < steps; ++i) trainer.step();
}

// All values of a module's state, in the order of their names.
inline std::vector<double> weights(Module& model) { return values_of(state_dict(model)); }

inline std::vector<Problem> problems_of(const TextTask& task, int count, uint64_t seed = 9) {
  Generator g(seed);
  std::vector<Problem> problems;
  for (int i = 0; i < count; ++i) problems.push_back(task.sample(g));
  return problems;
}

// All tokens are the policy's.
inline rl::Response response(std::vector<int32_t> prompt, std::vector<int32_t> tokens) {
  rl::Response r;
  r.prompt = std::move(prompt);
  r.action_mask.assign(tokens.size(), 1);
  r.tokens = std::move(tokens);
  return r;
}

// Four responses to each of `prompts` prompts.
inline rl::RlConfig groups_of_four(const char* algorithm, int64_t prompts) {
  rl::RlConfig config;
  config.algorithm = rl::algorithm(algorithm);
  config.batch = {.prompts = prompts, .samples = 4};
  return config;
}
// For tests of single steps.
inline rl::RlConfig small_run(const char* algorithm) {
  rl::RlConfig config = groups_of_four(algorithm, 4);
  config.eval_problems = 10;
  return config;
}
// For tests of a training as a whole.
inline rl::RlConfig four_steps(const char* algorithm) {
  rl::RlConfig config = groups_of_four(algorithm, 6);
  config.schedule.lr = 3e-3;
  config.steps = 4;
  config.eval_problems = 20;
  return config;
}

}  // namespace pg::testing
