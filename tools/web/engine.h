#pragma once
// Calls between C++ and a learner's JavaScript. call<R>("f", args...) calls the learner's function f, with the
// arguments as JavaScript values: numbers, texts, lists (of numbers: Float64Array), objects of a struct's fields
// (kFields), null for no value, and tensors, which are objects with the id of a tensor kept here (tools/web/engine.js).
// The ids that a call gives out end with it. The operations that JavaScript calls are in tools/web/operations.cpp; an
// Offer adds one of a lesson's own.
#include <emscripten/val.h>

#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "autograd/tape.h"

namespace pg::web {
using emscripten::val;
using Function = std::function<Tensor(std::span<const Tensor>)>;

// The fields of a struct that JavaScript sees: kFields<S> = std::tuple{field("gamma", &S::gamma), ...}.
template <class S, class T>
struct Field {
  const char* name;
  T S::*member;
};
template <class S, class T>
constexpr Field<S, T> field(const char* name, T S::*member) {
  return {name, member};
}
template <class S>
inline constexpr auto kFields = nullptr;
// The names of an enum's values in their order, which are texts in JavaScript.
template <class E>
inline constexpr auto kNames = nullptr;
template <>
inline const auto kNames<DType> = std::array{name_of(f32), name_of(f64), name_of(bf16), name_of(i32), name_of(u8)};

// A whole number that JavaScript has as a BigInt: all 64 bits are exact, where a number has 53.
struct Big {
  int64_t value = 0;
  operator int64_t() const { return value; }
};

// Keeps a tensor, the Grads of a backward, or a function, and returns its JavaScript object; null for an undefined
// tensor.
val to_js(const Tensor& x);
val to_js(Grads& grads);
val to_js(const Function& f);
val to_js(Big x);
inline val to_js(double x) { return val(x); }
val text_to_js(std::string_view bytes);           // of any bytes; text_from_js gives the same ones
val numbers_to_js(const std::vector<double>& x);  // a Float64Array

// `what` names the value in errors: "softmax: the result". A value of another kind is an Error that says both kinds.
Tensor tensor_from_js(const std::string& what, const val& v);
Grads& grads_from_js(const std::string& what, const val& v);
const Function& function_from_js(const std::string& what, const val& v);
double number_from_js(const std::string& what, const val& v);
constexpr int64_t kLargest = int64_t{1} << 53;  // up to it each whole number is a double
int64_t integer_from_js(const std::string& what, const val& v, int64_t least = -kLargest, int64_t most = kLargest);
// The number at place i of the list `what`, which is to be whole.
int64_t whole(const std::string& what, size_t i, double x, int64_t least, int64_t most);
bool truth_from_js(const std::string& what, const val& v);
Big big_from_js(const std::string& what, const val& v);  // a BigInt, or a number that is whole
std::string text_from_js(const std::string& what, const val& v);
Dims dims_from_js(const std::string& what, const val& v);                    // a shape or strides
std::vector<double> numbers_from_js(const std::string& what, const val& v);  // of a list or a Float64Array
std::vector<val> list_from_js(const std::string& what, const val& v);
// What a JavaScript value is, in words: "a number", "undefined"
std::string kind_of(const val& v);

// Calls the learner's function. What it throws comes as Todo, as Error if it came from the engine or from fail(), and
// else as a std::runtime_error with the line.
val run(const char* name, const std::vector<val>& args);

// The ids given out while it lives end with it.
class Scope {
 public:
  Scope();
  ~Scope();
  Scope(const Scope&) = delete;

 private:
  int64_t first_;
};

namespace detail {

template <class T>
inline constexpr bool kHasFields = !std::is_same_v<std::remove_cv_t<decltype(kFields<T>)>, std::nullptr_t>;
template <class T>
inline constexpr bool kMaybe = false;
template <class T>
inline constexpr bool kMaybe<std::optional<T>> = true;
template <class T>
inline constexpr bool kPair = false;
template <class A, class B>
inline constexpr bool kPair<std::pair<A, B>> = true;
template <class T>
concept Text = std::is_convertible_v<T, std::string_view>;
template <class T>
concept List = !Text<T> && requires(const T& x) {
  x.begin() != x.end();
};
template <class T>
using Item = std::remove_cvref_t<decltype(*std::declval<const T&>().begin())>;

template <class T>
val convert(T& x) {
  using V = std::remove_cv_t<T>;
  if constexpr (std::is_enum_v<V>) {
    return val(std::string(kNames<V>.at(static_cast<size_t>(x))));
  } else if constexpr (std::is_same_v<V, bool>) {
    return val(x);
  } else if constexpr (std::is_arithmetic_v<V>) {
    return val(static_cast<double>(x));
  } else if constexpr (kHasFields<V>) {
    val object = val::object();
    std::apply([&](const auto&... field) { (object.set(field.name, convert(x.*field.member)), ...); }, kFields<V>);
    return object;
  } else if constexpr (kMaybe<V>) {
    return x ? convert(*x) : val::null();
  } else if constexpr (Text<V>) {
    return text_to_js(x);
  } else if constexpr (List<V>) {
    if constexpr (std::is_arithmetic_v<Item<V>>) {
      return numbers_to_js(std::vector<double>(x.begin(), x.end()));
    } else {
      val list = val::array();
      for (const Item<V>& one : x) list.call<void>("push", convert(one));
      return list;
    }
  } else {
    return to_js(x);
  }
}

template <class T>
T back(const std::string& what, const val& v);

// Reads the fields of a struct; the members that JavaScript does not see stay as they are.
template <class T>
void read_fields(const std::string& what, T& x, const val& v) {
  check(v.typeOf().as<std::string>() == "object" && !v.isNull(), "{}: expected an object, got {}", what, kind_of(v));
  const auto read = [&]<class S, class M>(const Field<S, M>& field) {
    const std::string name = what + "." + field.name;
    if constexpr (kHasFields<M>) {
      read_fields(name, x.*field.member, v[field.name]);
    } else {
      x.*field.member = back<M>(name, v[field.name]);
    }
  };
  std::apply([&](const auto&... field) { (read(field), ...); }, kFields<T>);
}

template <class T>
T back(const std::string& what, const val& v) {
  if constexpr (std::is_same_v<T, Tensor>) {
    return tensor_from_js(what, v);
  } else if constexpr (std::is_enum_v<T>) {
    const std::string name = text_from_js(what, v);
    const auto& names = kNames<T>;
    const auto found = std::find(names.begin(), names.end(), name);
    check(found != names.end(), "{}: expected one of {}, got {}", what, fmt::join(names, " "), name);
    return static_cast<T>(found - names.begin());
  } else if constexpr (std::is_same_v<T, bool>) {
    return truth_from_js(what, v);
  } else if constexpr (std::is_same_v<T, Big>) {
    return big_from_js(what, v);
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(integer_from_js(what, v, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(number_from_js(what, v));
  } else if constexpr (kMaybe<T>) {
    return v.isNull() ? T() : T(back<typename T::value_type>(what, v));
  } else if constexpr (kPair<T>) {
    const auto both = list_from_js(what, v);
    check(both.size() == 2, "{}: expected a list of two values, got {}", what, both.size());
    return {back<typename T::first_type>(what + "[0]", both[0]), back<typename T::second_type>(what + "[1]", both[1])};
  } else if constexpr (kHasFields<T>) {
    T result{};
    read_fields(what, result, v);
    return result;
  } else if constexpr (Text<T>) {
    return text_from_js(what, v);
  } else if constexpr (std::is_same_v<T, Dims>) {
    return dims_from_js(what, v);
  } else if constexpr (std::is_arithmetic_v<Item<T>>) {
    const std::vector<double> numbers = numbers_from_js(what, v);
    if constexpr (std::is_integral_v<Item<T>>) {
      using Limits = std::numeric_limits<Item<T>>;
      for (size_t i = 0; i < numbers.size(); ++i) whole(what, i, numbers[i], Limits::min(), Limits::max());
    }
    return T(numbers.begin(), numbers.end());
  } else {
    T list;
    for (const val& one : list_from_js(what, v)) {
      list.push_back(back<Item<T>>(fmt::format("{}[{}]", what, list.size()), one));
    }
    return list;
  }
}

// Copies what the function wrote into an argument: into the elements of a span, or into the fields of a struct.
template <class T>
void write_back(const std::string& what, T& x, const val& v) {
  if constexpr (std::is_same_v<std::remove_const_t<T>, std::span<double>>) {
    const std::vector<double> written = numbers_from_js(what, v);
    check(written.size() == x.size(), "{}: expected {} numbers, got {}", what, x.size(), written.size());
    std::copy(written.begin(), written.end(), x.begin());
  } else if constexpr (!std::is_const_v<T> && kHasFields<T>) {
    read_fields(what, x, v);
  }
}

}  // namespace detail

template <class R, class... Args>
R call(const char* name, Args&&... args) {
  const Scope scope;
  const std::vector<val> values{detail::convert(args)...};
  const val result = run(name, values);
  size_t i = 0;
  const auto written = [&](auto& x) {
    detail::write_back(fmt::format("{}: argument {}", name, i + 1), x, values[i]);
    ++i;
  };
  (written(args), ...);
  if constexpr (!std::is_void_v<R>) {
    check(!result.isUndefined(), "{}: the result is undefined: is a return missing?", name);
    return detail::back<R>(std::string(name) + ": the result", result);
  }
}

// A function of C++ that a lesson's JavaScript may call: inline const Offer kDistance("distance", {"position"}, f). An
// argument is copied, so a text is a std::string.
struct Offered {
  std::vector<std::string> parameters;
  // Each argument with its name for errors; one that is missing is undefined.
  std::function<val(const std::vector<std::pair<std::string, val>>&)> run;
};
std::map<std::string, Offered>& offered();

struct Offer {
  template <class R, class... Args>
  Offer(const char* name, const std::vector<std::string>& parameters, R (*f)(Args...)) {
    check(parameters.size() == sizeof...(Args), "{}: {} names of {} parameters", name, parameters.size(),
          sizeof...(Args));
    offered()[name] = {parameters, [f](const std::vector<std::pair<std::string, val>>& args) {
                         return call_with<R, Args...>(f, args, std::index_sequence_for<Args...>());
                       }};
  }

 private:
  template <class R, class... Args, size_t... kIndex>
  static val call_with(R (*f)(Args...), const std::vector<std::pair<std::string, val>>& args,
                       std::index_sequence<kIndex...>) {
    std::tuple<std::remove_cvref_t<Args>...> read{
        detail::back<std::remove_cvref_t<Args>>(args[kIndex].first, args[kIndex].second)...};
    if constexpr (std::is_void_v<R>) {
      std::apply(f, read);
      return val::undefined();
    } else {
      R result = std::apply(f, read);
      return detail::convert(result);
    }
  }
};

}  // namespace pg::web
