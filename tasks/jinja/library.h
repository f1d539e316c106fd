#pragma once
// What templates call: filters, tests, and the methods of texts, lists and dicts. Each returns what Jinja (in the
// sandbox of transformers) or Python does, or throws Error with its name.
#include <cstdint>
#include <string>
#include <string_view>

#include "tasks/jinja/value.h"

namespace pg::jinja {

// value | name(arguments). Error with the known names for an unknown one.
Value apply_filter(const std::string& name, const Value& value, const Arguments& arguments);
// value is name(arguments)
bool passes_test(const std::string& name, const Value& value, const Arguments& arguments);
// value.name(arguments); an undefined value if there is no such method.
Value method_of(const Value& value, const std::string& name);

// ---- texts as Python's methods of str treat them

// The text with the characters of ASCII as `f` gives them, such as std::tolower.
std::string mapped(std::string text, int (*f)(int));
// `text`. Error if it has other characters than those of ASCII, whose case is not known here.
const std::string& ascii(const std::string& text);
// str.title(), or str.capitalize() unless `every_word`. Error as of ascii().
std::string title(const std::string& text, bool every_word);
// The text without these characters at its left and its right end; None: without white space.
std::string stripped(std::string_view text, const Value& characters, bool left, bool right);
// At most `most` times, below 0: everywhere. Error for an empty `from`.
std::string replaced(const std::string& text, const std::string& from, const std::string& to, int64_t most);
// A list of texts: cut at most `most` times, below 0: everywhere; at white space for None. Error for an empty
// separator.
Value split(const std::string& text, const Value& separator, int64_t most);
// str.splitlines()
Value lines_of(const std::string& text);
// str.count(part). Error for an empty part.
int64_t count_of(const std::string& text, const std::string& part);
// str.find(part), in characters; -1: nowhere.
int64_t place_of(const std::string& text, const std::string& part);

}  // namespace pg::jinja
