#include "tasks/grade/extract.h"

#include <algorithm>
#include <cctype>
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

bool same_letters(std::string_view text, std::string_view lower) {
  return text.size() >= lower.size() && std::equal(lower.begin(), lower.end(), text.begin(), [](char a, char b) {
           return a == (b >= 'A' && b <= 'Z' ? b - 'A' + 'a' : b);
         });
}

std::string_view without(std::string_view text, std::string_view marks) {
  text.remove_prefix(std::min(text.find_first_not_of(marks), text.size()));
  return text;
}

// What follows the last "answer is", "answer:" or heading "final answer", in any case, also with "answers" and in bold
// letters. None if the text says none of them.
std::optional<std::string_view> after_answer(std::string_view text) {
  constexpr std::string_view kBold = "*_ \t";
  for (size_t at = text.size(); at-- > 0;) {
    if (!same_letters(text.substr(at), "answer")) continue;
    if (at > 0 && is_letter_or_digit(text[at - 1])) continue;
    std::string_view rest = text.substr(at + 6);
    if (same_letters(rest, "s")) rest.remove_prefix(1);
    rest = without(rest, kBold);
    if (rest.starts_with(':')) return rest;
    for (const std::string_view verb : {"is", "are"}) {
      if (!same_letters(rest, verb) || (rest.size() > verb.size() && is_letter_or_digit(rest[verb.size()]))) continue;
      return rest.substr(verb.size());
    }
    const bool heading = rest.starts_with('\n') && at >= 6 && same_letters(text.substr(at - 6), "final ");
    if (heading) return rest;
  }
  return {};
}

// What follows the first "####" up to the end of its line, as in GSM8K: a text after it may be another question. A
// heading, as "#### Step 1" or "#### 2. Sum", is none.
std::optional<std::string_view> after_marks(std::string_view text) {
  constexpr std::string_view kMark = "####";
  for (size_t at = text.find(kMark); at != std::string_view::npos; at = text.find(kMark, at + kMark.size())) {
    std::string_view line = text.substr(at + kMark.size());
    line = trimmed(line.substr(0, line.find('\n')));
    const size_t number = std::min(line.find_first_not_of("0123456789"), line.size());
    const bool numbered = number > 0 && line.substr(number).starts_with(". ");
    const bool word = line.size() > 1 && std::isalpha(static_cast<unsigned char>(line[0])) &&
                      std::isalpha(static_cast<unsigned char>(line[1]));
    if (!line.empty() && line[0] != '#' && line[0] != '*' && !numbered && !word) return line;
  }
  return {};
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

std::optional<std::string_view> final_number(std::string_view text) {
  return last_number(after_marks(text).value_or(text));
}

std::optional<std::string_view> stated_choice(std::string_view text) {
  constexpr std::string_view kBefore = " \t\r\n:([{*\"'";
  const auto stated = after_answer(text);
  text = stated.value_or(text);
  text.remove_prefix(std::min(text.find_first_not_of(kBefore), text.size()));
  if (text.empty() || text[0] < 'A' || text[0] > 'D') return {};
  if (text.size() > 1 && is_letter_or_digit(text[1])) return {};
  if (!stated && text.size() > 2 && text[1] == ' ' && is_letter_or_digit(text[2])) return {};  // "A dog"
  return text.substr(0, 1);
}

namespace {

// The answer at the beginning of what follows "answer is" or a mark: a formula between $$ or \[, or the text up to the
// end of its sentence, line or bold letters.
std::string_view first_statement(std::string_view rest) {
  const size_t size = rest.size();
  const bool new_line = rest.starts_with(':') || rest.starts_with('\n');
  rest = without(rest, new_line ? " \t\r\n:*" : " \t\r:*");
  const bool bold = size > rest.size() && rest.data()[-1] == '*';
  for (const auto& [open, close] : {std::pair<std::string_view, std::string_view>("$$", "$$"), {"\\[", "\\]"}}) {
    const std::string_view formula = trimmed(rest);
    if (!formula.starts_with(open)) continue;
    const size_t end = formula.find(close, open.size());
    if (end != std::string_view::npos) return trimmed(formula.substr(open.size(), end - open.size()));
  }
  rest = trimmed(rest.substr(0, rest.find('\n')));
  const auto ends = [&](size_t i) {
    if (rest[i] == '.' && rest[i + 1] == ' ') return !rest.substr(0, i).ends_with("sq");
    const bool power = i + 2 < rest.size() && (is_letter_or_digit(rest[i + 2]) || rest[i + 2] == '(');
    return rest[i] == '*' && rest[i + 1] == '*' && !power && (bold || i > 0);
  };
  for (size_t i = 0; i + 1 < rest.size(); ++i) {
    if (ends(i)) rest = rest.substr(0, i);
  }
  if (rest.ends_with('.')) rest.remove_suffix(1);
  return trimmed(rest);
}

}  // namespace

FoundAnswer find_answer(std::string_view text) {
  using Where = FoundAnswer::Where;
  if (text.find("\\boxed") != std::string_view::npos || text.find("\\fbox") != std::string_view::npos) {
    const auto boxed = last_boxed(text);
    return boxed ? FoundAnswer{Where::boxed, trimmed(*boxed)} : FoundAnswer{Where::nowhere};
  }
  if (const auto tagged = last_tagged(text, "answer")) return {Where::tagged, trimmed(*tagged)};
  if (const auto marked = after_marks(text)) {
    const std::string_view found = first_statement(*marked);
    if (!found.empty()) return {Where::marked, found};
  }
  const auto stated = after_answer(text);
  const std::string_view found = stated ? first_statement(*stated) : std::string_view();
  return found.empty() ? FoundAnswer{Where::nowhere} : FoundAnswer{Where::phrase, found};
}

}  // namespace pg
