// Which verdicts of an evaluation a person should look at.
#include "tools/pg/eval/audit.h"

#include <optional>

#include "tasks/grade/extract.h"
#include "tasks/puzzles/puzzle.h"
#include "tensor/base/error.h"

namespace pg::tools {
namespace {

enum Reason : uint8_t { text, unknown, task, outside };
constexpr AuditReason kReasons[] = {
    {"text", "the grader says yes, and the answer is another text than the expected one"},
    {"unknown", "the grader cannot decide"},
    {"task", "the grader and the task disagree: the answer is not in simplified form, or another version scored it"},
    {"outside", "the answer is missing or wrong, and the response states the right one elsewhere or ends with it"}};

bool is_yes(const Verdict& verdict) { return verdict.kind == Verdict::Kind::yes; }

// An answer with its verdict.
struct Graded {
  std::string given;
  Verdict verdict;
};
Graded graded(std::string_view given, std::string_view gold) { return {std::string(given), grade_answer(given, gold)}; }

// Whether an answer is mathematics that the grader read.
bool is_read(const Verdict& v) { return v.rule != "words" && v.rule != "unreadable" && v.rule != "empty"; }

// The right answer in a response that has none, or a wrong one, in the form that was asked for: in a box, in tags,
// behind "####" or "answer is", or the last number, unless that is a part of an answer that was read.
std::optional<Graded> outside_of(const std::optional<Graded>& answer, std::string_view response,
                                 std::string_view gold) {
  const FoundAnswer found = find_answer(response);
  const bool stated = found.where != FoundAnswer::Where::nowhere;
  if (stated || !answer) {
    Graded whole = graded(stated ? found.text : trimmed(response), gold);
    if (is_yes(whole.verdict)) return whole;
  }
  const auto number = last_number(response);
  if (!number) return {};
  if (answer && is_read(answer->verdict)) {
    const size_t at = response.rfind(answer->given), first = static_cast<size_t>(number->data() - response.data());
    if (at != std::string_view::npos && at <= first && first < at + answer->given.size()) return {};
  }
  Graded last = graded(*number, gold);
  if (is_yes(last.verdict)) return last;
  return {};
}

}  // namespace

Json audit_of(const Verdict& verdict, std::string_view given, std::string_view gold) {
  return {{"given", given},           {"gold", gold},         {"verdict", name_of(verdict.kind)},
          {"reason", verdict.reason}, {"rule", verdict.rule}, {"steps", verdict.steps}};
}

std::span<const AuditReason> audit_reasons() { return kReasons; }

EvalAudit audit_evaluation(const TextTask& of, const std::vector<Problem>& problems,
                           std::span<const rl::EvalResponse> responses, int64_t models) {
  check(of.uses_grader(), "audit: the task {} does not use the grader", of.name());
  EvalAudit audit;
  audit.counts.assign(std::size(kReasons), 0);
  std::vector<std::optional<std::string>> expected;  // as the task writes them
  for (const Problem& problem : problems) expected.push_back(of.answer_of(problem.answer));
  const int64_t each = std::ssize(responses) / models;
  for (size_t i = 0; i < responses.size(); ++i) {
    const rl::EvalResponse& r = responses[i];
    const auto which = static_cast<size_t>(r.problem);
    const std::string& gold = problems[which].puzzle->gold;
    const auto add = [&](Reason why, const Graded& g) {
      Json line = {{"model", static_cast<int64_t>(i) / each},
                   {"problem", r.problem},
                   {"sample", r.sample},
                   {"why", kReasons[why].name}};
      line.update(audit_of(g.verdict, g.given, gold));
      line.update({{"solved", r.solved}, {"finished", r.finished}, {"question", r.question}, {"response", r.response}});
      audit.lines += line.dump(-1, Json::Utf8::replace) + "\n";
      ++audit.counts[why];
    };
    std::optional<Graded> answer;
    if (const auto own = of.answer_in(r.response, r.finished)) answer = graded(*own, gold);
    // The grader also finds an answer in words; the task does not take it for one.
    const bool stated = answer && find_answer(answer->given).where != FoundAnswer::Where::nowhere;
    if (answer && !stated) {
      if (is_yes(answer->verdict) != r.solved) {
        add(task, *answer);
      } else if (is_yes(answer->verdict) && answer->given != gold && answer->given != expected[which]) {
        add(text, *answer);
      } else if (answer->verdict.kind == Verdict::Kind::unknown) {
        add(unknown, *answer);
      }
    }
    if (r.solved || (answer && !stated && is_yes(answer->verdict))) continue;
    if (const auto found = outside_of(answer, r.response, gold)) add(outside, *found);
  }
  return audit;
}

}  // namespace pg::tools
