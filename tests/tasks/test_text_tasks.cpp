// Text tasks: held-out problems do not occur in training, right answers earn the most, and wrong answers earn less.
#include <functional>
#include <set>

#include "tasks/data/tiny_language.h"
#include "tasks/text/text_task.h"
#include "tensor/base/error.h"
#include "tests/catch.h"

using namespace pg;
using pg::testing::error_of;

namespace {

double total(const Score& s) {
  double sum = 0;
  for (const double r : s.per_token) sum += r;
  return s.per_token.empty() ? s.reward : sum;
}

}  // namespace

TEST_CASE("text tasks: held-out problems are never sampled", "[tasks][rl]") {
  for (const char* name : {"copy", "reverse", "sort", "digits"}) {
    const auto task = make_text_task(name);
    std::set<std::vector<int32_t>> held_out;
    for (const Problem& p : task->held_out(200)) held_out.insert(p.prompt);
    CHECK(held_out.size() == 200);  // no duplicates
    Generator g(3);
    for (int i = 0; i < 5000; ++i) CHECK(!held_out.contains(task->sample(g).prompt));
  }
}

TEST_CASE("text tasks: of few problems few are held out", "[tasks][rl]") {
  const auto held_out = make_text_task("copy", {{"length", "2"}})->held_out(200);  // of 110 strings in total
  CHECK(held_out.size() > 3);
  CHECK(held_out.size() < 30);
}

TEST_CASE("text tasks: the answer earns 1 and no changed answer does", "[tasks][rl]") {
  for (const char* name : {"copy", "reverse", "sort", "digits", "guess"}) {
    const auto task = make_text_task(name);
    Generator g(5);
    for (int i = 0; i < 50; ++i) {
      const Problem p = task->sample(g);
      CHECK(static_cast<int64_t>(p.prompt.size()) <= task->max_prompt());
      CHECK(static_cast<int64_t>(p.answer.size()) <= task->max_response());
      const Score best = task->score(p, p.answer);
      CHECK(best.solved);
      CHECK(std::abs(best.reward - 1) < 1e-12);
      CHECK(std::abs(total(best) - best.reward) < 1e-12);
      double parts = 0;
      for (const auto& [part, value] : best.parts) parts += value;
      CHECK(std::abs(parts - best.reward) < 1e-12);

      const auto fails = [&](const std::vector<int32_t>& response) {
        if (response == p.answer) return;
        const Score s = task->score(p, response);
        CHECK(!s.solved);
        CHECK(s.reward < 1 - 1e-9);
        CHECK(std::abs(total(s) - s.reward) < 1e-12);
      };
      for (size_t t = 0; t < p.answer.size(); ++t) {
        for (int32_t id = 0; id < task->vocab_size(); ++id) {
          auto changed = p.answer;
          changed[t] = id;
          fails(changed);
          auto longer = p.answer;
          longer.insert(longer.begin() + static_cast<int64_t>(t), id);
          if (std::string(name) != "guess") fails(longer);
        }
        auto shorter = p.answer;
        shorter.erase(shorter.begin() + static_cast<int64_t>(t));
        fails(shorter);
      }
      fails({});
    }
  }
}

TEST_CASE("text tasks: digit completion goes on modulo ten and pays up to the first mistake", "[tasks][rl]") {
  const auto task = make_text_task("digits");
  Generator g(1);
  bool seen = false;
  for (int i = 0; i < 20000 && !seen; ++i) {
    const Problem p = task->sample(g);
    if (task->text(p.prompt) != "3,5:4") continue;
    seen = true;
    CHECK(task->text(p.answer) == "7,9,1,3.");
    auto wrong = p.answer;
    wrong[2] = 8;
    CHECK(task->score(p, wrong).reward == 2.0 / 8);
    CHECK(task->score(p, wrong).per_token == std::vector<double>{0.125, 0.125, 0, 0, 0, 0, 0, 0});
  }
  for (const Problem& p : task->held_out(200)) seen = seen || task->text(p.prompt) == "3,5:4";
  CHECK(seen);
  CHECK(task->held_out(1000).size() == 200);
}

TEST_CASE("text tasks: the world of guess answers until the number is found or five guesses are spent", "[tasks][rl]") {
  const auto task = make_text_task("guess");
  const Problem p = {{11}, {4, 2, 10}};
  const auto says = [&](const std::vector<int32_t>& response) { return task->text(task->respond(p, response)); };
  CHECK(says({5, 0, 10}) == "<");
  CHECK(says({5, 0, 10, 14, 3, 0, 10}) == ">");
  CHECK(says({5, 0, 10, 14, 4, 2, 10}).empty());
  CHECK(says({5, 10}).empty());           // not a guess
  CHECK(says({4, 2, 4, 2, 10}).empty());  // not a guess either
  CHECK(says({5, 0, 10, 14, 1, 1, 10, 15, 1, 1, 10, 15, 1, 1, 10, 15, 1, 1, 10}).empty());
  CHECK(task->score(p, std::vector<int32_t>{5, 0, 10, 14, 4, 2, 10}).solved);
  CHECK(!task->score(p, std::vector<int32_t>{4, 2, 10, 14, 5, 0, 10}).solved);
}

TEST_CASE("text tasks: imitation pays place by place", "[tasks][rl]") {
  const auto plain = imitate_task({.length = 4, .context = 8});
  const auto signs = imitate_task({.length = 4, .context = 8, .negative = true});
  Generator g(2);
  const Problem p = plain->sample(g);
  CHECK(p.prompt.size() == 8);
  REQUIRE(p.answer.size() == 4);
  CHECK(plain->score(p, p.answer).reward == 1);
  CHECK(signs->score(p, p.answer).reward == 1);
  auto one_wrong = p.answer;
  one_wrong[1] = (one_wrong[1] + 1) % static_cast<int32_t>(plain->vocab_size());
  CHECK(plain->score(p, one_wrong).per_token == std::vector<double>{0.25, 0, 0.25, 0.25});
  CHECK(signs->score(p, one_wrong).per_token == std::vector<double>{0.25, -0.25, 0.25, 0.25});
  CHECK(!plain->score(p, one_wrong).solved);
  CHECK(!plain->corpus().empty());
}

TEST_CASE("text tasks: the keyword reward can be hacked, and solved tells", "[tasks][rl]") {
  const auto task = make_text_task("keyword", {{"length-penalty", "2"}});
  const int32_t moon = tiny_word("moon");
  const Score hack = task->score({{0}, {}}, std::vector<int32_t>(10, moon));
  CHECK(hack.reward == 10 - 2 * 2);
  CHECK(!hack.solved);
  const std::vector<int32_t> honest = {tiny_word("the"), moon, tiny_word("sleeps"), 0};
  REQUIRE(is_tiny_sentence(honest));
  CHECK(task->score({{0}, {}}, honest).reward == 1);
  CHECK(task->score({{0}, {}}, honest).solved);
}

TEST_CASE("text tasks: an unknown name lists the known ones", "[tasks][rl]") {
  try {
    make_text_task("chess");
    FAIL("no error");
  } catch (const Error& e) {
    CHECK(std::string(e.what()).find("copy, reverse, sort, digits") != std::string::npos);
  }
}

TEST_CASE("text tasks: every row makes the task of its name, and its options are set by name", "[tasks]") {
  for (const TextTaskRow& row : text_tasks()) {
    INFO(row.name);
    CHECK(row.setup().make()->name() == row.name);
    CHECK_FALSE(row.about.empty());
    for (const Field& field : row.setup().fields) CHECK_FALSE(field.about.empty());
  }
  CHECK(make_text_task("sort", {{"length", "9"}})->max_prompt() == 10);
  CHECK(make_text_task("imitate", {{"length", "9"}, {"context", "3"}})->max_response() == 9);
  const auto refusal = [](const std::string& task, const std::string& option, const std::string& value) {
    return error_of([&] { make_text_task(task, {{option, value}}); });
  };
  CHECK(refusal("sort", "length", "65") == "length: expected a whole number from 2 to 64, got 65");
  CHECK(refusal("sort", "lenght", "5") ==
        "option of the task sort: expected length, got \"lenght\" (did you mean length?)");
  CHECK(refusal("guess", "length", "5") == "option of the task guess: there is none, got \"length\"");
  CHECK(error_of([] { sort_task({.length = 1}); }) == "sort: length must be a whole number from 2 to 64, got 1");
}
