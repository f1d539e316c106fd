// The engine's loop with the lesson's functions: an algorithm is a row of names and functions, and functions can be
// replaced.
#include "lessons/09_grpo/loop.h"

#include <algorithm>
#include <cmath>

#include "rl/text/imitation.h"

namespace pg::lesson09 {
namespace {

// The estimator of advantages, [P, G] rewards → [P, G]; empty if the lesson has none for this baseline.
rl::Estimator estimator(const Impl& impl, std::string_view baseline) {
  if (baseline == "group_mean")
    return [&impl](const rl::Groups& g, const rl::Algorithm&) { return impl.group_mean_advantage(g.credit); };
  if (baseline == "group_std")
    return [&impl](const rl::Groups& g, const rl::Algorithm& a) {
      return impl.group_std_advantage(g.credit, a.eps, a.ddof);
    };
  if (baseline == "leave_one_out")
    return [&impl](const rl::Groups& g, const rl::Algorithm&) { return impl.leave_one_out_advantage(g.credit); };
  if (baseline == "gpg")  // scaled up to compensate for groups without signal
    return [&impl](const rl::Groups& g, const rl::Algorithm&) {
      const double with_signal = sum(impl.groups_with_signal(g.credit).to(f64)).item();
      return impl.group_mean_advantage(g.credit) * (static_cast<double>(g.credit.size(0)) / std::max(with_signal, 1.0));
    };
  return {};
}

std::unique_ptr<Transformer> copy_of(Transformer& start) {
  Generator unused(0);
  auto policy = std::make_unique<Transformer>(start.config, unused);
  load_state_dict(*policy, state_dict(start));
  return policy;
}

rl::RlConfig config_of(const rl::Algorithm& algorithm, const Lesson& lesson) {
  rl::RlConfig config;
  config.algorithm = algorithm;
  config.batch = {.prompts = lesson.prompts,
                  .samples = lesson.samples,
                  .mini_batches = lesson.mini_batches,
                  .micro_batch = lesson.micro_batch};
  config.schedule.lr = lesson.lr;
  config.adamw = {0.9, 0.95, 1e-8, 0};
  config.shuffle_rewards = lesson.shuffle;
  config.seed = lesson.seed;
  return config;
}

}  // namespace

rl::Algorithm with_functions(const Impl& impl, std::string_view name) {
  rl::Algorithm a = rl::algorithm(name);
  a.kl = "none";
  a.reference = "none";
  a.overlong_cache = 0;
  if (const rl::Estimator mine = estimator(impl, a.baseline.name)) a.baseline.advantage = rl::compared(mine);
  if (a.ratio.is("token")) a.ratio.compute = impl.token_ratio;
  if (a.ratio.is("sequence")) {
    a.ratio.compute = [&impl](const Tensor& log_prob, const Tensor& old, const Tensor& mask) {
      return expand(impl.sequence_ratio(log_prob, old, mask), log_prob.shape());
    };
  }
  for (const auto& [how, aggregation] : {std::pair{"token_mean", Aggregation::token_mean},
                                         {"sequence_mean", Aggregation::sequence_mean},
                                         {"constant", Aggregation::constant},
                                         {"sequence_sum", Aggregation::sequence_sum}}) {
    if (!a.aggregation.is(how)) continue;
    a.aggregation.aggregate = [&impl, aggregation = aggregation](const Tensor& loss, const Tensor& mask,
                                                                 const Denominators& total) {
      return impl.aggregate(loss, mask, aggregation, total);
    };
  }
  return a;
}

std::unique_ptr<TextTask> digits() { return reverse_task({.length = 5}); }

std::unique_ptr<Transformer> warm_start(const TextTask& task, const Imitation& imitation, uint64_t seed) {
  Generator init(seed);
  auto policy = std::make_unique<Transformer>(
      TransformerConfig{.vocab_size = task.vocab_size(),
                        .block_size = rl::block_size_for(task),
                        .n_layer = imitation.layers,
                        .n_head = imitation.heads,
                        .n_embd = imitation.width,
                        .in_proj_std = 1 / std::sqrt(static_cast<double>(imitation.width))},
      init);
  TrainConfig config;
  config.max_steps = imitation.steps;
  config.schedule = {.kind = Schedule::Kind::constant, .lr = 3e-3};
  config.seed = seed;
  Trainer trainer(*policy, config, rl::sft_batches(task, 64));
  while (trainer.steps() < config.max_steps) trainer.step();
  return policy;
}

Student::Student(Transformer& start, const rl::Algorithm& algorithm, const Lesson& lesson)
    : policy_(copy_of(start)), trainer_(*policy_, lesson.task, config_of(algorithm, lesson)) {}

Held examine(Transformer& policy, const TextTask& task, int64_t problems) {
  const auto e = rl::rollout(policy, task, task.held_out(problems), {.samples = 1, .greedy = true});
  Held held;
  for (const rl::Response& r : e.responses) {
    held.reward += r.score.reward / static_cast<double>(e.responses.size());
    held.solved += 100 * r.score.solved / static_cast<double>(e.responses.size());
  }
  return held;
}

}  // namespace pg::lesson09
