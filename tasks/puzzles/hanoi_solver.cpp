// Rules, distances, progress and shortest solutions of the Tower of Hanoi.
#include <algorithm>

#include "tasks/puzzles/hanoi.h"

namespace pg {
namespace {

constexpr int kSumOfPegs = 1 + 2 + 3;

}  // namespace

bool HanoiPosition::solved() const {
  return std::ranges::all_of(peg, [&](int p) { return p == goal; });
}

bool HanoiPosition::move(int from, int to) {
  if (from < 1 || from > 3 || to < 1 || to > 3 || from == to) return false;
  const auto top = std::ranges::find(peg, from);
  if (top == peg.end() || std::find(peg.begin(), top, to) != top) return false;  // no disk, or a smaller one is on `to`
  *top = to;
  return true;
}

// The largest disk that is not on its peg moves once. Before that all smaller disks must be on the third peg, which is
// the same question for them; moving them from there to the goal takes 2^k - 1 moves for k of them.
int64_t hanoi_distance(const HanoiPosition& position) {
  int64_t distance = 0;
  int goal = position.goal;
  for (size_t k = position.peg.size(); k-- > 0;) {
    if (position.peg[k] == goal) continue;
    distance += int64_t{1} << k;
    goal = kSumOfPegs - position.peg[k] - goal;
  }
  return distance;
}

std::vector<HanoiMove> solve_hanoi(HanoiPosition position) {
  std::vector<HanoiMove> moves;
  while (!position.solved()) {
    // The goals of the disks as in hanoi_distance(): the smallest disk that is not on its own can move there.
    HanoiMove next;
    int goal = position.goal;
    for (size_t k = position.peg.size(); k-- > 0;) {
      if (position.peg[k] == goal) continue;
      next = {position.peg[k], goal};
      goal = kSumOfPegs - position.peg[k] - goal;
    }
    position.move(next.from, next.to);
    moves.push_back(next);
  }
  return moves;
}

double hanoi_progress(HanoiPosition position, std::span<const HanoiMove> moves) {
  const int64_t before = hanoi_distance(position);
  for (const HanoiMove& m : moves) {
    if (position.solved() || !position.move(m.from, m.to)) return 0;
  }
  const int64_t after = hanoi_distance(position);
  return before == 0 ? 1 : std::max(0.0, static_cast<double>(before - after) / static_cast<double>(before));
}

std::optional<std::vector<HanoiMove>> hanoi_moves(std::string_view text) {
  const auto separates = [](char c) { return c == ' ' || c == ',' || c == '\n' || c == '\r' || c == '\t'; };
  const auto peg = [](char c) { return c >= '1' && c <= '3' ? c - '0' : 0; };
  std::vector<HanoiMove> moves;
  for (size_t i = 0; i < text.size();) {
    if (separates(text[i])) {
      ++i;
      continue;
    }
    if (i + 1 == text.size() || peg(text[i]) == 0 || peg(text[i + 1]) == 0) return {};
    if (i + 2 < text.size() && !separates(text[i + 2])) return {};
    moves.push_back({peg(text[i]), peg(text[i + 1])});
    i += 2;
  }
  return moves;
}

}  // namespace pg
