#pragma once
// The values of a chat template: those of Python that templates use.
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tensor/base/json.h"

namespace pg::jinja {

class Value;
struct Undefined {
  std::string name;  // of what is not there, for messages
};
struct None {};
struct List;
struct Dict;
struct Arguments;
using Function = std::function<Value(const Arguments&)>;

// The most bytes of a text that a template makes; Error for more.
inline constexpr size_t kMostBytes = 16 << 20;
void check_bytes(size_t bytes);

// The work that a template may do, in steps. There is no timer, so that the same template gives the same result on
// every machine. begin_work() is called once for each run of this thread; spend() throws Error when the steps are used
// up.
inline constexpr int64_t kMostSteps = 20000000;
void begin_work();
void spend(int64_t steps);

// Larger integers are an Error, so that no sum or negative overflows.
inline constexpr int64_t kLargestInteger = int64_t{1} << 53;
int64_t checked_integer(double x);

// A tuple is a list. Lists and dicts are shared by the values that were copied from one another, as in Python.
class Value {
 public:
  using Data = std::variant<Undefined, None, bool, int64_t, double, std::string, std::shared_ptr<List>,
                            std::shared_ptr<Dict>, std::shared_ptr<Function>>;
  Value() : data(None{}) {}
  Value(Data d) : data(std::move(d)) {}
  Value(const char* text) : data(std::string(text)) {}
  Value(std::string text) : data(std::move(text)) {}
  template <class T>
  requires std::same_as<T, bool> || std::same_as<T, double> || std::same_as<T, int64_t> Value(T x) : data(x) {}
  static Value undefined(std::string name) { return Data(Undefined{std::move(name)}); }
  // Error for values that nest too deep.
  static Value list(List items);
  static Value dict(Dict members);
  static Value function(Function f) { return Data(std::make_shared<Function>(std::move(f))); }
  static Value of(const Json& json);

  bool is_undefined() const { return std::holds_alternative<Undefined>(data); }
  bool is_none() const { return std::holds_alternative<None>(data); }
  bool is_number() const { return boolean() || integer() || std::holds_alternative<double>(data); }
  const bool* boolean() const { return std::get_if<bool>(&data); }
  const int64_t* integer() const { return std::get_if<int64_t>(&data); }
  const std::string* text() const { return std::get_if<std::string>(&data); }
  List* items() const { return pointee<List>(); }
  Dict* members() const { return pointee<Dict>(); }
  const Function* callable() const { return pointee<Function>(); }
  // "a text", "a list", for messages.
  std::string kind() const;

  Data data;

 private:
  template <class T>
  T* pointee() const {
    const auto* held = std::get_if<std::shared_ptr<T>>(&data);
    return held ? held->get() : nullptr;
  }
};

// `depth`: how deep values nest in it, at most kDeepestValue, so that no recursion over values is too deep. A namespace
// that changes may make the depth of values around it larger than theirs says.
inline constexpr int kDeepestValue = 64;
struct List : std::vector<Value> {
  using vector::vector;
  int depth = 0;
};
struct Dict : std::vector<std::pair<std::string, Value>> {  // in the order of insertion; keys are texts
  using vector::vector;
  int depth = 0;
};
struct Arguments {
  std::vector<Value> values;
  std::vector<std::pair<std::string, Value>> named;
};

bool is_true(const Value& value);
// Python's == and <. Error for an order of different kinds.
bool equal(const Value& a, const Value& b);
bool less(const Value& a, const Value& b);
// As {{ … }} writes it: Python's str, nothing for an undefined value.
std::string to_text(const Value& value);
// How json.dumps(value, ensure_ascii=False) writes.
struct JsonStyle {
  int64_t indent = -1;  // below 0: on one line
  std::string between = ", ", after_key = ": ";
  bool sorts = false;  // keys by their code points
};
// Error for functions.
std::string to_json(const Value& value, const JsonStyle& style);
// A text, and a number as double. Error naming `what` for another kind.
const std::string& text_of(const Value& value, std::string_view what);
double number_of(const Value& value, std::string_view what);
int64_t integer_of(const Value& value, std::string_view what);
// The member of a dict; null if there is none.
const Value* find_member(const Value& dict, std::string_view key);
// Error for a value that nests too deep.
void set_member(Dict& dict, const std::string& key, Value value);
// The elements that a loop takes: of a list, the keys of a dict, the characters of a text; none of an undefined value.
// Error for another kind.
List elements_of(const Value& value);
// Python's value[begin:end:step]; None: from the one end to the other. Error for a step of 0.
Value slice_of(const Value& value, const Value& begin, const Value& end, const Value& step);
// A text as its characters in UTF-8, and how many there are; a byte that is no part of a character is one by itself.
// Error for more than kMostTaken bytes as a list.
inline constexpr size_t kMostTaken = 256 << 10;
std::vector<std::string> characters_of(std::string_view text);
int64_t character_count(std::string_view text);

}  // namespace pg::jinja
