// The fields of an Algorithm by name, for options and configs.
#include "rl/algorithm_fields.h"

#include <fmt/ranges.h>

#include <charconv>

#include "tensor/base/range.h"
#include "tensor/base/error.h"

namespace pg::rl {
namespace {

double number(const std::string& name, const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  check(error == std::errc() && end == text.data() + text.size(), "{}: expected a number, got \"{}\"", name, text);
  return value;
}

template <class E>
AlgorithmField choice(const std::string& name, const std::string& about, E Algorithm::*member) {
  return {name, fmt::format("{}: {}", about, fmt::join(words<E>(), ", ")),
          [member](const Algorithm& a) { return std::string(word(a.*member)); },
          [member](Algorithm& a, const std::string& text) { a.*member = from_word<E>(text); }, [](const Algorithm&) {}};
}

// A numeric field. reach(a) returns a reference to it.
template <class Reach>
AlgorithmField quantity(const std::string& name, const std::string& about, const Range& range, Reach reach) {
  const auto value_of = [reach](const Algorithm& a) { return reach(const_cast<Algorithm&>(a)); };
  return {name, about, [value_of](const Algorithm& a) { return fmt::format("{}", value_of(a)); },
          [name, range, reach](Algorithm& a, const std::string& text) {
            const double value = number(name, text);
            check_range(name, value, range);
            auto& to = reach(a);
            to = static_cast<std::decay_t<decltype(to)>>(value);
          },
          [name, range, value_of](const Algorithm& a) {
            check_range(fmt::format("{}: {}", a.name, name), static_cast<double>(value_of(a)), range);
          }};
}

AlgorithmField yes_or_no(const std::string& name, const std::string& about, bool Algorithm::*member) {
  return {name, about + ": true, false", [member](const Algorithm& a) { return a.*member ? "true" : "false"; },
          [name, member](Algorithm& a, const std::string& text) {
            check(text == "true" || text == "false", "{}: expected true or false, got \"{}\"", name, text);
            a.*member = text == "true";
          },
          [](const Algorithm&) {}};
}

std::vector<AlgorithmField> all_fields() {
  return {
      choice("credit", "what an action is credited with", &Algorithm::credit),
      choice("baseline", "what the credit is compared with", &Algorithm::baseline),
      quantity("baseline-decay", "of the moving baseline", kBelowOne,
               [](Algorithm& a) -> double& { return a.baseline_decay; }),
      quantity("gamma", "discount of later rewards", kShare, [](Algorithm& a) -> double& { return a.gamma; }),
      quantity("lambda", "of GAE", kShare, [](Algorithm& a) -> double& { return a.lambda; }),
      quantity("ddof", "0 or 1: deviations divide by n or n-1", whole_from(0, 1),
               [](Algorithm& a) -> int& { return a.ddof; }),
      quantity("eps", "added to deviations", kNotNegative, [](Algorithm& a) -> double& { return a.eps; }),
      yes_or_no("whiten", "bring advantages to mean 0 and deviation 1 over the batch", &Algorithm::whiten),
      choice("ratio", "between the policy and that of the rollout", &Algorithm::ratio),
      choice("surrogate", "loss of a token", &Algorithm::surrogate),
      quantity("clip-low", "ratios below 1 minus this are clipped", kShare,
               [](Algorithm& a) -> double& { return a.clip_low; }),
      quantity("clip-high", "ratios above 1 plus this are clipped", kNotNegative,
               [](Algorithm& a) -> double& { return a.clip_high; }),
      quantity("dual-clip", "bound of the loss where the advantage is negative", {.low = 1, .open_low = true},
               [](Algorithm& a) -> double& { return a.dual_clip; }),
      quantity("weight-cap", "of importance weights between sampler and trainer; 0: none", {.low = 1, .or_zero = true},
               [](Algorithm& a) -> double& { return a.weight_cap; }),
      choice("aggregation", "from tokens to the loss", &Algorithm::aggregation),
      choice("kl", "where the KL to the reference acts", &Algorithm::kl),
      choice("kl-estimator", "how it is estimated", &Algorithm::kl_estimator),
      {"kl-schedule", fmt::format("of its weight: {}", fmt::join(words<KlSchedule>(), ", ")),
       [](const Algorithm& a) { return std::string(word(a.kl_control.schedule)); },
       [](Algorithm& a, const std::string& text) { a.kl_control.schedule = from_word<KlSchedule>(text); },
       [](const Algorithm&) {}},
      quantity("beta", "weight of the KL", kNotNegative, [](Algorithm& a) -> double& { return a.kl_control.beta; }),
      quantity("kl-warmup-tokens", "until beta is reached", kNotNegative,
               [](Algorithm& a) -> double& { return a.kl_control.warmup_tokens; }),
      quantity("kl-target", "adaptive, stepped: nats per response", kPositive,
               [](Algorithm& a) -> double& { return a.kl_control.target; }),
      quantity("kl-horizon", "adaptive: responses", kPositive,
               [](Algorithm& a) -> double& { return a.kl_control.horizon; }),
      choice("reference", "what the policy is held near to", &Algorithm::reference),
      quantity("reference-interval", "steps between updates of a moving reference", whole_from(0),
               [](Algorithm& a) -> int64_t& { return a.reference_interval; }),
      quantity("entropy-bonus", "weight of the entropy", kAnyNumber,
               [](Algorithm& a) -> double& { return a.entropy_bonus; }),
      quantity("value-coef", "weight of the critic's loss", kNotNegative,
               [](Algorithm& a) -> double& { return a.value_coef; }),
      quantity("value-clip", "how far a value may move in a step; 0: any", kNotNegative,
               [](Algorithm& a) -> double& { return a.value_clip; }),
      yes_or_no("dynamic-sampling", "replace prompts whose responses all earn the same", &Algorithm::dynamic_sampling),
      quantity("overlong-cache", "share of the longest length within which length is punished", kShare,
               [](Algorithm& a) -> double& { return a.overlong_cache; }),
      quantity("epochs", "passes over a rollout", whole_from(1), [](Algorithm& a) -> int64_t& { return a.epochs; }),
  };
}

}  // namespace

const std::vector<AlgorithmField>& algorithm_fields() {
  static const std::vector<AlgorithmField> all = all_fields();
  return all;
}

}  // namespace pg::rl
