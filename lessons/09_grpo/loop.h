#pragma once
// GRPO and its variants in one short file.
#include "lessons/09_grpo/lesson.h"
#include "nn/optim.h"
#include "rl/algorithm.h"
#include "rl/text/rollout.h"

namespace pg::lesson09 {

// A policy with its parameter slab and optimizer.
struct Student {
  Gpt2 policy;
  ParamSlab slab;
  AdamW optimizer;
  explicit Student(const Gpt2Config& config);
  Student(Gpt2& like);  // starts with the weights of `like`
};

// Settings of a run. Equal seeds give equal bits.
struct Lesson {
  const TextTask& task;
  int64_t prompts = 16, samples = 8, mini_batches = 2;  // per step
  double lr = 2e-3;
  uint64_t seed = 1;
  bool shuffle = false;  // a control experiment: rewards go to the wrong responses
};

struct Step {
  double reward = 0, length = 0;  // means; reward: of all responses of the first round
  double sampled = 0;             // number of responses, including discarded ones
  double silent = 0;              // fraction of the groups in the first round whose rewards are all equal
  double first_loss = 0, first_norm = 0, first_ratio_error = 0;  // of the first mini-batch; largest |ρ - 1|
  double last_loss = 0, last_ratio_error = 0;                    // of the last
  double norm = 0, clipped = 0;  // mean gradient norm; fraction of tokens without gradient because of the clip
};

// One rollout and its updates. `number` counts the steps.
Step learn_step(const Impl& impl, const rl::Algorithm& a, const Lesson& lesson, Student& student, uint64_t number);

struct Held {
  double reward = 0, solved = 0;
};
// Greedy responses to held-out problems.
Held examine(Gpt2& policy, const TextTask& task, int64_t problems = 100);

// The preset without a KL to a reference and without length terms: only the rewards count.
rl::Algorithm bare(std::string_view name);

}  // namespace pg::lesson09
