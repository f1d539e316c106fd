// Which verdicts of an evaluation an audit shows.
#include <fstream>
#include <set>

#include "tasks/puzzles/chat_task.h"
#include "tests/catch.h"
#include "tests/tasks/byte_tokenizer.h"
#include "tools/pg/eval/audit.h"

using namespace pg;
using namespace pg::testing;
using namespace pg::tools;

namespace {

// A task with one held-out problem, whose answer is `gold`, for a pretrained model.
std::unique_ptr<TextTask> task_of(const TempDir& dir, const std::string& gold, const PromptOptions& prompt) {
  MathOptions math{.file = dir.file("train.jsonl"), .held_out_file = dir.file("held_out.jsonl")};
  std::ofstream(math.file) << Json{{"problem", "What is 1 + 1?"}, {"answer", "2"}}.dump() << "\n";
  std::ofstream(math.held_out_file) << Json{{"problem", "What is it?"}, {"answer", gold}}.dump() << "\n";
  return chat_task(math_puzzles(math), testing::shared_byte_tokenizer(), ChatTemplate("chatml"), {.prompt = prompt});
}

// A response with the score that the task gives it.
rl::EvalResponse response(const TextTask& task, const Problem& problem, const std::string& text, bool ends = true) {
  std::vector<int32_t> ids = task.tokenizer().encode(text);
  if (ends) ids.push_back(task.end_id());
  rl::EvalResponse r;
  r.response = text;
  r.solved = task.score(problem, ids).solved;
  r.finished = ends;
  return r;
}

std::vector<Json> lines_of(const EvalAudit& audit) {
  std::vector<Json> lines;
  for (size_t at = 0; at < audit.lines.size();) {
    const size_t end = audit.lines.find('\n', at);
    lines.push_back(Json::parse(audit.lines.substr(at, end - at)));
    at = end + 1;
  }
  return lines;
}

// "WHY: GIVEN" of each line that a response to the task's problem has, in order.
std::vector<std::string> found(const TextTask& task, const std::string& text, bool ends = true) {
  const std::vector<Problem> problems = task.held_out(1);
  std::vector<std::string> all;
  for (const Json& line : lines_of(audit_evaluation(task, problems, {{response(task, problems[0], text, ends)}}, 1))) {
    all.push_back(line.at("why").get<std::string>() + ": " + line.at("given").get<std::string>());
  }
  return all;
}

using Found = std::vector<std::string>;

}  // namespace

TEST_CASE("an audit shows other texts and what the grader cannot decide and answers outside of the form",
          "[eval][audit]") {
  const TempDir dir;
  const auto task = task_of(dir, "\\frac{1}{2}", {.style = "r1-zero"});
  const auto answered = [](const std::string& answer) { return "so </think> <answer> " + answer + " </answer>"; };
  CHECK(found(*task, answered("\\frac{1}{2}")).empty());
  CHECK(found(*task, answered("1/3")).empty());
  CHECK(found(*task, answered("0.5")) == Found{"text: 0.5"});
  CHECK(found(*task, answered("\\frac12")) == Found{"text: \\frac12"});
  CHECK(found(*task, answered("(")) == Found{"unknown: ("});
  CHECK(found(*task, answered("")).empty());
  CHECK(found(*task, "").empty());
  CHECK(found(*task, "no idea").empty());
  CHECK(found(*task, "it is 7").empty());
  // A right answer without the form, or beside a wrong one in it.
  CHECK(found(*task, "so \\boxed{2/4}") == Found{"outside: 2/4"});
  CHECK(found(*task, "<answer>0.5</answer>") == Found{"outside: 0.5"});
  CHECK(found(*task, "The answer is 0.5. Really", false) == Found{"outside: 0.5"});
  CHECK(found(*task, "3 and then 0.50 of it", false) == Found{"outside: 0.50"});
  CHECK(found(*task, " \\frac12\n", false) == Found{"outside: \\frac12"});
  CHECK(found(*task, "\\boxed{0.5}" + answered("1/3")) == Found{"outside: 0.5"});
  CHECK(found(*task, answered("(") + " or \\boxed{.5}") == Found{"unknown: (", "outside: .5"});
  CHECK(found(*task, "\\boxed{0.4}, no, 0.5 </think> <answer> 1").empty());
}

TEST_CASE("an audit takes a number in words for one outside of the form but no part of an answer", "[eval][audit]") {
  const TempDir dir;
  const auto task = task_of(dir, "2", {.answer_format = "bare"});
  CHECK(found(*task, "2").empty());
  CHECK(found(*task, " 2.0 ") == Found{"text: 2.0"});
  CHECK(found(*task, "\\frac{1}{2}").empty());  // its last number is 2
  CHECK(found(*task, "1/2").empty());
  CHECK(found(*task, "The answer is 2") == Found{"outside: 2"});
  CHECK(found(*task, "The answer is 3").empty());
  CHECK(found(*task, "2", /*ends=*/false) == Found{"outside: 2"});
  const Found in_words = found(*task, "apples cost 2");
  REQUIRE_FALSE(in_words.empty());
  CHECK(in_words.back() == "outside: 2");
  const auto boxed = task_of(dir, "2", {.answer_format = "boxed"});
  CHECK(found(*boxed, "so \\boxed{3}, or 2") == Found{"outside: 2"});
  CHECK(found(*boxed, "2 is not \\boxed{3}").empty());
  CHECK(found(*boxed, "so \\boxed{2").size() == 1);  // cut
}

TEST_CASE("an audit shows where the grader and the reward disagree", "[eval][audit]") {
  const auto task = make_text_task("math");
  auto puzzle = std::make_shared<Puzzle>();
  puzzle->gold = puzzle->answer = "\\frac{1}{2}";
  Problem problem;
  problem.puzzle = puzzle;
  problem.answer = task->tokenizer().encode("1/2");
  problem.answer.push_back(task->end_id());
  const std::vector<Problem> problems = {problem, problem};
  std::vector<rl::EvalResponse> responses;
  // The answer as the task writes it; not simplified; cut; another model's wrong one, which an older version took.
  for (const char* text : {"1/2", "2/4"}) responses.push_back(response(*task, problem, text));
  responses.push_back(response(*task, problem, "1/2", /*ends=*/false));
  responses.push_back(response(*task, problem, "1/3"));
  responses.back().solved = true;
  CHECK(responses[0].solved);
  CHECK_FALSE(responses[1].solved);
  for (size_t i = 0; i < 4; ++i) responses[i].problem = static_cast<int64_t>(i % 2);
  const EvalAudit audit = audit_evaluation(*task, problems, responses, 2);
  const std::vector<Json> lines = lines_of(audit);
  REQUIRE(lines.size() == 3);
  CHECK(lines[0].at("why") == "task");
  CHECK(lines[0].at("verdict") == "yes");
  CHECK(lines[0].at("rule") == "normal form");
  CHECK(lines[0].at("steps").get<int>() > 0);
  CHECK(lines[0].at("gold") == "\\frac{1}{2}");
  CHECK(lines[0].at("solved") == false);
  CHECK(lines[0].at("model") == 0);
  CHECK(lines[0].at("problem") == 1);
  CHECK(lines[1].at("why") == "outside");
  CHECK(lines[1].at("finished") == false);
  CHECK(lines[1].at("model") == 1);
  CHECK(lines[1].at("problem") == 0);
  CHECK(lines[2].at("why") == "task");
  CHECK(lines[2].at("verdict") == "no");
  CHECK(audit.counts == std::vector<int64_t>{0, 0, 2, 1});
  CHECK(audit_reasons().size() == audit.counts.size());
  CHECK(audit_evaluation(*task, problems, {}, 1).lines.empty());
  CHECK(contains(error_of([&] { audit_evaluation(*make_text_task("arithmetic"), problems, responses, 2); }),
                 "the task arithmetic does not use the grader"));
}

TEST_CASE("an audit of hostile responses ends and is JSON", "[eval][audit]") {
  const TempDir dir;
  const auto task = task_of(dir, "2", {.answer_format = "boxed"});
  const std::vector<Problem> problems = task->held_out(1);
  std::vector<rl::EvalResponse> responses;
  const std::vector<std::string> texts = {std::string(200000, '('),
                                          std::string(200000, '{') + "\\boxed{",
                                          "\\boxed{" + std::string(200000, '2') + "}",
                                          std::string("\\boxed{\xff\xfe\0}", 11),
                                          std::string("\xe2\x82 2"),
                                          "\\boxed{2^{2^{2^{2^{2^{2}}}}}}",
                                          std::string("\\boxed{\n\"\\\n}")};
  for (const std::string& text : texts) {
    rl::EvalResponse r;
    r.response = text;
    r.finished = true;
    responses.push_back(r);
  }
  std::set<std::string> reasons;
  for (const AuditReason& reason : audit_reasons()) reasons.insert(std::string(reason.name));
  for (const Json& line : lines_of(audit_evaluation(*task, problems, responses, 1))) {
    CHECK(reasons.contains(line.at("why").get<std::string>()));
  }
}
