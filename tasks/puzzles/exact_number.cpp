// Arithmetic of exact fractions, and their reader.
#include "tasks/puzzles/exact_number.h"

#include <algorithm>
#include <charconv>
#include <string>

namespace pg {
namespace {

// Digits alone. Nothing if there are none, or if the number does not fit in 64 bits.
std::optional<int64_t> whole_number(std::string_view digits) {
  int64_t value = 0;
  const char *begin = digits.data(), *end = begin + digits.size();
  if (digits.empty() || !std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; })) return {};
  return std::from_chars(begin, end, value).ec == std::errc{} ? std::optional(value) : std::nullopt;
}

// "1,234" without its commas. Nothing if they do not stand before each three of the last digits.
std::optional<std::string> without_commas(std::string_view text) {
  std::string digits;
  const bool commas = text.find(',') != std::string_view::npos;
  if (commas && text.size() % 4 == 0) return {};  // four digits, or none, before the first comma
  for (size_t i = 0; i < text.size(); ++i) {
    const bool place = commas && i > 0 && (text.size() - i) % 4 == 0;
    if ((text[i] == ',') != place) return {};
    if (!place) digits += text[i];
  }
  return digits;
}

}  // namespace

bool Fraction::operator==(int64_t whole) const {
  int64_t scaled = 0;
  return !__builtin_mul_overflow(whole, denominator, &scaled) && scaled == numerator;
}

std::optional<Fraction> combined(Fraction a, char op, Fraction b) {
  if (op == '/') {
    if (b.numerator == 0 || b.numerator == INT64_MIN || b.denominator == INT64_MIN) return {};
    const bool negative = b.numerator < 0;
    b = {negative ? -b.denominator : b.denominator, negative ? -b.numerator : b.numerator};
  }
  Fraction result;
  if (__builtin_mul_overflow(a.denominator, b.denominator, &result.denominator)) return {};
  if (op == '*' || op == '/') {
    if (__builtin_mul_overflow(a.numerator, b.numerator, &result.numerator)) return {};
    return result;
  }
  int64_t left = 0, right = 0;
  if (__builtin_mul_overflow(a.numerator, b.denominator, &left)) return {};
  if (__builtin_mul_overflow(b.numerator, a.denominator, &right)) return {};
  const bool overflow = op == '+' ? __builtin_add_overflow(left, right, &result.numerator)
                                  : __builtin_sub_overflow(left, right, &result.numerator);
  return overflow ? std::nullopt : std::optional(result);
}

std::optional<Fraction> exact_number(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  const auto signed_ = [&](int64_t n, int64_t d) { return Fraction{negative ? -n : n, d}; };
  if (const size_t slash = text.find('/'); slash != std::string_view::npos) {
    const auto above = whole_number(text.substr(0, slash)), below = whole_number(text.substr(slash + 1));
    if (!above || !below || *below == 0) return {};
    return signed_(*above, *below);
  }
  const size_t point = std::min(text.find('.'), text.size());
  auto digits = without_commas(text.substr(0, point));
  if (!digits || digits->empty()) return {};
  int64_t denominator = 1;
  std::string_view decimals = text.substr(std::min(point + 1, text.size()));
  decimals = decimals.substr(0, decimals.find_last_not_of('0') + 1);
  for (size_t i = 0; i < decimals.size(); ++i) {
    if (__builtin_mul_overflow(denominator, 10, &denominator)) return {};
  }
  const auto numerator = whole_number(digits->append(decimals));
  return numerator ? std::optional(signed_(*numerator, denominator)) : std::nullopt;
}

bool same_number(std::string_view a, std::string_view b) {
  const auto x = exact_number(a), y = exact_number(b);
  return x && y &&
         static_cast<__int128>(x->numerator) * y->denominator == static_cast<__int128>(y->numerator) * x->denominator;
}

}  // namespace pg
