#include "tasks/grade/mathd.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tasks/grade/extract.h"
#include "tasks/grade/parser.h"
#include "tensor/base/error.h"

namespace pg {
namespace {

using Replacement = std::pair<std::string_view, std::string_view>;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

void replace_all(std::string& text, std::string_view what, std::string_view by) {
  std::string result;
  size_t begin = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, begin)) {
    result.append(text, begin, at - begin).append(by);
    begin = at + what.size();
  }
  text = result.append(text, begin);
}
void replace_all(std::string& text, const std::vector<Replacement>& replacements) {
  for (const auto& [what, by] : replacements) replace_all(text, what, by);
}
std::string without_spaces(std::string text) {
  std::erase_if(text, [](char c) { return c == ' '; });
  return text;
}

// The words that both normalizations delete, also with "s" or "es" and a power.
std::string without_units(const std::string& text) {
  constexpr std::string_view kWords[] = {"degree", "cm",   "centimeter", "meter", "mile", "second", "minute", "hour",
                                         "day",    "week", "month",      "year",  "foot", "feet",   "inch",   "yard"};
  std::string result;
  for (size_t i = 0; i < text.size();) {
    size_t end = i;
    while (end < text.size() && is_letter(text[end])) ++end;
    const std::string_view word = std::string_view(text).substr(i, end - i);
    const bool unit = std::ranges::any_of(kWords, [&](std::string_view name) {
      const std::string_view rest = word.starts_with(name) ? word.substr(name.size()) : "-";
      return rest.empty() || rest == "s" || rest == "es";
    });
    if (word.empty()) {
      result += text[i++];
      continue;
    }
    if (!unit) result += word;
    i = end;
    if (unit && i + 1 < text.size() && text[i] == '^' && is_digit(text[i + 1])) i += 2;
  }
  return trimmed(result).empty() ? text : std::string(trimmed(result));
}

// The arguments of \frac and \sqrt in braces: \frac12, \frac1{72}, \sqrt3.
std::string with_braces(const std::string& text, int depth = 0) {
  std::string result;
  for (size_t i = 0; i < text.size() && depth < 50;) {
    const bool fraction = text.compare(i, 5, "\\frac") == 0;
    if (!fraction && text.compare(i, 5, "\\sqrt") != 0) {
      result += text[i++];
      continue;
    }
    result.append(text, i, 5);
    i += 5;
    for (int arguments = fraction ? 2 : 1; arguments > 0; --arguments) {
      while (i < text.size() && text[i] == ' ') ++i;
      if (i == text.size() || text[i] == '[' || text[i] == '\\' || text[i] == '}') break;
      size_t end = i + 1;
      if (text[i] == '{') {
        int64_t open = 1;
        for (; end < text.size() && open > 0; ++end) open += (text[end] == '{') - (text[end] == '}');
        if (open > 0) break;
        result.append("{").append(with_braces(text.substr(i + 1, end - i - 2), depth + 1)).append("}");
      } else {
        result.append("{").append(1, text[i]).append("}");
      }
      i = end;
    }
  }
  return depth < 50 ? result : text;
}

// The first normalization. Answers are equal if it makes the same text of them.
std::string mathd_text(std::string_view answer) {
  std::string text(trimmed(answer));
  replace_all(text, {{"\n", ""},
                     {"\\!", ""},
                     {"\\\\", "\\"},
                     {"{bmatrix}", "{pmatrix}"},
                     {"tfrac", "frac"},
                     {"dfrac", "frac"},
                     {"\\neq", "\\ne"},
                     {"\\leq", "\\le"},
                     {"\\geq", "\\ge"},
                     {"\\left", ""},
                     {"\\right", ""}});
  if (const size_t at = text.rfind("\\text{"); at != std::string::npos && at > 0 && text.ends_with('}')) {
    text.resize(at);
  }
  text = without_units(text);
  replace_all(text, {{"^{\\circ}", ""}, {"^\\circ", ""}, {"\\$", ""}, {"\\%", ""}});
  if (const size_t at = text.find("\\text{ "); at != std::string::npos && at > 0) text.resize(at);
  replace_all(text, {{" .", " 0."}, {"{.", "{0."}});
  if (text.starts_with('.')) text.insert(text.begin(), '0');
  if (std::ranges::count(text, '=') == 1) {
    const size_t at = text.find('=');
    if (trimmed(std::string_view(text).substr(0, at)).size() <= 2)
      text = trimmed(std::string_view(text).substr(at + 1));
  }
  text = without_spaces(with_braces(text));
  if (text == "0.5") return "\\frac{1}{2}";
  const size_t slash = text.find('/');
  const auto whole = [](std::string_view part) {
    if (part.starts_with('-')) part.remove_prefix(1);
    return !part.empty() && std::ranges::all_of(part, is_digit);
  };
  if (slash != std::string::npos && whole(std::string_view(text).substr(0, slash)) &&
      whole(std::string_view(text).substr(slash + 1))) {
    return "\\frac{" + text.substr(0, slash) + "}{" + text.substr(slash + 1) + "}";
  }
  return text;
}

// A decimal number that is a whole one within 1e-7, as that one.
std::optional<std::string> whole_number(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(std::abs(value) < 1e15)) return {};
  if (text.find_first_of("nN") != std::string_view::npos) return {};
  const double nearest = std::round(value);
  if (std::abs(value - nearest) > 1e-7) return {};
  return fmt::format("{}", static_cast<int64_t>(nearest));
}

// The second normalization: plain text of what LaTeX there is.
std::string plain_form(std::string_view answer) {
  std::string text(trimmed(answer));
  if (text.starts_with("\\text{") && text.find('}') + 1 == text.size()) text = text.substr(6, text.size() - 7);
  replace_all(text, {{"\\%", ""},
                     {"%", ""},
                     {"\\$", ""},
                     {"$", ""},
                     {" or ", " , "},
                     {" and ", " , "},
                     {"million", "*10^6"},
                     {"billion", "*10^9"},
                     {"trillion", "*10^12"}});
  text = without_units(text);
  replace_all(text, {{"^{\\circ}", ""}, {"^\\circ", ""}, {"^ \\circ", ""}, {",\\!", ""}});
  if (text.starts_with('{') && text.ends_with('}')) text = text.substr(1, text.size() - 2);
  if (const auto number = whole_number(trimmed(text))) return *number;
  if (text.find('\\') != std::string::npos) {
    replace_all(text, {{"dfrac", "frac"}, {"tfrac", "frac"}, {"\\left", ""}, {"\\right", ""}});
    text = with_braces(text);
    replace_all(text, {{"\\frac{", " \\frac{"},
                       {"\\pi", "pi"},
                       {"\\infty", "inf"},
                       {"\\cup", "U"},
                       {"\\cdot", "*"},
                       {"\\times", "*"},
                       {"\\sqrt{", "sqrt{"}});
    // \frac{a}{b} is a/b without brackets and sqrt{a} is sqrt(a).
    for (size_t at = text.find("\\frac{"); at != std::string::npos; at = text.find("\\frac{")) {
      const size_t middle = text.find("}{", at);
      if (middle == std::string::npos) break;
      text.erase(middle, 1);
      text[middle] = '/';
      text.erase(at, 6);
    }
    for (size_t at = text.find("sqrt{"); at != std::string::npos; at = text.find("sqrt{")) {
      const size_t close = text.find('}', at);
      if (close == std::string::npos) break;
      text[close] = ')';
      text[at + 4] = '(';
    }
  }
  text = trimmed(text);
  replace_all(text, "- ", "-");
  for (size_t i = 1; i + 1 < text.size(); ++i) {
    if (text[i] == ' ' && is_digit(text[i - 1]) && is_digit(text[i + 1])) text[i] = '+';
  }
  std::erase_if(text, [](char c) { return c == ' ' || c == '{' || c == '}'; });
  std::ranges::transform(text, text.begin(),
                         [](char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); });
  for (size_t i = 1; i + 3 < text.size(); ++i) {  // commas between thousands
    if (text[i] == ',' && is_digit(text[i - 1]) && is_digit(text[i + 1]) && is_digit(text[i + 2]) &&
        is_digit(text[i + 3]) && (i + 4 >= text.size() || !is_digit(text[i + 4])) && text[0] != '(' && text[0] != '[') {
      text.erase(i, 1);
    }
  }
  return whole_number(text).value_or(text);
}

bool is_bracket(char c) { return c == '(' || c == ')' || c == '[' || c == ']'; }
std::vector<std::string> elements_of(const std::string& text) {
  if (text.size() < 2 || !is_bracket(text.front()) || !is_bracket(text.back()) ||
      std::any_of(text.begin() + 1, text.end() - 1, is_bracket)) {
    return {text};
  }
  std::vector<std::string> all(1);
  for (const char c : std::string_view(text).substr(1, text.size() - 2)) {
    if (c == ',') {
      all.emplace_back();
    } else {
      all.back() += c;
    }
  }
  return all;
}

bool is_whole(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return !text.empty() && std::ranges::all_of(text, is_digit);
}
bool is_fraction(std::string_view text) {
  const size_t slash = text.find('/');
  return slash != std::string_view::npos && is_whole(text.substr(0, slash)) && is_whole(text.substr(slash + 1));
}

// Whether that grader would compare the values at all: at most two letters, no long or bracketed exponents.
bool is_compared(std::string text) {
  if (text.find_first_of("\\,=<>_|:") != std::string::npos) return false;
  if (std::ranges::any_of(text, [](char c) { return static_cast<signed char>(c) < 32; })) return false;
  for (size_t i = 0; i + 1 < text.size(); ++i) {
    if (text[i] != '^') continue;
    if (text[i + 1] == '(') return false;
    if (is_digit(text[i + 1]) && i + 2 < text.size() && (is_digit(text[i + 2]) || text[i + 2] == '^')) return false;
  }
  for (size_t at = text.find("sqrt"); at != std::string::npos; at = text.find("sqrt")) {
    if (at + 4 >= text.size() || text[at + 4] != '(') return false;
    text.erase(at, 4);
  }
  std::set<char> letters;
  for (const char c : text) {
    if (is_letter(c)) letters.insert(c);
  }
  return letters.size() <= 2;
}

bool same_element(const std::string& given, const std::string& gold, const GradeLimits& limits) {
  if (given == gold) return true;
  if (is_fraction(given) && is_fraction(gold)) return false;
  if (is_whole(given) != is_whole(gold)) return false;
  return is_compared(given) && is_compared(gold) && grade_answer(given, gold, limits).kind == Verdict::Kind::yes;
}

bool same_plain_form(const std::string& given, const std::string& gold, const GradeLimits& limits) {
  if (given == gold) return true;
  if (given.empty()) return false;
  const std::vector<std::string> x = elements_of(given), y = elements_of(gold);
  if (x.size() != y.size()) return false;
  if (y.size() > 1 && (given.front() != gold.front() || given.back() != gold.back())) return false;
  for (size_t i = 0; i < x.size(); ++i) {
    if (!same_element(x[i], y[i], limits)) return false;
  }
  return true;
}

std::string_view unboxed(std::string_view text) {
  if (const auto boxed = last_boxed(text)) text = *boxed;
  const std::string_view bare = trimmed(text);
  for (const auto& [open, close] : {Replacement("\\(", "\\)"), Replacement("\\[", "\\]")}) {
    if (bare.size() >= 4 && bare.starts_with(open) && bare.ends_with(close)) return bare.substr(2, bare.size() - 4);
  }
  return bare;
}

}  // namespace

Verdict grade_as_mathd(std::string_view given, std::string_view gold, const GradeLimits& limits) {
  const auto longest = static_cast<int64_t>(std::max(given.size(), gold.size()));
  if (longest > limits.bytes) return grade_answer(given, gold, limits);
  given = unboxed(given), gold = unboxed(gold);
  const bool first = !given.empty() && mathd_text(given) == mathd_text(gold);
  const bool second = !first && same_plain_form(plain_form(given), plain_form(gold), limits);
  const std::string x = whole_number(given).value_or(std::string(given)),
                    y = whole_number(gold).value_or(std::string(gold));
  Verdict verdict = grade_answer(x, y, limits);
  if ((first || second) && verdict.kind != Verdict::Kind::no) {
    return {Verdict::Kind::yes, first ? "the same text, normalized" : "the same plain form or value", "form",
            verdict.steps};
  }
  if (verdict.kind != Verdict::Kind::no) {
    verdict.kind = Verdict::Kind::no;
    verdict.reason = "the usual grader of MATH refuses this form of the answer";
    verdict.rule = "form";
  }
  return verdict;
}

}  // namespace pg
