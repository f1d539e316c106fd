#pragma once
// The Tower of Hanoi from any position to a tower on one peg: shortest solutions and their lengths.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pg {

struct HanoiPosition {
  std::vector<int> peg;  // of each disk, from the smallest to the largest: 1, 2 or 3
  int goal = 3;          // the peg on which all disks shall be

  bool solved() const;
  // Moves the top disk of `from` to `to`; false, and nothing is moved, if the rules forbid it.
  bool move(int from, int to);
};

struct HanoiMove {
  int from = 0, to = 0;
  bool operator==(const HanoiMove&) const = default;
};

// The number of moves of a shortest solution: 2^n - 1 for n disks that all are on another peg than the goal.
int64_t hanoi_distance(const HanoiPosition& position);
// A shortest solution.
std::vector<HanoiMove> solve_hanoi(HanoiPosition position);

// The share of the way to the goal that the moves cover: (distance before - distance after) / distance before, at least
// 0, in moves of shortest solutions; 1 if they solve it. 0 if a move breaks the rules or follows the solution.
double hanoi_progress(HanoiPosition position, std::span<const HanoiMove> moves);

// "13 12 32" as moves: pairs of pegs, with spaces, commas or line ends between them. Nothing for any other text.
std::optional<std::vector<HanoiMove>> hanoi_moves(std::string_view text);

}  // namespace pg
