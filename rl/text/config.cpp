// The fields of the text trainers' configurations, with their ranges, and the checks of fields that depend on each
// other.
#include "nn/train/schedule.h"
#include "rl/text/imitation.h"
#include "rl/text/preferences.h"
#include "rl/text/trainer.h"
#include "tensor/base/error.h"
#include "tensor/base/fields.h"

namespace pg::rl {

namespace {

const Range kSize = whole_from(1, 1 << 24);  // of what has its own random stream

Field norm_field(double& max_grad_norm) {
  return {.name = "max-grad-norm",
          .value = &max_grad_norm,
          .about = "largest gradient norm; 0: any",
          .range = kNotNegative,
          .former = {"clip"}};
}

Field seed_field(uint64_t& seed) { return {"seed", &seed, "the same seed gives the same model, bit for bit"}; }

Field micro_batch_field(int64_t& size, const char* about) {
  return {"micro-batch", &size, about, whole_from(0, 1 << 24)};
}

std::vector<Field> common_fields(PreferenceConfig& c) {
  return joined({{{"batch", &c.batch, "pairs per step", kSize},
                  micro_batch_field(c.micro_batch, "pairs per forward pass; 0: a batch at once"),
                  norm_field(c.max_grad_norm),
                  seed_field(c.seed)},
                 titled("Optimizer", joined({fields(c.schedule), fields(c.adamw)}))});
}

}  // namespace

std::vector<Field> fields(RlConfig& c) {
  std::vector<Field> all = {
      {"exhaustive", &c.exhaustive, "as many samples as tokens: each begins with another token"},
      {"max-rows", &c.max_rows, "responses sampled at a time; 0: all", whole_from(0)},
      {"steps", &c.steps, "rollouts, each with its updates", whole_from(0)},
      {"temperature", &c.temperature, "temperature of sampling, and so of the log-probabilities", kPositive},
      {"target-std", &c.adaptive_temperature.target_std,
       "the temperature rises if the standard deviation of a batch's rewards is below this; 0: it is constant",
       kNotNegative},
      {"lowest-temperature", &c.adaptive_temperature.low, "lowest temperature, with --target-std", kPositive},
      {"highest-temperature", &c.adaptive_temperature.high, "highest temperature, with --target-std", kPositive},
      {"shared-critic", &c.shared_critic, "the critic is one more head on the policy"},
      {"critic-lr", &c.critic_lr, "learning rate of the critic", kNotNegative},
      {"unfinished-penalty", &c.unfinished_penalty, "subtracted from the reward of a response cut at the length limit"},
      {"log-prob-credit", &c.log_prob_credit, "times log-probability, added to each token's reward"},
      {"shuffle-rewards", &c.shuffle_rewards, "a control: rewards go to the wrong responses"},
      {"skip-zero-advantage", &c.skip_zero_advantage,
       "leave responses without advantage out of updates: the same gradient in less time"},
      {"eval-every", &c.eval_interval, "steps between evaluations on held-out problems; 0: only at the end",
       whole_from(0)},
      {"eval-problems", &c.eval_problems, "problems of an evaluation", kSize},
      {"save-every", &c.checkpoint_interval, "steps between checkpoints; 0: only at the end", whole_from(0)},
      norm_field(c.max_grad_norm),
      seed_field(c.seed)};
  return joined({fields(c.batch), all, titled("Optimizer", joined({fields(c.schedule), fields(c.adamw)}))});
}

std::vector<UnusedField> unused_fields(const RlConfig& c) {
  std::vector<UnusedField> all = unused_fields(c.algorithm);
  if (!c.algorithm.baseline.needs.critic) {
    for (const char* name : {"shared-critic", "critic-lr"})
      all.push_back({name, fmt::format("it is for a critic, and the baseline is {}", c.algorithm.baseline.name)});
  }
  if (c.adaptive_temperature.target_std == 0) {
    for (const char* name : {"lowest-temperature", "highest-temperature"})
      all.push_back({name, "it is for a temperature that changes (target-std), and target-std is 0"});
  }
  return all;
}

void check_config(const RlConfig& config) {
  RlConfig c = config;
  check_fields("RlTrainer", fields(c));
  check(c.zero >= 0 && c.zero <= 2,
        "RlTrainer: expected a stage of ZeRO from 0 to 2, got {}; rollouts need whole weights on every rank", c.zero);
  check(c.adaptive_temperature.low <= c.adaptive_temperature.high,
        "RlTrainer: the lowest temperature, {}, is above the highest, {}", c.adaptive_temperature.low,
        c.adaptive_temperature.high);
  check_schedule("RlTrainer", c.schedule, c.steps);
  check_algorithm(c.algorithm, c.batch);
  const Algorithm& a = c.algorithm;
  check(!c.skip_zero_advantage || !((a.kl.in_loss && a.kl_control.beta != 0) || a.entropy_bonus != 0 ||
                                    a.baseline.needs.critic || a.tokens.select),
        "RlTrainer: skip-zero-advantage is for a loss that is 0 without advantage; a KL or an entropy bonus in the "
        "loss, a critic and a selection of tokens also learn from such responses");
  const bool changes_sum = c.shuffle_rewards || c.unfinished_penalty != 0 || c.log_prob_credit != 0;
  check(!c.algorithm.baseline.needs.parts || !changes_sum,
        "RlTrainer: baseline {} compares the parts of the reward, and shuffle-rewards, unfinished-penalty and "
        "log-prob-credit change only their sum: leave them out, or take another baseline",
        c.algorithm.baseline.name);
}

std::vector<Field> reward_model_fields(PreferenceConfig& c) {
  return joined({common_fields(c),
                 {{"centring", &c.centring, "weight of (score + score)^2, which keeps scores near 0", kNotNegative}}});
}

std::vector<Field> dpo_fields(PreferenceConfig& c) { return joined({common_fields(c), fields(c.dpo)}); }

void check_config(const PreferenceConfig& config) {
  PreferenceConfig c = config;
  check_fields("learning from preferences", joined({reward_model_fields(c), dpo_fields(c)}));
}

std::vector<Field> fields(ExpertIterationConfig& c) {
  return joined({{{"problems", &c.problems, "problems per iteration", kSize},
                  {"samples", &c.samples, "responses to each problem", kSize},
                  {"temperature", &c.temperature, "temperature of sampling", kPositive},
                  {"epochs", &c.epochs, "passes over the responses that were kept", kSize},
                  {"batch", &c.batch, "responses per optimizer step", kSize},
                  micro_batch_field(c.micro_batch, "responses per forward pass, at most; 0: a batch at once"),
                  {"lr", &c.lr, "learning rate", kNotNegative},
                  norm_field(c.max_grad_norm),
                  {"shuffle-rewards", &c.shuffle_rewards, "a control: other responses count as right"},
                  {"max-rows", &c.max_rows, "responses sampled at a time; 0: all", whole_from(0)},
                  seed_field(c.seed)},
                 titled("Optimizer", fields(c.adamw))});
}

void check_config(const ExpertIterationConfig& config) {
  ExpertIterationConfig c = config;
  check_fields("expert_iteration", fields(c));
  check_range("expert_iteration: problems times samples", static_cast<double>(c.problems * c.samples), kSize);
}

}  // namespace pg::rl
