// Problems of mathematics, generated or of a file, whose answers the exact grader compares.
#include "tasks/puzzles/math.h"

#include <algorithm>
#include <set>

#include "tasks/grade/extract.h"
#include "tasks/grade/grade.h"
#include "tasks/grade/simplified.h"
#include "tasks/puzzles/problem_file.h"
#include "tasks/puzzles/puzzle.h"
#include "tensor/base/error.h"
#include "tensor/base/json.h"

namespace pg {
namespace {

constexpr int64_t kBrief = 40, kAnswer = 40, kText = 160;  // bytes of generated problems at most

// A number, or the digits of "Level 3". "Level ?" is unknown.
int level_of(const Json& json, const std::string& where) {
  if (!json.contains("level")) return 0;
  const auto& level = json["level"];
  if (level.is_integer_in(INT32_MIN, INT32_MAX)) return level.get<int>();
  check(level.is_string(), "{}: \"level\" must be a number or a text like \"Level 3\"", where);
  const std::string text = level.get<std::string>();
  const size_t digit = text.find_first_of("0123456789");
  return digit == std::string::npos ? 0 : text[digit] - '0';
}

MathProblem problem_of(const Json& json, const std::string& where) {
  MathProblem problem;
  problem.text = trimmed(text_at(json, "problem", where));
  check(!problem.text.empty(), "{}: the problem is empty", where);
  if (json.contains("answer")) {
    problem.answer = trimmed(text_at(json, "answer", where));
  } else {
    check(json.contains("solution"), "{}: expected \"answer\", or \"solution\" with \\boxed{{…}}", where);
    const std::string solution = text_at(json, "solution", where);
    const auto boxed = last_boxed(solution);
    check(boxed.has_value(), "{}: the solution has no \\boxed{{…}}", where);
    problem.answer = trimmed(*boxed);
  }
  check(!problem.answer.empty(), "{}: the answer is empty", where);
  problem.brief = ascii_of(problem.text);
  if (json.contains("subject")) problem.subject = text_at(json, "subject", where);
  problem.level = level_of(json, where);
  return problem;
}

class Math : public PuzzleTask {
 public:
  explicit Math(const MathOptions& options) : options_(options) {
    check_fields("math", fields(options_));
    check(options_.easiest <= options_.hardest, "math: --easiest {} is above --hardest {}", options_.easiest,
          options_.hardest);
    check(options_.held_out_file.empty() || !options_.file.empty(), "math: --held-out-file needs --file");
    const auto fits = [&](int level) { return level == 0 || (level >= options_.easiest && level <= options_.hardest); };
    if (options_.file.empty()) {
      std::ranges::copy_if(math_kinds(), std::back_inserter(kinds_), [&](const MathKind& k) { return fits(k.level); });
      return;
    }
    const auto read = [&](const std::string& file) {
      std::vector<MathProblem> problems = read_math(file);
      std::erase_if(problems, [&](const MathProblem& p) { return !fits(p.level); });
      check(!problems.empty(), "{}: no problem has a level from {} to {}", file, options_.easiest, options_.hardest);
      return problems;
    };
    problems_ = read(options_.file);
    if (!options_.held_out_file.empty()) {
      std::vector<MathProblem> held_out = read(options_.held_out_file);
      std::set<std::string_view> texts;
      for (const MathProblem& p : held_out) texts.insert(p.text);
      std::erase_if(problems_, [&](const MathProblem& p) { return texts.contains(p.text); });
      check(!problems_.empty(), "{}: all of its problems are in {} too, so none is left to train on", options_.file,
            options_.held_out_file);
      to_train_ = problems_.size();
      std::move(held_out.begin(), held_out.end(), std::back_inserter(problems_));
    }
    for (const MathProblem& p : problems_) {
      brief_ = std::max(brief_, std::ssize(p.brief));
      answer_ = std::max(answer_, std::ssize(ascii_of(p.answer)));
      text_ = std::max(text_, std::ssize(p.text));
    }
  }
  std::string name() const override { return "math"; }
  std::string about() const override {
    return fmt::format("mathematics of levels {} to {}; reward: 1 for an equal answer", options_.easiest,
                       options_.hardest);
  }
  std::string alphabet() const override {
    std::string all;
    for (char c = ' '; c <= '~'; ++c) {
      if (c != '=') all += c;
    }
    return all;
  }
  std::string answer_form() const override { return problems_.empty() ? "the answer in simplest form" : "the answer"; }
  int64_t max_question() const override { return brief_; }
  int64_t max_answer() const override { return answer_; }
  int64_t max_request() const override { return text_; }
  std::vector<std::string> requests() const override {
    std::vector<std::string> all;
    for (const MathProblem& p : problems_) all.push_back(p.text);
    return all;
  }
  Puzzle draw(Generator& generator) const override {
    MathProblem p;
    Split split = Split::by_key;
    if (problems_.empty()) {
      const MathKind& kind = kinds_[static_cast<size_t>(generator.integer(std::ssize(kinds_)))];
      p = kind.make(generator);
      p.subject = kind.subject;
      p.level = kind.level;
    } else {
      const auto which = static_cast<size_t>(generator.integer(std::ssize(problems_)));
      p = problems_[which];
      if (to_train_ > 0) split = which < to_train_ ? Split::train : Split::held_out;
    }
    return {.question = p.brief,
            .request = p.text,
            .answer = p.answer,
            .key = p.text,
            .gold = p.answer,
            .subject = p.subject,
            .level = p.level,
            .split = split};
  }
  Score grade(const Puzzle& puzzle, std::string_view answer) const override {
    Score score;
    const bool is_final = !problems_.empty() || is_simplified(answer, puzzle.gold);
    score.solved = is_final && is_equal_answer(answer, puzzle.gold);
    score.reward = score.solved ? 1 : 0;
    score.parts = {{"right", score.reward}};
    return score;
  }
  bool uses_grader() const override { return true; }
  // Generated problems refuse some forms of a value: an answer in such a form is not the same as one that is not.
  bool same_answer(const Puzzle& puzzle, std::string_view a, std::string_view b) const override {
    if (a == b) return true;
    const bool same_form = !problems_.empty() || is_simplified(a, puzzle.gold) == is_simplified(b, puzzle.gold);
    return same_form && grade_answer(a, b).kind == Verdict::Kind::yes;
  }

 private:
  MathOptions options_;
  std::vector<MathKind> kinds_;
  std::vector<MathProblem> problems_;  // of the files
  size_t to_train_ = 0;                // those before it are of `file`; 0: there is no file of held-out problems
  int64_t brief_ = kBrief, answer_ = kAnswer, text_ = kText;
};

}  // namespace

std::vector<MathProblem> read_math(const std::string& path) {
  std::vector<MathProblem> problems;
  each_problem(path, [&](const Json& json, const std::string& where) { problems.push_back(problem_of(json, where)); });
  return problems;
}

bool is_equal_answer(std::string_view answer, std::string_view gold) {
  const bool stated = answer.find("boxed") != std::string_view::npos || answer.find("answer") != std::string_view::npos;
  return !stated && grade_answer(answer, gold).kind == Verdict::Kind::yes;
}

std::vector<Field> fields(MathOptions& o) {
  return {{"easiest", &o.easiest, "level of problems", whole_from(1, 5)},
          {"hardest", &o.hardest, "level of problems", whole_from(1, 5)},
          {"file", &o.file, "JSONL like MATH's, {\"problem\": \"…\", \"answer\": \"…\"}; empty: generated"},
          {"held-out-file",
           &o.held_out_file,
           "the same for the held-out problems; empty: one of ten of --file, or of those generated",
           {},
           true,
           false,
           ""}};
}

std::unique_ptr<PuzzleTask> math_puzzles(const MathOptions& options) { return std::make_unique<Math>(options); }

}  // namespace pg
