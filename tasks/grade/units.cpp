#include "tasks/grade/units.h"

#include <algorithm>
#include <cctype>

namespace pg::grading {
namespace {

struct Row {
  std::string_view names;  // separated by spaces; a plural's s or es may follow
  std::string_view dimension;
  int exponent, numerator, denominator;
};
// Sizes are exact: the international yard and pound.
constexpr Row kUnits[] = {
    {"m meter metre", "m", 1, 1, 1},
    {"km kilometer kilometre", "m", 1, 1000, 1},
    {"cm centimeter centimetre", "m", 1, 1, 100},
    {"mm millimeter millimetre", "m", 1, 1, 1000},
    {"in inch", "m", 1, 254, 10000},
    {"ft foot feet", "m", 1, 3048, 10000},
    {"yd yard", "m", 1, 9144, 10000},
    {"mi mile", "m", 1, 1609344, 1000},
    {"l liter litre", "m", 3, 1, 1000},
    {"ml milliliter millilitre", "m", 3, 1, 1000000},
    {"kg kilogram", "kg", 1, 1, 1},
    {"g gram", "kg", 1, 1, 1000},
    {"mg milligram", "kg", 1, 1, 1000000},
    {"lb pound", "kg", 1, 45359237, 100000000},
    {"oz ounce", "kg", 1, 45359237, 1600000000},
    {"s sec second", "s", 1, 1, 1},
    {"min minute", "s", 1, 60, 1},
    {"h hr hour", "s", 1, 3600, 1},
    {"day", "s", 1, 86400, 1},
    {"week", "s", 1, 604800, 1},
    {"dollar", "$", 1, 1, 1},
    {"cent", "$", 1, 1, 100},
};

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

bool names(const Row& row, std::string_view word) {
  for (std::string_view rest = row.names; !rest.empty();) {
    const size_t end = std::min(rest.find(' '), rest.size());
    const std::string_view name = rest.substr(0, end);
    if (word == name) return true;
    if (word.starts_with(name) && name.size() > 2 &&
        (word.substr(name.size()) == "s" || word.substr(name.size()) == "es"))
      return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

const Row* find_unit(std::string_view word) {
  for (const Row& row : kUnits) {
    if (names(row, word)) return &row;
  }
  return nullptr;
}

mpq_class power(const mpq_class& base, int exponent) {
  mpq_class result = 1;
  for (int i = 0; i < std::abs(exponent); ++i) result *= base;
  return exponent < 0 ? mpq_class(1 / result) : result;
}

void multiply(Unit& unit, std::string_view word, int exponent) {
  if (const Row* row = find_unit(word)) {
    mpq_class size(row->numerator, row->denominator);
    size.canonicalize();
    unit.size *= power(size, exponent);
    unit.dims[std::string(row->dimension)] += row->exponent * exponent;
    return;
  }
  std::string noun(word);
  if (noun.size() > 3 && noun.ends_with('s') && !noun.ends_with("ss")) noun.pop_back();
  unit.dims[noun] += exponent;
}

}  // namespace

bool is_unit_word(std::string_view word) { return word == "mph" || (word.size() > 1 && find_unit(lower(word))); }

std::optional<Unit> parse_unit(std::string_view phrase, bool letters) {
  if (phrase.size() > 80) return {};
  const std::string text = lower(phrase);
  Unit unit;
  int sign = 1, next_power = 1;
  bool any = false;
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == ' ' || c == '.' || c == '-') {
      ++i;
    } else if (c == '/') {
      sign = -1, ++i;
    } else if (std::isalpha(static_cast<unsigned char>(c))) {
      size_t end = i;
      while (end < text.size() && std::isalpha(static_cast<unsigned char>(text[end]))) ++end;
      const std::string_view word = std::string_view(text).substr(i, end - i);
      i = end;
      if (word == "per") {
        sign = -1;
        continue;
      }
      if (word == "square" || word == "sq" || word == "cubic" || word == "cu") {
        next_power = word.starts_with('s') ? 2 : 3;
        continue;
      }
      if (word.size() == 1 && !(letters && find_unit(word))) {
        if (!letters) return {};
      }
      int exponent = next_power;
      next_power = 1;
      if (i + 1 < text.size() && text[i] == '^') {
        size_t at = i + 1;
        const bool brace = text[at] == '{';
        if (brace) ++at;
        if (at >= text.size() || text[at] < '1' || text[at] > '9') return {};
        exponent = text[at++] - '0';
        if (brace && (at >= text.size() || text[at++] != '}')) return {};
        i = at;
      }
      any = true;
      if (word == "mph") {
        multiply(unit, "mile", sign);
        multiply(unit, "hour", -sign);
      } else {
        multiply(unit, word, sign * exponent);
      }
    } else {
      return {};
    }
  }
  if (!any) return {};
  std::erase_if(unit.dims, [](const auto& dim) { return dim.second == 0; });
  return unit;
}

}  // namespace pg::grading
