// explain(): the formulas of an algorithm's rows.
#include "rl/algorithm.h"
#include "tensor/base/error.h"

namespace pg::rl {
namespace {

// The formula with {name} replaced by the value of the field of that name.
std::string filled_in(std::string_view formula, const std::vector<Field>& fields) {
  std::string text;
  while (true) {
    const size_t open = formula.find('{'), close = formula.find('}', open);
    text += formula.substr(0, open);
    if (open == std::string_view::npos) return text;
    text += find_field(fields, "formula", formula.substr(open + 1, close - open - 1)).text();
    formula.remove_prefix(close + 1);
  }
}

std::string plural(int64_t count, const char* one, const char* many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

}  // namespace

std::string formula_text(std::string_view formula, const Algorithm& algorithm) {
  Algorithm a = algorithm;
  return filled_in(formula, fields(a));
}

std::string explain(const Algorithm& algorithm, const BatchShape& b) {
  check_algorithm(algorithm, b);
  Algorithm a = algorithm;
  const std::vector<Field> fields = rl::fields(a);
  std::string text = fmt::format("{}  ({})\n\n", a.name, a.source);
  const auto line = [&](const char* name, std::string_view formula) {
    text += fmt::format("  {:<13}{}\n", name, filled_in(formula, fields));
  };
  line("credit", a.credit.formula);
  line("advantage", a.baseline.formula);
  if (a.whiten) {
    line("", "then (A - mean) / sqrt(var + 1e-8) over all tokens of the batch, variance divided by n - {ddof},");
    line("", "once per rollout, before it is cut into mini-batches");
  }
  line("ratio", a.ratio.formula);
  line("surrogate", a.surrogate.formula);
  if (a.tokens.apply) line("tokens", a.tokens.formula);
  if (a.weight.compute) line("weight", a.weight.formula);
  line("aggregation", a.aggregation.formula);
  line("KL", a.kl.formula);
  if (a.kl.in_reward || a.kl.in_loss) {
    line("", a.kl_estimator.formula);
    line("", a.kl_control.schedule.formula);
  }
  line("reference", a.reference.formula);
  if (a.entropy_bonus != 0) line("entropy", "loss -= {entropy-bonus} entropy, aggregated like l");
  if (a.baseline.needs.critic) {
    line("critic",
         "loss += {value-coef} max((V - R)^2, (V clipped to old V +- {value-clip} - R)^2) / 2, mean over tokens; R = A "
         "+ V before whitening");
  }
  if (a.dynamic_sampling) line("sampling", "prompts whose responses all earn the same are replaced by others");
  if (a.overlong_cache > 0) {
    line("length",
         fmt::format("reward falls by up to 1 over the last {:.0f} % of the longest length", 100 * a.overlong_cache));
  }

  const int64_t responses = b.prompts * b.samples, mini = responses / b.mini_batches;
  const int64_t micro = b.micro_batch == 0 ? mini : b.micro_batch, updates = a.epochs * b.mini_batches;
  text += fmt::format(
      "\n  one step     {} prompts x {} samples = {} responses\n"
      "               {} x {} = {}, each over {} responses\n"
      "               each of {} of at most {}, whose gradients add up to that of the whole\n",
      b.prompts, b.samples, responses, plural(a.epochs, "epoch", "epochs"),
      plural(b.mini_batches, "mini-batch", "mini-batches"), plural(updates, "optimizer step", "optimizer steps"), mini,
      plural((mini + micro - 1) / micro, "micro-batch", "micro-batches"), micro);
  if (a.ratio.compute && updates == 1)
    text += "               a single optimizer step: every ratio is exactly 1, and no clip or penalty of it acts\n";
  text +=
      "\n  mask: 1 on tokens that the policy sampled, up to and including the end of sequence; log-probabilities at "
      "the\n"
      "  sampling temperature; gradients clipped by their global norm; all randomness from one seed\n";
  return text;
}

}  // namespace pg::rl
