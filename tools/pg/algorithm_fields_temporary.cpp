// TEMPORARY, until rl/algorithm.h has this function: the fields of an Algorithm.
#include "tools/pg/algorithm_fields_temporary.h"

namespace pg::rl {
namespace {

template <class E>
NamedValue choice(E& value) {
  return {words<E>(), [&value] { return std::string(word(value)); },
          [&value](std::string_view name) { value = from_word<E>(name); }};
}

}  // namespace

std::vector<Field> fields(Algorithm& a) {
  KlControlOptions& kl = a.kl_control;
  return {
      {"credit", choice(a.credit), "what an action is credited with"},
      {"baseline", choice(a.baseline), "what the credit is compared with"},
      {"baseline-decay", &a.baseline_decay, "decay of the moving baseline", kBelowOne},
      {"gamma", &a.gamma, "discount of later rewards", kShare},
      {"lambda", &a.lambda, "decay of GAE", kShare},
      {"ddof", &a.ddof, "0 or 1: standard deviations divide by n or n - 1", whole_from(0, 1)},
      {"eps", &a.eps, "added to standard deviations", kNotNegative},
      {"whiten", &a.whiten, "advantages have mean 0 and standard deviation 1 over the batch"},
      {"ratio", choice(a.ratio), "ratio of the policy to that of the rollout"},
      {"surrogate", choice(a.surrogate), "loss of a token"},
      {"clip-low", &a.clip_low, "ratios below 1 minus this are clipped", kShare},
      {"clip-high", &a.clip_high, "ratios above 1 plus this are clipped", kNotNegative},
      {"dual-clip", &a.dual_clip, "bound of the loss where the advantage is negative", {.low = 1, .open_low = true}},
      {"weight-cap",
       &a.weight_cap,
       "cap of the importance weights between sampler and trainer; 0: no weights",
       {.low = 1, .or_zero = true}},
      {"aggregation", choice(a.aggregation), "from tokens to the loss"},
      {"kl", choice(a.kl), "where the KL to the reference acts"},
      {"kl-estimator", choice(a.kl_estimator), "estimator of the KL"},
      {"kl-schedule", choice(kl.schedule), "schedule of the KL's weight"},
      {"beta", &kl.beta, "weight of the KL", kNotNegative},
      {"kl-warmup-tokens", &kl.warmup_tokens, "tokens until beta is reached", kNotNegative},
      {"kl-target", &kl.target, "adaptive, stepped: nats per response", kPositive},
      {"kl-horizon", &kl.horizon, "adaptive: responses", kPositive},
      {"reference", choice(a.reference), "model that the KL is measured to"},
      {"reference-interval", &a.reference_interval, "steps between updates of a moving reference", whole_from(0)},
      {"entropy-bonus", &a.entropy_bonus, "weight of the entropy"},
      {"value-coef", &a.value_coef, "weight of the critic's loss", kNotNegative},
      {"value-clip", &a.value_clip, "largest change of a value in a step; 0: any", kNotNegative},
      {"dynamic-sampling", &a.dynamic_sampling, "replace prompts whose responses all have equal rewards"},
      {"overlong-cache", &a.overlong_cache, "share of the longest length within which length is penalized", kShare},
      {"epochs", &a.epochs, "passes over a rollout", whole_from(1)},
  };
}

}  // namespace pg::rl
