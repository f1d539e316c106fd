// What all puzzles share.
#include "tasks/puzzles/puzzle.h"

#include <algorithm>
#include <set>

#include "tasks/puzzles/problem_pool.h"
#include "tensor/base/error.h"
#include "tensor/base/text.h"

namespace pg {
namespace {

constexpr int64_t kMostDraws = 100000;
constexpr uint64_t kHeldOutSeed = 0x68656c64;  // of the order of held-out puzzles

// The lowest bits of a checksum depend on little; those of its product with an odd number depend on all bits below.
uint64_t split_hash(std::string_view key) { return checksum(key) * 0x9e3779b97f4a7c15 >> 32; }
bool is_held_out(std::string_view key) { return split_hash(key) % 10 == 0; }

}  // namespace

std::string TextTask::described(const Puzzle& puzzle) const { return puzzle.question; }

bool is_held_out(const Puzzle& puzzle) {
  if (puzzle.split != Split::by_key) return puzzle.split == Split::held_out;
  return is_held_out(puzzle.key.empty() ? puzzle.question : puzzle.key);
}

std::vector<Split> forced_split(const std::vector<std::string_view>& texts) {
  const auto count = std::count_if(texts.begin(), texts.end(), [](std::string_view text) { return is_held_out(text); });
  if (count > 0 && count < std::ssize(texts)) return {};
  const std::string_view chosen = *std::min_element(
      texts.begin(), texts.end(), [](std::string_view a, std::string_view b) { return split_hash(a) < split_hash(b); });
  std::vector<Split> splits;
  for (const std::string_view text : texts) splits.push_back(text == chosen ? Split::held_out : Split::train);
  return splits;
}

Puzzle draw_puzzle(const PuzzleTask& task, Generator& generator, bool held_out) {
  for (int64_t i = 0; i < kMostDraws; ++i) {
    Puzzle puzzle = task.draw(generator);
    if (is_held_out(puzzle) == held_out) return puzzle;
  }
  fail("the task {}: {} draws found no puzzle {}; its options leave too few puzzles", task.name(), kMostDraws,
       held_out ? "that is held out" : "to train on");
}

std::vector<Puzzle> held_out_puzzles(const PuzzleTask& task, int64_t count) {
  Generator generator(kHeldOutSeed);
  std::set<std::string> seen;
  std::vector<Puzzle> puzzles;
  // The number of puzzles is unknown: draws end when many in a row bring nothing new.
  for (int64_t in_vain = 0; std::ssize(puzzles) < count && in_vain < 1000 + 20 * std::ssize(puzzles); ++in_vain) {
    Puzzle puzzle = task.draw(generator);
    if (!is_held_out(puzzle) || !seen.insert(puzzle.question).second) continue;
    puzzles.push_back(std::move(puzzle));
    in_vain = -1;
  }
  check(!puzzles.empty(), "the task {}: its options leave no puzzle that is held out", task.name());
  return puzzles;
}

}  // namespace pg
