// Reads the number that an answer to a word problem is.
#include <algorithm>
#include <cctype>

#include "tasks/grade/extract.h"
#include "tasks/puzzles/word_problems.h"

namespace pg {
namespace {

constexpr size_t kLongest = 100;  // characters of an answer

constexpr size_t kMostWords = 4;  // of a unit
constexpr std::string_view kVerbs[] = {"does", "do",    "did",    "is",  "are",  "was", "were", "will", "would",
                                       "can",  "could", "should", "has", "have", "had", "must", "may",  "might"};
// Words that change the number before them, or say that it is not the answer.
constexpr std::string_view kNotUnits[] = {
    "dozen", "dozens", "hundred", "hundreds", "thousand", "thousands", "million", "billion", "half", "halves",
    "third", "thirds", "quarter", "quarters", "twice",    "double",    "percent", "or",      "and",  "not",
    "no",    "minus",  "plus",    "than",     "times",    "less",      "fewer",   "except"};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words(1);
  for (const char c : lower(text)) {
    if (std::isalpha(static_cast<unsigned char>(c))) {
      words.back() += c;
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

// The words after the last "how many", before a verb: "more", "apples".
std::vector<std::string> unit_words(std::string_view text) {
  const auto words = words_of(text);
  std::vector<std::string> unit;
  for (size_t i = words.size(); i-- > 1;) {
    if (words[i - 1] != "how" || words[i] != "many") continue;
    for (size_t k = i + 1; k < words.size() && unit.size() < kMostWords; ++k) {
      if (std::ranges::find(kVerbs, words[k]) != std::end(kVerbs)) break;
      unit.push_back(words[k]);
    }
    break;
  }
  return unit;
}

bool is_about_dollars(std::string_view text) {
  const auto words = words_of(text);
  const auto has = [&](std::string_view word) { return std::ranges::find(words, word) != words.end(); };
  return (text.find('$') != std::string_view::npos || has("dollar") || has("dollars")) && !has("cent") && !has("cents");
}

// Whether `words`, each with a space before it, may follow a number as its unit.
bool is_unit(const WordProblem& problem, std::string_view words) {
  const auto unit = unit_words(problem.text);
  for (size_t count = 0; !words.empty(); ++count) {
    if (count == kMostWords || words[0] != ' ') return false;
    words.remove_prefix(1);
    const std::string word = lower(words.substr(0, words.find(' ')));
    words.remove_prefix(word.size());
    const bool dollars = (word == "dollars" || word == "dollar") && is_about_dollars(problem.text);
    if (std::ranges::find(kNotUnits, word) != std::end(kNotUnits)) return false;
    if (!dollars && std::ranges::find(unit, word) == unit.end()) return false;
  }
  return true;
}

}  // namespace

std::optional<std::string> plain_number(std::string_view text) {
  if (text.size() > kLongest) return {};
  std::string sign, whole, part;
  if (text.starts_with('-') || text.starts_with('+')) {
    if (text[0] == '-') sign = "-";
    text.remove_prefix(1);
  }
  const size_t point = std::min(text.find('.'), text.size());
  std::string_view digits = text.substr(0, point);
  if (digits.find(',') != std::string_view::npos) {
    // One to three digits, then a comma and three digits again and again.
    const size_t first = digits.find(',');
    if (first == 0 || first > 3 || (digits.size() - first) % 4 != 0) return {};
    for (size_t i = 0; i < digits.size(); ++i) {
      if ((i >= first && (i - first) % 4 == 0) != (digits[i] == ',')) return {};
    }
  }
  std::ranges::copy_if(digits, std::back_inserter(whole), [](char c) { return c != ','; });
  if (point < text.size()) {
    part = text.substr(point + 1);
    if (part.empty()) return {};
  }
  if (whole.empty() || !std::ranges::all_of(whole + part, is_digit)) return {};
  while (whole.size() > 1 && whole[0] == '0') whole.erase(0, 1);
  while (!part.empty() && part.back() == '0') part.pop_back();
  if (whole == "0" && part.empty()) return "0";
  return sign + whole + (part.empty() ? "" : "." + part);
}

std::optional<std::string> answer_number(const WordProblem& problem, std::string_view answer) {
  if (answer.size() > kLongest) return {};
  if (answer.ends_with('.')) answer.remove_suffix(1);
  std::string number;
  if (answer.starts_with('-') || answer.starts_with('+')) {
    number = answer[0];
    answer.remove_prefix(1);
  }
  if (answer.starts_with('$')) {
    if (!is_about_dollars(problem.text)) return {};
    answer.remove_prefix(1);
  }
  const size_t end = std::min(answer.find_first_not_of("0123456789.,"), answer.size());
  number += answer.substr(0, end);
  return is_unit(problem, answer.substr(end)) ? plain_number(number) : std::nullopt;
}

bool is_answer(const WordProblem& problem, std::string_view answer) {
  return answer_number(problem, answer) == problem.number;
}

}  // namespace pg
