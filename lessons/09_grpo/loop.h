#pragma once
// The engine's own loop, rl::RlTrainer, with the lesson's functions in place of the engine's.
#include "lessons/09_grpo/lesson.h"
#include "rl/text/trainer.h"

namespace pg::lesson09 {

// The algorithm of this name without a KL to a reference and without length terms: only the rewards count. Its
// advantage, ratio and aggregation call the lesson's functions where the lesson has one. `impl` must outlive it.
rl::Algorithm with_functions(const Impl& impl, std::string_view name);

// Reversing up to five digits, "412=" -> "214.".
std::unique_ptr<TextTask> digits();
// A policy that imitated `steps` batches of 64 answers.
struct Imitation {
  int64_t steps = 60, layers = 1, heads = 2, width = 32;
};
std::unique_ptr<Transformer> warm_start(const TextTask& task, const Imitation& imitation, uint64_t seed);

// Settings of a run. Equal seeds give equal bits.
struct Lesson {
  const TextTask& task;
  int64_t prompts = 16, samples = 8, mini_batches = 2;  // per step
  int64_t micro_batch = 64;                             // responses in one pass
  double lr = 2e-3;
  uint64_t seed = 1;
  bool shuffle = false;  // a control experiment: rewards go to the wrong responses
};

// A policy that starts with the weights of another, and the engine's trainer of it.
class Student {
 public:
  Student(Transformer& start, const rl::Algorithm& algorithm, const Lesson& lesson);
  rl::Metrics step(const rl::RlHooks& hooks = {}) { return trainer_.step(hooks); }
  Transformer& policy() { return *policy_; }

 private:
  std::unique_ptr<Transformer> policy_;
  rl::RlTrainer trainer_;
};

struct Held {
  double reward = 0, solved = 0;
};
// Greedy responses to held-out problems.
Held examine(Transformer& policy, const TextTask& task, int64_t problems = 100);

}  // namespace pg::lesson09
