#pragma once
// Units of measurement with their sizes, and nouns ("5 people") as units that only equal themselves.
#include <gmpxx.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace pg::grading {

struct Unit {
  mpq_class size = 1;               // in metres, kilograms, seconds, dollars
  std::map<std::string, int> dims;  // exponents: "m", "kg", "s", "$", or a noun
  bool doubtful = false;            // a short word that may be a product of variables: "5 abx"
  bool empty() const { return dims.empty(); }
};

// The unit of a phrase: "cm", "km/h", "square feet", "miles per hour", "m^2", "people". Nothing if the phrase has other
// characters. `letters`: single letters are units too, as in \text{ m}.
std::optional<Unit> parse_unit(std::string_view phrase, bool letters);
// Whether a word is a unit of the table, or begins one ("sq"); single letters are not.
bool is_unit_word(std::string_view word);
// Whether a word is a single letter that is a unit of the table, as the m and s of m/s.
bool is_unit_letter(std::string_view word);

}  // namespace pg::grading
