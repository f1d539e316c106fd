#pragma once
// Values of an expression at points: in long double with a bound on the error, and modulo a prime.
#include <complex>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "tasks/grade/budget.h"
#include "tasks/grade/expression.h"

namespace pg::grading {

// A complex number that is within `error` of the true value.
struct Ball {
  std::complex<long double> value;
  long double error = 0;
  bool is_real() const { return value.imag() == 0; }
};
using Point = std::map<std::string, long double>;  // the variables

// Roots and logarithms are principal values; an odd root of a negative number is the real one, also as a power with a
// fraction for exponent. Throws Error where the expression has no value, or none that is certain, as 1 / (x - x),
// log(0), and for what has no rule here.
Ball evaluate(const Node& node, const Point& point, Budget& budget);

// The value modulo a prime below 2^61 of an expression of numbers, variables and + - * / ^; the variables' values
// follow from `seed` and their names. Nothing if a denominator is 0 there. Throws Error for any other expression, and
// for one whose degree is above 2^40: two different quotients then agree at a random point with a chance below 2^-19.
std::optional<uint64_t> evaluate_modulo(const Node& node, uint64_t prime, uint64_t seed, Budget& budget);
inline constexpr uint64_t kPrimes[] = {(uint64_t{1} << 61) - 1, (uint64_t{1} << 61) - 31};

// The names of the variables in an expression.
void collect_variables(const Node& node, std::set<std::string>& names);
// The longest number of digits after a point.
int longest_decimal(const Node& node);
// The value of an expression of small whole numbers and fractions.
std::optional<mpq_class> small_rational(const Node& node);
// FNV-1a.
uint64_t hash_of(std::string_view text, uint64_t seed = 14695981039346656037ull);

}  // namespace pg::grading
