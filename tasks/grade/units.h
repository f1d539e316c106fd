#pragma once
// Words of answers: units of measurement with their sizes, nouns ("5 people") as units that only equal themselves, and
// words such as "twenty-one", "million", "dozen", "Monday".
#include <gmpxx.h>

#include <cstdint>
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

// The text with a to z for A to Z.
std::string lower(std::string_view text);

// 0 to 19, 20, 30 … 90 for "zero" … "ninety", in any case. Nothing for another word.
std::optional<int64_t> number_word(std::string_view word);
// 100, 1000, 10^6, 10^9, 10^12 for "hundred" … "trillion"; 0 for another word.
int64_t scale_of(std::string_view word);
// The factor of a word that counts, in singular or plural: that of scale_of(), 12 for "dozen", 2 for "pair", 1/2 for
// "half", 1/3 for "third". Nothing for another word.
std::optional<mpq_class> counting_word(std::string_view word);

// Whether a text of two or three letters is an English word that an answer may be ("no", "odd", "men") instead of a
// product of variables.
bool is_plain_word(std::string_view text);
// Whether two or three letters are as those of a product of variables: "ab", "xyz", "pqr", but not "cat" or "on". Upper
// and lower case of such letters differ.
bool is_product_of_letters(std::string_view text);
// Lower case letters, one space between words, without commands for fonts, $, braces and a full stop: two answers that
// are texts are equal if these are.
std::string plain_text(std::string_view text);
// Whether a plain text has only letters, spaces, hyphens and apostrophes.
bool is_wordy(std::string_view plain);

}  // namespace pg::grading
