// Valid ranges of the text trainers' configurations, one row per field.
#include "rl/text/expert_iteration.h"
#include "rl/text/preferences.h"
#include "rl/text/trainer.h"
#include "tensor/base/error.h"
#include "tensor/base/range.h"

namespace pg::rl {

namespace {

using InRange = std::function<void(const char* name, double value, const Range& range)>;
InRange in_range(const char* owner) {
  return [owner](const char* name, double value, const Range& range) {
    check_range(fmt::format("{}: {}", owner, name), value, range);
  };
}

// A count as the double that check_range takes.
double number(int64_t count) { return static_cast<double>(count); }

void check_optimizer(const InRange& in, double lr, const AdamWOptions& adamw, double max_grad_norm) {
  in("lr", lr, kNotNegative);
  in("beta1", adamw.beta1, kBelowOne);
  in("beta2", adamw.beta2, kBelowOne);
  in("AdamW's eps", adamw.eps, kPositive);
  in("weight-decay", adamw.weight_decay, kNotNegative);
  in("clip, the largest gradient norm,", max_grad_norm, kNotNegative);
}

}  // namespace

void check_config(const RlConfig& c) {
  const InRange in = in_range("RlTrainer");
  check_optimizer(in, c.schedule.lr, c.adamw, c.max_grad_norm);
  in("steps", number(c.steps), whole_from(0));
  in("temperature", c.temperature, kPositive);
  in("target-std", c.adaptive_temperature.target_std, kNotNegative);
  in("the lowest adaptive temperature", c.adaptive_temperature.low, kPositive);
  in("the highest adaptive temperature", c.adaptive_temperature.high, kPositive);
  in("max-rows", number(c.max_rows), whole_from(0));
  in("min-lr", c.schedule.min_lr, kNotNegative);
  in("warmup", number(c.schedule.warmup_steps), whole_from(0));
  in("critic-lr", c.critic_lr, kNotNegative);
  in("unfinished-penalty", c.unfinished_penalty, kAnyNumber);
  in("log-prob-credit", c.log_prob_credit, kAnyNumber);
  in("eval-every", number(c.eval_interval), whole_from(0));
  in("eval-problems", number(c.eval_problems), whole_from(1, 1 << 24));
  in("save-every", number(c.checkpoint_interval), whole_from(0));
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

void check_config(const PreferenceConfig& c) {
  const InRange in = in_range("learning from preferences");
  check_optimizer(in, c.schedule.lr, c.adamw, c.max_grad_norm);
  in("batch", number(c.batch), whole_from(1, 1 << 24));
  in("min-lr", c.schedule.min_lr, kNotNegative);
  in("centring", c.centring, kNotNegative);
  in("beta", c.dpo.beta, kPositive);
  in("label-smoothing", c.dpo.label_smoothing, kBelowOne);
}

void check_config(const ExpertIterationConfig& c) {
  const InRange in = in_range("expert_iteration");
  check_optimizer(in, c.lr, c.adamw, c.max_grad_norm);
  in("problems", number(c.problems), whole_from(1, 1 << 24));
  in("samples", number(c.samples), whole_from(1, 1 << 24));
  in("problems times samples", number(c.problems * c.samples), whole_from(1, 1 << 24));
  in("temperature", c.temperature, kPositive);
  in("epochs", number(c.epochs), whole_from(1, 1 << 24));
  in("batch", number(c.batch), whole_from(1, 1 << 24));
}

}  // namespace pg::rl
