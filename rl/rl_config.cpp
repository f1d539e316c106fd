// What an RlConfig may hold, one row per field.
#include "rl/range.h"
#include "rl/rl_trainer.h"
#include "tensor/error.h"

namespace pg::rl {

void check_config(const RlConfig& c) {
  const auto in = [](const char* name, auto value, const Range& range) {
    check_range(fmt::format("RlTrainer: {}", name), static_cast<double>(value), range);
  };
  in("steps", c.steps, whole_from(0));
  in("temperature", c.temperature, kPositive);
  in("target-std", c.adaptive_temperature.target_std, kNotNegative);
  in("the lowest adaptive temperature", c.adaptive_temperature.low, kPositive);
  in("the highest adaptive temperature", c.adaptive_temperature.high, kPositive);
  in("max-rows", c.max_rows, whole_from(0));
  in("lr", c.schedule.lr, kNotNegative);
  in("min-lr", c.schedule.min_lr, kNotNegative);
  in("warmup", c.schedule.warmup_steps, whole_from(0));
  in("critic-lr", c.critic_lr, kNotNegative);
  in("beta1", c.adamw.beta1, kBelowOne);
  in("beta2", c.adamw.beta2, kBelowOne);
  in("AdamW's eps", c.adamw.eps, kPositive);
  in("weight-decay", c.adamw.weight_decay, kNotNegative);
  in("clip, the largest gradient norm,", c.max_grad_norm, kNotNegative);
  in("unfinished-penalty", c.unfinished_penalty, kAnyNumber);
  in("log-prob-credit", c.log_prob_credit, kAnyNumber);
  in("eval-every", c.eval_interval, whole_from(0));
  in("eval-problems", c.eval_problems, whole_from(1, 1 << 24));
  in("save-every", c.checkpoint_interval, whole_from(0));
  check(c.adaptive_temperature.low <= c.adaptive_temperature.high,
        "RlTrainer: the lowest adaptive temperature, {}, is above the highest, {}", c.adaptive_temperature.low,
        c.adaptive_temperature.high);
  check(c.schedule.kind == Schedule::Kind::constant || c.schedule.min_lr <= c.schedule.lr,
        "RlTrainer: min-lr {} is above lr {}, so the learning rate would rise; take a smaller min-lr",
        c.schedule.min_lr, c.schedule.lr);
  check(c.schedule.warmup_steps == 0 || c.schedule.warmup_steps < c.steps,
        "RlTrainer: a warm-up of {} steps never ends in a run of {}; take a smaller warmup", c.schedule.warmup_steps,
        c.steps);
  check_algorithm(c.algorithm, c.batch);
}

}  // namespace pg::rl
