// Random expressions that are rewritten by identities, and random expressions that are changed. A change counts where
// exact values at three points, computed here, differ.
#include <gmpxx.h>

#include <array>
#include <memory>

#include "tasks/grade/grade.h"
#include "tensor/base/random.h"
#include "tests/catch.h"

using namespace pg;

namespace {

struct Expr;
using Ptr = std::shared_ptr<const Expr>;
struct Expr {
  char op;  // 'n' number, 'v' variable, + - * / and '^'
  int value = 0;
  Ptr a, b;
};
Ptr number(int value) { return std::make_shared<Expr>(Expr{'n', value, {}, {}}); }
Ptr variable(int i) { return std::make_shared<Expr>(Expr{'v', i, {}, {}}); }
Ptr binary(char op, Ptr a, Ptr b) { return std::make_shared<Expr>(Expr{op, 0, std::move(a), std::move(b)}); }

// A denominator is a number or 1 + a square, so that it is never 0.
Ptr random_expr(Generator& g, int depth) {
  if (depth == 0 || g.integer(5) == 0) {
    return g.integer(2) == 0 ? number(static_cast<int>(g.integer(9)) + 1) : variable(static_cast<int>(g.integer(3)));
  }
  const int64_t kind = g.integer(9);
  Ptr a = random_expr(g, depth - 1);
  if (kind < 3) return binary('+', a, random_expr(g, depth - 1));
  if (kind < 5) return binary('-', a, random_expr(g, depth - 1));
  if (kind < 7) return binary('*', a, random_expr(g, depth - 1));
  if (kind == 7) return binary('^', a, number(2));
  if (g.integer(2) == 0) return binary('/', a, number(static_cast<int>(g.integer(8)) + 2));
  return binary('/', a, binary('+', number(1), binary('^', variable(static_cast<int>(g.integer(3))), number(2))));
}

// LaTeX in one of many notations. `tight`: as a factor or base.
std::string print(Generator& g, const Ptr& e, bool tight = false) {
  const auto both = [&](const std::string& sign) {
    return print(g, e->a, sign != "+") + sign + print(g, e->b, sign != "+");
  };
  std::string text;
  switch (e->op) {
    case 'n':
      return fmt::format("{}", e->value);
    case 'v':
      return std::string(1, "xyz"[e->value]);
    case '+':
      text = both("+");
      break;
    case '-':
      text = print(g, e->a) + " - " + print(g, e->b, true);
      break;
    case '*':
      switch (g.integer(3)) {
        case 0:
          text = both("\\cdot ");
          break;
        case 1:
          text = both("*");
          break;
        default:
          text = "(" + print(g, e->a) + ")(" + print(g, e->b) + ")";
      }
      break;
    case '/':
      text = g.integer(2) == 0 ? "\\frac{" + print(g, e->a) + "}{" + print(g, e->b) + "}" : both("/");
      break;
    default:
      text = (e->a->op == 'v' ? print(g, e->a) : "(" + print(g, e->a) + ")") + (g.integer(2) == 0 ? "^2" : "^{2}");
  }
  return tight ? (g.integer(2) == 0 ? "(" + text + ")" : "\\left(" + text + "\\right)") : text;
}

// An expression with the same value everywhere.
Ptr rewritten(Generator& g, const Ptr& e) {
  if (e->op == 'n' || e->op == 'v') {
    switch (g.integer(6)) {
      case 0:
        return binary('-', binary('+', e, number(3)), number(3));
      case 1:
        return binary('/', binary('*', number(2), e), number(2));
      case 2:
        return binary('-', binary('*', number(2), e), e);
      default:
        return e;
    }
  }
  const Ptr a = rewritten(g, e->a), b = e->op == '^' ? e->b : rewritten(g, e->b);
  switch (e->op) {
    case '+':
      return g.integer(2) == 0 ? binary('+', b, a) : binary('-', a, binary('-', number(0), b));
    case '-':
      return g.integer(2) == 0 ? binary('-', number(0), binary('-', b, a)) : binary('-', a, b);
    case '*':
      if (a->op == '+' && g.integer(2) == 0) return binary('+', binary('*', a->a, b), binary('*', a->b, b));
      return binary('*', b, a);
    case '/':
      return g.integer(2) == 0 ? binary('/', binary('*', number(3), a), binary('*', b, number(3)))
                               : binary('*', a, binary('/', number(1), b));
    default:
      return g.integer(2) == 0 ? binary('*', a, a) : binary('^', binary('-', number(0), a), number(2));
  }
}

// One number in the expression becomes another.
Ptr changed(Generator& g, const Ptr& e) {
  if (e->op == 'n') return number(e->value + 1 + static_cast<int>(g.integer(3)));
  if (e->op == 'v') return variable((e->value + 1) % 3);
  if (e->op == '^' || g.integer(2) == 0) return binary(e->op, changed(g, e->a), e->b);
  if (e->op == '/') return binary(e->op, changed(g, e->a), e->b);
  return binary(e->op, e->a, changed(g, e->b));
}

mpq_class value(const Ptr& e, const std::array<int, 3>& point) {
  if (e->op == 'n') return e->value;
  if (e->op == 'v') return point[static_cast<size_t>(e->value)];
  const mpq_class a = value(e->a, point), b = value(e->b, point);
  switch (e->op) {
    case '+':
      return a + b;
    case '-':
      return a - b;
    case '*':
      return a * b;
    case '/':
      return a / b;
    default:
      return a * a;
  }
}
bool differ(const Ptr& a, const Ptr& b) {
  for (const std::array<int, 3>& point : {std::array{2, 3, 5}, std::array{-7, 11, 4}, std::array{13, -1, 8}}) {
    if (value(a, point) != value(b, point)) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("rewritten quotients of polynomials are equal and changed ones are not", "[grade]") {
  Generator g(11);
  constexpr int kAll = testing::rounds(60000);
  int equal = 0, different = 0;
  for (int i = 0; i < kAll; ++i) {
    const Ptr e = random_expr(g, 1 + static_cast<int>(g.integer(3)));
    const Ptr other = rewritten(g, e), wrong = changed(g, g.integer(2) == 0 ? e : other);
    const std::string text = print(g, e), same = print(g, other), false_text = print(g, wrong);
    const Verdict verdict = grade_answer(same, text);
    if (verdict.kind != Verdict::Kind::yes) {
      FAIL_CHECK(same << " ~ " << text << ": " << verdict.reason << "; " << describe_answer(same));
    }
    equal += verdict.kind == Verdict::Kind::yes;
    if (!differ(e, wrong)) continue;
    const Verdict refused = grade_answer(false_text, text);
    if (refused.kind != Verdict::Kind::no) FAIL_CHECK(false_text << " ~ " << text << ": " << refused.reason);
    different += refused.kind == Verdict::Kind::no;
  }
  CHECK(equal == kAll);
  CHECK(different > kAll * 5 / 6);
}

TEST_CASE("products of square roots equal their expansions", "[grade]") {
  Generator g(12);
  const auto whole = [&](int low, int high) { return low + static_cast<int>(g.integer(high - low + 1)); };
  for (int i = 0; i < testing::rounds(10000); ++i) {
    const int a = whole(-9, 9), b = whole(1, 9), c = whole(2, 60), d = whole(-9, 9), e = whole(1, 9), f = whole(2, 60);
    const std::string product = fmt::format("({}+{}\\sqrt{{{}}})({}+{}\\sqrt{{{}}})", a, b, c, d, e, f);
    const std::string sum =
        fmt::format("{}+{}\\sqrt{{{}}}+{}\\sqrt{{{}}}+{}\\sqrt{{{}}}", a * d, a * e, f, b * d, c, b * e, c * f);
    const Verdict verdict = grade_answer(sum, product);
    if (verdict.kind != Verdict::Kind::yes) FAIL_CHECK(sum << " ~ " << product << ": " << verdict.reason);
    // Dividing by a number, rationalized: 1/(p + sqrt(c)) = (p - sqrt(c))/(p^2 - c), p^2 > c.
    const int p = whole(8, 20);
    const std::string inverse = fmt::format("\\frac{{1}}{{{}+\\sqrt{{{}}}}}", p, c);
    const std::string rational = fmt::format("\\frac{{{}-\\sqrt{{{}}}}}{{{}}}", p, c, p * p - c);
    CHECK(grade_answer(inverse, rational).kind == Verdict::Kind::yes);
    CHECK(grade_answer(inverse, rational + "+\\frac1{1000000}").kind == Verdict::Kind::no);
  }
}

TEST_CASE("identities of functions are never refused and changed ones never accepted", "[grade]") {
  Generator g(13);
  const auto apply = [](std::string_view form, const std::string& a, const std::string& b) {
    std::string text;
    for (const char c : form) {
      if (c == 'A') {
        text += "(" + a + ")";
      } else if (c == 'B') {
        text += "(" + b + ")";
      } else {
        text += c;
      }
    }
    return text;
  };
  const std::pair<const char*, const char*> identities[] = {
      {"\\sin{(2A)}", "2\\sin A\\cos A"},
      {"\\cos{(A+B)}", "\\cos A\\cos B-\\sin A\\sin B"},
      {"e^{A+B}", "e^{A} e^{B}"},
      {"\\sin^2 A+\\cos^2 A+B", "1+B"},
      {"\\tan A", "\\frac{\\sin A}{\\cos A}"},
      {"|A B|", "|A||B|"},
      {"\\sqrt{A^2+1}^2", "A^2+1"},
      {"\\ln{(A^2+2)}+\\ln{(B^2+3)}", "\\ln{((A^2+2)(B^2+3))}"},
      {"2^{A}\\cdot 3^{A}", "6^{A}"},
      {"\\log_2{(A^2+1)}", "\\frac{\\ln{(A^2+1)}}{\\ln 2}"},
  };
  int accepted = 0, all = 0;
  for (int i = 0; i < testing::rounds(1500); ++i) {
    for (const auto& [left, right] : identities) {
      const std::string a = print(g, random_expr(g, 1)), b = print(g, random_expr(g, 1));
      const std::string x = apply(left, a, b), y = apply(right, a, b);
      const Verdict verdict = grade_answer(x, y);
      if (verdict.kind == Verdict::Kind::no) FAIL_CHECK(x << " ~ " << y << ": " << verdict.reason);
      accepted += verdict.kind == Verdict::Kind::yes;
      ++all;
      const Verdict other = grade_answer(x, y + "+\\frac{1}{1000000}");
      if (other.kind == Verdict::Kind::yes) FAIL_CHECK(x << " ~ " << y << " + 1/1000000: " << other.reason);
    }
  }
  CHECK(accepted > all * 9 / 10);
}
