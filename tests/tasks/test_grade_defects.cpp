// Mistakes that the grader made once: pairs of answers with the verdict that is right.
#include "tasks/grade/extract.h"
#include "tasks/grade/grade.h"
#include "tests/catch.h"

using namespace pg;

namespace {

struct Pair {
  const char *given, *gold, *verdict;
};
void check_pairs(const std::vector<Pair>& pairs) {
  for (const auto& [given, gold, verdict] : pairs) {
    const Verdict v = grade_answer(given, gold);
    INFO(given << " ~ " << gold << ": " << v.reason << "; " << describe_answer(given) << " ~ "
               << describe_answer(gold));
    CHECK(name_of(v.kind) == verdict);
  }
}

}  // namespace

// clang-format off
TEST_CASE("defect: a text equals its letters in another order", "[grade]") {
  check_pairs({
      {R"(\text{cat})", R"(\text{act})", "no"}, {"dog", "god", "no"}, {R"(\text{ABC})", R"(\text{CAB})", "no"},
      {"AC", "CA", "no"}, {"TTF", "FTT", "no"}, {R"(\text{NW})", R"(\text{WN})", "no"}, {"B, A, C", "A, B, C", "no"},
      {"A, B, C", "A,B,C", "yes"}, {R"(\text{A}, \text{B})", "A and B", "yes"}, {"(AB, CD)", "(BA, CD)", "no"},
      {R"(\text{red}, \text{blue})", "red, blue", "yes"}, {R"(\text{red}, \text{blue})", "blue, red", "no"},
      {R"(\{A, B\})", R"(\{B, A\})", "yes"}, {"5 cat", "5 act", "no"}, {"5 tac", "5 act", "no"}, {"5 cats", "5", "yes"},
      {"1st", "1ts", "no"}, {"4th", "4", "yes"}, {"ta", "at", "no"}, {"do it", "it do", "no"}, {"A B", "B A", "no"},
      {"Cat", "cat", "yes"}, {"TTF", "ttf", "yes"}, {"AB", "ab", "no"},
      // Letters are factors in mathematics.
      {"ab", "ba", "yes"}, {"xyz", "zyx", "yes"}, {"AB", R"(A\cdot B)", "yes"},
      {R"(\frac{AB}{CD})", R"(\frac{BA}{CD})", "yes"},
      {"PV=nRT", "nRT=PV", "yes"}, {"2ab", "2ba", "yes"}, {R"(l\cdot w\cdot h)", "lwh", "yes"},
      {R"(x=\text{cat})", R"(x=\text{act})", "no"}, {R"(\text{Area}=5)", R"(\text{Perimeter}=5)", "no"},
  });
}

TEST_CASE("defect: a word that counts is a unit that may be missing", "[grade]") {
  check_pairs({
      {"5 dozen", "5", "no"}, {"5 dozen", "60", "yes"}, {"3 pairs", "3", "no"}, {"3 pairs", "6", "yes"},
      {"5 half", "5", "no"}, {"5 halves", R"(\frac52)", "yes"}, {"3 quarters", "3", "no"},
      {"3 quarters", "0.75", "yes"},
      {R"(5\text{ dozen})", "60", "yes"}, {R"(5\text{ dozen eggs})", "60 eggs", "yes"},
      {"3 pairs of socks", "6 socks", "yes"},
      {R"($\frac{3}{4}$ of a pizza)", "0.75", "yes"}, {"5 of them", "5", "unknown"},
      {"2 score", "40", "yes"}, {"a dozen", "12", "yes"}, {"half a dozen", "6", "yes"},
      {"two thirds", R"(\frac23)", "yes"},
      {"two-thirds", "2/3", "yes"}, {"half", "0.5", "yes"}, {"one hundred", "100", "yes"},
      {"five dozen eggs", "60", "yes"},
      {"two hundred and five", "205", "yes"}, {"hundred two", "two hundred", "no"}, {"two hundred five", "250", "no"},
      {"five thousand hundred", "five hundred thousand", "no"}, {"one hundred one and", "101", "no"},
      {"twenty thirty", "50", "no"},
  });
}

TEST_CASE("defect: the answer of a chat model is not found", "[grade]") {
  check_pairs({
      {"Final Answer: **73**", "73", "yes"}, {"The answer is **5**.", "5", "yes"}, {"Answer: 5", "5", "yes"},
      {"**Answer:** 5", "5", "yes"}, {"#### 42", "42", "yes"}, {"So she has 42 left. #### 42", "42", "yes"},
      {"**Final Answer**\n\n42", "42", "yes"}, {"The answer is: $$\n5\n$$", "5", "yes"},
      {"Answers: 2, 3", "3, 2", "yes"},
      {"**x = 5**", "5", "yes"}, {"Answer: **5** apples are left", "5", "yes"}, {"Answer: 2**3", "8", "yes"},
      {"The ANSWER IS (B).", "B", "yes"}, {"#### $29.00", "29", "yes"}, {"#### -3", "-3", "yes"},
      {"#### 80,000", "80000", "yes"},
      // The first #### is the answer: what follows may be another question. Headings are no answers.
      {"9 * 2 = 18\n#### 18\n\nQuestion: and then?\n#### 5", "18", "yes"},
      {"9 * 2 = 18\n#### 18\n\nQuestion: and then?\n#### 5", "5", "no"},
      {"#### Step 1\nAdd.\n#### 2. Sum\n#### 12", "12", "yes"}, {"The answer is 4. No: Answer: 5", "5", "yes"},
      // An option of multiple choice with its value.
      {R"(The answer is $\textbf{(E)}\ 25$)", "E", "yes"}, {"The answer is (A) 12", "12", "yes"},
      {"(A) 12", "(A)", "yes"},
      {"(A) 12", "B", "no"}, {"(A) 12", "13", "no"}, {"(A) + 5", "A", "no"}, {"(A) and (B)", "A", "no"},
      {"(A) 12", "(A) 13", "no"},
      {"The answer is not 5", "5", "no"}, {"answering: 5", "5", "unknown"},
  });
  const auto number = [](std::string_view text) { return std::string(final_number(text).value_or("none")); };
  CHECK(number("It is #### 70000\n\nQuestion: 2 + 3?\n#### 5") == "70000");
  CHECK(number("#### Step 1\nso 12") == "12");
  CHECK(number("72, in total, so 3 each") == "3");
  CHECK(number("#### $29.00") == "29.00");
  CHECK(stated_choice("**Answer:** B") == "B");
}

TEST_CASE("defect: an equation in a box is no answer", "[grade]") {
  check_pairs({
      {R"(\boxed{(x,y)=(5,3)})", "(5,3)", "yes"}, {R"(\boxed{m+n=42})", "42", "yes"},
      {R"(\boxed{\angle A=30^\circ})", R"(30^\circ)", "yes"}, {R"(\boxed{AB=5})", "5", "yes"},
      {R"(\boxed{2+3=5})", "5", "yes"},
      {R"(\boxed{25\pi\approx78.5})", R"(25\pi)", "yes"}, {"f^{-1}(x)=2x", "2x", "yes"},
      {R"(\cos\theta=\frac12)", R"(\frac12)", "yes"}, {"xyz=5", "5", "yes"}, {"x = 2+3 = 5", "5", "yes"},
      {"42=m+n", "42", "yes"},
      {"f(3)=7", "7", "yes"}, {"|z|=5", "5", "yes"}, {"[ABC]=12", "12", "yes"}, {R"(x\approx 3.14)", "3.14", "yes"},
      {R"(\approx 3.5)", "3.5", "yes"}, {R"(\overline{AB}=5)", "5", "yes"}, {R"(x=\frac12=0.5)", R"(\frac12)", "yes"},
      {"m+n=42", "43", "no"}, {"(x,y)=(5,3)", "(3,5)", "no"}, {R"(25\pi\approx78.5)", "78", "no"},
      // Sides that contradict each other are no answer, so that no two numbers can be given.
      {"5=6", "6", "no"}, {"5=6", "5", "no"}, {R"(5\approx 6)", "6", "no"}, {R"(25\pi\approx80.2)", R"(25\pi)", "no"},
      // An equation in one letter is one to solve; a value is no equation of a curve.
      {"2x=10", "10", "unknown"}, {"x^2=9", "9", "unknown"}, {"25", "x^2+y^2=25", "unknown"},
      {"f(1)=2", "f(2)=2", "no"},
  });
}

TEST_CASE("defect: upright e and i are variables", "[grade]") {
  check_pairs({
      {R"(\mathrm{e}^{2})", "e^2", "yes"}, {R"(2\mathrm{i})", "2i", "yes"}, {R"(e^{\mathrm{i}\pi})", "-1", "yes"},
      {R"(1-\frac1{\mathrm e})", R"(1-\frac1e)", "yes"}, {R"(\mathrm{i}^2)", "-1", "yes"},
      {R"(\mathbf{i})", "i", "yes"},
      {R"(\mathrm{e})", R"(\mathrm{i})", "no"}, {R"(\mathrm{x}^2)", "x^2", "yes"},
      {R"(5\,\mathrm{m})", R"(5\text{ m})", "yes"},
  });
}

TEST_CASE("defect: percent and % measure different things", "[grade]") {
  check_pairs({
      {"20 percent", R"(20\%)", "yes"}, {"20 percent", "0.2", "yes"}, {"12.5 percent", R"(12.5\%)", "yes"},
      {"20 per cent", "20", "yes"},
      {R"(20\text{ percent})", R"(20\%)", "yes"}, {R"(\boxed{25\%\text{ of the students}})", R"(25\%)", "yes"},
      {R"(25\% of the students)", R"(25\% of students)", "yes"}, {R"(25\% of the boys)", R"(25\% of the girls)", "no"},
      {R"(20\% of students)", "20 students", "no"}, {"20 percent", R"(2\%)", "no"},
  });
}

TEST_CASE("defect: units are read only in text", "[grade]") {
  check_pairs({
      {"60 km/h", "60", "yes"}, {"10 m/s", "10", "yes"}, {"10 m/s", R"(10\text{ m/s})", "yes"},
      {"10 m/s", "10 s/m", "no"},
      {"9.8 m/s^2", "9.8", "yes"}, {"36 km/h", "10 m/s", "yes"}, {"5 sq cm", "5", "yes"},
      {"5 sq. cm", R"(5\text{ cm}^2)", "yes"},
      {"5 cm squared", "5 cm^2", "yes"}, {"4 deg", R"(4^\circ)", "yes"}, {"5 ft 6 in", "66 inches", "yes"},
      {"5 ft 6 in", "66", "no"},
      {"5 hours 30 minutes", "5.5 hours", "yes"}, {"5 hours and 30 minutes", "330 minutes", "yes"},
      {"5 ft 6 in", "6 ft 5 in", "no"},
      {"6 cm²", "6", "yes"}, {"5 men", "5", "yes"}, {"5 abx", "5", "unknown"}, {"€5", "5", "yes"}, {"€5", "$5", "no"},
      {"5€", "5", "yes"},
      {"5 cups of tea", "5", "yes"}, {"3 out of 10", "3", "no"}, {"3 out of 10", "0.3", "yes"}, {"2gh/l", "2", "no"},
      // Words that change a value are no unit.
      {R"(5\text{ or more})", "5", "unknown"}, {"x squared", "x", "no"}, {"x squared", "x^2", "yes"},
      {"5 factorial", "5", "unknown"}, {"3 to 2", "2 to 3", "no"}, {"3 to 2", "3:2", "yes"},
      {"3 by 4", "4 by 3", "unknown"},
      {"5 less", "5", "unknown"}, {"5 degrees below zero", "5", "unknown"},
     
      {"2 hours and 300 minutes", "7 hours", "no"},
  });
}

TEST_CASE("defect: notations of LaTeX are not read", "[grade]") {
  check_pairs({
      {R"(\langle1,2,3\rangle)", "(1,2,3)", "yes"}, {R"({7 \over 3})", R"(\frac73)", "yes"},
      {R"({10 \choose 3})", "120", "yes"},
      {R"(\lvert x\rvert)", "|x|", "yes"}, {R"(2\lvert x\rvert)", "|2x|", "yes"}, {R"(\lfloor 3.7\rfloor)", "3", "yes"},
      {R"(\lceil\pi\rceil)", "4", "yes"}, {R"(\lfloor -\frac12\rfloor)", "-1", "yes"},
      {R"(\lfloor x\rfloor)", "x", "no"},
      {R"(\begin{vmatrix}1&2\\3&4\end{vmatrix})", "-2", "yes"},
      {R"(\begin{vmatrix}2&0&1\\1&3&1\\0&1&4\end{vmatrix})", "23", "yes"},
      {R"(\operatorname{cot} x)", R"(\cot x)", "yes"}, {R"(\mathbb{R}\setminus\{0\})", R"(x\ne0)", "yes"},
      {R"(\mathbb{R}\setminus\{0,1\})", R"((-\infty,0)\cup(0,1)\cup(1,\infty))", "yes"},
      {R"([0,1]\setminus\{1\})", "[0,1)", "yes"},
      {R"(\mathbb{R}\setminus\{0\})", R"(\mathbb{R})", "no"}, {R"(\{x\mid x>2\})", R"((2,\infty))", "yes"},
      {R"(\{x : x>2\})", "x>2", "yes"},
      {R"(\{x\in\mathbb{R} \mid x\le 2\})", R"((-\infty,2])", "yes"}, {R"(1, 2, \ldots, 10)", "1,2,...,10", "yes"},
      {R"(1, 2, \ldots, 10)", R"(1, 10, \ldots, 2)", "no"}, {"0.333...", R"(\frac13)", "yes"},
      {R"(0.1666\ldots)", R"(\frac16)", "yes"},
      {"3.14159...", R"(\pi)", "unknown"}, {R"(0.\dot3)", R"(\frac13)", "yes"},
      {R"(0.\dot{1}4285\dot{7})", R"(\frac17)", "yes"},
      {R"(0.1\dot{6})", R"(\frac16)", "yes"}, {R"(1\;234)", "1234", "yes"}, {"1 234 567", "1234567", "yes"},
      {"10 000", "10000", "yes"},
      {R"(10\;000)", "10000", "yes"}, {R"(10\!000)", "10000", "yes"}, {"7 125/1000", "7.125", "yes"},
      {"1 2", "12", "no"},
      {R"(x \ne -1, 3)", R"(\mathbb{R}\setminus\{-1,3\})", "yes"},
      {R"(|x|\ge 5)", R"((-\infty,-5]\cup[5,\infty))", "yes"},
      {R"(\overrightarrow{AB} = (3,4))", "(3,4)", "yes"}, {R"(\left[\begin{array}{c}1\\2\end{array}\right])",
       R"(\begin{pmatrix}1\\2\end{pmatrix})", "yes"}, {R"(4\text{ to }1)", "4:1", "yes"}, {"about 12", "12", "yes"},
      {R"(\frac{5\pi}{6}\text{ radians})", R"(150^\circ)", "yes"}, {"5 radians", "5 degrees", "no"},
      {R"(1010_{\text{two}})", "1010_2", "yes"}, {"\\boxed{ 25 \\ }", "25", "yes"}, {R"(\log_2 256)", "8", "yes"},
      {R"(x^2 100)", "x^{2100}", "no"}, {R"(\frac{1}{0})", R"(\frac{1}{0})", "yes"},
      {R"(\frac{1}{0})", R"(\frac{2}{0})", "unknown"},
  });
}

TEST_CASE("defect: conditions with and between them are a union", "[grade]") {
  check_pairs({
      {"x>2 and x<5", R"(\mathbb{R})", "no"}, {"x>2 and x<5", "(2,5)", "yes"},
      {R"(x\ne 2, x\ne 3)", R"(\mathbb{R})", "no"},
      {R"(x\ne 2, x\ne 3)", R"((-\infty,2)\cup(2,3)\cup(3,\infty))", "yes"}, {"x>2 or x<5", R"(\mathbb{R})", "yes"},
      {"x<1, x>2", R"((-\infty,1)\cup(2,\infty))", "yes"}, {R"(-1<x<1, x\ne 0)", R"((-1,0)\cup(0,1))", "yes"},
  });
}
// clang-format on

TEST_CASE("defect: byte offsets count from a piece of the answer", "[grade]") {
  const auto reason = [](const char* text) { return grade_answer(text, "5").reason; };
  CHECK(testing::contains(reason("\\weird{64}"), "'\\weird' at byte 0"));
  CHECK(testing::contains(reason("3+\\weird{64}"), "'\\weird' at byte 2"));
  CHECK(testing::contains(reason("  $3+\\weird{64}$"), "'\\weird' at byte 5"));
  CHECK(testing::contains(reason("so \\boxed{3+\\weird{64}}"), "'\\weird' at byte 12"));
}
