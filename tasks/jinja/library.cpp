// Filters, tests and methods, a table each.
#include "tasks/jinja/library.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "tensor/base/error.h"
#include "tensor/base/table.h"

namespace pg::jinja {
namespace {

// An argument by its place or name; none if it is not given.
Value argument(const Arguments& a, size_t place, std::string_view name) {
  if (place < a.values.size()) return a.values[place];
  for (const auto& [key, value] : a.named) {
    if (key == name) return value;
  }
  return {};
}
int64_t most_of(const Value& v) { return v.is_none() ? -1 : integer_of(v, "a count"); }

int64_t length_of(const Value& v) {
  if (v.text()) return character_count(*v.text());
  if (v.members()) return std::ssize(*v.members());
  check(v.items() || v.is_undefined(), "length: {} has none", v.kind());
  return v.items() ? std::ssize(*v.items()) : 0;
}

// A member of a dict by a name with points between its parts.
Value attribute(Value value, const std::string& path) {
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.size(), path.find('.', begin));
    const std::string key = path.substr(begin, end - begin);
    const Value* const member = value.members() ? find_member(value, key) : nullptr;
    if (!member) return Value::undefined(path);
    Value next = *member;
    value = std::move(next);
    begin = end + 1;
  }
  return value;
}

Arguments rest_of(const Arguments& a, size_t from) {
  Arguments rest;
  if (from < a.values.size()) rest.values.assign(a.values.begin() + static_cast<int64_t>(from), a.values.end());
  return rest;
}
// select, reject, selectattr and rejectattr.
Value selected(const Value& v, const Arguments& a, bool by_attribute, bool keep) {
  const size_t at = by_attribute ? 1 : 0;
  const Value test = argument(a, at, "");
  List kept;
  for (const Value& item : elements_of(v)) {
    const Value subject = by_attribute ? attribute(item, text_of(argument(a, 0, ""), "selectattr")) : item;
    const bool passes =
        test.is_none() ? is_true(subject) : passes_test(text_of(test, "select"), subject, rest_of(a, at + 1));
    if (passes == keep) kept.push_back(item);
  }
  return Value::list(std::move(kept));
}
Value mapped_items(const Value& v, const Arguments& a) {
  List result;
  const Value key = argument(a, 1, "attribute");
  for (const Value& item : elements_of(v)) {
    if (a.values.empty()) {
      Value found = attribute(item, text_of(key, "map"));
      if (found.is_undefined()) found = argument(a, 2, "default");
      result.push_back(std::move(found));
    } else {
      result.push_back(apply_filter(text_of(a.values[0], "map"), item, rest_of(a, 1)));
    }
  }
  return Value::list(std::move(result));
}
Value joined(const Value& v, const Arguments& a) {
  const Value by = argument(a, 0, "d"), key = argument(a, 1, "attribute");
  std::string text;
  bool first = true;
  for (const Value& item : elements_of(v)) {
    if (!std::exchange(first, false)) text += to_text(by.is_none() ? Value("") : by);
    text += to_text(key.is_none() ? item : attribute(item, text_of(key, "join")));
    check_bytes(text.size());
  }
  return text;
}
Value pairs_of(const Value& v) {
  if (v.is_undefined()) return Value::list({});
  check(v.members() != nullptr, "items: expected a dict, got {}", v.kind());
  List pairs;
  for (const auto& [key, value] : *v.members()) pairs.push_back(Value::list({key, value}));
  return Value::list(std::move(pairs));
}
Value sorted(const Value& v, const Arguments& a) {
  List items = elements_of(v);
  const Value key = argument(a, 2, "attribute");
  const bool folds = !is_true(argument(a, 1, "case_sensitive"));
  const auto rank = [&](const Value& item) {
    Value r = key.is_none() ? item : attribute(item, text_of(key, "sort"));
    return folds && r.text() ? Value(mapped(*r.text(), std::tolower)) : r;
  };
  std::stable_sort(items.begin(), items.end(), [&](const Value& x, const Value& y) {
    spend(10);
    return less(rank(x), rank(y));
  });
  if (is_true(argument(a, 0, "reverse"))) std::reverse(items.begin(), items.end());
  return Value::list(std::move(items));
}
// Pairs of a key and a value in the order of the keys.
Value sorted_pairs(const Value& v, const Arguments& a) {
  const Value by = argument(a, 1, "by");
  check(by.is_none() || equal(by, "key"), "dictsort: only by key");
  List pairs = *pairs_of(v).items();
  const bool folds = !is_true(argument(a, 0, "case_sensitive"));
  const auto key = [&](const Value& pair) {
    const std::string& name = *pair.items()->front().text();
    return folds ? mapped(name, std::tolower) : name;
  };
  std::stable_sort(pairs.begin(), pairs.end(), [&](const Value& x, const Value& y) { return key(x) < key(y); });
  if (is_true(argument(a, 2, "reverse"))) std::reverse(pairs.begin(), pairs.end());
  return Value::list(std::move(pairs));
}
Value reversed(const Value& v) { return slice_of(v.text() ? v : Value::list(elements_of(v)), {}, {}, int64_t{-1}); }
Value first_or_last(const Value& v, bool first) {
  const List items = elements_of(v);
  if (items.empty()) return Value::undefined("an element of nothing");
  return first ? items.front() : items.back();
}
Value as_integer(const Value& v, const Arguments& a) {
  if (v.is_number()) return checked_integer(std::trunc(number_of(v, "int")));
  const std::string text = v.text() ? stripped(*v.text(), {}, true, true) : "";
  char* end = nullptr;
  const int64_t x = std::strtoll(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0') {
    const Value other = argument(a, 0, "default");
    return other.is_none() ? Value(int64_t{0}) : other;
  }
  return checked_integer(static_cast<double>(x));
}
std::string indented(const std::string& text, const Arguments& a) {
  const Value width = argument(a, 0, "width");
  const std::string space = width.text() ? *width.text()
                                         : std::string(static_cast<size_t>(std::clamp<int64_t>(
                                                           width.is_none() ? 4 : integer_of(width, "indent"), 0, 200)),
                                                       ' ');
  std::string result = is_true(argument(a, 1, "first")) ? space : "";
  for (size_t i = 0; i < text.size(); ++i) {
    result += text[i];
    const bool blank = i + 1 == text.size() || text[i + 1] == '\n';
    if (text[i] == '\n' && (!blank || is_true(argument(a, 2, "blank")))) result += space;
    check_bytes(result.size());
  }
  return result;
}

// json.dumps(value, ensure_ascii=False, …), as transformers has it.
Value as_json(const Value& v, const Arguments& a) {
  const Value indent = argument(a, 1, "indent"), separators = argument(a, 2, "separators");
  check(!is_true(argument(a, 0, "ensure_ascii")), "tojson: ensure_ascii is not known");
  JsonStyle style{.sorts = is_true(argument(a, 3, "sort_keys"))};
  if (!indent.is_none()) style.indent = integer_of(indent, "tojson"), style.between = ",";
  if (!separators.is_none()) {
    const List both = elements_of(separators);
    check(both.size() == 2, "tojson: expected two separators, got {}", both.size());
    style.between = text_of(both[0], "tojson"), style.after_key = text_of(both[1], "tojson");
  }
  return to_json(v, style);
}

// The arguments that a function takes, by their places; "*": any.
using Names = std::vector<std::string>;
void check_arguments(std::string_view name, const Names& names, const Arguments& a) {
  if (names == Names{"*"}) return;
  check(a.values.size() <= names.size(), "{}: expected at most {} arguments, got {}", name, names.size(),
        a.values.size());
  for (const auto& [key, value] : a.named) {
    const bool known = std::find(names.begin(), names.end(), key) != names.end();
    if (!known) fail_unknown(fmt::format("{}: argument", name), key, names);
  }
}

struct Filter {
  std::string_view name;
  Value (*apply)(const Value& value, const Arguments& arguments);
  Names arguments = {};
};
const std::vector<Filter>& filters() {
  using A = const Arguments&;
  using V = const Value&;
  static const std::vector<Filter> rows = {
      {"trim", [](V v, A a) -> Value { return stripped(to_text(v), argument(a, 0, "chars"), true, true); }, {"chars"}},
      {"length", [](V v, A) -> Value { return length_of(v); }},
      {"count", [](V v, A) -> Value { return length_of(v); }},
      {"upper", [](V v, A) -> Value { return mapped(ascii(to_text(v)), std::toupper); }},
      {"lower", [](V v, A) -> Value { return mapped(ascii(to_text(v)), std::tolower); }},
      {"title", [](V v, A) -> Value { return title(to_text(v), true); }},
      {"capitalize", [](V v, A) -> Value { return title(to_text(v), false); }},
      {"string", [](V v, A) -> Value { return to_text(v); }},
      {"safe", [](V v, A) -> Value { return v; }},
      {"list", [](V v, A) -> Value { return Value::list(elements_of(v)); }},
      {"first", [](V v, A) -> Value { return first_or_last(v, true); }},
      {"last", [](V v, A) -> Value { return first_or_last(v, false); }},
      {"reverse", [](V v, A) -> Value { return reversed(v); }},
      {"sort", sorted, {"reverse", "case_sensitive", "attribute"}},
      {"join", joined, {"d", "attribute"}},
      {"items", [](V v, A) -> Value { return pairs_of(v); }},
      {"dictsort", sorted_pairs, {"case_sensitive", "by", "reverse"}},
      {"map", mapped_items, {"*"}},
      {"select", [](V v, A a) -> Value { return selected(v, a, false, true); }, {"*"}},
      {"reject", [](V v, A a) -> Value { return selected(v, a, false, false); }, {"*"}},
      {"selectattr", [](V v, A a) -> Value { return selected(v, a, true, true); }, {"*"}},
      {"rejectattr", [](V v, A a) -> Value { return selected(v, a, true, false); }, {"*"}},
      {"default",
       [](V v, A a) -> Value {
         const bool absent = v.is_undefined() || (is_true(argument(a, 1, "boolean")) && !is_true(v));
         if (!absent) return v;
         return a.values.empty() && a.named.empty() ? Value("") : argument(a, 0, "default_value");
       },
       {"default_value", "boolean"}},
      {"replace",
       [](V v, A a) -> Value {
         return replaced(to_text(v), to_text(argument(a, 0, "old")), to_text(argument(a, 1, "new")),
                         most_of(argument(a, 2, "count")));
       },
       {"old", "new", "count"}},
      {"indent", [](V v, A a) -> Value { return indented(to_text(v), a); }, {"width", "first", "blank"}},
      {"int", as_integer, {"default", "base"}},
      {"float",
       [](V v, A) -> Value { return v.text() ? std::strtod(v.text()->c_str(), nullptr) : number_of(v, "float"); }},
      {"abs",
       [](V v, A) -> Value {
         return v.integer() ? Value(std::abs(*v.integer())) : Value(std::abs(number_of(v, "abs")));
       }},
      {"tojson", as_json, {"ensure_ascii", "indent", "separators", "sort_keys"}},
  };
  return rows;
}

struct Test {
  std::string_view name;
  bool (*passes)(const Value& value, const Arguments& arguments);
};
const std::vector<Test>& tests() {
  using A = const Arguments&;
  using V = const Value&;
  static const auto same = [](V v, A a) { return equal(v, argument(a, 0, "")); };
  static const std::vector<Test> rows = {
      {"defined", [](V v, A) { return !v.is_undefined(); }},
      {"undefined", [](V v, A) { return v.is_undefined(); }},
      {"none", [](V v, A) { return v.is_none(); }},
      {"string", [](V v, A) { return v.text() != nullptr; }},
      {"mapping", [](V v, A) { return v.members() != nullptr; }},
      {"sequence", [](V v, A) { return v.items() || v.text() || v.members() || v.is_undefined(); }},
      {"iterable", [](V v, A) { return v.items() || v.text() || v.members() || v.is_undefined(); }},
      {"number", [](V v, A) { return v.is_number(); }},
      {"integer", [](V v, A) { return v.integer() != nullptr; }},
      {"float", [](V v, A) { return v.is_number() && !v.integer() && !v.boolean(); }},
      {"boolean", [](V v, A) { return v.boolean() != nullptr; }},
      {"true", [](V v, A) { return v.boolean() && *v.boolean(); }},
      {"false", [](V v, A) { return v.boolean() && !*v.boolean(); }},
      {"callable", [](V v, A) { return v.callable() != nullptr; }},
      {"equalto", same},
      {"eq", same},
      {"ne", [](V v, A a) { return !equal(v, argument(a, 0, "")); }},
      {"in",
       [](V v, A a) {
         const Value in = argument(a, 0, "");
         if (in.text()) return in.text()->find(text_of(v, "in")) != std::string::npos;
         const List items = elements_of(in);
         return std::any_of(items.begin(), items.end(), [&](V item) { return equal(item, v); });
       }},
      {"even", [](V v, A) { return integer_of(v, "even") % 2 == 0; }},
      {"odd", [](V v, A) { return integer_of(v, "odd") % 2 != 0; }},
      {"divisibleby",
       [](V v, A a) {
         const int64_t by = integer_of(argument(a, 0, "num"), "divisibleby");
         check(by != 0, "divisibleby: 0 divides nothing");
         return integer_of(v, "divisibleby") % by == 0;
       }},
  };
  return rows;
}

bool begins_or_ends(const std::string& text, const Value& with, bool begins) {
  const auto matches = [&](const std::string& part) { return begins ? text.starts_with(part) : text.ends_with(part); };
  if (!with.items()) return matches(text_of(with, "startswith"));
  return std::any_of(with.items()->begin(), with.items()->end(),
                     [&](const Value& part) { return matches(text_of(part, "startswith")); });
}
struct TextMethod {
  std::string_view name;
  Value (*call)(const std::string& text, const Arguments& arguments);
  Names arguments = {};
};
const std::vector<TextMethod>& text_methods() {
  using A = const Arguments&;
  using T = const std::string&;
  static const std::vector<TextMethod> rows = {
      {"strip", [](T t, A a) -> Value { return stripped(t, argument(a, 0, "chars"), true, true); }, {"chars"}},
      {"lstrip", [](T t, A a) -> Value { return stripped(t, argument(a, 0, "chars"), true, false); }, {"chars"}},
      {"rstrip", [](T t, A a) -> Value { return stripped(t, argument(a, 0, "chars"), false, true); }, {"chars"}},
      {"split",
       [](T t, A a) -> Value { return split(t, argument(a, 0, "sep"), most_of(argument(a, 1, "maxsplit"))); },
       {"sep", "maxsplit"}},
      {"splitlines", [](T t, A) -> Value { return lines_of(t); }},
      {"startswith", [](T t, A a) -> Value { return begins_or_ends(t, argument(a, 0, "prefix"), true); }, {"prefix"}},
      {"endswith", [](T t, A a) -> Value { return begins_or_ends(t, argument(a, 0, "suffix"), false); }, {"suffix"}},
      {"upper", [](T t, A) -> Value { return mapped(ascii(t), std::toupper); }},
      {"lower", [](T t, A) -> Value { return mapped(ascii(t), std::tolower); }},
      {"title", [](T t, A) -> Value { return title(t, true); }},
      {"capitalize", [](T t, A) -> Value { return title(t, false); }},
      {"find", [](T t, A a) -> Value { return place_of(t, text_of(argument(a, 0, "sub"), "find")); }, {"sub"}},
      {"count", [](T t, A a) -> Value { return count_of(t, text_of(argument(a, 0, "sub"), "count")); }, {"sub"}},
      {"replace",
       [](T t, A a) -> Value {
         return replaced(t, text_of(argument(a, 0, "old"), "replace"), text_of(argument(a, 1, "new"), "replace"),
                         most_of(argument(a, 2, "count")));
       },
       {"old", "new", "count"}},
      {"join",
       [](T t, A a) -> Value { return joined(argument(a, 0, "iterable"), {.values = {t}, .named = {}}); },
       {"iterable"}},
  };
  return rows;
}

Value dict_method(const Value& v, const std::string& name) {
  if (name == "items") return Value::function([v](const Arguments&) { return pairs_of(v); });
  if (name == "keys") return Value::function([v](const Arguments&) { return Value::list(elements_of(v)); });
  if (name == "values") {
    return Value::function([v](const Arguments&) {
      List values;
      for (const auto& member : *v.members()) values.push_back(member.second);
      return Value::list(std::move(values));
    });
  }
  if (name != "get") return Value::undefined(name);
  return Value::function([v](const Arguments& a) {
    const Value* const found = find_member(v, text_of(argument(a, 0, "key"), "get"));
    return found ? *found : argument(a, 1, "default");
  });
}

}  // namespace

Value apply_filter(const std::string& name, const Value& value, const Arguments& arguments) {
  const std::string key = name == "d" ? "default" : name == "e" || name == "escape" ? "safe" : name;
  const Filter& filter = find_row(filters(), "filter", key);
  check_arguments(key, filter.arguments, arguments);
  return filter.apply(value, arguments);
}

bool passes_test(const std::string& name, const Value& value, const Arguments& arguments) {
  return find_row(tests(), "test", name == "==" ? "eq" : name == "!=" ? "ne" : name).passes(value, arguments);
}

Value method_of(const Value& value, const std::string& name) {
  if (value.members()) return dict_method(value, name);
  if (!value.text()) return Value::undefined(name);
  for (const TextMethod& method : text_methods()) {
    if (method.name == name) {
      return Value::function([text = *value.text(), &method](const Arguments& a) {
        check(a.named.empty() || method.arguments.size() > 1, "{}: it takes no named arguments",
              method.name);  // Python's rule
        check_arguments(method.name, method.arguments, a);
        return method.call(text, a);
      });
    }
  }
  return Value::undefined(name);
}

}  // namespace pg::jinja
