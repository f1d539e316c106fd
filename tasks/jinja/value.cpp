// Values as Python compares, writes and slices them.
#include "tasks/jinja/value.h"

#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "tasks/data/utf8.h"
#include "tensor/base/error.h"
#include "tensor/base/text.h"

namespace pg::jinja {
namespace {

// Python's repr of a float: the shortest digits that give it back, with a point or an exponent.
std::string float_text(double x) {
  if (std::isnan(x)) return "nan";
  if (std::isinf(x)) return x < 0 ? "-inf" : "inf";
  std::string text = fmt::format("{}", x);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

// Calls f with each character; a byte that is no part of a character is one by itself.
template <class F>
void each_character(std::string_view text, const F& f) {
  spend(std::ssize(text));
  while (!text.empty()) {
    const size_t length = std::max<size_t>(1, first_character(text).length);
    f(text.substr(0, length));
    text.remove_prefix(length);
  }
}

// Python's str.isprintable().
bool is_printable(char32_t c) {
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
  return c == ' ' || (category != UTF8PROC_CATEGORY_CN && category < UTF8PROC_CATEGORY_ZS);
}
// Python's repr of a text.
std::string quoted(const std::string& text) {
  const char mark = text.find('\'') != std::string::npos && text.find('"') == std::string::npos ? '"' : '\'';
  std::string result(1, mark);
  each_character(text, [&](std::string_view c) {
    if (c[0] == mark || c == "\\") {
      (result += '\\') += c;
    } else if (c == "\n" || c == "\r" || c == "\t") {
      result += c == "\n" ? "\\n" : c == "\r" ? "\\r" : "\\t";
    } else if (const Utf8Unit unit = first_unit(c); unit.kind == Utf8Unit::character && !is_printable(unit.value)) {
      const auto code = static_cast<uint32_t>(unit.value);
      result += code < 0x100     ? fmt::format("\\x{:02x}", code)
                : code < 0x10000 ? fmt::format("\\u{:04x}", code)
                                 : fmt::format("\\U{:08x}", code);
    } else {
      result += c;
    }
  });
  return result + mark;
}

// While one is alive, a value is looked at that is inside of others.
class Nested {
 public:
  Nested() {
    check(depth_ <= kDeepestValue, "a value nests more than {} deep", kDeepestValue);
    ++depth_;
  }
  ~Nested() { --depth_; }

 private:
  static thread_local int depth_;
};
thread_local int Nested::depth_ = 0;

std::string repr(const Value& value) { return value.text() ? quoted(*value.text()) : to_text(value); }

template <class Range, class Write>
std::string joined(const Range& range, const Write& write) {
  std::string text;
  for (const auto& item : range) {
    text += (text.empty() ? "" : ", ") + write(item);
    check_bytes(text.size());
  }
  return text;
}

class JsonWriter {
 public:
  explicit JsonWriter(const JsonStyle& style) : style_(style) {}
  std::string text;

  void write(const Value& value, int64_t depth) {
    const Nested nested;
    check_bytes(text.size());
    if (const List* items = value.items()) {
      begin('[', items->empty(), depth);
      for (size_t i = 0; i < items->size(); ++i) {
        next(i, depth);
        write((*items)[i], depth + 1);
      }
      end(']', items->empty(), depth);
    } else if (const Dict* members = value.members()) {
      begin('{', members->empty(), depth);
      std::vector<const Dict::value_type*> ordered;
      for (const Dict::value_type& member : *members) ordered.push_back(&member);
      if (style_.sorts) {
        std::sort(ordered.begin(), ordered.end(), [](const auto* a, const auto* b) { return a->first < b->first; });
      }
      for (size_t i = 0; i < ordered.size(); ++i) {
        next(i, depth);
        text += Json(ordered[i]->first).dump(-1, Json::Utf8::replace) + style_.after_key;
        write(ordered[i]->second, depth + 1);
      }
      end('}', members->empty(), depth);
    } else {
      check(!value.is_undefined() && !value.callable(), "tojson: {} is no JSON value", value.kind());
      text += value.is_none()   ? "null"
              : value.boolean() ? (*value.boolean() ? "true" : "false")
              : value.text()    ? Json(*value.text()).dump(-1, Json::Utf8::replace)
                                : to_text(value);
    }
  }

 private:
  void begin(char bracket, bool, int64_t) { text += bracket; }
  void next(size_t i, int64_t depth) {
    if (i > 0) text += style_.between;
    line(depth + 1);
  }
  void end(char bracket, bool empty, int64_t depth) {
    if (!empty) line(depth);
    text += bracket;
  }
  void line(int64_t depth) {
    if (style_.indent >= 0) text += "\n" + std::string(static_cast<size_t>(style_.indent * depth), ' ');
  }
  JsonStyle style_;
};

// Where a slice begins or ends, as Python clamps it.
int64_t bound(const Value& given, int64_t size, int64_t absent, int64_t low, int64_t high) {
  if (given.is_none()) return absent;
  int64_t at = integer_of(given, "a slice");
  if (at < 0) at += size;
  return std::clamp(at, low, high);
}

template <class Items>
Items sliced(const Items& items, const Value& begin, const Value& end, int64_t step) {
  const int64_t size = std::ssize(items);
  Items result;
  if (step > 0) {
    const int64_t from = bound(begin, size, 0, 0, size), to = bound(end, size, size, 0, size);
    for (int64_t i = from; i < to; i += std::min(step, size + 1)) result.push_back(items[static_cast<size_t>(i)]);
  } else {
    const int64_t from = bound(begin, size, size - 1, -1, size - 1), to = bound(end, size, -1, -1, size - 1);
    for (int64_t i = from; i > to; i += std::max(step, -size - 1)) result.push_back(items[static_cast<size_t>(i)]);
  }
  return result;
}

}  // namespace

namespace {

int depth_of(const Value& v) { return v.items() ? v.items()->depth : v.members() ? v.members()->depth : 0; }
int deeper(int depth, const Value& inside) {
  depth = std::max(depth, depth_of(inside) + 1);
  check(depth <= kDeepestValue, "a value nests more than {} deep", kDeepestValue);
  return depth;
}

}  // namespace

Value Value::list(List items) {
  items.depth = 0;
  for (const Value& item : items) items.depth = deeper(items.depth, item);
  return Data(std::make_shared<List>(std::move(items)));
}

Value Value::dict(Dict members) {
  members.depth = 0;
  for (const auto& member : members) members.depth = deeper(members.depth, member.second);
  return Data(std::make_shared<Dict>(std::move(members)));
}

Value Value::of(const Json& json) {
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_integer_in(-kLargestInteger, kLargestInteger)) return json.get<int64_t>();
  if (json.is_number()) return json.get<double>();
  if (json.is_string()) return json.get<std::string>();
  if (json.is_array()) {
    List items;
    for (const Json& item : json) items.push_back(of(item));
    return list(std::move(items));
  }
  if (json.is_object()) {
    Dict members;
    for (const auto& [key, value] : json.items()) members.emplace_back(key, of(value));
    return dict(std::move(members));
  }
  return {};
}

std::string Value::kind() const {
  if (const auto* u = std::get_if<Undefined>(&data))
    return fmt::format("'{}', which is not defined,", excerpt(u->name, 40));
  static const char* const names[] = {"",       "none",   "a boolean", "an integer", "a number",
                                      "a text", "a list", "a dict",    "a function"};
  return names[data.index()];
}

bool is_true(const Value& v) {
  if (v.is_undefined() || v.is_none()) return false;
  if (v.boolean()) return *v.boolean();
  if (v.is_number()) return number_of(v, "") != 0;
  if (v.text()) return !v.text()->empty();
  if (v.items()) return !v.items()->empty();
  if (v.members()) return !v.members()->empty();
  return true;
}

void check_bytes(size_t bytes) { check(bytes <= kMostBytes, "more than {} bytes", kMostBytes); }

namespace {
thread_local int64_t steps_left = 0;
}  // namespace

void begin_work() { steps_left = kMostSteps; }
void spend(int64_t steps) {
  check(steps <= steps_left, "more than {} steps", kMostSteps);
  steps_left -= steps;
}

int64_t checked_integer(double x) {
  check(std::abs(x) <= static_cast<double>(kLargestInteger), "{} is too large for an integer", x);
  return static_cast<int64_t>(x);
}

bool equal(const Value& a, const Value& b) {
  const Nested nested;
  spend(1);
  if (a.is_number() && b.is_number()) return number_of(a, "") == number_of(b, "");
  if (a.text() && b.text()) return *a.text() == *b.text();
  if (a.items() && b.items())
    return std::equal(a.items()->begin(), a.items()->end(), b.items()->begin(), b.items()->end(), equal);
  if (a.members() && b.members()) {
    return a.members()->size() == b.members()->size() &&
           std::all_of(a.members()->begin(), a.members()->end(), [&](const auto& member) {
             const Value* other = find_member(b, member.first);
             return other && equal(member.second, *other);
           });
  }
  return (a.is_none() && b.is_none()) || (a.is_undefined() && b.is_undefined());
}

bool less(const Value& a, const Value& b) {
  if (a.text() && b.text()) return *a.text() < *b.text();
  check(a.is_number() && b.is_number(), "{} and {} have no order", a.kind(), b.kind());
  return number_of(a, "") < number_of(b, "");
}

std::string to_text(const Value& v) {
  const Nested nested;
  if (v.is_undefined()) return "";
  if (v.is_none()) return "None";
  if (v.boolean()) return *v.boolean() ? "True" : "False";
  if (v.integer()) return std::to_string(*v.integer());
  if (v.text()) return *v.text();
  if (v.items()) return "[" + joined(*v.items(), repr) + "]";
  if (v.members()) {
    return "{" + joined(*v.members(), [](const auto& m) { return quoted(m.first) + ": " + repr(m.second); }) + "}";
  }
  check(!v.callable(), "a function cannot be written");
  return float_text(std::get<double>(v.data));
}

std::string to_json(const Value& value, const JsonStyle& style) {
  check(style.indent <= 64, "tojson: an indent of {} is more than 64", style.indent);
  JsonWriter writer(style);
  writer.write(value, 0);
  return std::move(writer.text);
}

const std::string& text_of(const Value& v, std::string_view what) {
  check(v.text() != nullptr, "{}: expected a text, got {}", what, v.kind());
  return *v.text();
}

double number_of(const Value& v, std::string_view what) {
  if (v.boolean()) return *v.boolean() ? 1 : 0;
  if (v.integer()) return static_cast<double>(*v.integer());
  const double* x = std::get_if<double>(&v.data);
  check(x != nullptr, "{}: expected a number, got {}", what, v.kind());
  return *x;
}

int64_t integer_of(const Value& v, std::string_view what) {
  if (v.boolean()) return *v.boolean() ? 1 : 0;
  check(v.integer() != nullptr, "{}: expected an integer, got {}", what, v.kind());
  return *v.integer();
}

const Value* find_member(const Value& dict, std::string_view key) {
  spend(std::ssize(*dict.members()) / 8);
  for (const auto& [name, value] : *dict.members()) {
    if (name == key) return &value;
  }
  return nullptr;
}

void set_member(Dict& dict, const std::string& key, Value value) {
  dict.depth = deeper(dict.depth, value);
  spend(std::ssize(dict) / 8);
  for (auto& [name, old] : dict) {
    if (name == key) return void(old = std::move(value));
  }
  dict.emplace_back(key, std::move(value));
}

List elements_of(const Value& v) {
  if (v.items()) {
    spend(std::ssize(*v.items()));
    return *v.items();
  }
  List items;
  if (v.members()) {
    for (const auto& member : *v.members()) items.emplace_back(member.first);
  } else if (v.text()) {
    for (std::string& c : characters_of(*v.text())) items.emplace_back(std::move(c));
  } else {
    check(v.is_undefined(), "{} has no elements to go through", v.kind());
  }
  return items;
}

Value slice_of(const Value& value, const Value& begin, const Value& end, const Value& step) {
  const int64_t by = step.is_none() ? 1 : integer_of(step, "the step of a slice");
  check(by != 0, "the step of a slice is 0");
  if (value.items()) {
    spend(std::ssize(*value.items()));
    return Value::list(sliced(*value.items(), begin, end, by));
  }
  check(value.text() != nullptr, "{} cannot be sliced", value.kind());
  std::string text;
  for (const std::string& c : sliced(characters_of(*value.text()), begin, end, by)) text += c;
  return text;
}

std::vector<std::string> characters_of(std::string_view text) {
  check(text.size() <= kMostTaken, "a text of {} bytes is taken apart; at most {} are allowed", text.size(),
        kMostTaken);
  std::vector<std::string> all;
  each_character(text, [&](std::string_view c) { all.emplace_back(c); });
  return all;
}

int64_t character_count(std::string_view text) {
  int64_t length = 0;
  each_character(text, [&](std::string_view) { ++length; });
  return length;
}

}  // namespace pg::jinja
