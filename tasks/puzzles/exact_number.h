#pragma once
// Exact fractions, and the numbers that texts are.
#include <cstdint>
#include <optional>
#include <string_view>

namespace pg {

// An exact fraction, not reduced; the denominator is positive.
struct Fraction {
  int64_t numerator = 0, denominator = 1;

  bool operator==(int64_t whole) const;
  double value() const { return static_cast<double>(numerator) / static_cast<double>(denominator); }
};
// a OP b for OP of "+-*/". Nothing for a division by zero, or if a product or sum does not fit in 64 bits.
std::optional<Fraction> combined(Fraction a, char op, Fraction b);

// The value of a text that is a number and nothing else: a sign or none, then digits, with or without correct commas
// between thousands and a decimal part ("-1,234.50"), or two whole numbers with a slash ("3/4"). Nothing for any other
// text, and if numerator or denominator does not fit in 64 bits.
std::optional<Fraction> exact_number(std::string_view text);
// Whether both texts are such numbers and their values are equal: "0.5" and "1/2" are, "0.33" and "1/3" are not.
bool same_number(std::string_view a, std::string_view b);

}  // namespace pg
