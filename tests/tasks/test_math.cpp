// Generated problems of mathematics, whose answers are computed again from the question, and files of problems.
#include <complex>
#include <fstream>
#include <map>
#include <numeric>
#include <regex>
#include <set>

#include "tasks/puzzles/math.h"
#include "tasks/puzzles/puzzle.h"
#include "tensor/base/error.h"
#include "tests/catch.h"

using namespace pg;
using testing::contains;
using testing::error_of;

namespace {

std::vector<int64_t> numbers_in(const std::string& text) {
  std::vector<int64_t> all;
  static const std::regex number("-?[0-9]+");
  for (std::sregex_iterator i(text.begin(), text.end(), number), end; i != end; ++i)
    all.push_back(std::stoll(i->str()));
  return all;
}

// The value of "\frac{a}{b}", "-\frac{a}{b}" or "a", as top and bottom.
std::pair<int64_t, int64_t> fraction_of(const std::string& text) {
  const std::vector<int64_t> n = numbers_in(text);
  if (text.find("frac") == std::string::npos) return {n.empty() ? (text[0] == '-' ? -1 : 1) : n.at(0), 1};
  return {text[0] == '-' ? -n.at(0) : n.at(0), n.at(1)};
}
bool equal(std::pair<int64_t, int64_t> a, int64_t top, int64_t bottom) { return a.first * bottom == a.second * top; }

// A polynomial in x or a number in i at a value: sums of terms "-3x^2", "x", "+7".
template <class T>
T value_at(const std::string& text, char name, T x) {
  static const std::regex terms("([+-]?)([0-9]*)([xi]?)(\\^([0-9]+))?");
  T sum = 0;
  for (std::sregex_iterator i(text.begin(), text.end(), terms), end; i != end; ++i) {
    const std::smatch& m = *i;
    if (m.length(0) == 0) continue;
    T term = m.length(2) == 0 ? T(1) : T(static_cast<double>(std::stoll(m[2].str())));
    if (m.length(3) > 0) {
      REQUIRE(m[3].str()[0] == name);
      const int power = m.length(5) == 0 ? 1 : std::stoi(m[5].str());
      for (int p = 0; p < power; ++p) term *= x;
    }
    sum += m[1].str() == "-" ? -term : term;
  }
  return sum;
}
std::pair<std::string, std::string> factors_of(const std::string& text) {
  const size_t open = text.find('('), close = text.find(')'), last = text.rfind(')');
  return {text.substr(open + 1, close - open - 1), text.substr(close + 2, last - close - 2)};
}
// (a·sqrt(b))², with a or the root absent.
int64_t square_of(const std::string& text) {
  const size_t root = text.find("\\sqrt{");
  const int64_t outside = root == 0 ? 1 : std::stoll(text);
  return outside * outside * (root == std::string::npos ? 1 : std::stoll(text.substr(root + 6)));
}

bool is_right(const std::string& brief, const std::string& answer) {
  const std::vector<int64_t> n = numbers_in(brief), m = numbers_in(answer);
  const auto begins = [&](const char* word) { return brief.starts_with(word); };
  if (begins("solve")) {
    const size_t colon = brief.find(':');
    const auto [top, bottom] = fraction_of(answer);
    const double x = static_cast<double>(top) / static_cast<double>(bottom);
    return std::abs(value_at(brief.substr(6, colon - 6), 'x', x) - std::stod(brief.substr(colon + 1))) < 1e-9;
  }
  if (begins("roots")) {
    const bool vanish = value_at(brief.substr(6), 'x', static_cast<double>(m.at(0))) == 0 &&
                        value_at(brief.substr(6), 'x', static_cast<double>(m.at(1))) == 0;
    return m.size() == 2 && m[0] != m[1] && vanish;
  }
  if (begins("expand")) {
    const auto [a, b] = factors_of(brief);
    for (const double x : {-2.0, 0.0, 1.0, 3.0}) {
      if (value_at(answer, 'x', x) != value_at(a, 'x', x) * value_at(b, 'x', x)) return false;
    }
    return true;
  }
  if (begins("gcd") || begins("lcm")) {
    int64_t divisor = 1;
    for (int64_t d = 1; d <= n[0]; ++d) divisor = n[0] % d == 0 && n[1] % d == 0 ? d : divisor;
    return m.at(0) == (begins("gcd") ? divisor : n[0] / divisor * n[1]);
  }
  if (begins("base")) {
    int64_t value = 0;
    for (const char c : answer.substr(0, answer.find('_'))) value = value * n[0] + (c - '0');
    return value == n[1] && answer.ends_with(fmt::format("_{}", n[0]));
  }
  if (begins("choose")) {
    std::vector<int64_t> row{1};  // of Pascal's triangle
    for (int64_t i = 0; i < n[0]; ++i) {
      row.push_back(0);
      for (size_t k = row.size() - 1; k > 0; --k) row[k] += row[k - 1];
    }
    return m.at(0) == row[static_cast<size_t>(n[1])];
  }
  if (begins("dice")) {
    int64_t ways = 0;
    for (int64_t a = 1; a <= n[0]; ++a) {
      for (int64_t b = 1; b <= n[0]; ++b) ways += a + b == n[1];
    }
    return equal(fraction_of(answer), ways, n[0] * n[0]);
  }
  if (begins("sqrt")) return square_of(answer) == n[0];
  if (begins("legs")) return square_of(answer) == n[0] * n[0] + n[1] * n[1];
  if (begins("sector")) {
    return answer.ends_with("\\pi") && equal(fraction_of(answer.substr(0, answer.size() - 3)), n[0] * n[0] * n[1], 360);
  }
  if (brief.find("mod") != std::string::npos) {
    int64_t rest = 1;
    for (int64_t i = 0; i < n[1]; ++i) rest = rest * n[0] % n[2];
    return m.at(0) == rest;
  }
  if (brief.find("% of") != std::string::npos) return equal(fraction_of(answer), n[0] * n[1], 100);
  if (brief[0] == '(') {
    const auto [a, b] = factors_of(brief);
    const std::complex<double> i(0, 1);
    return value_at(answer, 'i', i) == value_at(a, 'i', i) * value_at(b, 'i', i);
  }
  return equal(fraction_of(answer), n.at(0) * n.at(3) + n.at(2) * n.at(1), n.at(1) * n.at(3));
}

}  // namespace

TEST_CASE("math: every generated answer is right by another computation", "[tasks][puzzles]") {
  Generator generator(21);
  for (const MathKind& kind : math_kinds()) {
    for (int i = 0; i < 300; ++i) {
      const MathProblem p = kind.make(generator);
      INFO(p.text << " " << p.brief << " -> " << p.answer);
      REQUIRE(is_right(p.brief, p.answer));
    }
  }
}

TEST_CASE("math: equal answers are right and neither the question nor a hedge is", "[tasks][puzzles]") {
  const auto task = math_puzzles();
  const auto graded = [&](const char* question, const char* gold, const char* answer) {
    INFO(question << " -> " << answer);
    return task
        ->grade({.question = question, .request = "", .answer = gold, .key = "", .gold = gold, .subject = ""}, answer)
        .solved;
  };
  CHECK(graded("1/2+1/3", "\\frac{5}{6}", "5/6"));
  CHECK(graded("1/2+1/3", "\\frac{5}{6}", "\\frac56"));
  CHECK_FALSE(graded("1/2+1/3", "\\frac{5}{6}", "10/12"));  // not reduced
  CHECK(graded("50% of 3", "\\frac{3}{2}", "1.5"));
  CHECK(graded("roots x^2-x-6", "-2, 3", "3, -2"));
  CHECK(graded("roots x^2-x-6", "-2, 3", "x=-2 or x=3"));
  CHECK(graded("expand (x+1)(x-2)", "x^2-x-2", "-x+x^2-2"));
  CHECK(graded("expand (x+1)(x-2)", "x^2-x-2", "x^2 - x - 2"));
  CHECK(graded("sqrt 12", "2\\sqrt{3}", "2sqrt(3)"));
  CHECK(graded("sqrt 12", "2\\sqrt{3}", "2\\sqrt3"));
  for (const auto& [question, gold, answer] :
       std::vector<std::array<const char*, 3>>{{"1/2+1/3", "\\frac{5}{6}", "1/2+1/3"},
                                               {"1/2+1/3", "\\frac{5}{6}", "\\frac{1}{2}+\\frac{1}{3}"},
                                               {"expand (x+1)(x-2)", "x^2-x-2", "(x+1)(x-2)"},
                                               {"sqrt 12", "2\\sqrt{3}", "\\sqrt{12}"},
                                               {"legs 3 4", "5", "\\sqrt{25}"},
                                               {"choose 5 2", "10", "\\binom{5}{2}"},
                                               {"choose 5 2", "10", "5!/(2!3!)"},
                                               {"50% of 3", "\\frac{3}{2}", "50% \\cdot 3"},
                                               {"dice 6 7", "\\frac{1}{6}", "6/36+0"},
                                               {"2^3 mod 5", "3", "8-5"},
                                               {"2^3 mod 5", "3", "3 or 4"},
                                               {"2^3 mod 5", "3", "the answer is 3"},
                                               {"2^3 mod 5", "3", "\\boxed{3}"},
                                               {"2^3 mod 5", "3", "3, 3"},
                                               {"roots x^2-x-6", "-2, 3", "-2"},
                                               {"roots x^2-x-6", "-2, 3", "-2, 3, 4"}}) {
    CHECK_FALSE(graded(question, gold, answer));
  }
}

TEST_CASE("math: levels are chosen and a file is read or refused with its line", "[tasks][puzzles]") {
  const auto easy = math_puzzles({.easiest = 2, .hardest = 2});
  Generator generator(4);
  std::set<std::string> subjects;
  for (int i = 0; i < 200; ++i) {
    const Puzzle p = easy->draw(generator);
    REQUIRE(p.level == 2);
    subjects.insert(p.subject);
  }
  CHECK(subjects == std::set<std::string>{"Algebra", "Number Theory", "Prealgebra"});
  CHECK(contains(error_of([] { math_puzzles({.easiest = 4, .hardest = 3}); }), "--easiest 4 is above --hardest 3"));

  const testing::TempDir dir;
  const std::string path = dir.file("math.jsonl");
  const auto write = [&](const std::string& text) { std::ofstream(path) << text; };
  write(
      "{\"problem\": \"What is $f(2)$ if $f(x) = x^2$?\", \"level\": \"Level 3\", \"subject\": \"Algebra\", "
      "\"answer\": \"4\"}\n\n{\"problem\": \"Half of “one”\", \"level\": \"Level ?\", \"solution\": \"It is "
      "\\\\boxed{1} no \\\\boxed{\\\\frac{1}{2}}.\"}\r\n");
  const std::vector<MathProblem> read = read_math(path);
  REQUIRE(read.size() == 2);
  CHECK(read[0].level == 3);
  CHECK(read[0].subject == "Algebra");
  CHECK(read[0].brief == "What is $f(2)$ if $f(x) ~ x^2$?");
  CHECK(read[1].answer == "\\frac{1}{2}");
  CHECK(read[1].level == 0);
  CHECK(read[1].brief == "Half of \"one\"");
  const auto task = math_puzzles({.hardest = 2, .file = path});
  CHECK(task->draw(generator).request == "Half of “one”");
  CHECK(task->grade(task->draw(generator), "2/4").solved);
  CHECK(error_of([&] { math_puzzles({.easiest = 4, .file = path}); }) == "");  // one has no level

  const std::string good = "{\"problem\": \"a\", \"answer\": \"1\"}\n";
  for (const auto& [line, what] : std::map<std::string, std::string>{
           {"{", "expected a JSON object"},
           {"[]", "expected a JSON object"},
           {"{\"problem\": \"a\"}", "expected the answer at one of the keys answer, "},
           {"{\"problem\": 1, \"answer\": \"1\"}", "\"problem\" must be a text or a list with one message"},
           {"{\"problem\": \" \", \"answer\": \"1\"}", "the question is empty"},
           {"{\"problem\": \"a\", \"answer\": \" \"}", "the answer is empty"},
           {"{\"problem\": \"a\", \"solution\": \"1\"}", "has no \\boxed"},
           {"{\"problem\": \"a\", \"answer\": \"1\", \"level\": []}", "\"level\" must be"},
           {"{\"problem\": \"a\", \"answer\": \"1\", \"level\": 4294967297}", "\"level\" must be"}}) {
    write(good + line + "\n");
    const std::string error = error_of([&] { read_math(path); });
    INFO(error);
    CHECK(contains(error, path + ":2: "));
    CHECK(contains(error, what));
  }
  write("\n\n");
  CHECK(contains(error_of([&] { read_math(path); }), "no problems"));
}
