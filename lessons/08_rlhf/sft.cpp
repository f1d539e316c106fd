// Stage 1, supervised fine-tuning: a GPT learns how sentences end. Their beginnings, the prompts, are not trained.
#include "lessons/08_rlhf/stages.h"

namespace pg::lesson08 {

TransformerConfig config(const TextTask& task) {
  return {.vocab_size = task.vocab_size(),
          .block_size = rl::block_size_for(task),
          .n_layer = 1,
          .n_head = 2,
          .n_embd = 32,
          .in_proj_std = 0.18};
}

std::unique_ptr<Transformer> copy_of(const TransformerConfig& config, Transformer& model) {
  Generator unused(0);
  auto copy = std::make_unique<Transformer>(config, unused);
  load_state_dict(*copy, state_dict(model));
  return copy;
}

rl::Experience write(Transformer& policy, const TextTask& task, int64_t problems, int64_t samples, uint64_t seed) {
  Generator g(seed);
  std::vector<Problem> drawn;
  for (int64_t i = 0; i < problems; ++i) drawn.push_back(task.sample(g));
  return rl::rollout(policy, task, drawn, {.samples = samples, .seed = seed});
}

std::pair<double, double> imitate(const Impl& impl, Transformer& model, const TextTask& task, int64_t steps) {
  TrainConfig train;
  train.max_steps = steps;
  train.schedule = {.lr = 5e-3, .min_lr = 5e-4, .warmup_steps = 20, .decay_steps = steps};
  Trainer trainer(model, train, [&](Generator& g) {
    std::vector<Problem> problems;
    for (int i = 0; i < 64; ++i) problems.push_back(task.sample(g));
    return impl.sft_batch(problems);
  });
  const double first = trainer.step().loss;
  double last = first;
  while (trainer.steps() < steps) last = trainer.step().loss;
  return {first, last};
}

}  // namespace pg::lesson08
