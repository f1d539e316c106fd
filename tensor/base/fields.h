#pragma once
// The fields of a configuration as a list. A struct states its fields once, in a function fields(Config&); the command
// line, YAML and JSON files, the checks of ranges and the help all go over that list:
//   std::vector<Field> fields(SomeConfig& c) {
//     return {{"steps", &c.steps, "optimizer steps", whole_from(1)},
//             {"lr", &c.lr, "learning rate", kNotNegative}};
//   }
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tensor/base/table.h"

namespace pg {

// The values that a numeric field may have. A range never includes NaN or infinity.
struct Range {
  double low = -HUGE_VAL, high = HUGE_VAL;   // both included, unless open
  bool open_low = false, open_high = false;  // the bound itself is excluded
  bool or_zero = false;                      // 0 is allowed in addition
  bool whole = false;
};
inline constexpr Range kAnyNumber, kNotNegative{.low = 0}, kPositive{.low = 0, .open_low = true},
    kShare{.low = 0, .high = 1}, kSomeShare{.low = 0, .high = 1, .open_low = true},
    kBelowOne{.low = 0, .high = 1, .open_high = true};
// Whole numbers. A double represents all of them up to 2^53 exactly.
constexpr Range whole_from(double low, double high = 0x1p53) { return {.low = low, .high = high, .whole = true}; }

bool contains(const Range& range, double value);
// "at least 1", "from 0 to less than 1", "above 0"; empty for any number.
std::string bounds_of(const Range& range);
// "a whole number of at least 1", "a number from 0 to 1", "a finite number": text for messages.
std::string to_text(const Range& range);
// Throws Error "WHAT must be RANGE, got VALUE" if the value is outside.
void check_range(std::string_view what, double value, const Range& range);

// A field that is one of several names.
struct NamedValue {
  std::vector<std::string> names;
  std::function<std::string()> get;
  std::function<void(std::string_view)> set;  // throws Error that lists the names, for another one
};
// A text that is one of these names.
NamedValue one_of(std::string& value, std::vector<std::string> names);
// A field that is a row of a table, by the row's name.
template <class Row>
NamedValue row_field(Choice<Row>& value) {
  return {names_of(Row::table()), [&value] { return std::string(value.name); },
          [&value](std::string_view name) { value = Choice<Row>(name); }};
}
// A field of another type, with the names of its values.
template <class T>
NamedValue named_field(T& value, std::vector<std::pair<std::string, T>> values) {
  std::vector<std::string> names;
  for (const auto& pair : values) names.push_back(pair.first);
  return {names,
          [&value, values] {
            return std::find_if(values.begin(), values.end(), [&](const auto& p) { return p.second == value; })->first;
          },
          [&value, values, names](std::string_view name) {
            const auto found =
                std::find_if(values.begin(), values.end(), [&](const auto& p) { return p.first == name; });
            if (found == values.end()) fail_unknown("value", name, names);
            value = found->second;
          }};
}

struct Field {
  using Value = std::variant<double*, int64_t*, int*, uint64_t*, bool*, std::string*, NamedValue>;

  std::string name;   // "clip-low"
  Value value;        // a pointer into the configuration, which must outlive the list
  std::string about;  // one line; help adds the range or the names
  Range range = {};   // of numbers; a whole number stays whole without it
  // false: an order to the program instead of a setting of the run. It is not in a file.
  bool in_files = true;
  bool is_flag = false;  // true or false: on the command line the name alone means true
  // JSON that lacks the field means this value, and to_json() leaves the field out where it has it.
  std::optional<std::string> absent = {};
  std::string group = {};  // the heading of help that it stands under; empty: "Options"
  // Names that earlier versions had for it. Only files which those versions wrote may have them.
  std::vector<std::string> former = {};

  std::string text() const;  // the value, such that set(text()) restores it exactly
  // Sets the value from text. A number has decimal digits, with a point and an exponent if it is not whole, and nothing
  // after them; true and false may be 1 and 0. Throws Error "NAME: expected …, got …" for anything else.
  void set(std::string_view text) const;
  // Empty, or why set() would refuse the text: "expected a whole number of at least 1, got 0".
  std::string refusal(std::string_view text) const;
  // "(at least 1)" or "(constant, linear, cosine)": what is allowed, for help. Empty for any text.
  std::string allowed() const;
};

// Throws Error "OWNER: NAME must be RANGE, got VALUE" for the first number out of its range.
void check_fields(std::string_view owner, const std::vector<Field>& fields);
// A copy of the field with this name, which sets the same value, so `fields` may be a temporary. Error with the known
// names if there is none.
Field find_field(const std::vector<Field>& fields, std::string_view owner, std::string_view name);
// The fields in which two lists of the same fields differ, as "n-embd 64, not 32; dropout 0.1, not 0".
std::string differences(const std::vector<Field>& is, const std::vector<Field>& is_not);
// The names of the fields that once had this name, as options: "--clip-low and --clip-high". Empty if none had it.
std::string renamed(const std::vector<Field>& fields, std::string_view former);
// Sets the fields that `values` names. An empty text leaves a field as it is.
void set_fields(const std::vector<Field>& fields, std::string_view owner,
                const std::map<std::string, std::string>& values);
// The fields of all parts, in this order.
std::vector<Field> joined(const std::vector<std::vector<Field>>& parts);
// The fields with `group` as their heading of help, except those that have one.
std::vector<Field> titled(const std::string& group, std::vector<Field> fields);

}  // namespace pg
