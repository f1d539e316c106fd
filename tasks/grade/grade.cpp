#include "tasks/grade/grade.h"

#include <cctype>
#include <optional>

#include "tasks/grade/compare.h"
#include "tasks/grade/extract.h"
#include "tasks/grade/parser.h"
#include "tasks/grade/units.h"
#include "tensor/base/error.h"

namespace pg {
namespace {

using namespace grading;

struct Answer {
  std::string_view text;
  std::optional<Node> tree;
  std::string trouble;
};

constexpr VerdictRule kRules[] = {
    {"empty", "an answer is empty"},
    {"text", "the answers are the same text"},
    {"words", "an answer is words, and the other is not the same ones"},
    {"unreadable", "an answer cannot be read"},
    {"structure", "lengths, kinds, brackets, signs of relation, units or bases, or a part of the answers"},
    {"normal form", "the normal forms as quotients of polynomials"},
    {"primes", "values at points modulo two primes"},
    {"points", "values at points with bounds of the error"},
    {"limits", "a limit of steps or bits was reached"},
};

// `whole`: the text that the answer is a part of.
Answer read_answer(std::string_view text, std::string_view whole, Work& work) {
  Answer answer{.text = text, .tree = {}, .trouble = {}};
  try {
    answer.tree = parse_answer(text, whole, work);
  } catch (const Error& e) {
    answer.trouble = e.what();
  }
  return answer;
}

std::string_view answer_in(std::string_view text, const GradeLimits& limits) {
  if (static_cast<int64_t>(text.size()) > limits.bytes) return text;
  const FoundAnswer found = find_answer(text);
  return bare_answer(found.where == FoundAnswer::Where::nowhere ? text : found.text);
}

// An option of multiple choice with its value, "\textbf{(A)}\ 12" or "(A) 12".
struct Option {
  std::string_view letter, value;
};
std::optional<Option> option_in(std::string_view text) {
  std::string_view rest = text;
  bool upright = false;
  for (const std::string_view font : {"\\textbf{", "\\text{", "\\mathrm{", "\\textrm{", "\\mathbf{"}) {
    if (rest.starts_with(font)) rest.remove_prefix(font.size()), upright = true;
  }
  if (rest.size() < 4 || rest[0] != '(' || rest[1] < 'A' || rest[1] > 'J' || rest[2] != ')') return {};
  const std::string_view letter = rest.substr(1, 1);
  rest.remove_prefix(3);
  rest = trimmed(rest);
  if (upright) {
    if (!rest.starts_with('}')) return {};
    rest = trimmed(rest.substr(1));
    while (rest.starts_with("\\ ") || rest.starts_with("~")) rest = trimmed(rest.substr(rest[0] == '~' ? 1 : 2));
  }
  // "(A) + 5" is a sum, "(A) and (B)" a list.
  if (rest.empty() || (std::isdigit(static_cast<unsigned char>(rest[0])) == 0 && rest[0] != '$')) return {};
  return Option{letter, rest};
}

// The letter of "(A)", "\\text{A}" and "A"; another text as it stands.
std::string_view plain_option(std::string_view text) {
  for (const std::string_view font : {"\\textbf{", "\\text{"}) {
    if (text.starts_with(font) && text.ends_with('}')) text = text.substr(font.size(), text.size() - font.size() - 1);
  }
  return text.size() == 3 && text[0] == '(' && text[2] == ')' ? text.substr(1, 1) : text;
}

// The part of an option that is comparable with the other answer: its letter or its value.
std::string_view comparable_part(std::string_view answer, std::string_view other) {
  const auto option = option_in(answer);
  if (!option || option_in(other)) return answer;
  const std::string_view bare = plain_option(other);
  return bare.size() == 1 && bare[0] >= 'A' && bare[0] <= 'J' ? option->letter : bare_answer(option->value);
}

Verdict verdict_of(std::string_view given_text, std::string_view gold_text, Work& work) {
  std::string_view given = answer_in(given_text, work.limits), gold = answer_in(gold_text, work.limits);
  const std::string_view all_given = given;
  given = comparable_part(given, gold);
  gold = comparable_part(gold, all_given);
  if (given.empty() || gold.empty()) {
    return {given.empty() && gold.empty() ? Verdict::Kind::unknown : Verdict::Kind::no, "an answer is empty", "empty"};
  }
  if (given == gold) return {Verdict::Kind::yes, "the same text", "text"};
  const Answer x = read_answer(given, given_text, work), y = read_answer(gold, gold_text, work);
  if (x.tree && y.tree) {
    if (const auto verdict = compare_stated(*x.tree, *y.tree, work)) return *verdict;
    // In the order of the texts, so that both directions end at the same limits.
    return given < gold ? compare_answers(*x.tree, *y.tree, work) : compare_answers(*y.tree, *x.tree, work);
  }
  if (static_cast<int64_t>(std::max(given.size(), gold.size())) > work.limits.bytes) {
    return {Verdict::Kind::unknown, x.trouble.empty() ? y.trouble : x.trouble, "unreadable"};
  }
  const std::string a = plain_text(bare_answer(given)), b = plain_text(bare_answer(gold));
  if (a == b && !a.empty()) return {Verdict::Kind::yes, "the same text", "text"};
  const bool a_words = is_wordy(a), b_words = is_wordy(b);
  if ((a_words && (b_words || y.tree)) || (b_words && x.tree)) return {Verdict::Kind::no, "the words differ", "words"};
  return {Verdict::Kind::unknown,
          fmt::format("{} cannot be read: {}", x.tree ? "gold" : "given", x.tree ? y.trouble : x.trouble),
          "unreadable"};
}

}  // namespace

std::span<const VerdictRule> verdict_rules() { return kRules; }

std::string_view name_of(Verdict::Kind kind) {
  switch (kind) {
    case Verdict::Kind::yes:
      return "yes";
    case Verdict::Kind::no:
      return "no";
    default:
      return "unknown";
  }
}

Verdict grade_answer(std::string_view given, std::string_view gold, const GradeLimits& limits) {
  Work work{limits};
  Verdict verdict = verdict_of(given, gold, work);
  verdict.steps = work.steps;
  return verdict;
}

std::string describe_answer(std::string_view text, const GradeLimits& limits) {
  Work work{limits};
  const Answer answer = read_answer(answer_in(text, limits), text, work);
  return answer.tree ? to_text(*answer.tree) : fmt::format("text ({})", answer.trouble);
}

}  // namespace pg
