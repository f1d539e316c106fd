// Problems of mathematics, generated or of a file, whose answers the exact grader compares.
#include "tasks/puzzles/math.h"

#include <algorithm>
#include <tuple>

#include "tasks/grade/extract.h"
#include "tasks/grade/grade.h"
#include "tasks/puzzles/problem_file.h"
#include "tasks/puzzles/problem_pool.h"
#include "tasks/puzzles/puzzle.h"
#include "tensor/base/error.h"
#include "tensor/base/json.h"
#include "tensor/base/text.h"

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

MathProblem problem_of(const Json& json, const ProblemColumns& columns, const std::string& where) {
  ProblemText text = problem_text(json, columns, where);
  MathProblem problem;
  problem.text = std::move(text.question);
  problem.answer = std::move(text.answer);
  problem.brief = ascii_of(problem.text);
  if (json.contains("subject")) problem.subject = text_at(json, "subject", where);
  problem.level = level_of(json, where);
  problem.where = where;
  return problem;
}

// Whether the grader can read the answer: without that only the same text would be right.
bool is_readable(const MathProblem& p) { return grade_answer("0", p.answer).rule != "unreadable"; }

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
      std::vector<MathProblem> problems = read_math(file, options_.columns);
      std::erase_if(problems, [&](const MathProblem& p) { return !fits(p.level); });
      check(!problems.empty(), "{}: no problem has a level from {} to {}", file, options_.easiest, options_.hardest);
      check_answers(problems, file);
      return problems;
    };
    pool_ = {options_.file, read(options_.file),
             options_.held_out_file.empty() ? std::vector<MathProblem>() : read(options_.held_out_file)};
    measure();
  }
  std::string name() const override { return "math"; }
  std::string about() const override {
    const std::string problems = options_.file.empty() ? "mathematics" : "the problems of " + options_.file;
    const bool all = options_.easiest == MathOptions{}.easiest && options_.hardest == MathOptions{}.hardest;
    return fmt::format("{}{}; reward: 1 for an equal answer", problems,
                       all ? "" : fmt::format(" of levels {} to {}", options_.easiest, options_.hardest));
  }
  std::string alphabet() const override {
    std::string all;
    for (char c = ' '; c <= '~'; ++c) {
      if (c != '=') all += c;
    }
    return all;
  }
  std::string answer_form() const override { return pool_.empty() ? "the answer in simplest form" : "the answer"; }
  int64_t max_question() const override { return brief_; }
  int64_t max_answer() const override { return answer_; }
  int64_t max_request() const override { return text_; }
  std::vector<std::string> requests() const override { return pool_.texts(); }
  int64_t keep(const std::function<bool(const std::string&)>& fits) override {
    const int64_t left_out = pool_.keep(fits);
    if (left_out > 0) measure();
    return left_out;
  }
  std::string note() const override { return both_notes(note_, pool_.note()); }
  Puzzle draw(Generator& generator) const override {
    MathProblem p;
    Split split = Split::by_key;
    if (pool_.empty()) {
      const MathKind& kind = kinds_[static_cast<size_t>(generator.integer(std::ssize(kinds_)))];
      p = kind.make(generator);
      p.subject = kind.subject;
      p.level = kind.level;
    } else {
      std::tie(p, split) = pool_.draw(generator);
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
    const bool is_final = !pool_.empty() || is_simplified(answer, puzzle.gold);
    score.solved = is_final && is_equal_answer(answer, puzzle.gold);
    score.reward = score.solved ? 1 : 0;
    score.parts = {{"right", score.reward}};
    return score;
  }
  bool uses_grader() const override { return true; }
  // Generated problems refuse some forms of a value: an answer in such a form is not the same as one that is not.
  bool same_answer(const Puzzle& puzzle, std::string_view a, std::string_view b) const override {
    if (a == b) return true;
    const bool same_form = !pool_.empty() || is_simplified(a, puzzle.gold) == is_simplified(b, puzzle.gold);
    return same_form && grade_answer(a, b).kind == Verdict::Kind::yes;
  }

 private:
  // Counts the problems whose answer the grader cannot read, so that hardly a response would be right.
  void check_answers(std::vector<MathProblem>& problems, const std::string& file) {
    const auto bad = std::find_if_not(problems.begin(), problems.end(), is_readable);
    if (bad == problems.end()) return;
    const std::string first =
        fmt::format("{}: '{}' ({})", bad->where, excerpt(bad->answer), grade_answer("0", bad->answer).reason);
    const auto count = std::count_if(bad, problems.end(), [](const MathProblem& p) { return !is_readable(p); });
    check(count < std::ssize(problems),
          "{}: none of the {} answers can be read, so that only the same texts would be right; {}", file, count, first);
    const std::string note = fmt::format(
        "{}: {} of {} answers cannot be read, so that only the same text is right{}; the first is {}.", file, count,
        problems.size(), options_.skip_unreadable ? ", and are left out" : " (--skip-unreadable true leaves them out)",
        first);
    note_ = both_notes(note_, note);
    if (options_.skip_unreadable) std::erase_if(problems, [](const MathProblem& p) { return !is_readable(p); });
  }
  void measure() {
    brief_ = answer_ = text_ = 1;
    pool_.each([&](const MathProblem& p) {
      brief_ = std::max(brief_, std::ssize(p.brief));
      answer_ = std::max(answer_, std::ssize(ascii_of(p.answer)));
      text_ = std::max(text_, std::ssize(p.text));
    });
  }

  MathOptions options_;
  std::vector<MathKind> kinds_;
  ProblemPool<MathProblem> pool_;  // of the files
  std::string note_;
  int64_t brief_ = kBrief, answer_ = kAnswer, text_ = kText;
};

}  // namespace

std::vector<MathProblem> read_math(const std::string& path, const ProblemColumns& columns) {
  std::vector<MathProblem> problems;
  each_problem(
      path, [&](const Json& json, const std::string& where) { problems.push_back(problem_of(json, columns, where)); });
  return problems;
}

bool is_equal_answer(std::string_view answer, std::string_view gold) {
  const bool stated = answer.find("boxed") != std::string_view::npos ||
                      answer.find("answer") != std::string_view::npos ||
                      find_answer(answer).where != FoundAnswer::Where::nowhere;
  return !stated && grade_answer(answer, gold).kind == Verdict::Kind::yes;
}

std::vector<Field> fields(MathOptions& o) {
  const auto in_new_files = [](Field field) {  // older checkpoints lack it
    field.absent = field.text();
    return field;
  };
  return joined(
      {{{"easiest", &o.easiest, "level of problems", whole_from(1, 5)},
        {"hardest", &o.hardest, "level of problems", whole_from(1, 5)},
        {"file", &o.file, "JSONL like MATH's, {\"problem\": \"…\", \"answer\": \"…\"}; empty: generated"},
        in_new_files({"held-out-file", &o.held_out_file,
                      "the same for the held-out problems; empty: one of ten of --file, or of those generated"}),
        in_new_files({"skip-unreadable", &o.skip_unreadable,
                      "leave out problems of files whose answer the grader cannot read"})},
       fields(o.columns)});
}

std::unique_ptr<PuzzleTask> math_puzzles(const MathOptions& options) { return std::make_unique<Math>(options); }

}  // namespace pg
