#include "tasks/grade/number_words.h"

#include <algorithm>
#include <cctype>

namespace pg::grading {
namespace {

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

// The place of a word in a list, from 0; -1 if it is not there.
template <size_t N>
int64_t place(const std::string_view (&words)[N], std::string_view word) {
  const auto* const found = std::find(std::begin(words), std::end(words), word);
  return found == std::end(words) ? -1 : found - std::begin(words);
}
constexpr std::string_view kSmall[] = {"zero",     "one",     "two",     "three",     "four",     "five",    "six",
                                       "seven",    "eight",   "nine",    "ten",       "eleven",   "twelve",  "thirteen",
                                       "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"};
constexpr std::string_view kTens[] = {"twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"};
constexpr std::string_view kWords[] = {"no",  "yes", "odd", "on",  "off", "up",  "mon", "tue", "wed",
                                       "thu", "fri", "sat", "sun", "jan", "feb", "mar", "apr", "may",
                                       "jun", "jul", "aug", "sep", "oct", "nov", "dec", "all", "red",
                                       "boy", "ten", "one", "two", "six", "not", "add", "are", "is"};

}  // namespace

std::optional<int64_t> number_of_words(std::string_view text) {
  if (text.size() < 3 || text.size() > 20) return {};
  const std::string word = lower(text);
  if (const int64_t small = place(kSmall, word); small >= 0) return small;
  const size_t cut = word.find_first_of("- ");
  const int64_t tens = place(kTens, std::string_view(word).substr(0, cut));
  if (tens < 0) return {};
  if (cut == std::string::npos) return 20 + 10 * tens;
  const int64_t ones = place(kSmall, std::string_view(word).substr(cut + 1));
  if (ones < 1 || ones > 9) return {};
  return 20 + 10 * tens + ones;
}

int64_t scale_of(std::string_view word) {
  if (word == "hundred") return 100;
  if (word == "thousand") return 1000;
  if (word == "million") return 1000000;
  if (word == "billion") return 1000000000;
  if (word == "trillion") return 1000000000000;
  return 0;
}

bool is_plain_word(std::string_view text) {
  return text.size() >= 2 && text.size() <= 3 && place(kWords, lower(text)) >= 0;
}

std::string plain_text(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      size_t end = i + 1;
      while (end < text.size() && std::isalpha(static_cast<unsigned char>(text[end]))) ++end;
      const std::string_view name = text.substr(i + 1, end - i - 1);
      if (name == "text" || name == "mbox" || name == "textbf" || name == "mathrm" || name == "textrm") {
        i = end - 1;
        continue;
      }
    }
    const unsigned char c = static_cast<unsigned char>(text[i]);
    if (c == '{' || c == '}' || c == '$') continue;
    if (std::isspace(c)) {
      if (!result.empty() && result.back() != ' ') result += ' ';
    } else {
      result += static_cast<char>(c < 0x80 ? std::tolower(c) : c);
    }
  }
  while (!result.empty() && (result.back() == ' ' || result.back() == '.')) result.pop_back();
  return result;
}

bool is_wordy(std::string_view plain) {
  return plain.size() > 1 && std::all_of(plain.begin(), plain.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || c == ' ' || c == '-' || c == '\'';
         });
}

}  // namespace pg::grading
