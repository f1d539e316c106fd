#include "tasks/grade/grade.h"

#include <optional>

#include "tasks/grade/compare.h"
#include "tasks/grade/extract.h"
#include "tasks/grade/number_words.h"
#include "tasks/grade/parser.h"
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
    {"form", "grade_as_mathd() decides by the form of the answers"},
};

Answer read_answer(std::string_view text, Work& work) {
  Answer answer{.text = text, .tree = {}, .trouble = {}};
  try {
    answer.tree = parse_answer(text, work);
  } catch (const Error& e) {
    answer.trouble = e.what();
  }
  return answer;
}

Verdict verdict_of(std::string_view given, std::string_view gold, Work& work) {
  if (given.empty() || gold.empty()) {
    return {given.empty() && gold.empty() ? Verdict::Kind::unknown : Verdict::Kind::no, "an answer is empty", "empty"};
  }
  if (given == gold) return {Verdict::Kind::yes, "the same text", "text"};
  const Answer x = read_answer(given, work), y = read_answer(gold, work);
  if (x.tree && y.tree) {  // in the order of the texts, so that both directions end at the same limits
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

std::string_view answer_in(std::string_view text, const GradeLimits& limits) {
  if (static_cast<int64_t>(text.size()) > limits.bytes) return text;
  const FoundAnswer found = find_answer(text);
  return bare_answer(found.where == FoundAnswer::Where::nowhere ? text : found.text);
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
  Verdict verdict = verdict_of(answer_in(given, limits), answer_in(gold, limits), work);
  verdict.steps = work.steps;
  return verdict;
}

std::string describe_answer(std::string_view text, const GradeLimits& limits) {
  Work work{limits};
  const Answer answer = read_answer(answer_in(text, limits), work);
  return answer.tree ? to_text(*answer.tree) : fmt::format("text ({})", answer.trouble);
}

}  // namespace pg
