// Fields of configurations: ranges, conversion from and to text, and checks.
#include "tensor/base/fields.h"

#include <fmt/ranges.h>

#include <charconv>
#include <optional>
#include <type_traits>

#include "tensor/base/error.h"
#include "tensor/base/text.h"

namespace pg {
namespace {

// The whole text as a number; nullopt if it is no number, has trailing characters or does not fit into T.
template <class T>
std::optional<T> parsed(std::string_view text) {
  T value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

// The range of a field of type T: whole numbers are whole without saying so.
template <class T>
Range range_of(const Field& field) {
  Range range = field.range;
  range.whole = range.whole || std::is_integral_v<T>;
  return range;
}

template <class T>
std::string expected_of(const Field& field) {
  const Range range = range_of<T>(field);
  if (std::is_unsigned_v<T> && bounds_of(range).empty()) return "a whole number from 0 to 2^64 - 1";
  return to_text(range);
}

template <class T>
std::optional<T> number_of(const Field& field, std::string_view text) {
  const std::optional<T> value = parsed<T>(text);
  return value && contains(range_of<T>(field), static_cast<double>(*value)) ? value : std::nullopt;
}

std::optional<bool> truth_of(std::string_view text) {
  if (text == "true" || text == "1") return true;
  if (text == "false" || text == "0") return false;
  return std::nullopt;
}

// "f32, bf16". An empty name is a value to leave as it is, which lists leave out.
std::string listed(std::vector<std::string> names) {
  std::erase(names, "");
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

void fail_unknown(std::string_view what, std::string_view given, const std::vector<std::string>& known) {
  if (known.empty()) fail("{}: there is none, got \"{}\"", what, excerpt(given));
  fail("{}: expected {}, got \"{}\"{}", what, listed(known), excerpt(given), did_you_mean(given, known));
}

NamedValue one_of(std::string& value, std::vector<std::string> names) {
  return {names, [&value] { return value; },
          [&value, names](std::string_view name) {
            if (std::find(names.begin(), names.end(), name) == names.end()) fail_unknown("value", name, names);
            value = name;
          }};
}

bool contains(const Range& r, double value) {
  const bool above = r.open_low ? value > r.low : value >= r.low;
  const bool below = r.open_high ? value < r.high : value <= r.high;
  const bool inside = std::isfinite(value) && (!r.whole || value == std::floor(value)) && above && below;
  return inside || (r.or_zero && value == 0);
}

std::string bounds_of(const Range& r) {
  const bool has_low = std::isfinite(r.low), has_high = std::isfinite(r.high) && r.high < 0x1p53;
  std::string text;
  if (has_low && has_high && r.open_low) {
    text = fmt::format("above {:.15g} and {} {:.15g}", r.low, r.open_high ? "below" : "at most", r.high);
  } else if (has_low && has_high) {
    text = fmt::format("from {:.15g} to {}{:.15g}", r.low, r.open_high ? "less than " : "", r.high);
  } else if (has_low) {
    text = fmt::format("{} {:.15g}", r.open_low ? "above" : "at least", r.low);
  } else if (has_high) {
    text = fmt::format("{} {:.15g}", r.open_high ? "below" : "at most", r.high);
  }
  return r.or_zero ? text + ", or 0" : text;
}

std::string to_text(const Range& r) {
  const std::string bounds = bounds_of(r), kind = r.whole ? "a whole number" : "a number";
  if (bounds.empty()) return r.whole ? kind : "a finite number";
  return fmt::format("{} {}{}", kind, bounds.starts_with("at ") ? "of " : "", bounds);
}

void check_range(std::string_view what, double value, const Range& r) {
  check(contains(r, value), "{} must be {}, got {}", what, to_text(r), value);
}

std::string Field::text() const {
  return std::visit(
      [](const auto& v) {
        if constexpr (std::is_same_v<std::decay_t<decltype(v)>, NamedValue>)
          return v.get();
        else
          return fmt::format("{}", *v);
      },
      value);
}

std::string Field::refusal(std::string_view text) const {
  return std::visit(
      [&](const auto& v) -> std::string {
        using V = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<V, NamedValue>) {
          if (std::find(v.names.begin(), v.names.end(), text) != v.names.end()) return "";
          return fmt::format("expected one of {}, got {}{}", listed(v.names), excerpt(text),
                             did_you_mean(text, v.names));
        } else {
          using T = std::remove_pointer_t<V>;
          if constexpr (std::is_same_v<T, std::string>)
            return "";
          else if constexpr (std::is_same_v<T, bool>)
            return truth_of(text) ? "" : fmt::format("expected true or false, got {}", excerpt(text));
          else
            return number_of<T>(*this, text) ? ""
                                             : fmt::format("expected {}, got {}", expected_of<T>(*this), excerpt(text));
        }
      },
      value);
}

void Field::set(std::string_view text) const {
  const std::string why = refusal(text);
  check(why.empty(), "{}: {}", name, why);
  std::visit(
      [&](const auto& v) {
        using V = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<V, NamedValue>)
          v.set(text);
        else if constexpr (std::is_same_v<V, std::string*>)
          *v = text;
        else if constexpr (std::is_same_v<V, bool*>)
          *v = *truth_of(text);
        else
          *v = *number_of<std::remove_pointer_t<V>>(*this, text);
      },
      value);
}

std::string Field::allowed() const {
  const std::string bounds = bounds_of(range);
  if (!bounds.empty()) return fmt::format("({})", bounds);
  const auto* named = std::get_if<NamedValue>(&value);
  return named ? fmt::format("({})", listed(named->names)) : "";
}

void check_fields(std::string_view owner, const std::vector<Field>& fields) {
  for (const Field& field : fields) {
    std::visit(
        [&](const auto& v) {
          using V = std::decay_t<decltype(v)>;
          if constexpr (!std::is_same_v<V, NamedValue> && !std::is_same_v<V, std::string*> && !std::is_same_v<V, bool*>)
            check_range(fmt::format("{}: {}", owner, field.name), static_cast<double>(*v),
                        range_of<std::remove_pointer_t<V>>(field));
        },
        field.value);
  }
}

Field find_field(const std::vector<Field>& fields, std::string_view owner, std::string_view name) {
  return find_row(fields, fmt::format("option of {}", owner), name);
}

std::string differences(const std::vector<Field>& is, const std::vector<Field>& is_not) {
  std::string all;
  for (size_t i = 0; i < is.size(); ++i) {
    if (is[i].text() == is_not[i].text()) continue;
    all += fmt::format("{}{} {}, not {}", all.empty() ? "" : "; ", is[i].name, is[i].text(), is_not[i].text());
  }
  return all;
}

std::string renamed(const std::vector<Field>& fields, std::string_view former) {
  std::string names;
  for (const Field& field : fields) {
    if (std::find(field.former.begin(), field.former.end(), former) == field.former.end()) continue;
    names += fmt::format("{}--{}", names.empty() ? "" : " and ", field.name);
  }
  return names;
}

void set_fields(const std::vector<Field>& fields, std::string_view owner,
                const std::map<std::string, std::string>& values) {
  for (const auto& [name, text] : values) {
    if (!text.empty()) find_field(fields, owner, name).set(text);
  }
}

std::vector<Field> joined(const std::vector<std::vector<Field>>& parts) {
  std::vector<Field> all;
  for (const std::vector<Field>& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

std::vector<Field> titled(const std::string& group, std::vector<Field> fields) {
  for (Field& field : fields) {
    if (field.group.empty()) field.group = group;
  }
  return fields;
}

}  // namespace pg
