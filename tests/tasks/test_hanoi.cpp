// The task hanoi: distances by breadth-first search, and answers that try to earn a reward without a solution.
#include <algorithm>
#include <map>
#include <queue>
#include <set>

#include "tasks/puzzles/hanoi.h"
#include "tasks/puzzles/puzzle.h"
#include "tests/catch.h"

using namespace pg;

namespace {

Puzzle puzzle_of(const std::string& text) {
  Puzzle p;
  p.question = p.gold = text;
  return p;
}

// Pegs as stacks of disks, written independently of HanoiPosition: the base-3 number `state` has the pegs of the disks,
// the smallest in the lowest place.
std::vector<int> neighbours(int state, int disks) {
  std::vector<std::vector<int>> stacks(3);
  std::vector<int> power(1, 1);
  for (int k = 0; k < disks; ++k) power.push_back(power.back() * 3);
  for (int k = disks - 1; k >= 0; --k)
    stacks[static_cast<size_t>(state / power[static_cast<size_t>(k)] % 3)].push_back(k);
  std::vector<int> next;
  for (int a = 0; a < 3; ++a) {
    for (int b = 0; b < 3; ++b) {
      const auto &from = stacks[static_cast<size_t>(a)], &to = stacks[static_cast<size_t>(b)];
      if (a == b || from.empty() || (!to.empty() && to.back() < from.back())) continue;
      next.push_back(state + (b - a) * power[static_cast<size_t>(from.back())]);
    }
  }
  return next;
}

HanoiPosition position_of(int state, int disks, int goal) {
  HanoiPosition position{{}, goal};
  for (int k = 0; k < disks; ++k, state /= 3) position.peg.push_back(state % 3 + 1);
  return position;
}

}  // namespace

TEST_CASE("hanoi: distances are those of a breadth-first search from every position", "[tasks][puzzles]") {
  for (int disks = 1; disks <= 8; ++disks) {
    int states = 1;
    for (int k = 0; k < disks; ++k) states *= 3;
    for (int goal = 1; goal <= 3; ++goal) {
      std::vector<int64_t> distance(static_cast<size_t>(states), -1);
      std::queue<int> open;
      int solved = 0;
      for (int k = 0, place = 1; k < disks; ++k, place *= 3) solved += (goal - 1) * place;
      distance[static_cast<size_t>(solved)] = 0;
      for (open.push(solved); !open.empty(); open.pop()) {
        for (const int next : neighbours(open.front(), disks)) {
          if (distance[static_cast<size_t>(next)] >= 0) continue;
          distance[static_cast<size_t>(next)] = distance[static_cast<size_t>(open.front())] + 1;
          open.push(next);
        }
      }
      for (int state = 0; state < states; ++state) {
        HanoiPosition position = position_of(state, disks, goal);
        REQUIRE(hanoi_distance(position) == distance[static_cast<size_t>(state)]);
        if (disks > 5) continue;
        const auto moves = solve_hanoi(position);
        REQUIRE(std::ssize(moves) == distance[static_cast<size_t>(state)]);
        for (const HanoiMove& m : moves) REQUIRE(position.move(m.from, m.to));
        REQUIRE(position.solved());
      }
    }
  }
}

TEST_CASE("hanoi: only moves that solve the puzzle and end there are right", "[tasks][puzzles]") {
  for (const double progress : {0.0, 0.5}) {
    const auto task = hanoi_puzzles({.progress = progress});
    const Puzzle p = puzzle_of("11:3");
    for (const char* right :
         {"12 13 23", "12,13,23", "12, 13, 23", "12\n13\n23", " 12  13 23 ", "13 32 13 23", "12 21 12 13 23"}) {
      INFO(right);
      CHECK(task->grade(p, right).solved);
      CHECK(task->grade(p, right).reward == 1);
    }
    std::vector<std::string> wrong = {
        "12 13 23 32",     // a move after the solution
        "12 13 23 31 13",  // back to the solution again
        "12 13 23 23",     // an illegal move after the solution
        "12 12 13 23",     // a larger disk onto a smaller one
        "13 13",           // the same
        "21 12 13 23",     // from an empty peg
        "12 11 13 23",     // to the same peg
        "12 14 23",       "12 03 23",     "121323", "1 2 1 3 2 3", "12 13 23.",  "12;13;23", "12 13 2", "12 13 232",
        "1213 23",        "[12, 13, 23]", "1->2",   "12 13 23 x",  "x 12 13 23", "",         " ",       "１２ 13 23",
        "12 13 23 = 1",   "ab ac bc",     "-12 13"};
    wrong.push_back("12 13 23" + std::string(1, '\0'));
    for (const std::string& text : wrong) {
      INFO(text);
      CHECK(task->grade(p, text).reward == 0);
      CHECK_FALSE(task->grade(p, text).solved);
    }
  }
}

TEST_CASE("hanoi: progress is the distance to the goal and dithering earns nothing", "[tasks][puzzles]") {
  const auto task = hanoi_puzzles({.disks = 3, .progress = 0.7});
  const Puzzle p = puzzle_of("111:3");  // 7 moves
  const auto reward = [&](const std::string& text) { return task->grade(p, text).reward; };
  CHECK(reward("13") == Approx(0.7 * 1 / 7));
  CHECK(reward("13 12 32 13") == Approx(0.7 * 4 / 7));
  CHECK(reward("13 12 32 13 21 23") == Approx(0.7 * 6 / 7));
  CHECK(reward("13 12 32 13 21 23 13") == 1);
  CHECK(reward("12") == 0);  // as far as before
  CHECK(reward("13 31") == 0);
  CHECK(reward("13 12 32 13 32") == 0);  // disk 2 onto the smaller disk 1: nothing is left of the progress before
  std::string dither;
  for (int i = 0; i < 1000; ++i) {
    dither += "13 31 ";
    REQUIRE(reward(dither) == 0);
    REQUIRE(reward(dither + "13") == Approx(0.7 / 7));
  }
  // Going on after the solution earns nothing, though the distance stays small.
  CHECK(reward("13 12 32 13 21 23 13 31") == 0);
  // Random sequences: none that does not solve it reaches 0.7, and the potential is all that counts.
  Generator generator(3);
  for (int i = 0; i < 20000; ++i) {
    HanoiPosition position{{1, 1, 1}, 3};
    std::string text;
    bool legal = true;
    for (int64_t m = generator.integer(12); m >= 0; --m) {
      const int from = 1 + static_cast<int>(generator.integer(3)), to = 1 + static_cast<int>(generator.integer(3));
      if (i % 2 == 0 && !HanoiPosition(position).move(from, to)) continue;
      legal = legal && !position.solved() && position.move(from, to);
      text += fmt::format("{}{} ", from, to);
    }
    const double expected = !legal ? 0 : position.solved() ? 1 : 0.7 * (7 - hanoi_distance(position)) / 7.0;
    REQUIRE(reward(text) == Approx(std::max(0.0, expected)).margin(1e-12));
    REQUIRE((position.solved() || reward(text) < 0.7));
  }
}

TEST_CASE("hanoi: the share of the way of a position that is solved is all of it", "[tasks][puzzles]") {
  const HanoiPosition solved{{2, 2}, 2};
  const std::vector<HanoiMove> away = {{2, 1}}, none;
  CHECK(hanoi_progress(solved, none) == 1);
  CHECK(hanoi_progress(solved, away) == 0);
  CHECK(hanoi_progress({{1, 1}, 2}, none) == 0);
  CHECK(hanoi_progress({{2, 1}, 3}, std::vector<HanoiMove>{{2, 3}}) == 0);  // further away than before
}

TEST_CASE("hanoi: with shortest a longer solution earns less but more than none", "[tasks][puzzles]") {
  const Puzzle p = puzzle_of("11:3");
  const auto reward = [&](double progress, const std::string& text) {
    const Score score = hanoi_puzzles({.shortest = true, .progress = progress})->grade(p, text);
    CHECK(score.solved == (text.ends_with("23")));
    return score.reward;
  };
  CHECK(reward(0, "12 13 23") == 1);
  CHECK(reward(0, "13 32 13 23") == Approx(0.75));
  CHECK(reward(0, "12 21 12 13 23") == Approx(0.6));
  CHECK(reward(0.5, "12 13 23") == 1);
  CHECK(reward(0.5, "12 21 12 13 23") == Approx(0.5 + 0.5 * 0.6));
  std::string dither;
  for (int i = 0; i < 500; ++i) dither += "12 21 ";
  CHECK(reward(0.5, dither + "12 13 23") > 0.5);
  CHECK(reward(0.5, "12 13") == Approx(0.5 * 2 / 3));
}

TEST_CASE("hanoi: options decide the puzzles, and renamed pegs are held out together", "[tasks][puzzles]") {
  for (const char* start : {"random", "standard"}) {
    for (const int64_t disks : {3, 5, 8}) {
      const auto task = hanoi_puzzles({.disks = disks, .start = start});
      Generator generator(4);
      std::set<int> levels;
      for (int i = 0; i < 300; ++i) {
        const Puzzle p = task->draw(generator);
        REQUIRE(task->grade(p, p.answer).reward == 1);
        REQUIRE(std::ssize(p.answer) <= task->max_answer());
        REQUIRE(std::ssize(p.request) <= task->max_request());
        levels.insert(p.level);
        const std::string pegs = p.question.substr(0, p.question.find(':'));
        if (start[0] == 's') REQUIRE(std::ssize(p.answer) == 3 * ((int64_t{1} << pegs.size()) - 1) - 1);
        REQUIRE(pegs != std::string(pegs.size(), p.question.back()));
      }
      CHECK(std::ssize(levels) == disks - 1);
    }
  }
  // Renaming the pegs keeps the key, and nothing else does: 3^n - 1 unsolved positions of n disks fall into groups.
  const auto task = hanoi_puzzles({.disks = 3, .fewest = 3});
  Generator generator(1);
  std::map<std::string, std::set<std::string>> by_key;
  for (int i = 0; i < 5000; ++i) {
    const Puzzle p = task->draw(generator);
    by_key[p.key].insert(p.question);
  }
  size_t questions = 0;
  for (const auto& [key, same] : by_key) {
    questions += same.size();
    for (const std::string& question : same) {
      std::string swapped = question;  // pegs 1 and 2
      for (char& c : swapped) c = c == '1' ? '2' : c == '2' ? '1' : c;
      CHECK(same.count(swapped) == 1);
    }
  }
  CHECK(questions == 3 * 26);  // 3 goals
  CHECK(by_key.size() == 13);  // 26 positions for a goal, in pairs with the two other pegs exchanged
  // Every choice of options leaves puzzles to train on and others that are held out.
  for (int64_t disks = 3; disks <= 8; ++disks) {
    for (int64_t fewest = 2; fewest <= disks; ++fewest) {
      for (const char* start : {"random", "standard"}) {
        const auto some = hanoi_puzzles({.disks = disks, .fewest = fewest, .start = start});
        CHECK_FALSE(is_held_out(draw_puzzle(*some, generator, false)));
        std::set<std::string> keys;
        for (const Puzzle& p : held_out_puzzles(*some, 20)) keys.insert(p.key);
        CHECK_FALSE(keys.empty());
        if (start[0] == 's') CHECK(keys.size() == 1);
      }
    }
  }
  CHECK(testing::contains(testing::error_of([] { hanoi_puzzles({.disks = 3, .fewest = 4}); }), "fewest"));
  CHECK(testing::contains(testing::error_of([] { hanoi_puzzles({.disks = 9}); }), "disks"));
}
