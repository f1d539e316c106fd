// Puzzles for a model that reads and writes their characters.
#include <algorithm>

#include "tasks/puzzles/problem_file.h"
#include "tasks/puzzles/puzzle.h"
#include "tensor/base/error.h"

namespace pg {
namespace {

constexpr char kAsks = '=';

TokenList tokens_of(const PuzzleTask& puzzles) {
  std::vector<std::string> tokens;
  for (const char c : puzzles.alphabet()) tokens.emplace_back(1, c);
  check(std::ranges::count(tokens, std::string(1, kAsks)) == 0, "the task {}: '{}' ends its questions", puzzles.name(),
        kAsks);
  tokens.emplace_back(1, kAsks);
  const auto end = static_cast<int32_t>(tokens.size());
  tokens.emplace_back("\n");
  return TokenList(tokens, /*words=*/false, end);
}

class CharacterTask : public TextTask {
 public:
  explicit CharacterTask(std::unique_ptr<PuzzleTask> puzzles)
      : puzzles_(std::move(puzzles)), tokenizer_(tokens_of(*puzzles_)) {}

  std::string name() const override { return puzzles_->name(); }
  std::string about() const override { return puzzles_->about(); }
  const Tokenizer& tokenizer() const override { return tokenizer_; }
  int64_t max_prompt() const override { return puzzles_->max_question() + 1; }
  int64_t max_response() const override { return puzzles_->max_answer() + 1; }
  Problem sample(Generator& generator) const override { return problem_of(draw_puzzle(*puzzles_, generator, false)); }
  std::vector<Problem> held_out(int64_t count) const override {
    std::vector<Problem> problems;
    for (Puzzle& puzzle : held_out_puzzles(*puzzles_, count)) problems.push_back(problem_of(std::move(puzzle)));
    return problems;
  }
  Score score(const Problem& problem, std::span<const int32_t> response) const override {
    const bool ends = !response.empty() && response.back() == end_id();
    return puzzles_->grade(*problem.puzzle, ends ? text(response.first(response.size() - 1)) : "");
  }
  std::string note() const override { return puzzles_->note(); }
  bool uses_grader() const override { return puzzles_->uses_grader(); }
  bool same_answer(const Problem& problem, std::string_view a, std::string_view b) const override {
    return puzzles_->same_answer(*problem.puzzle, a, b);
  }

 private:
  Problem problem_of(Puzzle puzzle) const {
    Problem problem;
    problem.prompt = tokenizer_.encode(puzzle.question + kAsks);
    problem.answer = tokenizer_.encode(ascii_of(puzzle.answer));
    problem.answer.push_back(end_id());
    problem.puzzle = std::make_shared<const Puzzle>(std::move(puzzle));
    return problem;
  }

  std::unique_ptr<PuzzleTask> puzzles_;
  TokenList tokenizer_;
};

}  // namespace

std::unique_ptr<TextTask> character_task(std::unique_ptr<PuzzleTask> puzzles) {
  return std::make_unique<CharacterTask>(std::move(puzzles));
}

}  // namespace pg
