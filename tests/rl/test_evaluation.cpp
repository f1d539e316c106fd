// Evaluations: responses that do not depend on how they are divided into calls, and summaries against hand counts.
#include <cmath>

#include "rl/text/evaluation.h"
#include "rl/text/metrics.h"
#include "rl/text/rollout.h"
#include "tasks/puzzles/puzzle.h"
#include "tests/catch.h"
#include "tests/rl/small_policy.h"

using namespace pg;
using namespace pg::testing;
using rl::EvalResponse;

namespace {

// A response; an empty answer is none.
EvalResponse response(int64_t problem, int64_t sample, std::string answer, bool solved, std::string subject,
                      int level) {
  EvalResponse r;
  r.problem = problem;
  r.sample = sample;
  r.response = answer;
  if (!answer.empty()) r.answer = answer;
  r.solved = solved;
  r.finished = !answer.empty();
  r.reward = solved ? 1 : 0.25;
  r.parts = {{"form", 0.25}};
  if (solved) r.parts.emplace_back("right", 0.75);
  r.length = 2 + sample;
  r.subject = std::move(subject);
  r.level = level;
  return r;
}

// Three problems with four responses each.
std::vector<EvalResponse> twelve() {
  return {response(0, 0, "7", true, "+", 1), response(0, 1, "7", true, "+", 1),  response(0, 2, "8", false, "+", 1),
          response(0, 3, "", false, "+", 1), response(1, 0, "a", false, "-", 2), response(1, 1, "a", false, "-", 2),
          response(1, 2, "b", true, "-", 2), response(1, 3, "B", true, "-", 2),  response(2, 0, "", false, "+", 2),
          response(2, 1, "", false, "+", 2), response(2, 2, "", false, "+", 2),  response(2, 3, "", false, "+", 2)};
}

}  // namespace

TEST_CASE("equal answers of a graded task are one vote in a majority", "[rl][evaluation]") {
  const auto task = make_text_task("math");
  auto puzzle = std::make_shared<Puzzle>();
  puzzle->gold = "\\frac{1}{2}";
  Problem problem;
  problem.puzzle = puzzle;
  // By text "1/3" has two votes and each form of 1/2 one; by value 1/2 has three of five.
  std::vector<EvalResponse> all = {response(0, 0, "1/3", false, "", 0),     response(0, 1, "1/2", true, "", 0),
                                   response(0, 2, "0.5", true, "", 0),      response(0, 3, "1/3", false, "", 0),
                                   response(0, 4, "\\frac12", true, "", 0), response(0, 5, "", false, "", 0)};
  const std::vector<int64_t> ks = {6};
  CHECK(rl::summarize(all, 6, ks).at_k[0].majority.value == 0);
  rl::join_same_answers(*task, problem, all);
  CHECK(rl::summarize(all, 6, ks).at_k[0].majority.value == 1);
  CHECK(all[4].answer == "1/2");
  CHECK(all[0].answer == "1/3");
  CHECK_FALSE(all[5].answer.has_value());
  // Thousands of different answers cost a bounded number of comparisons, and the same text still counts.
  std::vector<EvalResponse> many;
  for (int i = 0; i < 3000; ++i) many.push_back(response(0, i, fmt::format("{}", i / 2), false, "", 0));
  many.push_back(response(0, 3000, "0.0", false, "", 0));
  rl::join_same_answers(*task, problem, many);
  CHECK(many[2999].answer == "1499");
  CHECK(many[3000].answer == "0");
}

TEST_CASE("an evaluation in parts has the responses of a whole one", "[rl][evaluation]") {
  const auto task = make_text_task("copy", {{"length", "3"}});
  Transformer policy = small_policy(*task, {.in_proj_std = 0.02});
  const std::vector<Problem> problems = task->held_out(7);
  const rl::EvalConfig config{.samples = 3, .seed = 11};
  const auto whole = rl::evaluate(policy, *task, problems, 0, 7, config);
  REQUIRE(whole.size() == 21);
  std::vector<EvalResponse> parts;
  for (const auto& [first, last] : {std::pair{0, 2}, {2, 2}, {2, 3}, {3, 7}}) {
    for (EvalResponse& r : rl::evaluate(policy, *task, problems, first, last, config)) parts.push_back(std::move(r));
  }
  REQUIRE(parts.size() == whole.size());
  // The texts of a rollout of all problems, with the score of the task.
  const rl::Experience e = rl::rollout(policy, *task, problems, {.samples = 3, .seed = 11});
  bool some_differ = false;
  for (size_t i = 0; i < whole.size(); ++i) {
    CHECK(whole[i].problem == static_cast<int64_t>(i / 3));
    CHECK(whole[i].sample == static_cast<int64_t>(i % 3));
    CHECK(parts[i].problem == whole[i].problem);
    CHECK(parts[i].response == whole[i].response);
    CHECK(parts[i].answer == whole[i].answer);
    CHECK(parts[i].reward == whole[i].reward);
    const rl::Response& r = e.responses[i];
    const bool ended = r.tokens.back() == task->end_id();
    CHECK(whole[i].finished == ended);
    CHECK(whole[i].answer.has_value() == ended);
    CHECK(task->text(r.tokens).starts_with(whole[i].response));
    CHECK(whole[i].length == std::ssize(r.tokens));
    CHECK(whole[i].reward == task->score(problems[i / 3], r.tokens).reward);
    // The right answer of the copy task is the question without its last character, which asks.
    CHECK(whole[i].expected == whole[i].question.substr(0, whole[i].question.size() - 1));
    some_differ = some_differ || whole[i].response != whole[i / 3 * 3].response;
  }
  CHECK(some_differ);
  const auto other = rl::evaluate(policy, *task, problems, 0, 7, {.samples = 3, .seed = 12});
  bool same = true;
  for (size_t i = 0; i < other.size(); ++i) same = same && other[i].response == whole[i].response;
  CHECK_FALSE(same);
  CHECK(contains(error_of([&] { rl::evaluate(policy, *task, problems, 0, 8, config); }), "problems 0 to 8 of 7"));
  CHECK(contains(error_of([&] { rl::evaluate(policy, *task, problems, 0, 7, {.samples = 2, .greedy = true}); }),
                 "greedy"));
}

TEST_CASE("a problem with a puzzle has its subject and level", "[rl][evaluation]") {
  const auto task = make_text_task("arithmetic", {{"operations", "+-"}, {"digits", "1"}});
  Transformer policy = small_policy(*task, {.in_proj_std = 0.02});
  for (const EvalResponse& r : rl::evaluate(policy, *task, task->held_out(20), 0, 5, {.greedy = true})) {
    CHECK(r.question.find(r.subject) == 1);  // "3+4"
    CHECK(r.level == 1);
    const int a = r.question[0] - '0', b = r.question[2] - '0';
    CHECK(r.expected == std::to_string(r.subject == "+" ? a + b : a - b));
  }
}

TEST_CASE("a summary counts by hand", "[rl][evaluation]") {
  const std::vector<EvalResponse> all = twelve();
  const std::vector<int64_t> ks = {1, 4};
  const rl::EvalSummary s = rl::summarize(all, 4, ks);
  CHECK(s.problems == 3);
  CHECK(s.solved_shares == std::vector<double>{0.5, 0.5, 0});
  CHECK(s.solved.value == Approx(1.0 / 3));
  CHECK_FALSE(s.solved.wilson);
  CHECK(s.reward.value == Approx((4 * 1 + 8 * 0.25) / 12));
  CHECK(s.length == 3.5);
  CHECK(s.truncated == Approx(5.0 / 12));
  CHECK(s.answered == Approx(7.0 / 12));
  REQUIRE(s.parts.size() == 2);
  CHECK(s.parts[0].first == "form");
  CHECK(s.parts[0].second == Approx(0.25));
  CHECK(s.parts[1].second == Approx(0.75 * 4 / 12));
  REQUIRE(s.at_k.size() == 2);
  CHECK(s.at_k[0].pass.value == Approx(1.0 / 3));
  CHECK(s.at_k[0].majority.value == Approx(1.0 / 3));
  CHECK(s.at_k[1].pass.value == Approx(2.0 / 3));
  CHECK(s.at_k[1].pass.wilson);
  // Problem 0: "7" wins. Problem 1: "a" wins over two right answers with one vote each. Problem 2: nobody votes.
  CHECK(s.at_k[1].majority.value == Approx(1.0 / 3));
  REQUIRE(s.subjects.size() == 2);
  CHECK(s.subjects[0].name == "+");
  CHECK(s.subjects[0].problems == 2);
  CHECK(s.subjects[0].solved.value == 0.25);
  CHECK(s.subjects[1].solved.value == 0.5);
  REQUIRE(s.levels.size() == 2);
  CHECK(s.levels[1].name == "2");
  CHECK(s.levels[1].problems == 2);
  CHECK(s.levels[1].solved.value == 0.25);
}

TEST_CASE("a summary without subjects or levels has no groups", "[rl][evaluation]") {
  std::vector<EvalResponse> all = {response(0, 0, "1", true, "", 0), response(1, 0, "2", false, "", 0)};
  const std::vector<int64_t> one = {1}, two = {2};
  CHECK(rl::summarize(all, 1, one).subjects.empty());
  CHECK(rl::summarize(all, 1, one).levels.empty());
  all[1].subject = "x";
  const rl::EvalSummary s = rl::summarize(all, 1, one);
  REQUIRE(s.subjects.size() == 2);
  CHECK(s.subjects[0].name == "none");
  CHECK(contains(error_of([&] { rl::summarize(all, 1, two); }), "k is 2"));
  CHECK(contains(error_of([&] { rl::summarize({}, 1, one); }), "0 responses"));
  CHECK(contains(error_of([&] { rl::summarize(twelve(), 5, one); }), "12 responses, 5 to each"));
}

TEST_CASE("two models are compared by problem", "[rl][evaluation]") {
  // Ten problems: the first model alone solves one, the second alone five, both two.
  std::vector<EvalResponse> a, b;
  const std::string first = "1110000000", second = "0111111100";
  for (size_t p = 0; p < 10; ++p) {
    a.push_back(response(static_cast<int64_t>(p), 0, "x", first[p] == '1', "", 0));
    b.push_back(response(static_cast<int64_t>(p), 0, "x", second[p] == '1', "", 0));
  }
  const std::vector<int64_t> ks = {1};
  const rl::EvalComparison c = rl::compare(rl::summarize(a, 1, ks), rl::summarize(b, 1, ks));
  CHECK(c.only_first == 1);
  CHECK(c.only_second == 5);
  CHECK(c.difference.value == Approx(0.4));
  CHECK(c.difference.interval.low < 0.4);
  CHECK(c.difference.interval.high > 0.4);
  REQUIRE(c.mcnemar);
  CHECK(*c.mcnemar == Approx(2.0 * (1 + 6) / 64));
  const rl::EvalComparison many = rl::compare(rl::summarize(twelve(), 4, ks), rl::summarize(twelve(), 4, ks));
  CHECK_FALSE(many.mcnemar);
  CHECK(many.difference.value == 0);
  CHECK(contains(error_of([&] { rl::compare(rl::summarize(a, 1, ks), rl::summarize(twelve(), 4, ks)); }),
                 "10 problems with 1 samples, and 3 with 4"));
}

TEST_CASE("an evaluation during a training has the interval of Wilson", "[rl][evaluation]") {
  const auto metrics_of = [](size_t solved, size_t all, int64_t samples) {
    rl::Experience e;
    e.samples = samples;
    e.responses.resize(all);
    for (size_t i = 0; i < solved; ++i)
      e.responses[i].score = {.reward = 2, .parts = {}, .per_token = {}, .solved = true};
    rl::Metrics m;
    rl::add_eval_metrics(m, e);
    return m;
  };
  const rl::Metrics m = metrics_of(81, 263, 1);  // Newcombe 1998: 0.2553 to 0.3662
  CHECK(m.at("eval/reward") == Approx(162.0 / 263));
  CHECK(m.at("eval/solved") == Approx(81.0 / 263));
  CHECK(std::abs(m.at("eval/solved_low") - 0.2553) < 5.1e-5);
  CHECK(std::abs(m.at("eval/solved_high") - 0.3662) < 5.1e-5);
  CHECK(std::isnan(metrics_of(0, 0, 1).at("eval/solved_low")));
  CHECK(contains(error_of([&] { metrics_of(1, 4, 2); }), "2 responses to a problem, expected one"));
}
