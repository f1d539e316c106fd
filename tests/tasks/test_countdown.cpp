// The task countdown: its parser, its solver, and texts that try to earn a reward without an answer.
#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <set>

#include "tasks/puzzles/countdown.h"
#include "tasks/puzzles/puzzle.h"
#include "tests/catch.h"

using namespace pg;

namespace {

Puzzle puzzle_of(const std::string& text) {
  Puzzle p;
  p.question = p.gold = text;
  return p;
}

// All values of expressions that use every number of a subset, by joining the values of its two halves: an
// implementation that shares nothing with the solver. Reduced fractions, of any sign.
using Value = std::pair<int64_t, int64_t>;
std::map<unsigned, std::set<Value>> values_of_subsets(const std::vector<int64_t>& numbers) {
  const auto reduced = [](int64_t n, int64_t d) {
    const int64_t g = std::gcd(n, d) * (d < 0 ? -1 : 1);
    return Value{n / g, d / g};
  };
  std::map<unsigned, std::set<Value>> values;
  for (unsigned subset = 1; subset < 1U << numbers.size(); ++subset) {
    for (size_t i = 0; i < numbers.size(); ++i) {
      if (subset == 1U << i) values[subset].insert({numbers[i], 1});
    }
    for (unsigned part = (subset - 1) & subset; part > 0; part = (part - 1) & subset) {
      for (const auto& [a, b] : values[part]) {
        for (const auto& [c, d] : values[subset ^ part]) {
          values[subset].insert(reduced(a * d + c * b, b * d));
          values[subset].insert(reduced(a * d - c * b, b * d));
          values[subset].insert(reduced(a * c, b * d));
          if (c != 0) values[subset].insert(reduced(a * d, b * c));
        }
      }
    }
  }
  return values;
}

}  // namespace

TEST_CASE("countdown: expressions have their exact values", "[tasks][puzzles]") {
  const std::vector<int64_t> numbers = {3, 5, 7, 8, 8, 3};
  const auto is = [&](const char* text, int64_t n, int64_t d) {
    const auto value = countdown_value(text, numbers, false);
    INFO(text);
    REQUIRE(value);
    CHECK(value->denominator > 0);
    CHECK(value->numerator * d == n * value->denominator);
  };
  is("3", 3, 1);
  is("3+5*7", 38, 1);
  is("(3+5)*7", 56, 1);
  is("3-5-7", -9, 1);
  is("3-(5-7)", 5, 1);
  is("8/5/3", 8, 15);
  is("8/(5/3)", 24, 5);
  is("8/(3-8/3)", 24, 1);  // no whole numbers on the way
  is("5/(3-7)", -5, 4);
  is("8/(3-5)/(3-7)", 1, 1);
  is("  ( ( 3 ) + 5 )*7 ", 56, 1);
  is("8-8", 0, 1);
  is("3*(8-8)", 0, 1);
  // Fractions that do not fit in 64 bits are refused instead of wrapping around.
  CHECK_FALSE(combined({INT64_MAX, 1}, '+', {1, 1}));
  CHECK_FALSE(combined({INT64_MIN, 1}, '-', {1, 1}));
  CHECK_FALSE(combined({int64_t{1} << 40, 1}, '*', {int64_t{1} << 40, 1}));
  CHECK_FALSE(combined({1, 1}, '/', {0, 5}));
  CHECK_FALSE(combined({1, 1}, '/', {INT64_MIN, 1}));
  CHECK_FALSE(Fraction{0, INT64_MAX} == INT64_MAX);
}

TEST_CASE("countdown: texts that break the rules earn nothing", "[tasks][puzzles]") {
  const auto task = countdown_puzzles({.near = 0.9});
  const Puzzle p = puzzle_of("3,5,2:16");
  for (const char* right : {"(3+5)*2", "2*(3+5)", " ( 3 + 5 ) * 2 ", "((3+5))*(2)", "3*2+5*2"}) {
    INFO(right);
    CHECK(task->grade(p, right).solved == (std::string(right) != "3*2+5*2"));  // which uses 2 twice
  }
  std::vector<std::string> wrong = {"16",           "8*2",        "(3+5)*2=16", "(3+5)*2 = 16", "=(3+5)*2",
                                    "16=(3+5)*2",   "2**4",       "2**5",       "5//2",         "(3+5)2",
                                    "(3+5)(2)",     "-3+5",       "+3+5",       "5--3",         "5-(-3)",
                                    "3 5",          "35-2",       "3.0+5",      "3,5",          "03+5",
                                    "3+",           "*3",         "()",         "(3+5",         "3+5)",
                                    "(3+5)*2)",     "5/(2-2)",    "5/0",        "3+5+",         "3^2",
                                    "3%2",          "3e1",        "3+5\n",      "\t3+5",        "３+５",
                                    "3×5",          "2*(3+5);",   "(3+5)*2 2",  "(3+5)*2+0",    "(3+5)*2*1",
                                    "(3+5)*2-3+3",  "0x3+5",      "3+5*2*",     "3 + + 5",      "1+15",
                                    "3+5+2+3+5",    "(3+5)*2//1", "x=(3+5)*2",  "[3+5]*2",      "{3+5}*2",
                                    "\\frac{3}{5}", "3+5#",       "3!+5*2",     "sqrt(5)",      "99999999999999999999"};
  wrong.push_back("(3+5)*2" + std::string(1, '\0'));
  std::string deep(100000, '(');
  deep.append(1, '3').append(100000, ')');
  wrong.push_back(deep);
  wrong.push_back(std::string(100000, '('));
  wrong.push_back(std::string(100000, '3'));
  wrong.push_back(fmt::format("3{:+>100000}", ""));
  for (int i = 0; i < 100000; ++i) wrong.back() += "+3";
  for (const std::string& text : wrong) {
    const Score score = task->grade(p, text);
    INFO(text.substr(0, 40));
    CHECK(score.reward == 0);
    CHECK_FALSE(score.solved);
  }
  // A number that is given twice may be used twice, and no more.
  CHECK(task->grade(puzzle_of("4,4,9:8"), "4+4").solved);
  CHECK(task->grade(puzzle_of("4,4,9:12"), "4+4+4").reward == 0);
}

TEST_CASE("countdown: near values earn less than the target, and only by the rules", "[tasks][puzzles]") {
  const Puzzle p = puzzle_of("3,5,2:16");
  const auto reward = [&](const CountdownOptions& options, const char* text) {
    return countdown_puzzles(options)->grade(p, text).reward;
  };
  CHECK(reward({.near = 0.8}, "(3+5)*2") == 1);
  CHECK(reward({.near = 0.8}, "3*5") == Approx(0.4));
  CHECK(reward({.near = 0.8}, "3*5+2") == Approx(0.4));
  CHECK(reward({.near = 0.8}, "3*5-2") == Approx(0.2));
  CHECK(reward({.near = 0.8}, "3/2") == Approx(0.8 / 15.5));
  CHECK(reward({.near = 0.8}, "3*5+1") == 0);
  CHECK(reward({}, "3*5") == 0);
  CHECK(reward({.all = true, .near = 0.8}, "3*5") == 0);  // 2 is missing
  CHECK(reward({.all = true}, "(3+5)*2") == 1);
  CHECK(countdown_puzzles({.all = true})->grade(puzzle_of("4,4,9:8"), "4+4").reward == 0);
  CHECK(testing::contains(testing::error_of([] { countdown_puzzles({.near = 1}); }), "near"));
  CHECK(testing::contains(testing::error_of([] { countdown_puzzles({.count = 3, .fewest = 4}); }), "fewest"));
}

TEST_CASE("countdown: the solver agrees with the values of all expressions", "[tasks][puzzles]") {
  Generator generator(7);
  for (int i = 0; i < 60; ++i) {
    std::vector<int64_t> numbers(static_cast<size_t>(1 + generator.integer(4)));
    for (int64_t& n : numbers) n = 1 + generator.integer(12);
    const auto values = values_of_subsets(numbers);
    const unsigned whole = (1U << numbers.size()) - 1;
    for (int64_t target = 1; target <= 60; ++target) {
      size_t fewest = 0;
      for (const auto& [subset, reached] : values) {
        const auto size = static_cast<size_t>(std::popcount(subset));
        if (reached.count({target, 1}) > 0 && (fewest == 0 || size < fewest)) fewest = size;
      }
      for (const bool all : {false, true}) {
        const auto found = solve_countdown(numbers, target, all);
        REQUIRE(found.has_value() == (all ? values.at(whole).count({target, 1}) > 0 : fewest > 0));
        if (!found) continue;
        INFO(*found);
        const auto value = countdown_value(*found, numbers, all);
        REQUIRE(value);
        REQUIRE(*value == target);
        const auto signs =
            std::ranges::count_if(*found, [](char c) { return std::string("+-*/").find(c) != std::string::npos; });
        REQUIRE(static_cast<size_t>(signs) + 1 == (all ? numbers.size() : fewest));
      }
    }
  }
  CHECK(solve_countdown(std::vector<int64_t>{3, 3, 8, 8}, 24, true) == "8/(3-8/3)");
  CHECK_FALSE(solve_countdown(std::vector<int64_t>{1, 1, 1, 1, 1, 1}, 100, false));
  CHECK_FALSE(testing::error_of([] { solve_countdown(std::vector<int64_t>(7, 1), 3, false); }).empty());
}

TEST_CASE("countdown: options decide the puzzles, and a key is a set of numbers with a target", "[tasks][puzzles]") {
  for (const bool all : {false, true}) {
    for (const int64_t count : {2, 4, 6}) {
      const auto task = countdown_puzzles({.count = count, .largest = 9, .target = 50, .all = all});
      Generator generator(11);
      std::set<int> levels;
      for (int i = 0; i < 40; ++i) {
        const Puzzle p = task->draw(generator);
        INFO(p.question << " -> " << p.answer);
        REQUIRE(task->grade(p, p.answer).reward == 1);
        REQUIRE(std::ssize(p.answer) <= task->max_answer());
        REQUIRE(std::ssize(p.question) <= task->max_question());
        REQUIRE(std::ssize(p.request) <= task->max_request());
        REQUIRE(p.level == std::ranges::count(p.question, ','));
        // The key has the same characters, with the numbers in order.
        std::string sorted = p.question, key = p.key;
        std::ranges::sort(sorted), std::ranges::sort(key);
        REQUIRE(key == sorted);
        std::string digits = p.key.substr(0, p.key.find(':'));  // of numbers below 10
        std::erase(digits, ',');
        REQUIRE(std::ranges::is_sorted(digits));
        levels.insert(p.level);
      }
      CHECK(std::ssize(levels) == count - 1);
    }
  }
}
