#pragma once
// Calls between C++ and a learner's JavaScript. call<R>("f", args...) calls the learner's function f, with the
// arguments as JavaScript values: numbers, texts, lists of numbers (Float64Array), objects of a struct's fields
// (kFields), and tensors, which are objects with the id of a tensor kept here (tools/web/engine.js). The ids that a
// call gives out end with it. The operations that JavaScript calls are in tools/web/operations.cpp.
#include <emscripten/val.h>

#include <functional>
#include <optional>
#include <string>
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

// Keeps a tensor, the Grads of a backward, or a function, and returns its JavaScript object; null for an undefined
// tensor.
val to_js(const Tensor& x);
val to_js(const std::vector<Tensor>& x);
val to_js(Grads& grads);
val to_js(const Function& f);
inline val to_js(double x) { return val(x); }
inline val to_js(const std::string& x) { return val(x); }
val numbers_to_js(const std::vector<double>& x);  // a Float64Array

// `what` names the value in errors: "softmax: the result". A value of another kind is an Error that says both kinds.
Tensor tensor_from_js(const std::string& what, const val& v);
Grads& grads_from_js(const std::string& what, const val& v);
const Function& function_from_js(const std::string& what, const val& v);
double number_from_js(const std::string& what, const val& v);
int64_t integer_from_js(const std::string& what, const val& v);
std::string text_from_js(const std::string& what, const val& v);
Dims dims_from_js(const std::string& what, const val& v);                    // a shape or strides
std::vector<double> numbers_from_js(const std::string& what, const val& v);  // of a list or a Float64Array
std::vector<val> list_from_js(const std::string& what, const val& v);
// What a JavaScript value is, in words: "a number", "undefined: is the return missing?"
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
concept Numbers = requires(const T& x) {
  { *x.begin() } -> std::convertible_to<double>;
};

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
  } else if constexpr (Numbers<V> && !std::is_convertible_v<V, std::string_view>) {
    return numbers_to_js(std::vector<double>(x.begin(), x.end()));
  } else {
    return to_js(x);
  }
}

template <class T>
T back(const std::string& what, const val& v) {
  if constexpr (std::is_same_v<T, Tensor>) {
    return tensor_from_js(what, v);
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(integer_from_js(what, v));
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(number_from_js(what, v));
  } else if constexpr (std::is_same_v<T, std::pair<Tensor, Tensor>>) {
    const auto both = list_from_js(what, v);
    check(both.size() == 2, "{}: expected a list of two tensors, got {} values", what, both.size());
    return {tensor_from_js(what + "[0]", both[0]), tensor_from_js(what + "[1]", both[1])};
  } else if constexpr (kHasFields<T>) {
    check(v.typeOf().as<std::string>() == "object" && !v.isNull(), "{}: expected an object, got {}", what, kind_of(v));
    T result{};
    const auto read = [&]<class S, class M>(const Field<S, M>& field) {
      result.*field.member = back<M>(what + "." + field.name, v[field.name]);
    };
    std::apply([&](const auto&... field) { (read(field), ...); }, kFields<T>);
    return result;
  } else if constexpr (std::is_same_v<T, Dims>) {
    return dims_from_js(what, v);
  } else {
    const std::vector<double> x = numbers_from_js(what, v);
    return T(x.begin(), x.end());
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
    x = back<T>(what, v);
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
  if constexpr (!std::is_void_v<R>) return detail::back<R>(std::string(name) + ": the result", result);
}

}  // namespace pg::web
