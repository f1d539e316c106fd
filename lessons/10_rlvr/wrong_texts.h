#pragma once
// Wrong answers to 10.2, 10.3 and 10.4: a reward, a box and a comparison with one mistake of many.
#include <algorithm>
#include <cmath>
#include <string>

#include "lessons/10_rlvr/lesson.h"
#include "lessons/kit/mistakes.h"
#include "tasks/puzzles/exact_number.h"

namespace pg::lesson10 {
using kit::Name;

template <Name mistake>
double wrong_reward(std::string_view answer, std::span<const int64_t> numbers, int64_t target, bool all, double near) {
  const auto read = pg::read_expression(answer);
  if (!read) return mistake == "format_constant" ? near : 0;
  std::vector<int64_t> left(numbers.begin(), numbers.end());
  bool rules = true;
  for (const int64_t number : read->numbers) {
    const auto found = std::find(left.begin(), left.end(), number);
    if (found == left.end()) {
      const bool given = std::find(numbers.begin(), numbers.end(), number) != numbers.end();
      rules =
          rules && (((mistake == "reused" || (mistake == "all_counted" && all)) && given) || mistake == "any_number");
      continue;
    }
    if (mistake == "only_once") {
      std::erase(left, number);
    } else {
      left.erase(found);
    }
  }
  if (mistake == "all_always") all = true;
  if (mistake == "all_as_set" && all) {
    for (const int64_t number : read->numbers) std::erase(left, number);
  }
  if (mistake == "in_order" && all &&
      !std::equal(numbers.begin(), numbers.end(), read->numbers.begin(), read->numbers.end()))
    return 0;
  if (mistake == "all_counted" && all) {
    rules = rules && read->numbers.size() == numbers.size();
  } else if (mistake != "all_ignored" && all && !left.empty()) {
    rules = false;
  }
  if (!rules && mistake != "format" && mistake != "format_constant") return 0;
  const double value = read->value.value(), distance = value - static_cast<double>(target);
  if (rules) {
    if (mistake == "near_for_right") return near / (1 + std::abs(distance));
    if (mistake == "as_double" && distance == 0) return 1;
    if (mistake == "close" && std::abs(distance) < 1e-2) return 1;
    if (mistake == "whole" && static_cast<int64_t>(value) == target) return 1;
    if (mistake == "absolute" && std::abs(value) == static_cast<double>(target)) return 1;
    if (read->value == target) return 1;
  }
  if (mistake == "format_constant") return near;
  if (mistake == "near_ignored") return 0;
  if (mistake == "distance_cut") return near / static_cast<double>(1 + std::abs(static_cast<int64_t>(distance)));
  if (mistake == "no_one") return near / std::abs(distance);
  if (mistake == "signed_distance") return near / (1 + distance);
  if (mistake == "below_is_near") return near / (1 + std::max(0.0, distance));
  return near / (1 + std::abs(distance));
}

template <Name mistake>
std::optional<std::string_view> wrong_boxed(std::string_view text) {
  const auto find = [&](std::string_view command) {
    if (mistake == "outer") {  // the last one that does not begin within another
      size_t at = text.rfind(command);
      const size_t before = at == text.npos || at == 0 ? text.npos : text.rfind("\\boxed{", at - 1);
      return before != text.npos && text.substr(before, at - before).find('}') == text.npos ? before : at;
    }
    return mistake == "first" ? text.find(command) : text.rfind(command);
  };
  size_t begin = 0;
  for (const std::string_view command : {"\\boxed", "\\fbox"}) {
    if (mistake == "no_fbox" && command == "\\fbox") continue;
    if (mistake == "boxed_wins" && begin > 0) continue;
    const size_t at = find(command);
    if (at != std::string_view::npos && (mistake != "first" || begin == 0))
      begin = std::max(begin, at + command.size());
  }
  if (begin == 0) return {};
  const size_t command = begin;
  const auto space = [](char c) { return c == ' ' || (mistake == "white_space" && (c == '\n' || c == '\t')); };
  while (mistake != "no_spaces" && begin < text.size() && space(text[begin])) ++begin;
  if (begin == text.size() || text[begin] != '{') {
    if (mistake == "cut" && command > 6) return wrong_boxed<mistake>(text.substr(0, command - 6));
    if (mistake == "no_braces") return text.substr(begin);
    return {};
  }
  if (mistake == "greedy") {
    const size_t end = text.rfind('}');
    return end == text.npos || end < begin ? std::nullopt : std::optional(text.substr(begin + 1, end - begin - 1));
  }
  int64_t open = 0;
  for (size_t i = begin; i < text.size(); ++i) {
    if (mistake == "previous" && text[i - 1] == '\\') continue;
    if (text[i] == '\\' && mistake != "no_escape" && mistake != "previous") {
      ++i;
    } else if (text[i] == '{') {
      ++open;
    } else if (text[i] == '}' && (--open == 0 || mistake == "shortest")) {
      std::string_view content = text.substr(begin + 1, i - begin - 1);
      while (mistake == "trims" && content.starts_with(' ')) content.remove_prefix(1);
      while (mistake == "trims" && content.ends_with(' ')) content.remove_suffix(1);
      if (mistake == "braces_too") content = text.substr(begin, i + 1 - begin);
      if (mistake == "one_brace") content = text.substr(begin, i - begin);
      if (mistake == "empty" && content.empty()) return {};
      return content;
    }
  }
  if (mistake == "cut" && command > 6) return wrong_boxed<mistake>(text.substr(0, command - 6));
  return {};
}

template <Name mistake>
bool wrong_same(std::string_view a, std::string_view b) {
  if (mistake == "texts") return a == b && pg::same_number(a, b);
  if (mistake == "texts_too") return (a == b && !a.ends_with("/0")) || pg::same_number(a, b);
  const auto bare = [](std::string_view text) {
    std::string cleaned(text);
    const size_t point = std::min(cleaned.find('.'), cleaned.size()), slash = cleaned.find('/');
    if (mistake == "trimmed")
      while (cleaned.ends_with(' ')) cleaned.pop_back();
    if (mistake == "two_points" && point < cleaned.size())
      cleaned.erase(std::remove(cleaned.begin() + static_cast<std::ptrdiff_t>(point) + 1, cleaned.end(), '.'),
                    cleaned.end());
    if (mistake == "decimal_fraction" && cleaned == "1.5/3") cleaned = "15/30";
    if (mistake == "no_plus" && cleaned.starts_with('+')) cleaned = "none";
    if (mistake == "two_signs" && cleaned.starts_with("++")) cleaned.erase(0, 1);
    if (mistake == "no_bare_point" && cleaned.ends_with('.')) cleaned = "none";
    if (mistake == "point_first" && point == 0 && !cleaned.empty()) cleaned = "0" + cleaned;
    if (mistake == "no_signed_fraction" && slash != cleaned.npos && cleaned.starts_with('-')) cleaned = "none";
    if (mistake == "inner_sign" && slash + 1 < cleaned.size() && slash != cleaned.npos && cleaned[slash + 1] == '-')
      cleaned = "-" + cleaned.substr(0, slash + 1) + cleaned.substr(slash + 2);
    if (mistake == "comma_fraction" && slash != cleaned.npos) std::erase(cleaned, ',');
    if (mistake == "exponent" && cleaned == "1e1") cleaned = "10";
    if (mistake == "comma_decimals" && point < cleaned.size())
      cleaned.erase(std::remove(cleaned.begin() + static_cast<std::ptrdiff_t>(point), cleaned.end(), ','),
                    cleaned.end());
    if (mistake == "long_first_group" && cleaned.find(',') > 3 && cleaned.find(',') != cleaned.npos)
      cleaned.erase(cleaned.find(','), 1);
    if (mistake == "zeros_kept" && cleaned.ends_with('0') && cleaned.size() - point > 19) cleaned = "none";
    if (mistake == "decimal_zeros")
      while (point + 1 < cleaned.size() && cleaned[point + 1] == '0') cleaned.erase(point + 1, 1);
    if (mistake == "decimals_added" && cleaned.starts_with('-') && cleaned.ends_with(".75")) cleaned.erase(0, 1);
    if (mistake == "any_commas") std::erase(cleaned, ',');
    if (mistake == "sign" && cleaned.starts_with('-')) cleaned.erase(0, 1);
    if (mistake == "prefix") cleaned.resize(std::min(cleaned.find_first_not_of("0123456789+-./,"), cleaned.size()));
    return cleaned;
  };
  if (mistake == "no_commas" && (a.find(',') != a.npos || b.find(',') != b.npos)) return false;
  const auto x = exact_number(bare(a)), y = exact_number(bare(b));
  if (mistake == "zero" && (a.ends_with("/0") || b.ends_with("/0"))) return true;
  if (!x || !y) return false;
  const double difference = std::abs(x->value() - y->value());
  if (mistake == "tolerance") return difference < 1e-2;
  if (mistake == "tight") return difference < 1e-9;
  if (mistake == "doubles") return difference == 0;
  if (mistake == "long_double") {
    return static_cast<long double>(x->numerator) * static_cast<long double>(y->denominator) ==
           static_cast<long double>(y->numerator) * static_cast<long double>(x->denominator);
  }
  if (mistake == "narrow" || mistake == "refuses") {
    int64_t left = 0, right = 0;
    const bool first = __builtin_mul_overflow(x->numerator, y->denominator, &left);
    const bool second = __builtin_mul_overflow(y->numerator, x->denominator, &right);
    return left == right && (mistake == "narrow" || !(first || second));
  }
  return pg::same_number(bare(a), bare(b));
}

}  // namespace pg::lesson10
