// The truth table of the grader: pairs of answers with the verdict that mathematics gives, in both directions.
// Decisions that are not mathematics (5% for 5) are in docs/GRADER.md.
#include "tasks/grade/grade.h"
#include "tests/catch.h"

using namespace pg;

namespace {
struct Pair {
  const char *given, *gold;
};

void check_pairs(const std::vector<Pair>& pairs, Verdict::Kind kind) {
  for (const auto& [given, gold] : pairs) {
    for (const bool turned : {false, true}) {
      const Verdict verdict = turned ? grade_answer(gold, given) : grade_answer(given, gold);
      INFO((turned ? gold : given) << " ~ " << (turned ? given : gold) << ": " << verdict.reason);
      CHECK(name_of(verdict.kind) == name_of(kind));
    }
  }
}
}  // namespace

// clang-format off
TEST_CASE("equal answers are equal", "[grade]") {
  check_pairs({
      {"2 03/08", R"(2\frac38)"},  // decimal, not octal
      {"16.0", "16"}, {"5.", "5"}, {"05", "5"}, {"+5", "5"}, {"-0", "0"}, {"1e3", "1000"}, {"1,000", "1000"},
      {"1{,}000", "1000"}, {R"(11,\!880)", "11880"}, {"1,234,567", "1234567"}, {".5", R"(\frac12)"},
      {"1/2", R"(\frac{1}{2})"}, {"0.25", R"(\frac14)"}, {"1.5", R"(\frac32)"}, {"7.75", R"(7\frac34)"},
      {"31/4", R"(7\frac34)"}, {"7 3/4", R"(7\frac34)"}, {R"(\frac{-1}{2})", R"(-\frac12)"},
      {R"(\dfrac19)", R"(\frac19)"}, {R"(\frac1{72})", "1/72"}, {"180 miles", "180"}, {"180", R"(180\text{ miles})"},
      {R"(5\text{ cm}^2)", "5"}, {"5 cm^2", "5"}, {R"(30^\circ)", "30"}, {R"(30^{\circ})", "30"},
      {"30 degrees", "30"}, {"$5", "5"}, {R"(\$5)", "5"}, {R"(5\%)", "5"}, {"50%", "50"}, {"x=5", "5"},
      {"2x+1", "y=2x+1"}, {R"(\sqrt8)", R"(2\sqrt2)"}, {R"(1/\sqrt2)", R"(\sqrt2/2)"}, {"sqrt(2)", R"(\sqrt2)"},
      {R"(\pi/2)", R"(0.5\pi)"}, {"(0.5, 2)", R"((\frac12,2))"}, {"(1/2,1/3)", R"((\frac12,\frac13))"},
      {"(x+1)^2", "x^2+2x+1"}, {"(x-1)(x+1)", "x^2-1"}, {"1-x", "-x+1"}, {"x^{-1}", "1/x"}, {"2(x+1)", "2x+2"},
      {"p-q", "-(q-p)"}, {"1+i", "i+1"}, {"5 or 6", "5,6"}, {"Even", R"(\text{even})"}, {"(B)", "B"},
      {R"(\begin{bmatrix}1&2\\3&4\end{bmatrix})", R"(\begin{pmatrix}1&2\\3&4\end{pmatrix})"},
      {R"((-\infty,2))", R"((-\infty, 2))"}, {R"(( - \infty , 2 ))", R"((-\infty,2))"},
      {"(1,2) U (3,4)", R"((1,2)\cup(3,4))"}, {"42_{7}", "42_7"}, {"$5$", "5"}, {R"(\(5\))", "5"},
      {R"(\boxed{5})", "5"}, {"2/4", "1/2"}, {R"(\frac24)", R"(\frac12)"}, {"6/2", "3"}, {"10/5", "2"}, {"1/1", "1"},
      {"(2/4,1/3)", R"((\frac12,\frac13))"}, {"2+2", "4"}, {"2^2", "4"}, {"1024", "2^{10}"}, {"10^5", "100000"},
      {R"(3\cdot4)", "12"}, {R"(3\times10^4)", "30000"}, {"3 million", "3000000"}, {"5!", "120"},
      {R"(\sqrt[3]8)", "2"}, {R"(\log_2 8)", "3"}, {R"(0.\overline3)", "1/3"}, {R"(0.1\overline{6})", "1/6"},
      {R"(90^\circ)", R"(\pi/2)"}, {"50%", "0.5"}, {"1,2", "2,1"}, {R"(\{1,2\})", R"(\{2,1\})"}, {"{1,2}", "{2,1}"},
      {"3,-3", R"(\pm3)"}, {R"(\pm 3)", "-3, 3"}, {R"(x\in[0,1])", "[0,1]"}, {"[-1,1]", "-1<=x<=1"},
      {"[-1,1]", R"(-1\le x\le 1)"}, {"3<x", "x>3"}, {"(3,4)", "x=3,y=4"}, {"x+y+z", "z+y+x"},
      {"x^{10}+1", "1+x^{10}"}, {"(x+1)/2", R"(\frac{x+1}{2})"}, {"x^(-1)", "1/x"}, {"tan x", "sin x/cos x"},
      {"five", "5"}, {"four", R"(\mbox{four})"}, {"5 people", "5"}, {"6 students", "6"}, {"180 mi", "180"},
      {R"(99^\circ C)", "99"}, {"54°", R"(54^\circ)"}, {"5⁄11", "5/11"}, {"sqrt2", R"(\sqrt2)"},
      {"the answer is 5", "5"}, {"3,000", "3000"}, {"5 cm", "5"}, {"5 km", "5000 m"},
      {R"(5\text{ km})", R"(5000\text{ m})"}, {"-2x+4=y", "y=4-2x"}, {"2x+1=y", "y=2x+1"}, {"4x+2=2y", "y=2x+1"},
      {"y<2x+1", "2x+1>y"}, {R"(x \ne 0)", R"((-\infty,0)\cup(0,\infty))"},
      {"x<1 or x>2", R"((-\infty,1)\cup(2,\infty))"}, {R"([0,1]\cup[1,2])", "[0,2]"},
      {R"((3,4)\cup(1,2))", R"((1,2)\cup(3,4))"}, {R"(\mathbb{R})", R"((-\infty,\infty))"},
      {R"(\frac{\sqrt{6}}{3})", R"(\sqrt{\frac23})"}, {R"(\sqrt{3+2\sqrt2})", R"(1+\sqrt2)"},
      {R"(\frac{1}{\sqrt2-1})", R"(\sqrt2+1)"}, {R"(\sin 30^\circ)", R"(\frac12)"}, {R"(\sin\frac{\pi}{6})", "0.5"},
      {R"(\sin^2 x+\cos^2 x)", "1"}, {R"(e^{i\pi})", "-1"}, {R"(\ln 8)", R"(3\ln 2)"},
      {R"(\log_2 3)", R"(\frac{\ln 3}{\ln 2})"}, {"2^{x+1}", R"(2\cdot2^x)"}, {"|{-3}|", "3"},
      {"|x|", R"(\sqrt{x^2})"}, {R"(\binom{5}{2})", "10"}, {R"(\binom{n}{2})", R"(\frac{n(n-1)}{2})"},
      {R"(\frac{3}{4}\text{ cups})", "0.75"}, {R"(1\frac{1}{2})", "1.5"}, {R"(\text{(A)})", "A"}, {"no", "No"},
      {"2 and 3", "3,2"}, {R"(1 \pm \sqrt{2})", R"(1-\sqrt2, 1+\sqrt2)"}, {R"(x=1\pm i)", "1+i,1-i"},
      {R"(-\frac{3}{4})", R"(\frac{3}{-4})"}, {"i^2", "-1"}, {R"(\sqrt{-4})", "2i"}, {"(1+i)^2", "2i"},
      {R"(\frac{1}{1+i})", R"(\frac{1-i}{2})"},
      {R"(\begin{pmatrix}1/2\\2\end{pmatrix})", R"(\begin{pmatrix} 0.5 \\ 2 \end{pmatrix})"}, {"f(x)=2x", "2x"},
      {"3:4", "6/8"}, {R"(\$1.50)", R"(150\text{ cents})"}, {R"(\left(\frac{1}{2},3\right))", "(0.5,3)"},
      {"x^2y", "yx^2"}, {R"(\frac{x^2-1}{x-1})", "x+1"}, {"(x+y)^{40}", "(y+x)^{40}"}, {"9^{9^9}", "9^{9^9}"},
      {"9^{9^9}*9", "9^{9^9+1}"}, {R"(\infty)", R"(+\infty)"}, {"twenty-one", "21"}, {"2^{1/2}", R"(\sqrt2)"},
      {"8^{2/3}", "4"}, {"(-8)^{1/3}", "-2"}, {R"(\sqrt[3]{16})", R"(2\sqrt[3]{2})"}, {R"(\sqrt{x+1}^2)", "x+1"},
      {R"(2\sqrt{x})", R"(\sqrt{4x})"}, {"e^{2}", R"(\exp(2))"}, {"10^{-3}", "0.001"},
      {R"(1.2\times 10^{-3})", "0.0012"}, {"6!!", "48"}, {R"(\emptyset)", R"(\{\})"},
      {R"(x \in \{1, 2\})", R"(\{2,1\})"}, {R"(\{1,1,2\})", R"(\{1,2\})"},
      {R"(10 \text{ square feet})", R"(10\text{ ft}^2)"}, {R"(60\text{ miles per hour})", "60 mph"},
      {R"(\frac\pi2)", R"(\pi/2)"}, {R"(\tfrac{1}{2})", ".5"}, {R"(25\pi\text{ cm}^2)", R"(25\pi)"},
      {"x^2 + 2 x + 1", "(x+1)^{2}"}, {R"(\frac{2x}{x})", "2"}, {R"($\frac{1}{2}$.)", "0.5"},
      {"7{,}000{,}000", "7 million"}, {"2x+3y=6", "4x+6y-12=0"}, {R"(5\text{ apple})", R"(5\text{ apples})"},
      {"5m", "5m"}, {"x=2,3", "2,3"}, {"x=2, x=3", "3,2"}, {"[2,3)", R"(2 \le x < 3)"},
      {R"(\frac{\pi}{4}+k\pi)", R"(k\pi+\frac{\pi}{4})"}, {R"(\cot x)", R"(\frac{1}{\tan x})"},
      {R"(\sqrt{2}\sqrt{3})", R"(\sqrt6)"}, {R"(\sqrt{12}-\sqrt{3})", R"(\sqrt{3})"},
      {R"(100^\circ)", R"(100\text{ degrees})"}, {R"(2\pi r)", R"(2r\pi)"}, {R"(\frac{a+b}{2})", "0.5(a+b)"},
      {"3x^2-5 x + 2", "(3x-2)(x-1)"}, {"A3_{16}", "A3_{16}."}, {R"(\left[0,1\right])", "[0,1]"},
      {R"(\left|-5\right|)", "5"}, {"|x-1|", "|1-x|"}, {"2|x|", "|2x|"},
      {R"(\frac{1}{\sqrt{3}})", R"(\frac{\sqrt{3}}{3})"}, {R"(\dfrac{\sqrt{3}}{2})", R"(\sin 60^\circ)"},
      {R"(\cos 75^\circ)", R"(\frac{\sqrt6-\sqrt2}{4})"}, {"x>3", R"((3,\infty))"},
      {R"(\{x \mid x>3\})", R"(\{x \mid x>3\})"}, {R"(-\frac12 x)", R"(-\frac{x}{2})"},
      {R"(3\sqrt{2}+\sqrt{2})", R"(4\sqrt2)"}, {R"(\sqrt[4]{4})", R"(\sqrt{2})"}, {"(1,000, 2)", "(1000,2)"},
      {R"(5\,\text{cm})", "5"}, {R"(y = \frac{1}{2}x+3)", "2y = x + 6"}, {"a_1", "a_{1}"}, {"x_1+x_2", "x_2+x_1"},
      {R"(\frac{\sqrt[3]{4}}{2})", R"(\frac{1}{\sqrt[3]{2}})"}, {"e^{2x}", "(e^x)^2"},
      {R"(12\text{ hours})", R"(720\text{ minutes})"}, {R"(\log 100)", "2"}, {R"(\ln e^3)", "3"},
      {R"(15\%)", R"(\frac{15}{100})"}, {"-7", "−7"}, {"3 × 4", "12"}, {"x²", "x^2"}, {"√2", R"(\sqrt{2})"},
      {"0.5", ".50"}, {"y=3", "3"}, {R"(\frac{3}{2} + \frac{1}{2} i)", R"(\frac{3+i}{2})"}, {"(1,2)", "(1, 2)"},
      {R"(1\frac{3}{4})", R"(\frac{7}{4})"}, {R"(x\leq -1 \text{ or } x\geq 1)", R"((-\infty,-1]\cup[1,\infty))"},
      {R"(\text{all real numbers})", R"(\text{All real numbers})"}, {R"(\mathbf{5})", "5"},
      {R"(0.\overline{142857})", R"(\frac17)"}, {"(x-2)^2+(y+3)^2=4", "x^2-4x+y^2+6y+9=0"},
      {R"(\frac{x}{2}-\frac{y}{3}=1)", "3x-2y=6"}, {R"(y=\frac{-3}{4}x+2)", "3x+4y=8"},
      {R"(\begin{pmatrix} -1 & 0 \\ 0 & 1 \end{pmatrix})", R"(\begin{bmatrix} -1 & 0 \\ 0 & 1 \\ \end{bmatrix})"},
      {R"(\left( \begin{array}{cc} 1 & 2 \\ 3 & 4 \end{array} \right))", R"(\begin{pmatrix} 1&2\\3&4\end{pmatrix})"},
      {R"(6\text{ and }-6)", "-6, 6"}, {R"(\frac{1}{2} \text{ hour})", R"(30 \text{ minutes})"},
      {R"(1.5 \text{ million})", "1500000"}, {"10:3", R"(\frac{10}{3})"}, {"i", R"(\sqrt{-1})"}, {"x", "x"},
      {"ab", "ba"}, {"3ab^2", "3b^2a"}, {R"(\sqrt{50})", R"(5\sqrt{2})"}, {"(-1,3)", "(-1, 3)."}, {"2.0", "2"},
      {R"(\frac{\sqrt{2}+\sqrt{6}}{4})", R"(\sin 75^\circ)"}, {R"(\arctan 1)", R"(\frac{\pi}{4})"},
      {R"(\sin^{-1} 1)", R"(\frac{\pi}{2})"}, {R"(120^\circ)", R"(\frac{2\pi}{3})"}, {R"(\$18.90)", "18.90"},
      {R"(\$32,\!348)", "32348"}, {R"(\$6.00)", "6"}, {R"(20\%)", R"(20 \%)"}, {R"((5,\infty))", "x>5"},
      {"2^{2005}", R"(2\cdot 2^{2004})"}, {"3^{20}", "3486784401"}, {R"(\cos x)", R"(\sin(\frac{\pi}{2}-x))"},
      {"n!", "n!"}, {R"(\frac{n(n+1)}{2})", R"(\frac{n^2+n}{2})"}, {R"(15\mbox{ cm}^2)", "15"},
      {R"(11,\! 111)", "11111"}, {"4,6,14,15", "4, 6, 14, 15"}, {"3, 5, 7", "7,5,3"}, {"(6,31,-1)", "(6, 31,-1)"},
      {R"(\text{east})", "East"}, {R"(\text{(C)})", "C"}, {"(C)", R"(\text{C})"}, {R"([\frac12, 1))", "[0.5,1)"},
      {R"((-\infty,-\frac12)\cup(-\frac12,\infty))", R"(x\ne-\frac12)"}, {R"(-\frac{1}{2})", R"(\frac{-1}{2})"},
      {R"(\tan^{-1}(1))", R"(\pi/4)"}, {"1 + 2i", "2i + 1"},
      {R"(\frac{3 \pm \sqrt{5}}{2})", R"(\frac{3+\sqrt5}{2}, \frac{3-\sqrt5}{2})"}, {"x = 1, y = 2", "y = 2, x = 1"},
      {"a=1,b=2,c=3", "(1,2,3)"}, {R"(90\text{ square units})", "90"}, {R"(1 \text{ foot})", R"(12 \text{ inches})"},
      {R"(\log_{10} 1000)", "3"}, {R"(0.\overline{9})", "1"}, {"1/3 + 1/6", "0.5"},
      {R"(4\sqrt{3}\text{ units})", R"(\sqrt{48})"}, {R"(\frac{9}{4}\pi)", R"(2.25\pi)"}, {"-3(x-1)", "3-3x"},
      {R"(\dfrac{3x}{y})", "3xy^{-1}"}, {R"(\arccos\frac{\sqrt3}{2})", R"(\frac{\pi}{6})"},
      {R"(\arctan\frac{1}{\sqrt3})", R"(\frac{\pi}{6})"}, {R"(\arccos(-1))", R"(\pi)"},
  }, Verdict::Kind::yes);
}

TEST_CASE("different answers are different", "[grade]") {
  check_pairs({
      {"1000.00000001", "1000"}, {"3.14159", R"(\pi)"}, {"3.14159265358979323846", R"(\pi)"}, {"0.333", "1/3"},
      {"(2,1)", "(1,2)"}, {"(1,2)", "[1,2]"}, {"3,4", "(3,4)"}, {"42", "42_7"}, {"a+b", "c+b"}, {"a^2", "c^2"},
      {R"(\frac{a}{b})", R"(\frac{c}{b})"}, {"427", "42_7"}, {R"(x+\frac12)", R"(\frac{x+1}{2})"},
      {R"(\sqrt[3]{8})", R"(\sqrt{8})"}, {"Monday", "mon"}, {"1 2", "12"}, {"a+2", "c+2"}, {"g t", "s m"},
      {"5 km", "5 inches"}, {"x=5", "y=5"}, {R"(5\text{ km})", R"(500\text{ m})"}, {"50%", "0.51"},
      {"2x+1=y", "y=2x+2"}, {"y<2x+1", "2x+1<y"}, {"y<2x+1", R"(y\le 2x+1)"}, {R"([0,1)\cup(1,2])", "[0,2]"},
      {"(0,1]", "[0,1)"}, {"2^{x+1}", "2^x+1"}, {"-x", "|x|"}, {"A", "B"}, {R"(\text{even})", R"(\text{odd})"},
      {"no", "on"}, {"2,3", "2,3,4"}, {R"(\begin{pmatrix}1\\2\end{pmatrix})", R"(\begin{pmatrix}2\\1\end{pmatrix})"},
      {"(x+y)^{40}", "(y+x)^{40}+1"}, {"9^{9^9}", "9^{9^9}+1"}, {R"(\infty)", "5"}, {R"(-\infty)", R"(\infty)"},
      {R"(\pi)", "e"}, {R"(\{1,2,3\})", R"(\{1,2\})"}, {R"(10 \text{ square feet})", R"(10\text{ ft})"},
      {"x^2+2x+2", "(x+1)^2"}, {R"(\frac{7}{3})", R"(7\frac{1}{3})"}, {"5", "6"},
      {R"(5\text{ apples})", R"(5\text{ oranges})"}, {"x=2, x=3", "3,4"}, {"[2,3]", R"(2 \le x < 3)"},
      {R"(y\in[0,1])", R"(x\in[0,1])"}, {R"(\sqrt{2}+\sqrt{3})", R"(\sqrt{5})"}, {"A3_{16}", "A4_{16}"},
      {"5", R"(\text{five apples and more})"}, {"|x|+1", "|x+1|"}, {"x^3", "x^2"}, {"2x", "x"}, {"-5", "5"},
      {"(1,2,3)", "(1,2)"}, {R"((1,3)\cup(4,5))", R"((1,3)\cup(4,6))"}, {"10,000", "1,000"}, {"1,000", "1,0"},
      {"a_1", "a_2"}, {R"(12\text{ hours})", R"(12\text{ minutes})"}, {"2.5", "2.05"}, {"y=x+1", "y=x-1"},
      {"5!=120", "120"}, {"12", "1 2"}, {"1 2", "1,2"}, {"x = 3", "x = 4"}, {"-1<x<1", R"(-1\le x\le 1)"},
      {R"(\text{Yes})", R"(\text{No})"}, {R"(\frac{22}{7})", R"(\pi)"}, {"1.41421356", R"(\sqrt{2})"},
      {"0.6667", R"(\frac{2}{3})"}, {"(x-2)^2+(y+3)^2=4", "x^2-4x+y^2+6y+8=0"}, {R"(\{1,2\})", "(1,2)"},
      {"[1,2]", R"(\{1,2\})"}, {R"(\frac{1}{2} \text{ hour})", R"(20 \text{ minutes})"}, {"i", "-i"}, {"2i", "2"},
      {"x", "y"}, {"X", "x"}, {"ab", "a+b"}, {R"(\$6.00)", "7"}, {"2^{2005}", "2^{2004}"}, {"3, 5, 7", "3,5,8"},
      {"x = 1, y = 2", "x = 2, y = 1"}, {R"(8\text{ inches})", R"(8\text{ feet})"},
      {R"(\arcsin\frac12)", R"(\frac{\pi}{3})"}, {"x", R"(\sqrt{x^2})"},
  }, Verdict::Kind::no);
}

TEST_CASE("what has no certain verdict is unknown", "[grade]") {
  check_pairs({
      {"2x=5", "5"}, {"1/0", "5"}, {"A3_{16}", "163_{10}"}, {"30", "42_7"}, {R"(\frac{)", "5"}, {")(", "5"},
      {R"(\lim x)", "5"}, {R"(\ln x^2)", R"(2\ln x)"},
  }, Verdict::Kind::unknown);
}
// clang-format on

TEST_CASE("the description of an answer tells units of different sizes apart", "[grade]") {
  CHECK(describe_answer("5 km") == "(quantity 1000 m^1 5)");
  CHECK(describe_answer("5 inches") == "(quantity 127/5000 m^1 5)");  // an inch is 25.4 mm
}
