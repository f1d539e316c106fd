// explain(): the formulas of an algorithm's rows, and unused_fields(): what no formula of them names.
#include <fmt/ranges.h>

#include <map>

#include "rl/methods/algorithm.h"
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

bool has_kl(const Algorithm& a) { return a.kl.in_reward || a.kl.in_loss; }

constexpr const char* kWhitening =
    "then (A - mean) / sqrt(var + 1e-8) over all tokens of the batch, variance divided by n - {ddof},";
constexpr const char* kCriticLoss =
    "loss += {value-coef} max((V - R)^2, (V clipped to old V +- {value-clip} - R)^2) / 2, mean over tokens; R = A + V "
    "before whitening";

// A line of an explanation: what it is about (empty: as the line before), and a formula.
struct Line {
  const char* about;
  std::string formula;
};

// The lines for the fields that are no rows.
void add_settings(std::vector<Line>& lines, const Algorithm& a) {
  if (a.entropy_bonus != 0)
    lines.push_back({"entropy", "loss -= {entropy-bonus} entropy of all tokens, aggregated like l"});
  if (a.baseline.needs.critic) lines.push_back({"critic", kCriticLoss});
  if (!a.reward_weights.empty() && !a.baseline.needs.parts)
    lines.push_back({"reward", "the sum of its parts times their weights {reward-weights}"});
  if (a.dynamic_sampling) {
    lines.push_back(
        {"sampling", fmt::format("prompts whose responses all earn the same are replaced by others, in up to "
                                 "{} rounds of a step;",
                                 kSamplingRounds)});
    lines.push_back({"", "groups that are still alike then get A = 0"});
  }
  if (a.overlong_cache > 0) {
    const double percent = 100 * a.overlong_cache;
    lines.push_back(
        {"length", fmt::format("reward falls by up to 1 over the last {:.0f} % of the longest length,", percent)});
    lines.push_back(
        {"", "but not for a response that is right, or that ended and is no longer than its problem's answer"});
  }
}

// The formulas that act in this algorithm.
std::vector<Line> lines_of(const Algorithm& a) {
  std::vector<Line> lines = {{"credit", a.credit.formula}, {"advantage", a.baseline.formula}};
  if (a.whiten) {
    lines.push_back({"", kWhitening});
    lines.push_back({"", "once per rollout, before it is cut into mini-batches"});
  }
  lines.push_back({"ratio", a.ratio.formula});
  lines.push_back({"surrogate", a.surrogate.formula});
  if (a.tokens.apply) lines.push_back({"tokens", a.tokens.formula});
  if (a.weight.compute) lines.push_back({"weight", a.weight.formula});
  lines.push_back({"aggregation", a.aggregation.formula});
  lines.push_back({"KL", a.kl.formula});
  if (has_kl(a)) {
    lines.push_back({"", a.kl_estimator.formula});
    lines.push_back({"", a.kl_control.schedule.formula});
  }
  lines.push_back({"reference", a.reference.formula});
  add_settings(lines, a);
  return lines;
}

// Which rows name a field in their formulas: {"surrogate", {"clip", "dual_clip"}}.
using Users = std::map<std::string, std::vector<std::string>>;

template <class... Row>
Users users_of(const std::string& field) {
  const std::string name = "{" + field + "}";
  Users users;
  const auto add = [&](const auto& rows) {
    for (const auto& row : rows) {
      if (std::string_view(row.formula).find(name) != std::string_view::npos) users[row.axis].push_back(row.name);
    }
  };
  (add(Row::table()), ...);
  if (std::string_view(kCriticLoss).find(name) != std::string_view::npos) users[Baseline::axis].push_back("critic");
  if (std::string_view(kWhitening).find(name) != std::string_view::npos) users["whiten"].push_back("true");
  return users;
}

Users users_of_field(const std::string& field) {
  Users users = users_of<Credit, Baseline, Ratio, Surrogate, Weight, TokenSelection, Aggregation, KlPlace, KlEstimator,
                         KlSchedule, ReferenceKind>(field);
  // These choices are of a KL themselves. The weights of a reward's parts go with every baseline.
  for (const char* axis : {KlEstimator::axis, KlSchedule::axis, ReferenceKind::axis}) {
    if (field == axis) users[axis];
  }
  if (field == "reward-weights") users.clear();
  return users;
}

bool only_for_kl(const Users& users) {
  return !users.empty() && std::all_of(users.begin(), users.end(), [](const auto& user) {
    return user.first == KlEstimator::axis || user.first == KlSchedule::axis || user.first == ReferenceKind::axis;
  });
}

// "surrogate clip, gmpo, or baseline critic", and the choices of the algorithm on these axes.
std::pair<std::string, std::string> wanted_and_chosen(const Users& users, const std::vector<Field>& fields) {
  std::vector<std::string> wanted, chosen;
  for (const auto& [axis, rows] : users) {
    wanted.push_back(fmt::format("{} {}", axis, fmt::join(rows, ", ")));
    chosen.push_back(fmt::format("{} {}", axis, find_field(fields, "algorithm", axis).text()));
  }
  return {fmt::format("{}", fmt::join(wanted, ", or ")), fmt::format("{}", fmt::join(chosen, ", "))};
}

// The first line: name and source, and how the algorithm differs from the row of the table that it was made from.
std::string heading(Algorithm a) {
  const std::vector<Field> own = fields(a);
  const Algorithm* origin = nullptr;
  std::vector<std::string> changes;
  for (const Algorithm& row : algorithms()) {
    const bool same_name = row.name == a.name;
    if (!same_name && (row.source != a.source || (origin && origin->name == a.name))) continue;
    Algorithm copy = row;
    const std::vector<Field> before = fields(copy);
    std::vector<std::string> differ;
    for (size_t i = 0; i < own.size(); ++i) {
      const std::string text = own[i].text();
      if (text != before[i].text()) differ.push_back(fmt::format("{} {}", own[i].name, text.empty() ? "\"\"" : text));
    }
    if (origin && !same_name && differ.size() >= changes.size()) continue;
    origin = &row;
    changes = differ;
  }
  const bool renamed = origin && origin->name != a.name;
  const std::string from = renamed ? fmt::format("from {}, ", origin->name) : "";
  const std::string with = changes.empty() ? "" : fmt::format("; changed: {}", fmt::join(changes, ", "));
  return fmt::format("{}  ({}{}{})\n\n", a.name, from, a.source, with);
}

}  // namespace

std::string formula_text(std::string_view formula, const Algorithm& algorithm) {
  Algorithm a = algorithm;
  return filled_in(formula, fields(a));
}

std::vector<UnusedField> unused_fields(const Algorithm& algorithm) {
  Algorithm a = algorithm;
  const std::vector<Field> all = fields(a);
  std::string formulas;
  for (const Line& line : lines_of(a)) formulas += line.formula;
  std::vector<std::string> used;  // options of the chosen rows
  std::vector<std::pair<std::string, Users>> unused;
  for (const Field& field : all) {
    const Users users = users_of_field(field.name);
    if (users.empty()) continue;  // a choice, or an option of every algorithm
    const bool named = formulas.find("{" + field.name + "}") != std::string::npos;
    const bool is_axis = std::all_of(users.begin(), users.end(), [](const auto& user) { return user.second.empty(); });
    if (only_for_kl(users) ? has_kl(a) && (named || is_axis) : named) {
      used.push_back(field.name);
    } else if (field.name != ReferenceKind::axis || a.reference.make) {
      unused.emplace_back(field.name, users);
    }
  }
  std::vector<UnusedField> result;
  for (const auto& [name, users] : unused) {
    const auto [wanted, chosen] = wanted_and_chosen(users, all);
    const std::string why = only_for_kl(users) && !has_kl(a)
                                ? std::string("it is for a KL to a reference (kl reward or loss), and kl is none")
                                : fmt::format("it is an option of {}; here is {}", wanted, chosen);
    result.push_back({name, fmt::format("{}. The options of {}'s rows are {}", why, a.name,
                                        used.empty() ? "none" : fmt::format("{}", fmt::join(used, ", ")))});
  }
  return result;
}

std::string explain(const Algorithm& algorithm, const BatchShape& b) {
  check_algorithm(algorithm, b);
  Algorithm a = algorithm;
  const std::vector<Field> fields = rl::fields(a);
  std::string text = heading(a);
  for (const Line& line : lines_of(a)) text += fmt::format("  {:<13}{}\n", line.about, filled_in(line.formula, fields));

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
