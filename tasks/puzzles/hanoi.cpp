// The Tower of Hanoi as a task.
#include "tasks/puzzles/hanoi.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "tasks/puzzles/puzzle.h"
#include "tensor/base/error.h"

namespace pg {
namespace {

// "121:3": the pegs of the disks, the smallest first, and the goal.
std::string short_form(const HanoiPosition& position) {
  return fmt::format("{}:{}", fmt::join(position.peg, ""), position.goal);
}

HanoiPosition position_of(std::string_view text) {
  HanoiPosition position;
  for (const char c : text.substr(0, text.find(':'))) position.peg.push_back(c - '0');
  position.goal = text.back() - '0';
  return position;
}

// The same for positions that differ only in the names of the pegs: one solution gives the other.
std::string key_of(const HanoiPosition& position) {
  std::string least;
  int names[] = {1, 2, 3};
  do {
    HanoiPosition renamed = position;
    for (int& peg : renamed.peg) peg = names[peg - 1];
    renamed.goal = names[position.goal - 1];
    if (const std::string text = short_form(renamed); least.empty() || text < least) least = text;
  } while (std::next_permutation(std::begin(names), std::end(names)));
  return least;
}

std::string request_of(const HanoiPosition& position) {
  std::string request = "In this Tower of Hanoi, disk 1 is the smallest.";
  for (int peg = 1; peg <= 3; ++peg) {
    std::vector<size_t> disks;  // the largest lies at the bottom
    for (size_t k = position.peg.size(); k-- > 0;) {
      if (position.peg[k] == peg) disks.push_back(k + 1);
    }
    request += disks.empty() ? fmt::format(" Peg {} is empty.", peg)
                             : fmt::format(" Peg {} holds, from bottom to top: {}.", peg, fmt::join(disks, ", "));
  }
  return request + fmt::format(
                       " Move all disks to peg {}. A move takes the top disk of a peg to another peg, never onto a "
                       "smaller disk.",
                       position.goal);
}

class Hanoi : public PuzzleTask {
 public:
  explicit Hanoi(const HanoiOptions& options) : options_(options) {
    check_fields("hanoi", fields(options_));
    check(options_.fewest <= options_.disks, "hanoi: fewest must be at most disks ({}), got {}", options_.disks,
          options_.fewest);
  }
  std::string name() const override { return "hanoi"; }
  std::string about() const override {
    return fmt::format("the Tower of Hanoi with {} to {} disks; reward: {} for moves that solve it{}", options_.fewest,
                       options_.disks, options_.shortest ? "up to 1, for the shortest," : "1",
                       options_.progress > 0 ? fmt::format(", up to {} for coming nearer", options_.progress) : "");
  }
  std::string alphabet() const override { return "123 :"; }
  std::string answer_form() const override {
    return "the moves in order, each as the number of the peg it leaves and that of the peg it goes to, such as \"12 "
           "31\"";
  }
  int64_t max_question() const override { return options_.disks + 2; }
  int64_t max_answer() const override { return 3 * ((int64_t{1} << options_.disks) - 1) - 1; }
  int64_t max_request() const override { return 320 + 3 * options_.disks; }
  Puzzle draw(Generator& generator) const override {
    HanoiPosition position;
    position.peg.resize(static_cast<size_t>(options_.fewest + generator.integer(options_.disks - options_.fewest + 1)));
    position.goal = 1 + static_cast<int>(generator.integer(3));
    const bool standard = options_.start == "standard";
    do {
      const int together = 1 + static_cast<int>(generator.integer(3));
      for (int& peg : position.peg) peg = standard ? together : 1 + static_cast<int>(generator.integer(3));
    } while (position.solved());
    std::vector<std::string> moves;
    for (const HanoiMove& move : solve_hanoi(position)) moves.push_back(fmt::format("{}{}", move.from, move.to));
    return {.question = short_form(position),
            .request = request_of(position),
            .answer = fmt::format("{}", fmt::join(moves, " ")),
            .key = standard ? fmt::format("from {} to {}", position.peg[0], position.goal) : key_of(position),
            .gold = short_form(position),
            .subject = fmt::format("{} disks", position.peg.size()),
            .level = static_cast<int>(position.peg.size()) - 1};
  }
  Score grade(const Puzzle& puzzle, std::string_view answer) const override {
    Score score;
    double right = 0, nearer = 0;
    const HanoiPosition position = position_of(puzzle.gold);
    if (const auto moves = hanoi_moves(answer)) {
      const double progress = hanoi_progress(position, *moves);
      score.solved = progress == 1;
      // A longer solution earns more than any answer that does not solve it.
      const auto shortest = static_cast<double>(hanoi_distance(position));
      const double shortness = options_.shortest ? shortest / static_cast<double>(moves->size()) : 1;
      if (score.solved) right = options_.progress + (1 - options_.progress) * shortness;
      if (!score.solved) nearer = options_.progress * progress;
    }
    score.parts = {{"right", right}};
    if (options_.progress > 0) score.parts.emplace_back("nearer", nearer);
    score.reward = right + nearer;
    return score;
  }

 private:
  HanoiOptions options_;
};

}  // namespace

std::vector<Field> fields(HanoiOptions& o) {
  return {{"disks", &o.disks, "disks of a puzzle, at most", whole_from(3, 8)},
          {"fewest", &o.fewest, "disks of a puzzle, at least", whole_from(2, 8)},
          {"start", one_of(o.start, {"random", "standard"}), "any position, or all disks on one peg"},
          {"shortest", &o.shortest, "divide the reward of a solution by its length: that of a shortest one keeps it"},
          {"progress", &o.progress, "times the share of the way that an answer comes nearer to the goal", kBelowOne}};
}

std::unique_ptr<PuzzleTask> hanoi_puzzles(const HanoiOptions& options) { return std::make_unique<Hanoi>(options); }

}  // namespace pg
