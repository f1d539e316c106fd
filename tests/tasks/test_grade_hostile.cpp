// The grader with texts that are made to break it, with small limits, and from several threads.
#include <algorithm>
#include <mutex>
#include <thread>

#include "tasks/grade/extract.h"
#include "tasks/grade/grade.h"
#include "tensor/base/random.h"
#include "tests/catch.h"

using namespace pg;

namespace {

std::string repeated(std::string_view text, int64_t count) {
  std::string result;
  for (int64_t i = 0; i < count; ++i) result += text;
  return result;
}

std::vector<std::string> hostile_texts() {
  std::vector<std::string> texts = {
      "9^9^9^9",
      "10^100000000",
      "170!!!",
      "((9!)!)!",
      "1e99999999",
      "1e-99999999",
      "2^{-10^{18}}",
      "(x+y+z+w+u+v)^{300}",
      "x^{999999999999}",
      "((x^{999999999})^{999999999})^{999999999}",
      "\\sqrt[1000000]{2}",
      "\\sqrt[0]{2}",
      "\\sqrt[-3]{2}",
      "\\sqrt{\\sqrt{\\sqrt{\\sqrt{x+1}+1}+1}+1}",
      "\\sqrt{10^{3000}+1}",
      "\\log_1 5",
      "\\log_0 0",
      "\\ln 0",
      "0^0",
      "0^{-1}",
      "1/0",
      "\\frac{1}{x-x}",
      "\\frac{0}{\\sqrt{3+2\\sqrt2}-1-\\sqrt2}",
      "\\tan 90^\\circ",
      "\\binom{1000000000}{500000000}",
      "\\binom{-5}{3}",
      "\\binom{x}{2000}",
      "(-1)!",
      "0.5!",
      "\\infty-\\infty",
      "\\infty/\\infty",
      "0.\\overline{}",
      "1_{99}",
      "9_7",
      "\\begin{pmatrix}1&2\\\\3\\end{pmatrix}",
      "\\begin{pmatrix}",
      "\\begin{evil}1\\end{evil}",
      "\\pm\\pm\\pm 1",
      "\\left",
      "\\",
      "\\text{",
      "\\boxed{",
      "{",
      "}",
      "\\{",
      "|",
      "||",
      "|||1|||",
      "^",
      "_",
      "!",
      "%",
      "$",
      "$$$",
      "=",
      "==",
      "<<",
      ",",
      "or",
      "1 or",
      "5 per",
      "5 cm^",
      "5 /",
      "--5",
      "+-+-5",
      std::string("5\0"
                  "5",
                  3),
      std::string("\0", 1),
      "\xff\xfe",
      "5\x80",
      "\xc0\xb5",
      "\xed\xa0\x80",
      "\xf4\x90\x80\x80",
      "\xe2\x88",
      repeated("(", 5000),
      repeated("(", 50) + "1" + repeated(")", 50),
      repeated("{", 5000) + "1" + repeated("}", 4900),
      repeated("\\frac", 1900),
      repeated("\\frac{1}{", 900),
      repeated("\\sqrt", 1900) + "2",
      repeated("-", 9000) + "1",
      repeated("!", 9000),
      "5" + repeated("!", 9000),
      "5" + repeated("%", 9000),
      "x" + repeated("^2", 4000),
      "x" + repeated("'", 9000),
      repeated("\\left", 1900),
      repeated("\\big", 2000),
      repeated("|", 9000),
      repeated("1,", 4000),
      repeated("\\pm 1,", 1500) + "1",
      repeated("1/", 4000) + "1",
      repeated("x+", 4000) + "x",
      repeated("(x+y)(x-y)", 900),
      repeated("\\cup[0,1]", 1000),
      "[0,1]" + repeated("\\cup[0,1]", 1000),
      repeated("9", 9999),
      repeated("9", 4000) + "/" + repeated("7", 4000),
      "0." + repeated("3", 9000),
      "\\sqrt{" + repeated("7", 4900) + "}",
      repeated("\\sin", 2000) + "x",
      repeated("x<", 4000) + "y",
      repeated("a b", 3000),
      repeated("1 ", 4900),
      repeated("\\text{a}", 1000),
      repeated("5 cm ", 1000),
      repeated("x_", 4000),
      repeated("2^{", 3000),
      repeated("one hundred ", 800),
      repeated("\\text{one and a}, ", 500),
      repeated("5 ft 6 in ", 900),
      repeated("\\text{cat} and ", 600) + "x",
      repeated("{1 \\over ", 900),
      repeated("\\lfloor ", 1200),
      "0." + repeated("12", 4000) + "...",
      repeated("A, ", 3000) + "B",
      repeated("#### ", 1900),
      repeated("answer", 1600) + ":",
      repeated("**", 4000),
      "half a half a half",
      "a dozen dozen dozen",
      "\\begin{vmatrix}1&2\\\\3&4&5\\end{vmatrix}",
      "\\{x \\mid",
      "\\mathbb{R}\\setminus",
      "\\dot",
      "0.\\dot",
      "\\angle",
      "\\mathrm{e",
      "\\langle 1",
      "\\approx",
      "x \\approx",
  };
  return texts;
}

}  // namespace

TEST_CASE("hostile texts get a verdict and no two of them are equal by accident", "[grade]") {
  const std::vector<std::string> texts = hostile_texts();
  for (const std::string& text : texts) {
    INFO(text.substr(0, 60));
    CHECK(grade_answer(text, "7").kind != Verdict::Kind::yes);
    CHECK(grade_answer("7", text).kind != Verdict::Kind::yes);
    CHECK(grade_answer(text, "x+\\sqrt2").kind != Verdict::Kind::yes);
    CHECK(!describe_answer(text).empty());
    // Another text beside itself: the same value with another beginning.
    grade_answer("0+" + text, text);
    grade_answer("(" + text + ")", text);
  }
}

TEST_CASE("hostile texts end in the test of simplified form", "[grade]") {
  for (const std::string& text : hostile_texts()) {
    INFO(text.substr(0, 60));
    CHECK(is_simplified(text, text));
    CHECK_FALSE(is_simplified("0+" + text, text));
    CHECK(is_simplified(text, "\\frac{7}{2}") == is_simplified(text, "\\frac{7}{2}"));
    is_simplified("7", text);
  }
  CHECK_FALSE(is_simplified(std::string(10 << 20, '('), "7"));
}

TEST_CASE("a text of 10 MB is unknown unless it is the same text", "[grade]") {
  const std::string digits(10 << 20, '7'), brackets(10 << 20, '(');
  CHECK(grade_answer(digits, "7").kind == Verdict::Kind::unknown);
  CHECK(grade_answer("7", digits).kind == Verdict::Kind::unknown);
  CHECK(grade_answer(brackets, digits).kind == Verdict::Kind::unknown);
  CHECK(grade_answer(digits, digits).kind == Verdict::Kind::yes);
}

TEST_CASE("limits end a verdict with unknown", "[grade]") {
  CHECK(grade_answer("(x+1)^{8}", "(1+x)^{8}").kind == Verdict::Kind::yes);
  CHECK(grade_answer("(x+1)^{8}", "(1+x)^{8}", {.steps = 20}).kind == Verdict::Kind::unknown);
  CHECK(grade_answer("((((1))))", "1").kind == Verdict::Kind::yes);
  const Verdict deep = grade_answer("((((1))))", "1", {.depth = 5});
  CHECK(deep.kind == Verdict::Kind::unknown);
  CHECK(testing::contains(deep.reason, "levels of nesting"));
  const Verdict large = grade_answer("2^{500}", "4^{250}", {.bits = 300});
  CHECK(large.kind == Verdict::Kind::yes);  // modulo primes
  CHECK(testing::contains(large.reason, "primes"));
  CHECK(grade_answer("2^{500}", "4^{250}").reason == "the normal forms are equal");
  CHECK(grade_answer("12345", "12345.0", {.bytes = 4}).kind == Verdict::Kind::unknown);
}

// An equation beside a value may have another verdict in the other direction, but never yes and no.
TEST_CASE("random texts get the same kind of verdict in both directions and again", "[grade]") {
  const std::string_view pieces[] = {
      "1",        "2",     "x",     "y",       "+",       "-",       "\\frac", "{",    "}",    "(",       ")",
      "[",        "]",     ",",     "^",       "_",       "\\sqrt",  "\\pi",   "|",    "!",    "%",       "=",
      "<",        "\\le",  "\\cup", "\\in",    "\\pm",    " ",       "$",      "\\{",  "\\}",  "\\text{", "cm",
      "or",       "\\sin", "\\log", "cat",     "dozen",   " and ",   "two ",   "A, B", " ft ", "\\over",  "...",
      " percent", ".",     "\\%",   "^\\circ", "\\infty", "\\binom", "\\cdot", "/",    "e",    "i"};
  Generator g(5);
  for (int i = 0; i < 20000; ++i) {
    std::string a, b;
    for (std::string* text : {&a, &b}) {
      for (int64_t k = g.integer(8); k >= 0; --k) *text += pieces[g.integer(std::ssize(pieces))];
    }
    const Verdict forward = grade_answer(a, b), backward = grade_answer(b, a), again = grade_answer(a, b);
    const bool equation = a.find('=') != std::string::npos || b.find('=') != std::string::npos;
    const bool opposite = forward.kind != Verdict::Kind::unknown && backward.kind != Verdict::Kind::unknown;
    if (forward.kind != backward.kind && (!equation || opposite)) {
      FAIL_CHECK(a << " ~ " << b << ": " << forward.reason << ", but turned: " << backward.reason);
    }
    CHECK(forward.reason == again.reason);
  }
}

TEST_CASE("threads that grade the same pairs get the same verdicts", "[grade]") {
  const std::vector<std::string> texts = hostile_texts();
  std::vector<std::string> expected;
  const auto grade_all = [&] {
    std::vector<std::string> reasons;
    for (size_t i = 0; i < texts.size(); i += 3) {
      reasons.push_back(grade_answer(texts[i], texts[(i * 7) % texts.size()]).reason);
      reasons.push_back(grade_answer("\\sin^2 x+\\cos^2 x+" + std::to_string(i), std::to_string(i + 1)).reason);
      reasons.push_back(is_simplified(texts[i], std::to_string(i)) ? "simplified" : "not");
    }
    return reasons;
  };
  expected = grade_all();
  std::vector<std::vector<std::string>> results(6);
  std::vector<std::thread> threads;
  for (auto& result : results) threads.emplace_back([&result, &grade_all] { result = grade_all(); });
  for (std::thread& thread : threads) thread.join();
  for (const auto& result : results) CHECK(result == expected);
}

TEST_CASE("an answer is found in a box or a tag or a phrase", "[grade]") {
  using Where = FoundAnswer::Where;
  CHECK(find_answer("so \\boxed{4}, no, \\boxed{\\frac{1}{2}}.").text == "\\frac{1}{2}");
  CHECK(find_answer("so \\boxed{4}").where == Where::boxed);
  CHECK(find_answer("<answer> 5 </answer>").where == Where::tagged);
  CHECK(find_answer("<answer> 5 </answer>").text == "5");
  CHECK(find_answer("First. The Answer is: 12.").text == "12");
  CHECK(find_answer("the answer is 1. No: the answer is 1.5. Done").text == "1.5");
  CHECK(find_answer("the answer is $x=5$\nBye").text == "$x=5$");
  CHECK(find_answer("the answer is").where == Where::nowhere);
  CHECK(find_answer("The answer is 3 \\boxed{").where == Where::nowhere);
  CHECK(find_answer("17").where == Where::nowhere);
  CHECK(find_answer("").where == Where::nowhere);
}
