#include <algorithm>
#include <cctype>

#include "tasks/grade/units.h"

namespace pg::grading {
namespace {

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
constexpr std::string_view kWords[] = {
    "no",  "yes", "odd", "on",  "off", "up",  "mon", "tue", "wed", "thu", "fri", "sat", "sun", "jan", "feb", "mar",
    "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec", "all", "red", "boy", "ten", "one", "two", "six",
    "not", "add", "are", "is",  "it",  "in",  "if",  "at",  "am",  "an",  "as",  "me",  "we",  "he",  "us",  "to",
    "of",  "by",  "or",  "so",  "go",  "do",  "my",  "hi",  "men", "cat", "dog", "bad", "cab", "dad", "ace", "egg",
    "cup", "day", "way", "bag", "box", "bus", "car", "cow", "pig", "hen", "kid", "pie", "hat", "toy", "job", "row",
    "map", "pen", "key", "can", "jar", "lot", "bar", "tie", "bed", "mug", "bee", "ant", "fox", "rad", "pea", "fig",
    "nut", "oar", "owl", "ray", "set", "bit", "die", "gem", "cap", "ton", "win", "kit"};
struct Counting {
  std::string_view singular, plural;
  int numerator, denominator;
};
constexpr Counting kCounting[] = {{"dozen", "dozens", 12, 1},
                                  {"score", "scores", 20, 1},
                                  {"gross", "gross", 144, 1},
                                  {"pair", "pairs", 2, 1},
                                  {"couple", "couples", 2, 1},
                                  {"half", "halves", 1, 2},
                                  {"third", "thirds", 1, 3},
                                  {"quarter", "quarters", 1, 4},
                                  {"fourth", "fourths", 1, 4},
                                  {"fifth", "fifths", 1, 5},
                                  {"sixth", "sixths", 1, 6},
                                  {"seventh", "sevenths", 1, 7},
                                  {"eighth", "eighths", 1, 8},
                                  {"ninth", "ninths", 1, 9},
                                  {"tenth", "tenths", 1, 10},
                                  {"eleventh", "elevenths", 1, 11},
                                  {"twelfth", "twelfths", 1, 12},
                                  {"sixteenth", "sixteenths", 1, 16},
                                  {"hundredth", "hundredths", 1, 100},
                                  {"thousandth", "thousandths", 1, 1000},
                                  {"millionth", "millionths", 1, 1000000}};

}  // namespace

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

std::optional<int64_t> number_word(std::string_view word) {
  if (word.size() < 3 || word.size() > 9) return {};
  const std::string small = lower(word);
  if (const int64_t value = place(kSmall, small); value >= 0) return value;
  if (const int64_t tens = place(kTens, small); tens >= 0) return 20 + 10 * tens;
  return {};
}

int64_t scale_of(std::string_view word) {
  if (word == "hundred") return 100;
  if (word == "thousand") return 1000;
  if (word == "million") return 1000000;
  if (word == "billion") return 1000000000;
  if (word == "trillion") return 1000000000000;
  return 0;
}

std::optional<mpq_class> counting_word(std::string_view word) {
  if (word.size() < 4 || word.size() > 11) return {};
  const std::string small = lower(word);
  for (const std::string_view name : {std::string_view(small), std::string_view(small).substr(0, small.size() - 1)}) {
    if (name.size() < small.size() && !small.ends_with('s')) break;
    if (const int64_t scale = scale_of(name); scale > 0) return mpq_class(scale);
  }
  for (const Counting& row : kCounting) {
    if (small == row.singular || small == row.plural) return mpq_class(row.numerator, row.denominator);
  }
  return {};
}

bool is_plain_word(std::string_view text) {
  return text.size() >= 2 && text.size() <= 3 && place(kWords, lower(text)) >= 0;
}

bool is_product_of_letters(std::string_view text) {
  if (text.size() < 2 || text.size() > 3 || is_plain_word(text)) return false;
  if (text.size() == 2) return true;
  const std::string small = lower(text);
  const auto [low, high] = std::minmax_element(small.begin(), small.end());
  return *high - *low <= 4 && small.find_first_of("eiou") == std::string::npos;
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
