// The checks of lesson 10 on answers in mathematics: where they are, and whether two are equal.
#include <algorithm>

#include "lessons/10_rlvr/checks.h"

namespace pg::lesson10 {
namespace {

using kit::Grader;

struct BoxCase {
  std::string text;
  std::vector<WrongWay> ways = {};
};
const std::string kFirst = "the first box is taken: a model corrects itself, the last one counts";
const std::string kShort = "the box ends at its first }: count the braces that are open";
const std::string kGreedy = "the box runs to the last } of the text: it ends where its own brace closes";
const std::string kBraces = "the answer is what stands between the braces, without them";
const std::string kBare = "without braces it is no box";
const std::string kSpaces = "spaces may stand between the command and its brace, no other white space";
const std::string kCut = "the last box is cut: what stands in one before it is not the answer";

const std::vector<BoxCase>& box_cases() {
  static const std::vector<BoxCase> cases = {
      {"So it is \\boxed{24}.",
       {{"\"{24}\"", kBraces}, {"\"{24\"", kBraces}, {"\"24}\"", kBraces}, {"nothing", "the text has a box"}}},
      {"\\boxed 24", {{"\"24\"", kBare}, {"\" 24\"", kBare}}},
      {"\\boxed{23}? No: \\boxed{24}", {{"\"23\"", kFirst}, {"\"23}? No: \\boxed{24\"", kGreedy}}},
      {"\\boxed{\\frac{1}{2}}", {{"\"\\frac{1\"", kShort}, {"\"\\frac{1}{2\"", kShort}}},
      {"\\boxed{7} and the set {1}", {{"\"7} and the set {1\"", kGreedy}}},
      {"\\boxed{x^{2^{3}}} {", {{"nothing", "what follows the box does not matter"}}},
      {"\\boxed{\\{1,2\\}}", {{"\"\\{1,2\\\"", "an escaped brace is text: skip the character after a backslash"}}},
      {"\\\\boxed{3}", {{"nothing", "the command counts wherever its letters stand, behind another backslash too"}}},
      {"\\boxed{\\}}", {{"\"\\\"", "an escaped brace is text: skip the character after a backslash"}}},
      {"\\boxed{3\\\\}", {{"nothing", "two backslashes are one character: the brace behind them is a brace"}}},
      {"\\boxed{24", {{"\"24\"", "the brace is never closed: the response was cut"}}},
      {"\\boxed{23} wait \\boxed{24",
       {{"\"23\"", kCut}, {"\"24\"", "the brace is never closed: the response was cut"}}},
      {"\\boxed{23} wait \\boxed", {{"\"23\"", kCut}}},
      {"\\boxed  {5}", {{"nothing", "spaces may stand between the command and its brace"}}},
      {"\\boxed\n{1}", {{"\"1\"", kSpaces}}},
      {"\\boxed\t{1}", {{"\"1\"", kSpaces}}},
      {"\\fbox{3}", {{"nothing", "\\fbox{...} is a box, too"}}},
      {"\\boxed{1} or \\fbox{2}", {{"\"1\"", "of \\boxed and \\fbox the one that stands last counts"}}},
      {"\\fbox{1} or \\boxed{2}", {{"\"1\"", "of \\boxed and \\fbox the one that stands last counts"}}},
      {"\\boxed{\\boxed{3}}", {{"\"\\boxed{3}\"", "of two boxes within each other the inner one counts"}}},
      {"\\boxed{ 7 }", {{"\"7\"", "the content is given as it stands, with its spaces"}}},
      {"\\boxed{}", {{"nothing", "an empty box is a box: its content is the empty text"}}},
      {"24", {{"\"24\"", "no box, no answer"}}},
      {"", {}},
      {"{24}", {{"\"24\"", "braces alone are no box"}}},
      {"\\boxed{3\\", {}}};
  return cases;
}

std::string text_of(const std::optional<std::string_view>& box) { return box ? quoted(*box) : "nothing"; }

struct NumberCase {
  std::string a, b;
  bool equal;
  std::string says = "";
};
const std::string kTolerance = "a tolerance pays wrong answers: compare the values exactly";
const std::string kProducts = "the products do not fit in 64 bits: use __int128";
const std::string kDoubles = "a double has 53 bits: compare whole numbers, a/b = c/d if a·d = c·b";

const std::vector<NumberCase>& number_cases() {
  const std::string forms = "one number in two forms: compare values, not texts";
  const std::string commas = "commas between thousands are part of a number";
  const std::string misplaced = "a comma stands in the wrong place: that may be two numbers, or a decimal comma";
  const std::string comma_behind = "commas stand before the point only, not behind the point";
  const std::string space = "no space is part of a number";
  const std::string slash = "no commas in a fraction: digits, a slash, digits";
  const std::string whole = "the text must be a number and nothing else";
  static const std::vector<NumberCase> cases = {
      {"24", "24", true},
      {"24", "25", false},
      {"0.5", "1/2", true, forms},
      {"0.50", "2/4", true, forms},
      {"-3/4", "-0.75", true, "a fraction may have a sign in front; and the sign belongs to the decimals too"},
      {"-3/4", "0.75", false, "the sign is lost"},
      {"+7", "7", true, "a plus may stand before a number"},
      {"2.", "2", true, "a point without decimals: 2. is 2"},
      {"007", "7", true, "zeros before a number do not change it"},
      {"-0", "0", true, "-0 is 0"},
      {"1,000", "1000", true, commas},
      {"-1,234,567.5", "-1234567.5", true, commas},
      {"1,00", "100", false, misplaced},
      {"1,5", "15", false, misplaced},
      {"1234,567", "1234567", false, misplaced},
      {",123", "123", false, misplaced},
      {"0.123,456", "0.123456", false, comma_behind},
      {"1,000/2", "500", false, slash},
      {"1.05", "1.5", false, "the zeros at the end may be dropped, not the zeros behind the point: 1.05 is not 1.5"},
      {"1.5", "3/2", true, forms},
      {"1,000.5", "1", false, "the text is read up to its comma"},
      {"0.33", "1/3", false, kTolerance},
      {"0.333333333333", "1/3", false, kTolerance},
      {"2.999999999999", "3", false, kTolerance},
      {"3.14", "22/7", false, kTolerance},
      {"1000", "1001", false, kTolerance},
      {"1000000", "1000001", false, kTolerance},
      {"9007199254740993", "9007199254740992", false, kDoubles},
      {"4611686018427387905/4611686018427387904", "4611686018427387906/4611686018427387905", false,
       "a long double has 64 bits, and the products have more: use __int128"},
      {"1/10", "0.1", true, forms},
      {"4000000000000000000/8000000000000000000", "0.5", true, kProducts},
      {"4294967296", "0/4294967296", false, kProducts},
      {"24 or 25", "24", false, whole},
      {"24.", "24", true},
      {"24abc", "24", false, whole},
      {"24 ", "24", false, space},
      {" 24", "24", false, space},
      {"24\n", "24", false, "a newline is no part of a number"},
      {"--24", "24", false, whole},
      {"++5", "5", false, "one sign at most stands before a number"},
      {"1/2/3", "1/6", false, whole},
      {"1.2.3", "1.23", false, "a number has one point at most"},
      {"1.5/3", "0.5", false, "a fraction is digits, a slash, digits: no point in it"},
      {"1/-2", "-1/2", false, "a sign stands in front of the fraction, not behind its slash"},
      {"3/0", "3/0", false, "a division by zero is no number, and equal to nothing"},
      {"0/0", "7", false, "a division by zero is no number: 0·1 = 7·0 holds, too"},
      {"abc", "abc", false, "equal texts that are no numbers are not equal numbers"},
      {"", "", false, "nothing is no number"},
      {".5", "0.5", false, "digits must stand before the point"},
      {"-", "0", false, whole},
      {"1e1", "10", false, "an e is no part of a number here"},
      {"99999999999999999999", "99999999999999999999", false, "this number does not fit in 64 bits"},
      {"0.50000000000000000000000", "1/2", true, "zeros at the end of the decimals do not count: drop them first"}};
  return cases;
}

}  // namespace

void check_last_boxed(Grader& g, const Impl& impl) {
  const Impl engine = reference();
  const auto compare = [&](const BoxCase& one) {
    return same_text(g, one.text.empty() ? "an empty text" : quoted(one.text), text_of(impl.last_boxed(one.text)),
                     text_of(engine.last_boxed(one.text)), one.ways);
  };
  for (const BoxCase& one : box_cases()) {
    if (!compare(one)) return;
  }
  if (!compare({"\\boxed{" + std::string(200000, '{')})) return;
  Generator random = kit::draws(103);
  const std::vector<std::string> parts = {"{", "}", "\\{", "\\\\", "\\boxed", "\\fbox", "\\boxed{", "1", " ", "}"};
  for (int i = 0; i < 500; ++i) {
    BoxCase one;
    for (uint64_t n = 1 + random.integer(14); n > 0; --n) one.text += parts[random.integer(parts.size())];
    if (!compare(one)) return;
  }
  g.note("26 small texts, one of 200,000 braces, 500 random ones");
}

void check_same_number(Grader& g, const Impl& impl) {
  const auto name = [](bool equal) { return std::string(equal ? "equal" : "not equal"); };
  for (const NumberCase& c : number_cases()) {
    for (const bool exchanged : {false, true}) {
      const std::string &a = exchanged ? c.b : c.a, &b = exchanged ? c.a : c.b;
      bool got = false;
      const std::string thrown = exception_of([&] { got = impl.same_number(a, b); });
      if (!thrown.empty()) {
        g.expect(false, fmt::format("{} and {}", quoted(a), quoted(b)), thrown, name(c.equal), kThrows);
        return;
      }
      if (!g.expect(got == c.equal, fmt::format("{} and {}", quoted(a), quoted(b)), name(got), name(c.equal), c.says)) {
        return;
      }
    }
  }
  Generator random = kit::draws(107);
  const Impl engine = reference();
  const std::string_view letters = "0011234,,./+-";
  for (int i = 0; i < 2000; ++i) {
    std::string a, b;
    for (uint64_t n = 1 + random.integer(6); n > 0; --n) a += letters[random.integer(letters.size())];
    for (uint64_t n = 1 + random.integer(3); n > 0; --n) b += letters[random.integer(letters.size())];
    const std::string& other = i % 2 == 0 ? a : b;
    const bool got = impl.same_number(a, other), want = engine.same_number(a, other);
    if (!g.expect(got == want, fmt::format("{} and {}", quoted(a), quoted(other)), name(got), name(want))) return;
  }
  g.note("53 pairs both ways round, 2,000 random ones");
}

}  // namespace pg::lesson10
