// The kinds of generated problems of mathematics. Every answer is computed in whole numbers.
#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "tasks/puzzles/math.h"
#include "tensor/base/error.h"

namespace pg {
namespace {

int64_t from(Generator& g, int64_t low, int64_t high) { return low + g.integer(high - low + 1); }
int64_t not_zero(Generator& g, int64_t most) {
  const int64_t x = from(g, 1, most);
  return g.integer(2) == 0 ? x : -x;
}

std::string fraction(int64_t top, int64_t bottom) {
  const int64_t common = std::gcd(top, bottom) * (bottom < 0 ? -1 : 1);
  top /= common;
  bottom /= common;
  if (bottom == 1) return fmt::format("{}", top);
  return fmt::format("{}\\frac{{{}}}{{{}}}", top < 0 ? "-" : "", std::abs(top), bottom);
}
// "+3x", "-x", "" for zero; without `sign` a first term has no plus.
std::string term(int64_t factor, const std::string& of, bool sign) {
  if (factor == 0) return "";
  const std::string plus = factor < 0 ? "-" : sign ? "+" : "";
  const int64_t size = std::abs(factor);
  return plus + (size == 1 && !of.empty() ? of : fmt::format("{}{}", size, of));
}
std::string polynomial(const std::vector<int64_t>& factors) {  // the highest power first
  std::string text;
  for (size_t i = 0; i < factors.size(); ++i) {
    const size_t power = factors.size() - 1 - i;
    text += term(factors[i], power == 0 ? "" : power == 1 ? "x" : fmt::format("x^{}", power), !text.empty());
  }
  return text.empty() ? "0" : text;
}
int64_t choose(int64_t n, int64_t k) {
  int64_t result = 1;
  for (int64_t i = 1; i <= k; ++i) result = result * (n - k + i) / i;
  return result;
}
// n = outside² · inside with the largest `outside`.
std::string root_of(int64_t n) {
  int64_t outside = 1, inside = n;
  for (int64_t d = 2; d * d <= inside; ++d) {
    for (; inside % (d * d) == 0; outside *= d) inside /= d * d;
  }
  if (inside == 1) return fmt::format("{}", outside);
  return fmt::format("{}\\sqrt{{{}}}", outside == 1 ? "" : fmt::format("{}", outside), inside);
}

MathProblem add_fractions(Generator& g) {
  const int64_t a = from(g, 1, 9), b = from(g, 2, 12), c = from(g, 1, 9), d = from(g, 2, 12);
  return {fmt::format("What is $\\frac{{{}}}{{{}}} + \\frac{{{}}}{{{}}}$?", a, b, c, d),
          fmt::format("{}/{}+{}/{}", a, b, c, d), fraction(a * d + c * b, b * d), "", 0};
}
MathProblem percent(Generator& g) {
  const int64_t p = 5 * from(g, 1, 30), n = 4 * from(g, 1, 60);
  return {fmt::format("What is ${}\\%$ of ${}$?", p, n), fmt::format("{}% of {}", p, n), fraction(p * n, 100), "", 0};
}
MathProblem linear(Generator& g) {
  const int64_t a = not_zero(g, 12), b = not_zero(g, 20), c = not_zero(g, 30);
  const std::string left = polynomial({a, b});
  return {fmt::format("Solve ${} = {}$ for $x$.", left, c), fmt::format("solve {}:{}", left, c), fraction(c - b, a), "",
          0};
}
MathProblem quadratic(Generator& g) {
  const int64_t r = not_zero(g, 9);
  int64_t s = not_zero(g, 9);
  while (s == r) s = not_zero(g, 9);
  const std::string left = polynomial({1, -r - s, r * s});
  return {fmt::format("Find all solutions of ${} = 0$.", left), fmt::format("roots {}", left),
          fmt::format("{}, {}", std::min(r, s), std::max(r, s)), "", 0};
}
MathProblem expand(Generator& g) {
  const int64_t a = not_zero(g, 6), b = not_zero(g, 9), c = not_zero(g, 6), d = not_zero(g, 9);
  const std::string product = fmt::format("({})({})", polynomial({a, b}), polynomial({c, d}));
  return {fmt::format("Expand ${}$.", product), fmt::format("expand {}", product),
          polynomial({a * c, a * d + b * c, b * d}), "", 0};
}
MathProblem remainder(Generator& g) {
  const int64_t base = from(g, 2, 19), power = from(g, 3, 60), m = from(g, 3, 25);
  int64_t rest = 1;
  for (int64_t i = 0; i < power; ++i) rest = rest * base % m;
  return {fmt::format("What is the remainder when ${}^{{{}}}$ is divided by ${}$?", base, power, m),
          fmt::format("{}^{} mod {}", base, power, m), fmt::format("{}", rest), "", 0};
}
MathProblem divisor(Generator& g) {
  const int64_t common = from(g, 2, 15), a = common * from(g, 2, 20), b = common * from(g, 2, 20);
  if (g.integer(2) == 0) {
    return {fmt::format("What is the greatest common divisor of ${}$ and ${}$?", a, b), fmt::format("gcd {} {}", a, b),
            fmt::format("{}", std::gcd(a, b)), "", 0};
  }
  return {fmt::format("What is the least common multiple of ${}$ and ${}$?", a, b), fmt::format("lcm {} {}", a, b),
          fmt::format("{}", std::lcm(a, b)), "", 0};
}
MathProblem based(Generator& g) {
  const int64_t base = from(g, 2, 9), n = from(g, base, 500);
  std::string digits;
  for (int64_t rest = n; rest > 0; rest /= base) digits.insert(digits.begin(), static_cast<char>('0' + rest % base));
  return {fmt::format("Write ${}$ in base ${}$, with the base as a subscript.", n, base),
          fmt::format("base {} {}", base, n), fmt::format("{}_{}", digits, base), "", 0};
}
MathProblem books(Generator& g) {
  const int64_t n = from(g, 4, 14), k = from(g, 2, n - 2);
  return {fmt::format("In how many ways can ${}$ of ${}$ different books be chosen?", k, n),
          fmt::format("choose {} {}", n, k), fmt::format("{}", choose(n, k)), "", 0};
}
MathProblem dice(Generator& g) {
  const int64_t faces = from(g, 4, 12), sum = from(g, 2, 2 * faces);
  const int64_t ways = std::min(sum - 1, 2 * faces + 1 - sum);
  return {fmt::format("Two fair dice have the faces $1$ to ${}$ each. What is the probability that their sum is ${}$?",
                      faces, sum),
          fmt::format("dice {} {}", faces, sum), fraction(ways, faces * faces), "", 0};
}
MathProblem simplify_root(Generator& g) {
  const int64_t outside = from(g, 2, 12), inside = from(g, 2, 20), n = outside * outside * inside;
  return {fmt::format("Simplify $\\sqrt{{{}}}$.", n), fmt::format("sqrt {}", n), root_of(n), "", 0};
}
MathProblem hypotenuse(Generator& g) {
  const int64_t a = from(g, 1, 25), b = from(g, 1, 25);
  return {fmt::format("The legs of a right triangle have the lengths ${}$ and ${}$. How long is its hypotenuse?", a, b),
          fmt::format("legs {} {}", a, b), root_of(a * a + b * b), "", 0};
}
MathProblem sector(Generator& g) {
  const int64_t r = from(g, 1, 15), degrees = 15 * from(g, 1, 24);
  const std::string factor = fraction(r * r * degrees, 360);
  return {fmt::format("A sector of a circle of radius ${}$ has an angle of ${}^\\circ$. What is its area?", r, degrees),
          fmt::format("sector {} {}", r, degrees), (factor == "1" ? "" : factor) + "\\pi", "", 0};
}
MathProblem complex_product(Generator& g) {
  const int64_t a = not_zero(g, 9), b = not_zero(g, 9), c = not_zero(g, 9), d = not_zero(g, 9);
  const auto number = [](int64_t re, int64_t im) {
    const std::string text = (re == 0 ? "" : fmt::format("{}", re)) + term(im, "i", re != 0);
    return text.empty() ? std::string("0") : text;
  };
  const std::string product = fmt::format("({})({})", number(a, b), number(c, d));
  return {fmt::format("What is ${}$?", product), product, number(a * c - b * d, a * d + b * c), "", 0};
}

}  // namespace

const std::vector<MathKind>& math_kinds() {
  static const std::vector<MathKind> all = {
      {"Prealgebra", 1, add_fractions},
      {"Prealgebra", 2, percent},
      {"Algebra", 2, linear},
      {"Algebra", 3, quadratic},
      {"Algebra", 3, expand},
      {"Number Theory", 2, divisor},
      {"Number Theory", 4, based},
      {"Number Theory", 5, remainder},
      {"Counting & Probability", 3, books},
      {"Counting & Probability", 4, dice},
      {"Intermediate Algebra", 3, simplify_root},
      {"Geometry", 3, hypotenuse},
      {"Geometry", 4, sector},
      {"Precalculus", 4, complex_product},
  };
  return all;
}

}  // namespace pg
