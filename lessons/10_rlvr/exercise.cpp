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
  // Yours, in place of the next line.
  TODO("10.1 read_expression");
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
  // Yours, in place of the next line.
  TODO("10.2 countdown_reward");
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
  // Yours, in place of the next line.
  TODO("10.3 last_boxed");
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
  // Yours, in place of the next line.
  TODO("10.4 same_number");
}

// pass@k, estimated from n responses of which c are right: the share of the
// choices of k of them that contain a right one, 1 - C(n - c, k) / C(n, k). An
// Error (check(condition, "pass_at_k: ...")) unless 0 <= c <= n and 1 <= k <=
// n. n may be 100,000; 200! does not fit in a double.
double pass_at_k(int64_t n, int64_t c, int64_t k) {
  // Yours, in place of the next line.
  TODO("10.5 pass_at_k");
}

// Optional. How much of the way to the goal the moves cover, from 0 to 1. With
// hanoi_distance(position), the number of moves of a shortest solution, it is
// (distance before - distance after) / distance before, and 0 instead of less.
// It is 0 if a move breaks the rules, or follows the solution. A position that
// is solved and no move: 1. position.move(from, to) makes a move, and is false
// if the rules forbid it; position.solved().
double hanoi_progress(HanoiPosition position, std::span<const HanoiMove> moves) {
  // Yours, in place of the next line.
  TODO("10.6 hanoi_progress");
}

// What the vote of several responses is worth. Each entry is one answer: the
// `count` of responses that give it, and whether it is `right`. The most
// frequent answer is taken; of several that are equally frequent, each with the
// same probability, so the result is the share of them that are right. 0 if
// nobody votes: no answers, or only counts of 0.
double majority_vote(std::span<const AnswerCount> answers) {
  // Yours, in place of the next line.
  TODO("10.7 majority_vote");
}

}  // namespace pg::lesson10
