// The truth table of MATH's usual grader, as it was observed, without its false positives.
#include "tasks/grade/mathd.h"
#include "tests/catch.h"

using namespace pg;

namespace {
struct Pair {
  const char *given, *gold;
};
void check_pairs(const std::vector<Pair>& pairs, std::string_view verdict) {
  for (const auto& [given, gold] : pairs) {
    INFO(given << " ~ " << gold);
    CHECK(name_of(grade_as_mathd(given, gold).kind) == verdict);
  }
}
}  // namespace

TEST_CASE("mathd: answers that it takes for equal", "[grade]") {
  check_pairs(
      {
          {"16.0", "16"},
          {"5.", "5"},
          {"05", "5"},
          {"+5", "5"},
          {"-0", "0"},
          {"1e3", "1000"},
          {"1000.00000001", "1000"},
          {"1,000", "1000"},
          {"1{,}000", "1000"},
          {R"(11,\!880)", "11880"},
          {".5", R"(\frac12)"},
          {"1/2", R"(\frac{1}{2})"},
          {"0.25", R"(\frac14)"},
          {"1.5", R"(\frac32)"},
          {"7.75", R"(7\frac34)"},
          {"31/4", R"(7\frac34)"},
          {"7 3/4", R"(7\frac34)"},
          {R"(\frac{-1}{2})", R"(-\frac12)"},
          {R"(\dfrac19)", R"(\frac19)"},
          {"180 miles", "180"},
          {"180", R"(180\text{ miles})"},
          {R"(5\text{ cm}^2)", "5"},
          {"5 cm^2", "5"},
          {R"(30^\circ)", "30"},
          {R"(30^{\circ})", "30"},
          {"30 degrees", "30"},
          {"$5", "5"},
          {R"(\$5)", "5"},
          {R"(5\%)", "5"},
          {"50%", "50"},
          {"x=5", "5"},
          {"2x+1", "y=2x+1"},
          {R"(\sqrt8)", R"(2\sqrt2)"},
          {R"(1/\sqrt2)", R"(\sqrt2/2)"},
          {"sqrt(2)", R"(\sqrt2)"},
          {R"(\pi/2)", R"(0.5\pi)"},
          {"(0.5, 2)", R"((\frac12,2))"},
          {"(1/2,1/3)", R"((\frac12,\frac13))"},
          {"(x+1)^2", "x^2+2x+1"},
          {"(x-1)(x+1)", "x^2-1"},
          {"1-x", "-x+1"},
          {"x^{-1}", "1/x"},
          {"2(x+1)", "2x+2"},
          {"p-q", "-(q-p)"},
          {"1+i", "i+1"},
          {"5 or 6", "5,6"},
          {"Even", R"(\text{even})"},
          {"(B)", "B"},
          {R"(\begin{bmatrix}1&2\\3&4\end{bmatrix})", R"(\begin{pmatrix}1&2\\3&4\end{pmatrix})"},
          {R"((-\infty,2))", R"((-\infty, 2))"},
          {R"(( - \infty , 2 ))", R"((-\infty,2))"},
          {"(1,2) U (3,4)", R"((1,2)\cup(3,4))"},
          {"42_{7}", "42_7"},
          {"$5$", "5"},
          {R"(\(5\))", "5"},
          {R"(\boxed{5})", "5"},
      },
      "yes");
}

TEST_CASE("mathd: equal answers that it refuses and different ones", "[grade]") {
  check_pairs(
      {
          {"2/4", "1/2"},
          {R"(\frac24)", R"(\frac12)"},
          {"6/2", "3"},
          {"10/5", "2"},
          {"1/1", "1"},
          {"(2/4,1/3)", R"((\frac12,\frac13))"},
          {"2+2", "4"},
          {"2^2", "4"},
          {"1024", "2^{10}"},
          {"10^5", "100000"},
          {R"(3\cdot4)", "12"},
          {R"(3\times10^4)", "30000"},
          {"3 million", "3000000"},
          {"5!", "120"},
          {R"(\sqrt[3]8)", "2"},
          {R"(\log_2 8)", "3"},
          {"3.14159", R"(\pi)"},
          {"0.333", "1/3"},
          {R"(0.\overline3)", "1/3"},
          {R"(90^\circ)", R"(\pi/2)"},
          {"50%", "0.5"},
          {"1,2", "2,1"},
          {"{1,2}", "{2,1}"},
          {"(2,1)", "(1,2)"},
          {"(1,2)", "[1,2]"},
          {"3,4", "(3,4)"},
          {"3,-3", R"(\pm3)"},
          {R"(x\in[0,1])", "[0,1]"},
          {"[-1,1]", "-1<=x<=1"},
          {"3<x", "x>3"},
          {"(3,4)", "x=3,y=4"},
          {"x+y+z", "z+y+x"},
          {"x^{10}+1", "1+x^{10}"},
          {"(x+1)/2", R"(\frac{x+1}{2})"},
          {"x^(-1)", "1/x"},
          {"tan x", "sin x/cos x"},
          {"five", "5"},
          {"four", R"(\mbox{four})"},
          {"5 people", "5"},
          {"6 students", "6"},
          {"180 mi", "180"},
          {R"(99^\circ C)", "99"},
          {"54°", R"(54^\circ)"},
          {"5⁄11", "5/11"},
          {"sqrt2", R"(\sqrt2)"},
          {"xyz=5", "5"},
          {"the answer is 5", "5"},
          {"42", "42_7"},
          {"", "5"},
          {"5", "6"},
      },
      "no");
}

TEST_CASE("false positives of the usual grader are refused in both modes", "[grade]") {
  const std::vector<Pair> pairs = {{"a+b", "c+b"},
                                   {"a^2", "c^2"},
                                   {R"(\frac{a}{b})", R"(\frac{c}{b})"},
                                   {"427", "42_7"},
                                   {R"(x+\frac12)", R"(\frac{x+1}{2})"},
                                   {R"(\sqrt[3]{8})", R"(\sqrt{8})"},
                                   {"Monday", "mon"},
                                   {"1 2", "12"},
                                   {"a+2", "c+2"},
                                   {"g t", "s m"},
                                   {"5 km", "5 inches"},
                                   {"x=5", "y=5"}};
  check_pairs(pairs, "no");
  for (const auto& [given, gold] : pairs) {
    INFO(given << " ~ " << gold);
    CHECK(name_of(grade_answer(given, gold).kind) == "no");
  }
}

TEST_CASE("mathd: broken texts get a verdict", "[grade]") {
  for (const char* text : {"",        "\\frac", "\\frac{", "\\frac1", "\\sqrt", "\\sqrt{", "}{",
                           "{",       "^",      "/",       "=",       "((",     "nan",     "inf",
                           "\\text{", "1e999",  "1e-999",  "-",       "\\",     "sqrt{",   "\\frac{\\frac{1}{2}}{3",
                           "\xff"}) {
    INFO(text);
    CHECK(grade_as_mathd(text, "5").kind == Verdict::Kind::no);
    CHECK(grade_as_mathd("5", text).kind == Verdict::Kind::no);
    grade_as_mathd(text, text);
  }
  CHECK(grade_as_mathd(std::string(20000, '('), "5").kind == Verdict::Kind::unknown);
}
