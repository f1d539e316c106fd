#include "tasks/grade/units.h"

#include <algorithm>
#include <cctype>
#include <utility>
#include <vector>

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

// Words behind a value that are no unit: they change it.
constexpr std::string_view kNoUnits[] = {"or",    "and",  "more",    "less",      "fewer", "than",   "not",
                                         "least", "most", "to",      "from",      "minus", "plus",   "divided",
                                         "mod",   "over", "below",   "under",     "if",    "when",   "where",
                                         "for",   "base", "squared", "factorial", "cubed", "choose", "modulo"};

// A word of a phrase with the exponent behind it (0: none), or "/".
struct UnitWord {
  std::string text;
  int exponent = 0;
};

// Nothing if the phrase has other characters than letters, spaces, points, hyphens, "/" and exponents of one digit.
std::optional<std::vector<UnitWord>> words_of(const std::string& text) {
  std::vector<UnitWord> words;
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == ' ' || c == '.' || c == '-') {
      ++i;
    } else if (c == '/') {
      words.push_back({"/"}), ++i;
    } else if (std::isalpha(static_cast<unsigned char>(c))) {
      size_t end = i;
      while (end < text.size() && std::isalpha(static_cast<unsigned char>(text[end]))) ++end;
      words.push_back({text.substr(i, end - i)});
      i = end;
    } else if (c == '^' && i + 1 < text.size() && !words.empty() && words.back().exponent == 0) {
      const bool brace = text[i + 1] == '{';
      i += brace ? 2 : 1;
      if (i >= text.size() || text[i] < '1' || text[i] > '9') return {};
      words.back().exponent = text[i++] - '0';
      if (brace && (i >= text.size() || text[i++] != '}')) return {};
    } else {
      return {};
    }
  }
  return words;
}

}  // namespace

bool is_unit_word(std::string_view word) {
  return word == "mph" || word == "sq" || word == "cu" || (word.size() > 1 && find_unit(lower(word)));
}

bool is_unit_letter(std::string_view word) { return word.size() == 1 && find_unit(word) != nullptr; }

std::optional<Unit> parse_unit(std::string_view phrase, bool letters) {
  if (phrase.size() > 80) return {};
  const auto words = words_of(lower(phrase));
  if (!words) return {};
  Unit unit;
  int sign = 1, next_power = 1;
  bool any = false;
  for (size_t i = 0; i < words->size(); ++i) {
    const auto& [word, exponent] = (*words)[i];
    if (word == "of" || word == "the" || (i > 0 && (word == "a" || word == "an"))) continue;
    if (word == "/" || word == "per") {
      sign = -1;
      continue;
    }
    if (word == "square" || word == "sq" || word == "cubic" || word == "cu") {
      next_power = word.starts_with('s') ? 2 : 3;
      continue;
    }
    if (word.size() == 1 && !letters) return {};
    if (std::find(std::begin(kNoUnits), std::end(kNoUnits), word) != std::end(kNoUnits)) return {};
    int power = exponent > 0 ? exponent : std::exchange(next_power, 1);
    if (i + 1 < words->size() && ((*words)[i + 1].text == "squared" || (*words)[i + 1].text == "cubed")) {
      power = (*words)[++i].text == "squared" ? 2 : 3;
    }
    any = true;
    if (word == "mph") {
      multiply(unit, "mile", sign);
      multiply(unit, "hour", -sign);
    } else {
      multiply(unit, word, sign * power);
    }
  }
  if (!any) return {};
  std::erase_if(unit.dims, [](const auto& dim) { return dim.second == 0; });
  return unit;
}

}  // namespace pg::grading
