// Words and their permutations, orders, words that count, numbers in words, sentences of chat models.
#include <algorithm>
#include <cctype>

#include "tests/tasks/made_pairs.h"

using namespace pg;
using namespace pg::testing;

namespace {

// A word, and the same word or its letters in another order.
Pair words(Generator& g) {
  static const std::vector<std::string> all = {
      "cat",    "dog",    "tea",    "tar",   "rat",   "pot",      "top",     "saw",    "won",    "left",   "team",
      "meat",   "north",  "thorn",  "south", "night", "thing",    "listen",  "silent", "square", "circle", "kite",
      "Evelyn", "Monday", "Briana", "blue",  "green", "triangle", "hexagon", "even",   "never",  "always", "linear"};
  std::string word = one_of(g, all), other = word;
  if (coin(g)) other = shuffled(g, word);
  const auto small = [](std::string text) {
    std::transform(text.begin(), text.end(), text.begin(), [](char c) { return std::tolower(c); });
    return text;
  };
  const bool equal = small(other) == small(word);
  if (coin(g)) std::transform(word.begin(), word.end(), word.begin(), [](char c) { return std::toupper(c); });
  const auto written = [&](const std::string& text, bool upright) {
    static const std::vector<std::string> fonts = {"text", "mbox", "textbf", "textrm", "mathrm"};
    return upright ? "\\" + one_of(g, fonts) + "{" + text + "}" : text;
  };
  return {written(word, coin(g)), written(other, coin(g)), equal};
}

// Random letters of \text{…}; capitals without it too.
Pair letters(Generator& g) {
  const bool capitals = coin(g);
  std::string word, other;
  for (int n = whole(g, 2, 5); n > 0; --n) word += static_cast<char>((capitals ? 'A' : 'a') + whole(g, 0, 25));
  other = coin(g) ? word : shuffled(g, word);
  const bool equal = other == word, upright = !capitals || coin(g);
  if (!upright) return {word, other, equal};
  return {"\\text{" + word + "}", coin(g) && capitals ? other : "\\text{" + other + "}", equal};
}

// Capitals or words in an order.
Pair orders(Generator& g) {
  std::vector<std::string> names = coin(g) ? std::vector<std::string>{"A", "B", "C", "D", "E"}
                                           : std::vector<std::string>{"Amy", "Bob", "Carl", "Dora", "Emil"};
  names = shuffled(g, names);
  names.resize(static_cast<size_t>(whole(g, 2, 5)));
  const std::vector<std::string> other = coin(g) ? names : shuffled(g, names);
  const std::string between = coin(g) ? ", " : ",";
  const bool tuple = g.integer(3) == 0;
  const auto written = [&](const std::vector<std::string>& all, const std::string& comma) {
    return tuple ? "(" + joined(all, comma) + ")" : joined(all, comma);
  };
  return {written(names, between), written(other, ", "), names == other};
}

struct Count {
  const char* word;
  int numerator, denominator;
};
Pair counts(Generator& g) {
  static const std::vector<Count> rows = {
      {"dozen", 12, 1},      {"pairs", 2, 1},         {"score", 20, 1},      {"gross", 144, 1}, {"hundred", 100, 1},
      {"thousand", 1000, 1}, {"million", 1000000, 1}, {"halves", 1, 2},      {"thirds", 1, 3},  {"quarters", 1, 4},
      {"fifths", 1, 5},      {"tenths", 1, 10},       {"hundredths", 1, 100}};
  const Count& row = one_of(g, rows);
  const int n = whole(g, 1, 60);
  const bool equal = coin(g);
  std::string given = coin(g) ? fmt::format("{} {}", n, row.word) : fmt::format("{}\\text{{ {}}}", n, row.word);
  const bool noun = g.integer(3) == 0 && row.denominator == 1;
  if (noun) given = fmt::format("{} {}{}", n, row.word, coin(g) ? " eggs" : "\\text{ eggs}");
  const int64_t right = int64_t{n} * row.numerator;
  const int64_t shown = equal ? right : coin(g) ? int64_t{n} * row.denominator : right + whole(g, 1, 5);
  const std::string gold =
      row.denominator == 1 ? fmt::format("{}", shown) : fmt::format("{}/{}", shown, row.denominator);
  return {given, noun && coin(g) ? gold + " eggs" : gold, shown == right};
}

std::string in_words(int n, bool with_and) {
  static const char* kSmall[] = {"zero",     "one",     "two",     "three",     "four",     "five",    "six",
                                 "seven",    "eight",   "nine",    "ten",       "eleven",   "twelve",  "thirteen",
                                 "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"};
  static const char* kTens[] = {"", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"};
  if (n < 20) return kSmall[n];
  if (n < 100) return kTens[n / 10] + (n % 10 == 0 ? std::string() : std::string("-") + kSmall[n % 10]);
  const int unit = n < 1000 ? 100 : 1000;
  std::string text = in_words(n / unit, with_and) + (unit == 100 ? " hundred" : " thousand");
  if (n % unit == 0) return text;
  const bool joins = with_and && n % unit < 100;
  return text + (joins ? " and " : " ") + in_words(n % unit, with_and);
}
Pair numbers_in_words(Generator& g) {
  const int n = g.integer(3) == 0 ? whole(g, 0, 999999) : whole(g, 0, 999);
  const std::string text = in_words(n, coin(g));
  const std::string given = coin(g) ? text : "\\text{" + text + "}";
  if (coin(g)) return {given, fmt::format("{}", n), true};
  if (coin(g)) return {given, fmt::format("{}", n + whole(g, 1, 20)), false};
  std::vector<std::string> parts;  // the words in another order
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find_first_of(" -", begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  const std::vector<std::string> other = shuffled(g, parts);
  return {joined(other, " "), fmt::format("{}", n), other == parts};
}

// What chat models write around an answer, and equations that state it.
Pair sentences(Generator& g) {
  static const std::vector<std::string> forms = {"The answer is {}.",
                                                 "Answer: {}",
                                                 "**Answer:** {}",
                                                 "Final Answer: **{}**",
                                                 "So she has {} left.\n#### {}",
                                                 "#### {}",
                                                 "Therefore $\\boxed{{{}}}$.",
                                                 "The final answer is $\\boxed{{m+n={}}}$.",
                                                 "$\\boxed{{f(2)={}}}$",
                                                 "**Final Answer**\n\n{}",
                                                 "The answer is: $${}$$",
                                                 "<answer>{}</answer>",
                                                 "Answer: ${}$\n\nI hope it helps.",
                                                 "x = {}",
                                                 "AB = {}",
                                                 "\\cos\\theta = {}",
                                                 "p + q = {}"};
  const int n = whole(g, 2, 999), d = whole(g, 2, 9);
  const bool fraction = coin(g), equal = coin(g);
  const auto text = [&](int top) {
    return fraction ? fmt::format("\\frac{{{}}}{{{}}}", top, d) : fmt::format("{}", top);
  };
  const std::string& form = one_of(g, forms);
  return {fmt::format(fmt::runtime(form), text(n), text(n)), text(equal ? n : n + 1), equal};
}

// Options of multiple choice, alone and with their value.
Pair options(Generator& g) {
  static const std::vector<std::string> forms = {"({0}) {1}", "\\textbf{{({0})}}\\ {1}", "The answer is ({0}) {1}."};
  const char letter = static_cast<char>('A' + whole(g, 0, 4)), other = static_cast<char>('A' + whole(g, 0, 4));
  const int n = whole(g, 10, 99), m = coin(g) ? n : n + 1;
  const std::string given = fmt::format(fmt::runtime(one_of(g, forms)), letter, n);
  if (coin(g)) return {given, fmt::format("{}", m), n == m};
  return {given, coin(g) ? fmt::format("({})", other) : std::string(1, other), letter == other};
}

}  // namespace

TEST_CASE("answers in words that are made equal are equal and others are not", "[grade]") {
  try_pairs({{"words", words},
             {"letters", letters},
             {"orders", orders},
             {"counts", counts},
             {"numbers in words", numbers_in_words},
             {"sentences", sentences},
             {"options", options}});
}
