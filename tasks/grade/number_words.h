#pragma once
// Words of answers: "twenty-one", "million", "Monday".
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pg::grading {

// The value of English number words below a hundred, also with a hyphen; any case. Nothing for another text.
std::optional<int64_t> number_of_words(std::string_view text);
// 10^6 for "million", "billion", "trillion", "thousand", "hundred" accordingly; 0 for another word.
int64_t scale_of(std::string_view word);
// Whether a text of two or three letters is a word that an answer may be ("no", "odd", "mon") instead of variables.
bool is_plain_word(std::string_view text);
// Lower case letters, one space between words, without commands for fonts, $, braces and a full stop: two answers that
// are texts are equal if these are.
std::string plain_text(std::string_view text);
// Whether a plain text has only letters, spaces, hyphens and apostrophes.
bool is_wordy(std::string_view plain);

}  // namespace pg::grading
