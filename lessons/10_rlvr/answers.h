// Lesson 10: rewards that can be verified. This is your file: replace each
// TODO(...), then: make lesson10 && ./lesson10 check
//
// What you read comes from a model: any bytes, of any length. A text that is
// wrong is no error, it earns nothing. Useful: text.starts_with('('),
// text.remove_prefix(1), text.substr(begin, length), text.find("abc"),
// text.rfind("abc") (the last one), text.find_first_not_of("0123456789"), each
// std::string_view::npos if there is none; std::from_chars(begin, end, number),
// whose result .ec is std::errc{} if the number fits. The engine's own
// functions are pg::read_expression, pg::hanoi_distance and so on; those of
// another exercise are yours to use.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>

#include "lessons/10_rlvr/lesson.h"
#include "tensor/base/error.h"

namespace pg::lesson10 {

// The value of "8-(3-2)*1", and its numbers in the order of the text. * and /
// before + and -, from left to right. It may have whole numbers without leading
// zeros ("0" is one), + - * / ( ), and spaces around them (no tabs). Nothing
// (return {}) for any other text, such as "", "-3+5" (a sign), "5 3", "2(3)",
// "05", "1+2=3", for a division by zero and for a number that does not fit in
// 64 bits. combined(a, op, b) computes a op b of two exact Fractions, and is
// nothing where it cannot. A whole number n is Fraction{n, 1}. Each number,
// operator and parenthesis that is read is a step: nothing for a text of more
// than `steps`. So the recursion cannot become deep either. A struct inside a
// function may have member functions, which call each other.
std::optional<ReadExpression> read_expression(std::string_view text, int64_t steps) {
  // [answer 10.1 read_expression]
  struct Reader {
    std::string_view text;
    int64_t steps;
    std::vector<int64_t> numbers = {};

    // The next character that is no space; 0 at the end.
    char next() {
      while (text.starts_with(' ')) text.remove_prefix(1);
      return text.empty() ? '\0' : text[0];
    }
    // Removes the next character. False if that is a step too many.
    bool take() {
      text.remove_prefix(1);
      return --steps >= 0;
    }
    std::optional<Fraction> sum() {
      auto value = product();
      while (value && (next() == '+' || next() == '-')) {
        const char op = text[0];
        if (!take()) return {};
        const auto right = product();
        if (!right) return {};
        value = combined(*value, op, *right);
      }
      return value;
    }
    std::optional<Fraction> product() {
      auto value = factor();
      while (value && (next() == '*' || next() == '/')) {
        const char op = text[0];
        if (!take()) return {};
        const auto right = factor();
        if (!right) return {};
        value = combined(*value, op, *right);
      }
      return value;
    }
    std::optional<Fraction> factor() {
      if (next() == '(') {
        if (!take()) return {};
        const auto value = sum();
        if (!value || next() != ')' || !take()) return {};
        return value;
      }
      const std::string_view digits = text.substr(0, text.find_first_not_of("0123456789"));
      if (--steps < 0 || digits.empty() || (digits.size() > 1 && digits[0] == '0')) return {};
      int64_t number = 0;
      if (std::from_chars(digits.data(), digits.data() + digits.size(), number).ec != std::errc{}) return {};
      text.remove_prefix(digits.size());
      numbers.push_back(number);
      return Fraction{number, 1};
    }
  };
  Reader reader{text, steps};
  const auto value = reader.sum();
  reader.next();  // spaces at the end
  if (!value || !reader.text.empty()) return {};
  return ReadExpression{*value, reader.numbers};
  // [end]
}

// The reward of an answer to the puzzle "make `target` of `numbers`, each at
// most once" (`all`: each exactly once). A number that is given twice may be
// used twice. 1 if the answer is an expression whose exact value is the target;
// near / (1 + |value - target|) if it has another value; 0 if it is no
// expression or breaks the rules. pg::read_expression(answer) gives .value, a
// Fraction, and .numbers; value == target compares exactly, and value.value()
// is a double.
double countdown_reward(std::string_view answer, std::span<const int64_t> numbers, int64_t target, bool all,
                        double near) {
  // [answer 10.2 countdown_reward]
  const auto read = pg::read_expression(answer);
  if (!read) return 0;
  std::vector<int64_t> left(numbers.begin(), numbers.end());
  for (const int64_t number : read->numbers) {
    const auto found = std::find(left.begin(), left.end(), number);
    if (found == left.end()) return 0;
    left.erase(found);
  }
  if (all && !left.empty()) return 0;
  if (read->value == target) return 1;
  return near / (1 + std::abs(read->value.value() - static_cast<double>(target)));
  // [end]
}

// The answer in the last box of a text: what stands between the braces of the
// last \boxed{...} or \fbox{...}, a part of `text`, unchanged. Where one
// box is in another, the inner one counts. Braces within the box must match:
// \boxed{\frac{1}{2}} gives \frac{1}{2}. Behind the opening brace, a backslash
// and the character after it are text, so \{ is no brace. That holds only
// within a box: the letters \boxed are a command wherever they stand, also
// behind another backslash. Spaces may stand between it and its brace.
// Nothing if there is no box, or if the last one has no brace or none that
// closes it: the response was cut, and a box before it is not its answer.
std::optional<std::string_view> last_boxed(std::string_view text) {
  // [answer 10.3 last_boxed]
  size_t begin = 0;
  for (const std::string_view command : {"\\boxed", "\\fbox"}) {
    const size_t at = text.rfind(command);
    if (at != std::string_view::npos) begin = std::max(begin, at + command.size());
  }
  if (begin == 0) return {};
  while (begin < text.size() && text[begin] == ' ') ++begin;
  if (begin == text.size() || text[begin] != '{') return {};
  int64_t open = 0;
  for (size_t i = begin; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;  // what follows is text
    } else if (text[i] == '{') {
      ++open;
    } else if (text[i] == '}' && --open == 0) {
      return text.substr(begin + 1, i - begin - 1);
    }
  }
  return {};
  // [end]
}

// Whether both texts are numbers, and equal. A number is first a + or a - or
// neither, and then one of two forms:
//   digits, if wanted with a point and decimals: "7", "0.5", "2.", but not
//     ".5". Before the point there may be commas, which then must stand before
//     each three digits: "1,234.5", but not "1,00"
//   digits, a slash, digits: "1/2", but not "1/0"
// Nothing else is part of a number, no space either. Values are exact: "0.33"
// is not "1/3". To compare, write each as a fraction above/below: "3/4" is one,
// and a decimal number has its digits above and a power of ten below. Zeros at
// the end of the decimals do not count: "1.230" is 123/100. False if above or
// below, without a sign, is more than 9223372036854775807, the largest int64_t.
// The product of two int64_t fits in an __int128.
bool same_number(std::string_view a, std::string_view b) {
  // [answer 10.4 same_number]
  // Digits alone.
  const auto whole = [](std::string_view digits) -> std::optional<int64_t> {
    int64_t value = 0;
    if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos) return {};
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return error == std::errc{} ? std::optional(value) : std::nullopt;
  };
  const auto read = [&](std::string_view text) -> std::optional<Fraction> {
    const int64_t sign = text.starts_with('-') ? -1 : 1;
    if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
    if (const size_t slash = text.find('/'); slash != std::string_view::npos) {
      const auto above = whole(text.substr(0, slash)), below = whole(text.substr(slash + 1));
      if (!above || !below || *below == 0) return {};
      return Fraction{sign * *above, *below};
    }
    const size_t point = std::min(text.find('.'), text.size());
    std::string digits(text.substr(0, point));
    if (digits.find(',') != std::string::npos) {
      for (size_t i = 0; i < digits.size(); ++i) {
        if ((digits[i] == ',') != ((digits.size() - i) % 4 == 0)) return {};
      }
      if (digits[0] == ',') return {};
      std::erase(digits, ',');
    }
    if (digits.empty()) return {};
    std::string decimals(point < text.size() ? text.substr(point + 1) : "");
    while (decimals.ends_with('0')) decimals.pop_back();
    if (decimals.size() > 18) return {};  // 10^19 does not fit
    int64_t below = 1;
    for (size_t i = 0; i < decimals.size(); ++i) below *= 10;
    const auto above = whole(digits + decimals);
    if (!above) return {};
    return Fraction{sign * *above, below};
  };
  const auto x = read(a), y = read(b);
  if (!x || !y) return false;
  return static_cast<__int128>(x->numerator) * y->denominator == static_cast<__int128>(y->numerator) * x->denominator;
  // [end]
}

// pass@k, estimated from n responses of which c are right: the share of the
// choices of k of them that contain a right one, 1 - C(n - c, k) / C(n, k). An
// Error (check(condition, "pass_at_k: ...")) unless 0 <= c <= n and 1 <= k <=
// n. n may be 100,000; 200! does not fit in a double.
double pass_at_k(int64_t n, int64_t c, int64_t k) {
  // [answer 10.5 pass_at_k]
  check(0 <= c && c <= n, "pass_at_k: {} right of {}", c, n);
  check(1 <= k && k <= n, "pass_at_k: k is {} with {} responses", k, n);
  double none = 1;  // the probability that the k responses are wrong, drawn one after the other
  for (int64_t i = 0; i < k; ++i) {
    if (n - c - i <= 0) return 1;  // more are drawn than are wrong
    none *= static_cast<double>(n - c - i) / static_cast<double>(n - i);
  }
  return 1 - none;
  // [end]
}

// Optional. How much of the way to the goal the moves cover, from 0 to 1. With
// hanoi_distance(position), the number of moves of a shortest solution, it is
// (distance before - distance after) / distance before, and 0 instead of less.
// It is 0 if a move breaks the rules, or follows the solution. A position that
// is solved and no move: 1. position.move(from, to) makes a move, and is false
// if the rules forbid it; position.solved().
double hanoi_progress(HanoiPosition position, std::span<const HanoiMove> moves) {
  // [answer 10.6 hanoi_progress]
  const auto before = static_cast<double>(hanoi_distance(position));
  for (const HanoiMove& m : moves) {
    if (position.solved()) return 0;
    if (!position.move(m.from, m.to)) return 0;
  }
  if (before == 0) return 1;
  const auto after = static_cast<double>(hanoi_distance(position));
  return std::max(0.0, (before - after) / before);
  // [end]
}

// What the vote of several responses is worth. Each entry is one answer: the
// `count` of responses that give it, and whether it is `right`. The most
// frequent answer is taken; of several that are equally frequent, each with the
// same probability, so the result is the share of them that are right. 0 if
// nobody votes: no answers, or only counts of 0.
double majority_vote(std::span<const AnswerCount> answers) {
  // [answer 10.7 majority_vote]
  int64_t most = 0;
  for (const AnswerCount& a : answers) most = std::max(most, a.count);
  if (most == 0) return 0;
  double tied = 0, right = 0;
  for (const AnswerCount& a : answers) {
    if (a.count != most) continue;
    tied += 1;
    right += a.right ? 1 : 0;
  }
  return right / tied;
  // [end]
}

}  // namespace pg::lesson10
