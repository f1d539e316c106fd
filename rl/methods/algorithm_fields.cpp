// The fields of an algorithm, and the checks that its choices are compatible.
#include "rl/methods/algorithm.h"
#include "tensor/base/error.h"

namespace pg::rl {

std::vector<Field> fields(Algorithm& a) {
  KlControlOptions& kl = a.kl_control;
  return {
      {"credit", row_field(a.credit), "what an action is credited with"},
      {"baseline", row_field(a.baseline), "what the credit is compared with"},
      {"baseline-decay", &a.baseline_decay, "decay of the moving baseline", kBelowOne},
      {"gamma", &a.gamma, "discount of later rewards", kShare},
      {"lambda", &a.lambda, "decay of GAE", kShare},
      {"ddof", &a.ddof, "0 or 1: standard deviations divide by n or n - 1", whole_from(0, 1)},
      {"eps", &a.eps, "added to standard deviations", kNotNegative},
      {"best-of", &a.best_of, "pkpo: number of responses of which the best counts", whole_from(2)},
      {"whiten", &a.whiten, "advantages have mean 0 and standard deviation 1 over the batch"},
      {"reward-weights", &a.reward_weights, "weights of the reward's parts, as in exact=1,format=0.5; empty: 1 each"},
      {"ratio", row_field(a.ratio), "ratio of the policy to that of the rollout"},
      {"surrogate", row_field(a.surrogate), "loss of a token"},
      {"clip-low", &a.clip_low, "ratios below 1 minus this are clipped", kShare},
      {"clip-high", &a.clip_high, "ratios above 1 plus this are clipped", kNotNegative},
      {"dual-clip", &a.dual_clip, "bound of the loss where the advantage is negative", {.low = 1, .open_low = true}},
      {"delta",
       &a.delta,
       "two_sided_clip: largest ratio where the advantage is negative",
       {.low = 1, .open_low = true}},
      {"tau-positive", &a.tau_positive, "sapo: temperature for advantages above 0", kPositive},
      {"tau-negative", &a.tau_negative, "sapo: temperature for the other advantages", kPositive},
      {"weight", row_field(a.weight), "correction for the difference between sampler and trainer"},
      {"weight-cap", &a.weight_cap, "of importance weights between sampler and trainer", {.low = 1}},
      {"weight-floor", &a.weight_floor, "mask: weights below this count as 0", kShare},
      {"tokens", row_field(a.tokens), "which tokens the loss treats differently"},
      {"token-share", &a.token_share, "share of the tokens that are selected", {.low = 0, .high = 1, .open_low = true}},
      {"covariance-low", &a.covariance_low, "clip_cov: lowest covariance of a candidate", kAnyNumber},
      {"covariance-high", &a.covariance_high, "clip_cov: highest covariance of a candidate", kAnyNumber},
      {"covariance-coef", &a.covariance_coef, "kl_cov: weight of the penalty", kNotNegative},
      {"aggregation", row_field(a.aggregation), "from tokens to the loss"},
      {"kl", row_field(a.kl), "where the KL to the reference acts"},
      {"kl-estimator", row_field(a.kl_estimator), "estimator of the KL"},
      {"kl-schedule", row_field(kl.schedule), "schedule of the KL's weight"},
      {"beta", &kl.beta, "weight of the KL", kNotNegative},
      {"kl-warmup-tokens", &kl.warmup_tokens, "tokens until beta is reached", kNotNegative},
      {"kl-target", &kl.target, "adaptive, stepped: nats per response", kPositive},
      {"kl-horizon", &kl.horizon, "adaptive: responses", kPositive},
      {"reference", row_field(a.reference), "model that the KL is measured to"},
      {"reference-interval", &a.reference_interval, "steps between updates of a moving reference", whole_from(0)},
      {"reference-decay", &a.reference_decay, "ema: share of the old weights that a step keeps", kBelowOne},
      {"entropy-bonus", &a.entropy_bonus, "weight of the entropy", kAnyNumber},
      {"value-coef", &a.value_coef, "weight of the critic's loss", kNotNegative},
      {"value-clip", &a.value_clip, "largest change of a value in a step; 0: any", kNotNegative},
      {"dynamic-sampling", &a.dynamic_sampling, "replace prompts whose responses all have equal rewards"},
      {"overlong-cache", &a.overlong_cache,
       "share of the longest length within which length is penalized, except of right answers", kShare},
      {"epochs", &a.epochs, "passes over a rollout", whole_from(1)},
  };
}

std::vector<Field> fields(BatchShape& b) {
  constexpr double kMost = 1 << 24;  // responses per step: each has its own random stream
  return {{"prompts", &b.prompts, "prompts per step", whole_from(1, kMost)},
          {"samples", &b.samples, "responses to each prompt", whole_from(1, kMost)},
          {"mini-batches", &b.mini_batches, "optimizer steps per epoch", whole_from(1, kMost)},
          {"micro-batch", &b.micro_batch, "responses per forward pass; 0: a mini-batch at once", whole_from(0, kMost)}};
}

std::vector<double> part_weights(const Algorithm& a, const std::vector<std::string>& parts) {
  std::vector<double> weights(parts.size(), a.reward_weights.empty() ? 1 : 0);
  for (std::string_view rest = a.reward_weights; !rest.empty();) {
    const std::string_view term = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), term.size() + 1));
    const size_t equals = term.rfind('=');
    check(equals != std::string_view::npos, "reward-weights: expected NAME=WEIGHT,NAME=WEIGHT, got \"{}\"", term);
    const std::string_view name = term.substr(0, equals);
    const auto found = std::find(parts.begin(), parts.end(), name);
    if (found == parts.end()) fail_unknown("reward-weights: part of the reward", name, parts);
    const Field weight{"reward-weights", &weights[static_cast<size_t>(found - parts.begin())], "", kAnyNumber};
    weight.set(term.substr(equals + 1));
  }
  return weights;
}

void check_algorithm(const Algorithm& algorithm) {
  Algorithm a = algorithm;
  check_fields(a.name, fields(a));
  const auto require = [&](bool holds, std::string_view why) { check(holds, "{}: {}", a.name, why); };
  check(a.surrogate.needs_ratio == bool(a.ratio.compute), "{}: surrogate {} and ratio {} do not go together", a.name,
        a.surrogate.name, a.ratio.name);
  check(!a.surrogate.of_tokens || !a.ratio.per_sequence, "{}: surrogate {} weighs tokens, not ratio {}", a.name,
        a.surrogate.name, a.ratio.name);
  require(!a.baseline.needs.critic || a.credit.is("to_go"), "a critic credits to_go");
  check(!a.baseline.needs.response || a.credit.whole_response, "{}: baseline {} compares whole responses", a.name,
        a.baseline.name);
  check(!a.baseline.needs.parts || (!a.kl.in_reward && a.overlong_cache == 0),
        "{}: baseline {} compares the parts of the reward; a KL in the reward and an overlong-cache change only their "
        "sum: take kl loss or none, and overlong-cache 0",
        a.name, a.baseline.name);
  const bool has_kl = a.kl.in_reward || a.kl.in_loss;
  require(!has_kl || a.reference.make, "a KL needs a reference");
  check(!a.kl.in_reward || a.kl_estimator.in_reward, "{}: in the reward the KL is k1, not {}", a.name,
        a.kl_estimator.name);
  require(!a.reference.is("moving") || a.reference_interval > 0, "a moving reference needs a reference_interval");
  check(!a.surrogate.is("two_sided_clip") || a.delta > 1 + a.clip_high, "{}: delta {} must be above 1 + clip-high = {}",
        a.name, a.delta, 1 + a.clip_high);
  check(!a.tokens.is("clip_cov") || a.covariance_low < a.covariance_high,
        "{}: covariance-low {} must be below covariance-high {}, or no token is selected", a.name, a.covariance_low,
        a.covariance_high);
  KlControl{a.kl_control};  // throws Error for a schedule without the options it requires
}

void check_algorithm(const Algorithm& a, const BatchShape& shape) {
  check_algorithm(a);
  BatchShape b = shape;
  check_fields(a.name, fields(b));
  const int64_t responses = b.prompts * b.samples;
  check_range(a.name + ": prompts times samples", static_cast<double>(responses), whole_from(1, 1 << 24));
  check(b.mini_batches <= responses, "{}: {} prompts x {} samples cannot make {} mini-batches", a.name, b.prompts,
        b.samples, b.mini_batches);
  check(b.samples > 1 || !a.baseline.needs.group,
        "{}: baseline {} compares the responses to one prompt with each other, and samples is 1: every advantage would "
        "be 0; take 2 samples or more, or baseline moving, batch_mean or remax",
        a.name, a.baseline.name);
  check(!a.baseline.is("pkpo") || a.best_of <= b.samples,
        "{}: the best of {} responses is estimated from a group of as many or more, and samples is {}: take more "
        "samples, or a smaller best-of",
        a.name, a.best_of, b.samples);
  check(b.samples > 1 || !a.dynamic_sampling,
        "{}: dynamic-sampling keeps prompts whose responses earn different rewards, and samples is 1: take 2 samples "
        "or more, or dynamic-sampling false",
        a.name);
  check(responses > 1 || !a.baseline.needs.batch,
        "{}: baseline {} compares responses with each other, and a step has one: take more prompts or samples", a.name,
        a.baseline.name);
  const KlControlOptions& kl = a.kl_control;
  check(!kl.schedule.has_horizon || 0.2 * static_cast<double>(responses) < kl.horizon,
        "{}: kl-horizon must be above a fifth of the {} responses of a step, got {}: beta could become negative",
        a.name, responses, kl.horizon);
}

}  // namespace pg::rl
