#pragma once
// Finds items in the repository's text, such as functions of the engine and sections of a README. Nothing depends on
// line numbers.
#include <map>
#include <string>
#include <vector>

namespace pg::kit {

struct Range {
  int first = 0, last = 0;  // lines, counted from 1; 0: not found
  std::string text;
};
// The function or struct whose first line contains `signature`, up to its closing brace; or the row MACRO(…) of a .def
// file, up to its closing parenthesis.
Range find_function(const std::string& text, const std::string& signature);
// The functions of an answers.h that hold a part marked "[answer ID …]", whole and without the marks; "" if none does.
std::string marked_functions(const std::string& text, const std::string& id);

// GitHub's anchor for a heading: "Why we subtract?" → "why-we-subtract".
std::string anchor(const std::string& heading);
std::vector<std::string> headings(const std::string& markdown);
// The minutes of each check, from a README's item "**Time:** … 02.1 10 minutes, 02.2 5, …": {"02.1": 10, …}.
std::map<std::string, int> minutes_in(const std::string& readme);
// The minutes to read it, from the same item: "**Time:** 20 minutes to read"; 0 if it has none.
int minutes_to_read(const std::string& readme);
// "pg::mul" if the whole body of the function `name` is `return pg::mul(…);` for that same name; otherwise "".
std::string engine_call(const std::string& text, const std::string& name);
// The lines inside the fenced blocks marked `language`.
std::vector<std::string> fenced_lines(const std::string& markdown, const std::string& language);

}  // namespace pg::kit
