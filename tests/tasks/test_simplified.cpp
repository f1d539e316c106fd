// Simplified form: every order and notation of a right answer passes, and no question does.
#include <algorithm>
#include <regex>

#include "tasks/grade/grade.h"
#include "tasks/puzzles/math.h"
#include "tasks/puzzles/puzzle.h"
#include "tests/catch.h"

using namespace pg;

namespace {

// All sums of the terms, in every order: "+3x" "-2" gives "3x-2" and "-2+3x".
std::vector<std::string> orders(std::vector<std::string> terms) {
  std::vector<std::string> all;
  std::ranges::sort(terms);
  do {
    std::string text;
    for (const std::string& term : terms) text += term;
    all.push_back(text[0] == '+' ? text.substr(1) : text);
  } while (std::ranges::next_permutation(terms).found);
  return all;
}

// The terms of a sum without brackets: "x^2-x-2" has "+x^2", "-x", "-2".
std::vector<std::string> terms_of(const std::string& text) {
  std::vector<std::string> terms;
  for (const char c : text) {
    if (terms.empty() && c != '-') terms.emplace_back("+");
    if (c == '+' || c == '-') terms.emplace_back();
    terms.back() += c;
  }
  return terms;
}

// Other ways to write an answer of math_kinds() in simplified form, by what it looks like.
std::vector<std::string> notations(const std::string& answer) {
  std::smatch m;
  static const std::regex fraction(R"((-?)\\frac\{(\d+)\}\{(\d+)\}(\\pi)?)"), root(R"((\d*)\\sqrt\{(\d+)\})"),
      circle(R"((\d*)\\pi)"), list(R"((-?\d+), (-?\d+))"), sum(R"([-+0-9xi^]+)");
  std::vector<std::string> all = {answer, "$" + answer + "$", answer + ".", " " + answer + " ", "(" + answer + ")"};
  if (std::regex_match(answer, m, list)) {
    const std::string a = m[1], b = m[2];
    for (const char* form : {"{1},{0}", "{0} and {1}", "x={1} or x={0}", "\\{{{1},{0}\\}}", "x = {0}, {1}"}) {
      all.push_back(fmt::format(fmt::runtime(form), a, b));
    }
    all.erase(all.begin() + 4);  // "(1, 2)" is a pair
  } else if (std::regex_match(answer, m, fraction)) {
    const std::string sign = m[1], a = m[2], b = m[3], pi = m[4];
    if (pi.empty()) {
      for (const char* form :
           {"{}{}/{}", "{}\\dfrac{{{}}}{{{}}}", "\\frac{{{}{}}}{{{}}}", "{}({})/({})", "{}{} / {}"}) {
        all.push_back(fmt::format(fmt::runtime(form), sign, a, b));
      }
      if (b == "2") all.push_back(fmt::format("{}{}.5", sign, std::stoll(a) / 2));
    } else {
      for (const char* form : {"{}{}/{}\\pi", "\\frac{{{}{}\\pi}}{{{}}}", "{}{}\\pi/{}", "{}\\frac{{\\pi {}}}{{{}}}",
                               "{}\\pi\\cdot\\frac{{{}}}{{{}}}", "\\pi*{}{}/{}"}) {
        all.push_back(fmt::format(fmt::runtime(form), sign, a, b));
      }
    }
  } else if (std::regex_match(answer, m, root)) {
    const std::string a = m[1], b = m[2];
    all.push_back(fmt::format("{}sqrt({})", a, b));
    all.push_back(fmt::format("{}\\sqrt {{{}}}", a, b));
    if (!a.empty()) {
      for (const char* form : {"\\sqrt{{{1}}}\\cdot {0}", "{0}*sqrt({1})", "\\sqrt{{{1}}}({0})"}) {
        all.push_back(fmt::format(fmt::runtime(form), a, b));
      }
    }
  } else if (std::regex_match(answer, m, circle)) {
    const std::string a = m[1];
    for (const char* form : {"{}pi", "{}\\pi\\text{{ square units}}"})
      all.push_back(fmt::format(fmt::runtime(form), a));
    if (!a.empty()) all.push_back(fmt::format("\\pi\\cdot {}", a));
  } else if (std::regex_match(answer, m, sum) && answer.find_first_of("xi") != std::string::npos) {
    for (const std::string& order : orders(terms_of(answer))) all.push_back(order);
  }
  return all;
}

}  // namespace

TEST_CASE("every order and notation of a generated answer is in simplified form and right", "[grade][puzzles]") {
  const auto task = math_puzzles();
  Generator g(31);
  int checked = 0;
  for (const MathKind& kind : math_kinds()) {
    for (int i = 0; i < 200; ++i) {
      const MathProblem p = kind.make(g);
      for (const std::string& text : notations(p.answer)) {
        const Puzzle puzzle{
            .question = p.brief, .request = p.text, .answer = p.answer, .key = "", .gold = p.answer, .subject = ""};
        INFO(p.text << " " << p.answer << " as " << text);
        REQUIRE(is_simplified(text, p.answer));
        REQUIRE(task->grade(puzzle, text).solved);
        ++checked;
      }
    }
  }
  CHECK(checked > 14 * 200 * 5);
}

TEST_CASE("no question is an answer", "[grade][puzzles]") {
  const auto task = math_puzzles();
  Generator g(32);
  static const std::regex formula(R"(\$([^$]*)\$)");
  for (const MathKind& kind : math_kinds()) {
    for (int i = 0; i < 300; ++i) {
      const MathProblem p = kind.make(g);
      const Puzzle puzzle{
          .question = p.brief, .request = p.text, .answer = p.answer, .key = "", .gold = p.answer, .subject = ""};
      std::vector<std::string> texts = {p.brief,        p.text,         p.brief + "+0",
                                        "0+" + p.brief, "1*" + p.brief, "(" + p.brief + ")"};
      for (std::sregex_iterator it(p.text.begin(), p.text.end(), formula), end; it != end; ++it) {
        const std::string inside = (*it)[1];
        // A number of the question may be the answer by chance.
        if (inside.find_first_not_of("0123456789") != std::string::npos) texts.push_back(inside);
      }
      for (const std::string& text : texts) {
        INFO(text << " for " << p.answer);
        REQUIRE_FALSE(task->grade(puzzle, text).solved);
      }
      // The answer with arithmetic left in it.
      for (const char* form : {"{}+0", "0+{}", "1({})", "({})^1", "({})/1", "2({})/2", "({})-1+1"}) {
        const std::string text = fmt::format(fmt::runtime(form), p.answer);
        INFO(text);
        REQUIRE_FALSE(task->grade(puzzle, text).solved);
      }
    }
  }
}

TEST_CASE("simplified forms by rule", "[grade]") {
  struct Row {
    const char *gold, *given;
    bool expected;
  };
  for (const Row& row :
       std::vector<Row>{// Numbers: one number, or a reduced fraction with a positive denominator.
                        {"5", "5", true},
                        {"5", "5.0", true},
                        {"5", "2+3", false},
                        {"5", "10/2", false},
                        {"5", "5/1", false},
                        {"\\frac12", "0.5", true},
                        {"\\frac12", "2/4", false},
                        {"\\frac12", "\\frac{-1}{-2}", false},
                        {"\\frac74", "1\\frac34", true},
                        {"\\frac74", "1+\\frac34", false},
                        {"\\frac12", "\\frac{1}{\\frac{4}{2}}", false},
                        {"120", "5!", false},
                        {"10", "\\binom52", false},
                        {"3", "\\log_2 8", false},
                        {"8", "2^3", false},
                        {"\\frac12", "50\\%", false},
                        {"50\\%", "50\\%", true},
                        {"5", "|-5|", false},
                        {"6", "2\\cdot3", false},
                        {"-5", "-5", true},
                        {"3000000", "3\\times10^6", false},
                        {"180", "180\\text{ miles}", true},
                        // Roots: no square below the root, none in a denominator, one in a term.
                        {"2\\sqrt2", "2\\sqrt2", true},
                        {"2\\sqrt2", "\\sqrt8", false},
                        {"2\\sqrt2", "\\sqrt2\\cdot2", true},
                        {"\\frac{\\sqrt2}{2}", "1/\\sqrt2", false},
                        {"\\frac{\\sqrt2}{2}", "\\frac12\\sqrt2", true},
                        {"\\sqrt6", "\\sqrt2\\sqrt3", false},
                        {"\\frac{\\sqrt6}{3}", "\\sqrt{\\frac23}", false},
                        {"5", "\\sqrt{25}", false},
                        {"2", "\\sqrt[3]8", false},
                        {"\\sqrt2", "\\sqrt[4]4", false},
                        {"2\\sqrt[3]2", "2\\sqrt[3]{2}", true},
                        {"1+\\sqrt2", "\\sqrt2+1", true},
                        {"4\\sqrt2", "3\\sqrt2+\\sqrt2", false},
                        {"\\frac{1+\\sqrt5}{2}", "\\frac12+\\frac{\\sqrt5}{2}", true},
                        {"\\frac{1+\\sqrt5}{2}", "(\\sqrt5+1)/2", true},
                        {"\\frac{1+\\sqrt5}{2}", "\\frac{2+2\\sqrt5}{4}", false},
                        {"1+\\sqrt5", "\\frac{2+2\\sqrt5}{2}", false},
                        {"1+\\sqrt2", "\\frac{1}{\\sqrt2-1}", false},
                        {"1+\\sqrt2", "\\sqrt{3+2\\sqrt2}", false},
                        // Polynomials: expanded, like terms collected, in any order.
                        {"x^2-x-2", "-x+x^2-2", true},
                        {"x^2-x-2", "-2+x^2-x", true},
                        {"x^2-x-2", "(x+1)(x-2)", false},
                        {"x^2-x-2", "x^2-2x+x-2", false},
                        {"x^2-x-2", "x*x-x-2", false},
                        {"x^2-x-2", "x(x-1)-2", false},
                        {"x^2-x-2", "x^2-(x+2)", false},
                        {"2x+2", "2(x+1)", false},
                        {"x", "x^1", false},
                        {"x", "\\frac{2x}{2}", false},
                        {"x+y", "y+x", true},
                        {"3xy", "3yx", true},
                        {"6xy", "2x\\cdot3y", false},
                        {"x", "-(-x)", true},
                        {"\\frac{x+1}{2}", "\\frac{2x+2}{4}", false},
                        {"\\frac{3x}{2}", "\\frac32x", true},
                        {"x+1", "\\frac{x^2-1}{x-1}", false},
                        {"\\frac{x}{x+1}", "\\frac{x}{1+x}", true},
                        {"\\frac{1}{x}", "x^{-1}", false},
                        {"x", "x^2/x", false},
                        // Products of factors, if the expected answer is one.
                        {"(x+1)(x-2)", "(x-2)(x+1)", true},
                        {"(x+1)(x-2)", "x^2-x-2", false},
                        {"(x+1)(x-2)", "1(x^2-x-2)", false},
                        {"(x+1)(x-2)", "-(x+1)(2-x)", true},
                        {"2(x+1)(x-2)", "(2x+2)(x-2)", false},
                        {"2(x+1)(x-2)", "(x-2)\\cdot2(x+1)", true},
                        {"(x+1)^2", "(x+1)(x+1)", true},
                        {"(x+1)^2", "x^2+2x+1", false},
                        {"x(x+1)", "(x+1)x", true},
                        {"x(x+1)", "x^2+x", false},
                        {"x^2(x+1)", "x\\cdot x(x+1)", true},
                        {"(x+1)(x-1)(x^2+1)", "(x^2-1)(x^2+1)", false},
                        {"(x+1)(x-2)", "(x+1)(x-1-1)", false},
                        // Complex numbers, pi, e.
                        {"1+2i", "2i+1", true},
                        {"1+2i", "1+i+i", false},
                        {"-1", "i^2", false},
                        {"\\frac{1-i}{2}", "\\frac{1}{1+i}", false},
                        {"\\frac{3\\pi}{4}", "0.75\\pi", true},
                        {"\\frac{3\\pi}{4}", "135^\\circ", false},
                        {"2\\pi", "\\pi+\\pi", false},
                        {"e^2", "e\\cdot e", false},
                        {"\\ln 2", "\\ln 2", true},
                        {"2^x", "2^{x}", true},
                        {"n!", "n!", true},
                        // Structures: each part.
                        {"\\frac34", "6:8", false},
                        {"3:4", "3:4", true},
                        {"2, 3", "3, 2", true},
                        {"2, 3", "3, 1+1", false},
                        {"(1,2)", "(1,4/2)", false},
                        {"x=5", "x=5", true},
                        {"5", "x=2+3", false},
                        {"[0,1)", "[0, 1)", true},
                        {"\\pm3", "3,-3", true},
                        {"1\\pm\\sqrt2", "1+\\sqrt2, 1-\\sqrt2", true},
                        {"3,-1", "1\\pm2", false},
                        {"\\begin{pmatrix}1\\\\2\\end{pmatrix}", "\\begin{pmatrix}1\\\\1+1\\end{pmatrix}", false},
                        {"(-\\infty,2)", "(-\\infty,2)", true},
                        // A gold in none of the forms: the same text only. What cannot be read.
                        {"2^{10}", "2^{10}", true},
                        {"2^{10}", "1024", false},
                        {"5", "(", false},
                        {"5", "", false},
                        {"5", "the number 5", false}}) {
    INFO(row.given << " for " << row.gold);
    CHECK(is_simplified(row.given, row.gold) == row.expected);
  }
}
