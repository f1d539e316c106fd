#include "tasks/grade/extract.h"

#include <algorithm>
#include <string>

#include "tensor/base/error.h"

namespace pg {

namespace {
constexpr std::string_view kSpaces = " \t\n\r\f\v";
}

std::string_view trimmed(std::string_view text) {
  const size_t begin = std::min(text.find_first_not_of(kSpaces), text.size());
  text.remove_prefix(begin);
  return text.substr(0, text.find_last_not_of(kSpaces) + 1);
}

std::optional<std::string_view> last_boxed(std::string_view text) {
  size_t begin = std::string_view::npos;
  for (const std::string_view mark : {"\\boxed", "\\fbox"}) {
    const size_t at = text.rfind(mark);
    if (at != std::string_view::npos && (begin == std::string_view::npos || at + mark.size() > begin)) {
      begin = at + mark.size();
    }
  }
  if (begin == std::string_view::npos) return {};
  text.remove_prefix(std::min(text.find_first_not_of(' ', begin), text.size()));
  if (!text.starts_with('{')) return {};
  int64_t depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == '{') {
      ++depth;
    } else if (text[i] == '}' && --depth == 0) {
      return text.substr(1, i - 1);
    }
  }
  return {};
}

std::optional<std::string_view> last_tagged(std::string_view text, std::string_view tag) {
  const std::string open = fmt::format("<{}>", tag), close = fmt::format("</{}>", tag);
  const size_t begin = text.rfind(open);
  if (begin == std::string_view::npos) return {};
  const size_t content = begin + open.size(), end = text.find(close, content);
  if (end == std::string_view::npos || !trimmed(text.substr(end + close.size())).empty()) return {};
  return text.substr(content, end - content);
}

std::optional<std::string_view> answer_after_thought(std::string_view text, bool strict) {
  constexpr std::string_view kOpen = "<answer>", kClose = "</answer>", kThought = "</think>";
  const size_t end = text.find(kClose);
  if (end == std::string_view::npos) return {};
  text = text.substr(0, end);
  const size_t begin = text.rfind(kOpen);
  if (begin == std::string_view::npos) return {};
  std::string_view thought = text.substr(0, begin);
  if (strict) {
    if (!thought.ends_with(' ')) return {};
    thought.remove_suffix(1);
  } else {
    thought = thought.substr(0, thought.find_last_not_of(kSpaces) + 1);
  }
  if (!thought.ends_with(kThought)) return {};
  const std::string_view content = text.substr(begin + kOpen.size());
  return last_boxed(content).value_or(content);
}

namespace {

bool is_letter_or_digit(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// What follows the last "answer is" in any case; none if the text does not say it.
std::optional<std::string_view> after_answer_is(std::string_view text) {
  constexpr std::string_view kPhrase = "answer is";
  const auto same_letter = [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b; };
  const auto phrase = std::find_end(text.begin(), text.end(), kPhrase.begin(), kPhrase.end(), same_letter);
  if (phrase == text.end()) return {};
  return text.substr(static_cast<size_t>(phrase - text.begin()) + kPhrase.size());
}

}  // namespace

std::optional<std::string_view> last_number(std::string_view text) {
  const auto is_digit = [&](size_t i) { return i < text.size() && text[i] >= '0' && text[i] <= '9'; };
  const size_t last = text.find_last_of("0123456789");
  if (last == std::string_view::npos) return {};
  const auto first_digit = [&](size_t at) {  // of the run that ends before `at`
    while (at > 0 && is_digit(at - 1)) --at;
    return at;
  };
  size_t begin = first_digit(last + 1), end = last + 1;
  if (begin > 0 && text[begin - 1] == '.') {  // ".5" too
    end = begin - 1;
    begin = first_digit(end);
  }
  // Before a group of three digits a comma separates thousands.
  while (end - begin == 3 && begin > 1 && text[begin - 1] == ',' && is_digit(begin - 2)) {
    end = begin - 1;
    begin = first_digit(end);
  }
  // A sign behind a letter, a digit or a bracket is an operation: "5-2".
  if (begin > 0 && (text[begin - 1] == '-' || text[begin - 1] == '+')) {
    const char before = begin > 1 ? text[begin - 2] : ' ';
    if (!is_letter_or_digit(before) && before != ')') --begin;
  }
  return text.substr(begin, last + 1 - begin);
}

std::optional<std::string_view> stated_choice(std::string_view text) {
  constexpr std::string_view kBefore = " \t\r\n:([{*\"'";
  const auto stated = after_answer_is(text);
  text = stated.value_or(text);
  text.remove_prefix(std::min(text.find_first_not_of(kBefore), text.size()));
  if (text.empty() || text[0] < 'A' || text[0] > 'D') return {};
  if (text.size() > 1 && is_letter_or_digit(text[1])) return {};
  if (!stated && text.size() > 2 && text[1] == ' ' && is_letter_or_digit(text[2])) return {};  // "A dog"
  return text.substr(0, 1);
}

FoundAnswer find_answer(std::string_view text) {
  using Where = FoundAnswer::Where;
  if (text.find("\\boxed") != std::string_view::npos || text.find("\\fbox") != std::string_view::npos) {
    const auto boxed = last_boxed(text);
    return boxed ? FoundAnswer{Where::boxed, trimmed(*boxed)} : FoundAnswer{Where::nowhere};
  }
  if (const auto tagged = last_tagged(text, "answer")) return {Where::tagged, trimmed(*tagged)};
  const auto stated = after_answer_is(text);
  if (!stated) return {Where::nowhere};
  std::string_view rest = *stated;
  rest = trimmed(rest.substr(0, rest.find('\n')));
  if (rest.starts_with(':')) rest = trimmed(rest.substr(1));
  for (size_t i = 0; i + 1 < rest.size(); ++i) {  // a point before a space ends the sentence
    if (rest[i] == '.' && rest[i + 1] == ' ') rest = rest.substr(0, i);
  }
  if (rest.ends_with('.')) rest.remove_suffix(1);
  if (rest.empty()) return {Where::nowhere};
  return {Where::phrase, trimmed(rest)};
}

}  // namespace pg
