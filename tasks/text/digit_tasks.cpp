// Tasks on strings of digits: copy, reverse, sort, digits.
#include <algorithm>
#include <set>

#include "tasks/data/tokenizer.h"
#include "tasks/text/text_task.h"
#include "tensor/base/error.h"

namespace pg {
namespace {

// ids 0 to 9 are the digits themselves; there is no padding id
constexpr int32_t kEnd = 10, kEquals = 11, kComma = 12, kColon = 13, kLess = 14, kMore = 15;
constexpr std::string_view kCharacters = "0123456789.=,:<>";

const TokenList& digit_tokenizer() {
  static const TokenList tokens = [] {
    std::vector<std::string> characters;
    for (const char c : kCharacters) characters.emplace_back(1, c);
    return TokenList(characters, /*words=*/false, kEnd);
  }();
  return tokens;
}

// Each token up to the first wrong one earns 1/|answer|.
Score prefix_score(std::span<const int32_t> answer, std::span<const int32_t> response) {
  Score score;
  score.per_token.assign(response.size(), 0);
  size_t right = 0;
  // The end token counts only if the response ends there.
  const auto earns = [&](size_t t) {
    return response[t] == answer[t] && (t + 1 < answer.size() || t + 1 == response.size());
  };
  while (right < answer.size() && right < response.size() && earns(right)) {
    score.per_token[right++] = 1 / static_cast<double>(answer.size());
  }
  score.solved = right == answer.size();
  score.reward = static_cast<double>(right) / static_cast<double>(answer.size());
  score.parts = {{"right prefix", score.reward}};
  return score;
}

class DigitTask : public TextTask {
 public:
  const Tokenizer& tokenizer() const override { return digit_tokenizer(); }
  Score score(const Problem& problem, std::span<const int32_t> response) const override {
    return prefix_score(problem.answer, response);
  }
};

// `name` is also the verb: the answer is the string after `change`.
class DigitStrings : public DigitTask {
 public:
  using Change = void (*)(std::vector<int32_t>& digits);
  DigitStrings(std::string name, const DigitStringOptions& options, Change change)
      : name_(std::move(name)), length_(options.length), change_(change) {
    DigitStringOptions copy = options;
    check_fields(name_, fields(copy));
  }
  std::string name() const override { return name_; }
  std::string about() const override {
    return fmt::format("{} up to {} digits; reward: share of the answer right up to the first mistake, at most 1",
                       name(), length_);
  }
  int64_t max_prompt() const override { return length_ + 1; }
  int64_t max_response() const override { return length_ + 1; }
  Problem sample(Generator& g) const override { return draw(g, false); }
  std::vector<Problem> held_out(int64_t count) const override {
    // Each string appears once. Only one of the ten strings of one digit is held out; without this it would be
    // a fifth of all problems.
    Generator g(0);
    std::set<std::vector<int32_t>> seen;
    std::vector<Problem> problems;
    for (int64_t i = 0; i < 100 * count && std::ssize(problems) < count; ++i) {
      Problem p = draw(g, true);
      if (seen.insert(p.prompt).second) problems.push_back(std::move(p));
    }
    return problems;
  }
  std::string held_out_note() const override {
    return "held-out strings are all different, so short ones are rarer than in training";
  }

 private:
  // A hash decides whether a string is held out, so that no string is in both parts.
  Problem draw(Generator& g, bool held_out) const {
    for (;;) {
      Problem p;
      p.prompt.resize(static_cast<size_t>(1 + g.integer(length_)));
      uint64_t key = p.prompt.size();
      for (int32_t& digit : p.prompt) {
        digit = static_cast<int32_t>(g.integer(10));
        key = key * 10 + static_cast<uint64_t>(digit);
      }
      if ((random_u32(1, key) % 10 == 0) != held_out) continue;
      p.answer = p.prompt;
      change_(p.answer);
      p.answer.push_back(kEnd);
      p.prompt.push_back(kEquals);
      return p;
    }
  }

  const std::string name_;
  const int64_t length_;
  const Change change_;
};

class DigitCompletion : public DigitTask {
 public:
  DigitCompletion() {
    std::vector<int32_t> order(1000);
    for (int32_t i = 0; i < 1000; ++i) order[static_cast<size_t>(i)] = i;
    Generator g(0);
    for (size_t i = order.size(); i-- > 1;)
      std::swap(order[i], order[static_cast<size_t>(g.integer(static_cast<int64_t>(i) + 1))]);
    for (size_t i = 0; i < order.size(); ++i) (i < 800 ? train_ : test_).push_back(problem(order[i]));
  }
  std::string name() const override { return "digits"; }
  std::string about() const override {
    return "continue a sequence, \"3,5:4\" -> \"7,9,1,3.\"; reward: share right up to the first mistake, at most 1";
  }
  int64_t max_prompt() const override { return 5; }
  int64_t max_response() const override { return 18; }
  Problem sample(Generator& g) const override { return train_[static_cast<size_t>(g.integer(800))]; }
  std::vector<Problem> held_out(int64_t count) const override {
    return {test_.begin(), test_.begin() + std::min<int64_t>(count, 200)};
  }

 private:
  static Problem problem(int32_t number) {
    const int32_t first = number / 100, step = number / 10 % 10, count = number % 10;
    int32_t next = (first + step) % 10;
    Problem p{{first, kComma, next, kColon, count}, {}};
    for (int32_t i = 0; i < count; ++i) {
      if (i > 0) p.answer.push_back(kComma);
      p.answer.push_back(next = (next + step) % 10);
    }
    p.answer.push_back(kEnd);
    return p;
  }

  std::vector<Problem> train_, test_;
};

class Guess : public DigitTask {
 public:
  std::string name() const override { return "guess"; }
  std::string about() const override {
    return "guess a number below 100 in five tries of two digits, each answered with < or >; reward: 1 when found";
  }
  int64_t max_prompt() const override { return 1; }
  int64_t max_response() const override { return 5 * 3; }
  int64_t max_answers() const override { return 4; }
  Problem sample(Generator& g) const override { return problem(static_cast<int32_t>(g.integer(100))); }
  std::vector<Problem> held_out(int64_t count) const override {  // no other problems exist: all numbers in order
    std::vector<Problem> problems;
    for (int64_t i = 0; i < count; ++i) problems.push_back(problem(static_cast<int32_t>(i % 100)));
    return problems;
  }
  std::string held_out_note() const override { return "no number is held out: these are all of them, in order"; }
  std::vector<int32_t> respond(const Problem& p, std::span<const int32_t> response) const override {
    const auto guess = last_guess(response);
    const auto turns = std::count(response.begin(), response.end(), kEnd);
    if (guess < 0 || guess == target(p) || turns >= 5) return {};
    return {target(p) < guess ? kLess : kMore};
  }
  Score score(const Problem& p, std::span<const int32_t> response) const override {
    Score s;
    s.solved = last_guess(response) == target(p);
    s.reward = s.solved;
    s.parts = {{"found", s.reward}};
    return s;
  }

 private:
  static Problem problem(int32_t number) { return {{kEquals}, {number / 10, number % 10, kEnd}}; }
  static int32_t target(const Problem& p) { return p.answer[0] * 10 + p.answer[1]; }
  // The guess since the environment's last answer, if it is two digits and the end token; else -1.
  static int32_t last_guess(std::span<const int32_t> r) {
    size_t begin = r.size();
    while (begin > 0 && r[begin - 1] != kLess && r[begin - 1] != kMore) --begin;
    const auto turn = r.subspan(begin);
    if (turn.size() != 3 || turn[0] > 9 || turn[1] > 9 || turn[2] != kEnd) return -1;
    return turn[0] * 10 + turn[1];
  }
};

}  // namespace

std::vector<Field> fields(DigitStringOptions& o) {
  return {{"length", &o.length, "digits of the longest string", whole_from(2, 64)}};
}

std::unique_ptr<TextTask> copy_task(const DigitStringOptions& o) {
  return std::make_unique<DigitStrings>("copy", o, [](std::vector<int32_t>&) {});
}
std::unique_ptr<TextTask> reverse_task(const DigitStringOptions& o) {
  return std::make_unique<DigitStrings>("reverse", o,
                                        [](std::vector<int32_t>& digits) { std::ranges::reverse(digits); });
}
std::unique_ptr<TextTask> sort_task(const DigitStringOptions& o) {
  return std::make_unique<DigitStrings>("sort", o, [](std::vector<int32_t>& digits) { std::ranges::sort(digits); });
}
std::unique_ptr<TextTask> digit_completion_task() { return std::make_unique<DigitCompletion>(); }
std::unique_ptr<TextTask> guess_task() { return std::make_unique<Guess>(); }

}  // namespace pg
