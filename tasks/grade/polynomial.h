#pragma once
// Sparse polynomials over the rationals in atoms, and quotients of them: the normal form of an answer. An atom is a
// variable, pi, e, i, a prime whose powers may be fractions (2^(1/2)), a root of a polynomial, or an expression that is
// known only by its function and arguments, such as sin(x).
#include <gmpxx.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tasks/grade/budget.h"
#include "tasks/grade/expression.h"

namespace pg::grading {

// Exponents by atom, ascending; none is 0. Those of primes and of e count 1/kFraction: kFraction / 2 is a square root.
using Monomial = std::vector<std::pair<int32_t, int32_t>>;
inline constexpr int32_t kFraction = 2520;
using Polynomial = std::map<Monomial, mpq_class>;  // no coefficient is 0

struct Quotient {
  Polynomial top;
  Polynomial bottom = {{Monomial(), mpq_class(1)}};
};

struct Atom {
  enum class Kind { variable, pi, euler, imaginary, prime, root, opaque } kind;
  std::string name;     // of a variable; of the function of an opaque atom; "log" of a prime is its logarithm
  mpz_class prime = 0;  // of a prime, and of the logarithm of one
  std::vector<Quotient> arguments = {};  // of an opaque atom; the radicand of a root
  int32_t index = 0;                     // of a root: its power `index` is the radicand
};

// Arithmetic with the atoms of one verdict. Every function throws Error when the budget is spent.
class Algebra {
 public:
  explicit Algebra(Budget& budget) : budget_(budget) {}

  Polynomial constant(const mpq_class& value) const;
  Polynomial variable(Atom::Kind kind, const std::string& name = "");
  // prime^(exponent / kFraction), 0 <= exponent.
  Polynomial prime_power(const mpz_class& prime, int64_t exponent);
  // e^(exponent / kFraction), 0 <= exponent.
  Polynomial e_power(int64_t exponent);
  // The logarithm of a prime.
  Polynomial log_prime(const mpz_class& prime);
  // The root of a quotient, as an atom; `index` >= 2.
  Polynomial root(const Quotient& radicand, int32_t index);
  Polynomial opaque(const std::string& function, std::vector<Quotient> arguments);

  Polynomial add(const Polynomial& a, const Polynomial& b, const mpq_class& factor = 1);  // a + factor b
  Polynomial multiply(const Polynomial& a, const Polynomial& b);
  Quotient add(const Quotient& a, const Quotient& b, const mpq_class& factor = 1);
  Quotient multiply(const Quotient& a, const Quotient& b);
  Quotient inverse(const Quotient& a);  // Error if a is 0
  Quotient power(const Quotient& a, int64_t exponent);
  Quotient quotient(Polynomial top) const { return {std::move(top)}; }

  // Whether the difference is 0 in normal form: then a and b have the same values.
  bool same(const Quotient& a, const Quotient& b);
  // Whether b = c a for a rational c that is not 0; the c.
  std::optional<mpq_class> ratio(const Quotient& a, const Quotient& b);
  // Whether different normal forms are different functions: all atoms are variables, primes, i, and pi or e but not
  // both. (That pi and e together satisfy no equation is not known.)
  bool decides(const Quotient& a, const Quotient& b) const;
  // Whether the denominator has atoms that might make it 0 although its normal form is not.
  bool safe_bottom(const Quotient& a) const;

  // The value if the quotient is a rational number.
  static std::optional<mpq_class> rational(const Quotient& a);
  // q if the quotient is q pi.
  std::optional<mpq_class> multiple_of_pi(const Quotient& a) const;
  bool has_variables(const Quotient& a) const;

 private:
  int32_t find(Atom atom);
  Polynomial of_atom(int32_t atom, int32_t exponent) const;
  void accumulate(Polynomial& sum, Monomial monomial, mpq_class coefficient);
  void spend(const mpq_class& value);
  Quotient simplified(Quotient a) const;

  Budget& budget_;
  std::vector<Atom> atoms_;
  int level_ = 0;  // of products inside accumulate()
};

// The normal form of an expression. Throws Error for a division by zero, for infinity, and when the budget is spent.
Quotient normal_form(const Node& node, Algebra& algebra, Budget& budget);

}  // namespace pg::grading
