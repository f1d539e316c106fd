// The checks of lesson 10 on expressions: their reader, and the reward of Countdown.
#include <numeric>

#include "lessons/10_rlvr/checks.h"

namespace pg::lesson10 {
namespace {

using kit::Grader;

// "13/5, numbers 8 5 3"
std::string text_of(const std::optional<ReadExpression>& read) {
  if (!read) return "nothing";
  const int64_t n = read->value.numerator, d = read->value.denominator, divisor = std::max<int64_t>(1, std::gcd(n, d));
  std::string text = fmt::format("{}", n / divisor);
  if (d != divisor) text += fmt::format("/{}", d / divisor);
  return text + (read->numbers.empty() ? ", no numbers" : fmt::format(", numbers {}", fmt::join(read->numbers, " ")));
}

struct ReadCase {
  std::string text;
  std::vector<WrongWay> ways = {};
  int64_t steps = 256;
};

const std::string kSigns = "a sign is read as part of a number: here an operator stands between two numbers only";
const std::string kEnd = "the expression ends before the text does: what is left over must be nothing";
const std::string kBudget = "more is read than `steps` allows: numbers, operators and parentheses are a step each";
const std::string kZero = "a division by zero has no value: return nothing, which is what combined() gives";
const std::string kRemembers =
    "your reader remembers the steps of earlier calls: begin each call with new variables, none of them static";
const std::string kFits = "a number that does not fit in 64 bits: see .ec of from_chars";
const std::string kAll0 = "every number that is read belongs to .numbers, 0 as well";
const std::string kInteger = "the division is one of whole numbers: Fractions keep what it cuts off; use combined()";

std::vector<ReadCase> read_cases() {
  std::vector<ReadCase> cases = {
      {"7", {{"7, no numbers", "the numbers are missing: append each one that is read to .numbers"}}},
      {"0",
       {{"0, no numbers", kAll0}, {"nothing", "0 is a whole number: only a 0 in front of other digits is refused"}}},
      {"9-4",
       {{"5, numbers 4 9", "the numbers are to be in the order of the text"},
        {"-5, numbers 9 4", "the two sides of the operator are exchanged: the value so far stands on its left"}}},
      {"8-3-2",
       {{"7, numbers 8 3 2", "minus is read from the right, 8-(3-2): take the operators of a chain in their order"}}},
      {"8/4/2", {{"4, numbers 8 4 2", "the chain is read from the right, 8/(4/2): take the operators in their order"}}},
      {"2+3*4", {{"20, numbers 2 3 4", "+ binds as * does: a sum is made of products, a product of factors"}}},
      {"3*2-8/4"},
      {"3/2*4", {{"4, numbers 3 2 4", kInteger}, {"3/8, numbers 3 2 4", "the chain is read from the right: 3/(2*4)"}}},
      {"1/3+1/3+1/3", {{"0, numbers 1 3 1 3 1 3", kInteger}}},
      {"0-7", {{"7, numbers 0 7", "the sign of the value is lost"}}},
      {"8-(3-2)*1",
       {{"nothing", "parentheses are not read: a factor is a number, or ( sum )"},
        {"4, numbers 8 3 2 1", "the parentheses are ignored"}}},
      {"((2))*(3+4)"},
      {" 1 + ( 2 ) ", {{"nothing", "spaces may stand around numbers and signs, also at the end"}}},
      {"-3+5", {{"2, numbers 3 5", kSigns}, {"2, numbers -3 5", kSigns}}},
      {"5--3", {{"8, numbers 5 3", kSigns}, {"8, numbers 5 -3", kSigns}}},
      {"2*-3", {{"-6, numbers 2 3", kSigns}, {"-6, numbers 2 -3", kSigns}}},
      {"+4", {{"4, numbers 4", kSigns}}},
      {"5 3", {{"53, numbers 53", "spaces do not join digits"}, {"5, numbers 5", kEnd}}},
      {"05", {{"5, numbers 5", "05 is no whole number here: a leading zero"}}},
      {"00", {{"0, numbers 0", "00 is no whole number here: a leading zero"}}},
      {"000*5", {{"0, numbers 0 5", "000 is no whole number here: a leading zero"}}},
      {"0*5+0"},
      {"1+2=3", {{"3, numbers 1 2", kEnd}}},
      {"1+2)", {{"3, numbers 1 2", kEnd}}},
      {"(1+2", {{"3, numbers 1 2", "a parenthesis that is opened must be closed"}}},
      {"3+", {{"3, numbers 3", "an operator without a number behind it: nothing, not what was read so far"}}},
      {"1\t+2", {{"3, numbers 1 2", "spaces are allowed, but no other white space"}}},
      {"2(3)", {{"6, numbers 2 3", "no sign, no product"}, {"2, numbers 2", kEnd}}},
      {"()", {{"0, no numbers", "parentheses with nothing between them have no value"}}},
      {""},
      {" "},
      {"2**3"},
      {"7//2", {{"3, numbers 7 2", kInteger}}},
      {"3.5"},
      {"2^3", {{"2, numbers 2", kEnd}}},
      {std::string("3\0", 2), {{"3, numbers 3", "a byte of value 0 is not the end of the text: look at its size"}}},
      {"1/0", {{"0, numbers 1 0", kZero}, {"1, numbers 1 0", kZero}}},
      {"4/(2-2)", {{"0, numbers 4 2 2", kZero}, {"4, numbers 4 2 2", kZero}}},
      {"9223372036854775807", {{"nothing", "2^63 - 1 is the largest number that fits in 64 bits: count no digits"}}},
      {"9223372036854775807+1"},
      {"99999999999999999999",
       {{"9223372036854775807, numbers 9223372036854775807", kFits},
        {"7766279631452241920, numbers 7766279631452241920", kFits},
        {"7766279631452241919, numbers 7766279631452241919", kFits},
        {"0, numbers 0", kFits}}},
      {"(1+2)", {{"nothing", "five steps are allowed and needed: ( 1 + 2 )"}}, 5},
      {"(1+2)", {{"3, numbers 1 2", kBudget}}, 4},
      {"1+2", {{"3, numbers 1 2", kBudget}}, 2},
      {"1", {{"1, numbers 1", kBudget}}, 0},
      {"1", {{"nothing", "the steps are counted in 32 bits"}}, 4'294'967'296 + 7},
      {"128*7", {{"nothing", "a number is one step, however many digits it has"}}, 3}};
  return cases;
}

std::string nested(size_t depth) {
  std::string text(depth, '(');
  return text.append("24").append(depth, ')');
}
std::string chain(size_t length) {
  std::string text = "24";
  for (size_t i = 0; i < length; ++i) text += i % 2 == 0 ? "/1" : "*1";
  return text;
}

// A random expression, sometimes with a character that does not belong there.
std::string random_text(Generator& random, int depth) {
  const auto digit = [&] { return fmt::format("{}", random.integer(10)); };
  if (depth == 0 || random.integer(4) == 0) return digit();
  const std::string inner = random_text(random, depth - 1);
  std::string text = fmt::format("{}{}{}", inner, "+-*/"[random.integer(4)], random_text(random, depth - 1));
  if (random.integer(2) == 0) text = fmt::format("({})", text);
  if (random.integer(12) == 0)
    text.insert(static_cast<size_t>(random.integer(std::ssize(text))), 1, "+-)( 0x"[random.integer(7)]);
  return text;
}

}  // namespace

void check_read_expression(Grader& g, const Impl& impl) {
  const Impl engine = reference();
  const auto compare = [&](const ReadCase& one) {
    const auto again = [&] { return text_of(impl.read_expression("7", 3)) == "nothing"; };
    const std::string input =
        one.steps == 256 ? quoted(one.text) : fmt::format("{}, {} steps", quoted(one.text), one.steps);
    const std::string want = text_of(engine.read_expression(one.text, one.steps));
    std::string got;
    const std::string thrown = exception_of([&] { got = text_of(impl.read_expression(one.text, one.steps)); });
    if (!thrown.empty()) return g.expect(false, input, thrown, want, kThrows);
    const bool remembers = got == "nothing" && want != got && again();
    return same_text(g, input, got, want, remembers ? std::vector<WrongWay>{{got, kRemembers}} : one.ways);
  };
  for (const ReadCase& one : read_cases()) {
    if (!compare(one)) return;
  }
  for (const size_t size : {size_t{100}, size_t{200}, size_t{10000}, size_t{1000000}}) {
    for (const std::string& text : {nested(size), chain(size), std::string(size, '(')}) {
      // The numbers of a long chain are not printed.
      const bool got = impl.read_expression(text, 256).has_value(),
                 want = engine.read_expression(text, 256).has_value();
      if (!same_text(g, fmt::format("{}, {} bytes", quoted(text), text.size()), got ? "a value" : "nothing",
                     want ? "a value" : "nothing", {{"a value", kBudget}})) {
        return;
      }
    }
  }
  Generator random = kit::draws(101);
  for (int i = 0; i < 500; ++i) {
    if (!compare({.text = random_text(random, 4)})) return;
  }
  g.note("small texts, 10,000 and a million deep, 500 random ones");
}

void check_countdown_reward(Grader& g, const Impl& impl) {
  struct RewardCase {
    std::string answer;
    std::vector<int64_t> numbers;
    int64_t target;
    bool all;
    double near;
    std::vector<kit::Mistake> mistakes = {};
  };
  const std::string form = "the form alone is paid: an expression that breaks the rules earns nothing";
  const std::string one = "the reward is near / (1 + distance): the 1 is missing";
  const std::string right = "the target itself is worth 1, whatever `near` is";
  const std::string sign = "the distance has no sign: |value - target|, also where the value is below the target";
  const std::string ignored = "`near` is ignored: another value earns near / (1 + distance)";
  const std::string cut = "the distance is cut to a whole number: compute it in double";
  const std::string once = "a number is used more often than it is given: strike out each one that is used";
  const std::string strange = "a number that was not given is used: look each one up in `numbers`";
  const std::string close = "a value that is only close is paid like the target: compare exactly, value == target";
  const RewardCase cases[] = {
      {"(3+5)*2", {3, 5, 2}, 16, false, 0, {{right, 0.0}}},
      {"16", {3, 5, 2}, 16, false, 0, {{strange, 1.0}}},
      {"8*2", {3, 5, 2}, 16, false, 0, {{strange, 1.0}}},
      {"3*5+3-2", {3, 5, 2}, 16, false, 0, {{once, 1.0}}},
      {"3+5", {3, 5, 2}, 8, false, 0, {{"not every number must be used, unless `all` says so", 0.0}}},
      {"4+4", {4, 9, 4}, 8, false, 0, {{"a number that is given twice may be used twice", 0.0}}},
      {"4+4+4", {4, 9, 4}, 12, false, 0, {{once, 1.0}}},
      {"3+5", {3, 5, 2}, 8, true, 0, {{"`all`: a number is left over", 1.0}}},
      {"(3+5)*2", {3, 5, 2}, 16, true, 0, {}},
      {"4+9", {4, 9, 4}, 13, true, 0, {{"`all`: a number that is given twice must be used twice", 1.0}}},
      {"3+3",
       {3, 5},
       6,
       true,
       0,
       {{"`all`: each number is used once, and not only as many as are given", 1.0}, {once, 1.0}}},
      {"2*(3+5)", {3, 5, 2}, 16, true, 0, {{"the numbers may be used in any order", 0.0}}},
      {"(3+5)*2=16", {3, 5, 2}, 16, false, 0.9, {{"the text goes on after the expression", 1.0}, {form, 0.9}}},
      {"33/2", {33, 2}, 16, false, 0, {{"33/2 is 16.5: the value is cut to a whole number", 1.0}, {close, 1.0}}},
      {"301/300", {300, 301}, 1, false, 0, {{close, 1.0}}},
      {"3+5*2", {3, 5, 2}, 10, false, 0.8, {{one, 0.8 / 3}, {form, 0.8}, {sign, -0.4}, {ignored, 0.0}}},
      {"3*5-2", {3, 5, 2}, 16, false, 0.8, {{sign, -0.4}, {sign, 0.8}, {one, 0.8 / 3}, {ignored, 0.0}}},
      {"3*5", {3, 5, 2}, 16, false, 0.8, {{one, 0.8}}},
      {"3*5+2", {3, 5, 2}, 16, false, 0.8, {}},
      {"3/2", {3, 5, 2}, 16, false, 0.8, {{cut, 0.8 / 15}, {cut, 0.8 / 16}}},
      {"7*9", {3, 5, 2}, 16, false, 0.8, {{form, 0.8 / 48}, {form, 0.8}}},
      {"3+3", {3, 5, 2}, 16, false, 0.8, {{form, 0.8 / 11}, {form, 0.8}, {once, 0.8 / 11}}},
      {"2-3", {3, 5, 2}, 1, false, 0, {{"the sign of the value is lost", 1.0}}},
      {"9007199254740993",
       {9007199254740993},
       9007199254740992,
       false,
       0,
       {{"a double has 53 bits: compare exactly, value == target", 1.0}}},
      {"(3+5)*2", {3, 5, 2}, 16, false, 0.8, {{right, 0.8}}},
      {"3+5\n", {3, 5, 2}, 8, false, 0, {{"spaces may stand in an expression, no other white space", 1.0}}},
      {"", {3, 5, 2}, 16, false, 0.8, {{"no text, no reward", 0.8}}},
      {"5/(3-3)", {3, 5, 3}, 16, false, 0.8, {{form, 0.8}}},
      {"3+5 is the best I can do", {3, 5, 2}, 16, false, 0.8, {{form, 0.8}, {form, 0.8 / 9}}}};
  const Impl engine = reference();
  for (const RewardCase& c : cases) {
    const std::string input = fmt::format("{} for {} of {}{}{}", quoted(c.answer), c.target, fmt::join(c.numbers, ", "),
                                          c.all ? ", all" : "", c.near > 0 ? fmt::format(", near {}", c.near) : "");
    if (!g.equal(input, impl.countdown_reward(c.answer, c.numbers, c.target, c.all, c.near),
                 engine.countdown_reward(c.answer, c.numbers, c.target, c.all, c.near), {.mistakes = c.mistakes})) {
      return;
    }
  }
  g.note("29 answers: right, near, and against each rule");
}

}  // namespace pg::lesson10
