#pragma once
// Tables: lists of rows with a name, each list written once. A row is found by its name, and a configuration holds a
// copy of a row.
#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace pg {

// Throws Error "WHAT: expected ONE, OTHER or THIRD, got GIVEN", with a suggestion for a misspelt name.
[[noreturn]] void fail_unknown(std::string_view what, std::string_view given, const std::vector<std::string>& known);

template <class Row>
std::vector<std::string> names_of(const std::vector<Row>& rows) {
  std::vector<std::string> names;
  for (const Row& row : rows) names.emplace_back(row.name);
  return names;
}

// The row with this name. For an unknown name, throws Error with the known ones.
template <class Row>
const Row& find_row(const std::vector<Row>& rows, std::string_view what, std::string_view name) {
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const Row& row) { return row.name == name; });
  if (found == rows.end()) fail_unknown(what, name, names_of(rows));
  return *found;
}
// A temporary's row would be gone before it is used.
template <class Row>
const Row& find_row(const std::vector<Row>&& rows, std::string_view what, std::string_view name) = delete;

// One row of Row::table(), chosen by its name: `Choice<Baseline> b = "group_std"`. It is a copy of the row, whose
// members may then be replaced, for example by a function of one's own. Row has a member `name`, a static function
// table() and a static member `axis`, the name of the table in messages.
template <class Row>
struct Choice : Row {
  Choice(std::string_view name) : Row(find_row(Row::table(), Row::axis, name)) {}
  Choice(const char* name) : Choice(std::string_view(name)) {}
  Choice(const std::string& name) : Choice(std::string_view(name)) {}
  Choice(Row row) : Row(std::move(row)) {}
  bool is(std::string_view name) const { return this->name == name; }
};

}  // namespace pg
