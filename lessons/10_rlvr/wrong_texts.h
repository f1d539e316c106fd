#pragma once
// Wrong answers to 10.2, 10.3 and 10.4: a reward, a box and a comparison with one mistake of many.
#include <algorithm>
#include <cmath>
#include <string>

#include "lessons/10_rlvr/lesson.h"
#include "tasks/puzzles/exact_number.h"

namespace pg::lesson10 {

enum class Pay {
  reused,
  any_number,
  only_once,
  all_ignored,
  all_always,
  close,
  whole,
  format,
  format_constant,
  no_one,
  signed_distance,
  absolute,
  as_double,
  near_ignored,
  near_for_right,
  distance_cut,
  in_order,
  all_as_set,
};
template <Pay mistake>
double wrong_reward(std::string_view answer, std::span<const int64_t> numbers, int64_t target, bool all, double near) {
  const auto read = pg::read_expression(answer);
  if (!read) return mistake == Pay::format_constant ? near : 0;
  std::vector<int64_t> left(numbers.begin(), numbers.end());
  bool rules = true;
  for (const int64_t number : read->numbers) {
    const auto found = std::find(left.begin(), left.end(), number);
    if (found == left.end()) {
      const bool given = std::find(numbers.begin(), numbers.end(), number) != numbers.end();
      rules = rules && ((mistake == Pay::reused && given) || mistake == Pay::any_number);
      continue;
    }
    if (mistake == Pay::only_once) {
      std::erase(left, number);
    } else {
      left.erase(found);
    }
  }
  if (mistake == Pay::all_always) all = true;
  if (mistake == Pay::all_as_set && all) {
    for (const int64_t number : read->numbers) std::erase(left, number);
  }
  if (mistake == Pay::in_order && all &&
      !std::equal(numbers.begin(), numbers.end(), read->numbers.begin(), read->numbers.end()))
    return 0;
  if (mistake != Pay::all_ignored && all && !left.empty()) rules = false;
  if (!rules && mistake != Pay::format && mistake != Pay::format_constant) return 0;
  const double value = read->value.value(), distance = value - static_cast<double>(target);
  if (rules) {
    if (mistake == Pay::near_for_right) return near / (1 + std::abs(distance));
    if (mistake == Pay::as_double && distance == 0) return 1;
    if (mistake == Pay::close && std::abs(distance) < 1e-2) return 1;
    if (mistake == Pay::whole && static_cast<int64_t>(value) == target) return 1;
    if (mistake == Pay::absolute && std::abs(value) == static_cast<double>(target)) return 1;
    if (read->value == target) return 1;
  }
  if (mistake == Pay::format_constant) return near;
  if (mistake == Pay::near_ignored) return 0;
  if (mistake == Pay::distance_cut) return near / static_cast<double>(1 + std::abs(static_cast<int64_t>(distance)));
  if (mistake == Pay::no_one) return near / std::abs(distance);
  if (mistake == Pay::signed_distance) return near / (1 + distance);
  return near / (1 + std::abs(distance));
}

enum class Box {
  first,
  greedy,
  shortest,
  cut,
  no_escape,
  no_fbox,
  boxed_wins,
  no_braces,
  trims,
  no_spaces,
  empty,
  outer,
  previous,
  braces_too,
  one_brace
};
template <Box mistake>
std::optional<std::string_view> wrong_boxed(std::string_view text) {
  const auto find = [&](std::string_view command) {
    if (mistake == Box::outer) {  // the last one that does not begin within another
      size_t at = text.rfind(command);
      const size_t before = at == text.npos || at == 0 ? text.npos : text.rfind("\\boxed{", at - 1);
      return before != text.npos && text.substr(before, at - before).find('}') == text.npos ? before : at;
    }
    return mistake == Box::first ? text.find(command) : text.rfind(command);
  };
  size_t begin = 0;
  for (const std::string_view command : {"\\boxed", "\\fbox"}) {
    if (mistake == Box::no_fbox && command == "\\fbox") continue;
    if (mistake == Box::boxed_wins && begin > 0) continue;
    const size_t at = find(command);
    if (at != std::string_view::npos && (mistake != Box::first || begin == 0))
      begin = std::max(begin, at + command.size());
  }
  if (begin == 0) return {};
  const size_t command = begin;
  while (mistake != Box::no_spaces && begin < text.size() && text[begin] == ' ') ++begin;
  if (begin == text.size() || text[begin] != '{') {
    if (mistake == Box::cut && command > 6) return wrong_boxed<mistake>(text.substr(0, command - 6));
    if (mistake == Box::no_braces) return text.substr(begin);
    return {};
  }
  if (mistake == Box::greedy) {
    const size_t end = text.rfind('}');
    return end == text.npos || end < begin ? std::nullopt : std::optional(text.substr(begin + 1, end - begin - 1));
  }
  int64_t open = 0;
  for (size_t i = begin; i < text.size(); ++i) {
    if (mistake == Box::previous && text[i - 1] == '\\') continue;
    if (text[i] == '\\' && mistake != Box::no_escape && mistake != Box::previous) {
      ++i;
    } else if (text[i] == '{') {
      ++open;
    } else if (text[i] == '}' && (--open == 0 || mistake == Box::shortest)) {
      std::string_view content = text.substr(begin + 1, i - begin - 1);
      while (mistake == Box::trims && content.starts_with(' ')) content.remove_prefix(1);
      while (mistake == Box::trims && content.ends_with(' ')) content.remove_suffix(1);
      if (mistake == Box::braces_too) content = text.substr(begin, i + 1 - begin);
      if (mistake == Box::one_brace) content = text.substr(begin, i - begin);
      if (mistake == Box::empty && content.empty()) return {};
      return content;
    }
  }
  if (mistake == Box::cut && command > 6) return wrong_boxed<mistake>(text.substr(0, command - 6));
  return {};
}

enum class Same {
  texts,
  tolerance,
  tight,
  doubles,
  no_commas,
  any_commas,
  prefix,
  sign,
  zero,
  texts_too,
  narrow,
  refuses,
  no_plus,
  no_bare_point,
  point_first,
  inner_sign,
  exponent,
  comma_decimals,
  long_first_group,
  comma_fraction,
  zeros_kept,
  trimmed,
  decimal_zeros,
  decimals_added,
  no_signed_fraction,
  two_points,
  decimal_fraction,
};
template <Same mistake>
bool wrong_same(std::string_view a, std::string_view b) {
  if (mistake == Same::texts) return a == b && pg::same_number(a, b);
  if (mistake == Same::texts_too) return (a == b && !a.ends_with("/0")) || pg::same_number(a, b);
  const auto bare = [](std::string_view text) {
    std::string cleaned(text);
    const size_t point = std::min(cleaned.find('.'), cleaned.size()), slash = cleaned.find('/');
    if (mistake == Same::trimmed)
      while (cleaned.ends_with(' ')) cleaned.pop_back();
    if (mistake == Same::two_points && point < cleaned.size())
      cleaned.erase(std::remove(cleaned.begin() + static_cast<std::ptrdiff_t>(point) + 1, cleaned.end(), '.'),
                    cleaned.end());
    if (mistake == Same::decimal_fraction && cleaned == "1.5/3") cleaned = "15/30";
    if (mistake == Same::no_plus && cleaned.starts_with('+')) cleaned = "none";
    if (mistake == Same::no_bare_point && cleaned.ends_with('.')) cleaned = "none";
    if (mistake == Same::point_first && point == 0 && !cleaned.empty()) cleaned = "0" + cleaned;
    if (mistake == Same::no_signed_fraction && slash != cleaned.npos && cleaned.starts_with('-')) cleaned = "none";
    if (mistake == Same::inner_sign && slash + 1 < cleaned.size() && slash != cleaned.npos && cleaned[slash + 1] == '-')
      cleaned = "-" + cleaned.substr(0, slash + 1) + cleaned.substr(slash + 2);
    if (mistake == Same::comma_fraction && slash != cleaned.npos) std::erase(cleaned, ',');
    if (mistake == Same::exponent && cleaned == "1e1") cleaned = "10";
    if (mistake == Same::comma_decimals && point < cleaned.size())
      cleaned.erase(std::remove(cleaned.begin() + static_cast<std::ptrdiff_t>(point), cleaned.end(), ','),
                    cleaned.end());
    if (mistake == Same::long_first_group && cleaned.find(',') > 3 && cleaned.find(',') != cleaned.npos)
      cleaned.erase(cleaned.find(','), 1);
    if (mistake == Same::zeros_kept && cleaned.ends_with('0') && cleaned.size() - point > 19) cleaned = "none";
    if (mistake == Same::decimal_zeros)
      while (point + 1 < cleaned.size() && cleaned[point + 1] == '0') cleaned.erase(point + 1, 1);
    if (mistake == Same::decimals_added && cleaned.starts_with('-') && cleaned.ends_with(".75")) cleaned.erase(0, 1);
    if (mistake == Same::any_commas) std::erase(cleaned, ',');
    if (mistake == Same::sign && cleaned.starts_with('-')) cleaned.erase(0, 1);
    if (mistake == Same::prefix) cleaned.resize(std::min(cleaned.find_first_not_of("0123456789+-./,"), cleaned.size()));
    return cleaned;
  };
  if (mistake == Same::no_commas && (a.find(',') != a.npos || b.find(',') != b.npos)) return false;
  const auto x = exact_number(bare(a)), y = exact_number(bare(b));
  if (mistake == Same::zero && (a.ends_with("/0") || b.ends_with("/0"))) return true;
  if (!x || !y) return false;
  const double difference = std::abs(x->value() - y->value());
  if (mistake == Same::tolerance) return difference < 1e-2;
  if (mistake == Same::tight) return difference < 1e-9;
  if (mistake == Same::doubles) return difference == 0;
  if (mistake == Same::narrow || mistake == Same::refuses) {
    int64_t left = 0, right = 0;
    const bool first = __builtin_mul_overflow(x->numerator, y->denominator, &left);
    const bool second = __builtin_mul_overflow(y->numerator, x->denominator, &right);
    return left == right && (mistake == Same::narrow || !(first || second));
  }
  return pg::same_number(bare(a), bare(b));
}

}  // namespace pg::lesson10
