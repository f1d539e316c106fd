// The tables of puzzles and of text tasks.
#include <algorithm>

#include "tasks/puzzles/puzzle.h"
#include "tasks/text/text_task.h"
#include "tensor/base/error.h"

namespace pg {
namespace {

// A row whose task has options: `make` takes them.
template <class Options>
TextTaskRow row(std::string name, std::string about, std::unique_ptr<TextTask> (*make)(const Options&)) {
  return {std::move(name), std::move(about), [make] {
            const auto options = std::make_shared<Options>();
            return TextTaskSetup{fields(*options), [make, options] { return make(*options); }};
          }};
}
// A row whose task has none.
TextTaskRow row(std::string name, std::string about, std::unique_ptr<TextTask> (*make)()) {
  return {std::move(name), std::move(about), [make] { return TextTaskSetup{{}, make}; }};
}
// A row of puzzle_tasks().
template <class Options>
PuzzleRow row(std::string name, std::string about, std::unique_ptr<PuzzleTask> (*make)(const Options&)) {
  return {std::move(name), std::move(about), [make] {
            const auto options = std::make_shared<Options>();
            return PuzzleSetup{fields(*options), [make, options] { return make(*options); }};
          }};
}
// A row whose answers are verified.
TextTaskRow row(const PuzzleRow& puzzles) {
  return {puzzles.name, puzzles.about, [&puzzles] {
            PuzzleSetup setup = puzzles.setup();
            return TextTaskSetup{setup.fields, [make = setup.make] { return character_task(make()); }, setup.make};
          }};
}

}  // namespace

const std::vector<PuzzleRow>& puzzle_tasks() {
  static const std::vector<PuzzleRow> all = {
      row("arithmetic", "add, subtract or multiply two numbers; reward: 1 for the right number", arithmetic_puzzles),
      row("countdown", "reach a target with given numbers, 3,5,7:22 -> 3*5+7; reward: 1 for the exact target",
          countdown_puzzles),
      row("hanoi", "the Tower of Hanoi, 11:3 -> 12 13 23; reward: 1 for moves that solve it", hanoi_puzzles),
      row("connections", "sort 16 words into 4 groups; reward: share of the groups that are right",
          connections_puzzles),
      row("word-problems", "problems in words of several steps, also GSM8K's; reward: 1 for the right number",
          word_problems),
      row("math", "mathematics with exact answers in LaTeX, also MATH's; reward: 1 for an equal answer", math_puzzles),
      row("sentiment", "continue a review in the mood asked for, + - or 0; reward: up to 1 by a lexicon",
          sentiment_puzzles),
  };
  return all;
}

const std::vector<TextTaskRow>& text_tasks() {
  static const std::vector<TextTaskRow> all = [] {
    std::vector<TextTaskRow> rows = {
        row("copy", "copy a string of digits; reward: share of the answer before the first mistake", copy_task),
        row("reverse", "reverse a string of digits; the same reward", reverse_task),
        row("sort", "sort a string of digits; the same reward", sort_task),
        row("digits", "continue a sequence of digits, 3,5:4 -> 7,9,1,3.; the same reward", digit_completion_task),
        row("keyword", "write a sentence of a tiny language; reward: 1 per \"moon\", which can be hacked",
            keyword_task),
        row("guess", "guess a number below 100 in five tries, each answered with < or >; reward: 1 if found",
            guess_task),
        row("adventure", "find a key and the locked room of a small map in some turns; reward: 1 when there",
            adventure_task),
        row("imitate", "write the next characters of a text; reward: share of characters that match", imitate_task),
    };
    for (const PuzzleRow& puzzles : puzzle_tasks()) rows.push_back(row(puzzles));
    for (const TextTaskRow& r : rows) {
      check(std::ranges::count(rows, r.name, &TextTaskRow::name) == 1, "text_tasks: two tasks have the name {}",
            r.name);
    }
    return rows;
  }();
  return all;
}

std::unique_ptr<TextTask> make_text_task(std::string_view name, const std::map<std::string, std::string>& options) {
  const TextTaskSetup setup = find_row(text_tasks(), "task", name).setup();
  set_fields(setup.fields, "the task " + std::string(name), options);
  return setup.make();
}

}  // namespace pg
