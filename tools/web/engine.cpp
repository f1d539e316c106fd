// Values of C++ as values of JavaScript, and back.
#include "tools/web/engine.h"

#include <charconv>
#include <cmath>

#include "lessons/kit/todo.h"

namespace pg::web {
namespace {

// What JavaScript knows by an id. Ids only grow, so the id of an earlier call never means another object.
struct Known {
  Tensor tensor{};
  Grads* grads = nullptr;
  const Function* function = nullptr;
};
std::map<int64_t, Known>& known() {
  static std::map<int64_t, Known> all;
  return all;
}
int64_t next_id = 1;

int64_t keep(Known object) {
  known().emplace(next_id, std::move(object));
  return next_id++;
}

// A look-up of a global takes some 10 µs. These are never released.
const val& policygrad() {
  static const val& object = *new val(val::global("policygrad"));
  return object;
}

const Known& object_of(const std::string& what, const char* kind, const val& v) {
  const std::string is = kind_of(v);
  check(is == kind, "{}: expected {}, got {}", what, kind, is);
  const auto found = known().find(v["id"].as<int>());
  check(found != known().end(), "{}: {} of an earlier call: keep none between calls", what, kind);
  return found->second;
}

bool is_whole(double x, int64_t least, int64_t most) {
  return x == std::floor(x) && std::abs(x) <= static_cast<double>(kLargest) && static_cast<int64_t>(x) >= least &&
         static_cast<int64_t>(x) <= most;
}

[[noreturn]] void refuse(const std::string& what, double x, int64_t least, int64_t most) {
  if (x != std::floor(x)) fail("{}: expected a whole number, got {}", what, x);
  fail("{}: expected a whole number from {} to {}, got {}", what, std::max(least, -kLargest), std::min(most, kLargest),
       x);
}

// The length of a list.
int check_list(const std::string& what, const val& v) {
  const std::string is = kind_of(v);
  check(is == "a list", "{}: expected a list, got {}", what, is);
  const auto n = v["length"].as<double>();
  check(n <= 1e8, "{}: expected a list of at most 100,000,000 values, got {}", what, n);
  return static_cast<int>(n);
}

}  // namespace

Scope::Scope() : first_(next_id) {}
Scope::~Scope() { known().erase(known().lower_bound(first_), known().end()); }

val to_js(const Tensor& x) {
  if (!x.defined()) return val::null();
  return policygrad().call<val>("makeTensor", static_cast<int>(keep({.tensor = x})),
                                numbers_to_js({x.shape().begin(), x.shape().end()}), std::string(name_of(x.dtype())),
                                x.requires_grad());
}
val to_js(Grads& grads) { return policygrad().call<val>("makeGrads", static_cast<int>(keep({.grads = &grads}))); }
val to_js(const Function& f) {
  return policygrad().call<val>("makeFunction", static_cast<int>(keep({.function = &f})));
}
val to_js(Big x) {
  static const val& big = *new val(val::global("BigInt"));
  return big(std::to_string(x.value));
}
val text_to_js(std::string_view bytes) {
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  return policygrad().call<val>("textOf", val(emscripten::typed_memory_view(bytes.size(), data)));
}
val numbers_to_js(const std::vector<double>& x) {
  static const val& list = *new val(val::global("Float64Array"));
  return list.call<val>("from", val(emscripten::typed_memory_view(x.size(), x.data())));
}

std::map<std::string, Offered>& offered() {
  static std::map<std::string, Offered> all;
  return all;
}

std::string kind_of(const val& v) { return policygrad().call<std::string>("kindOf", v); }

Tensor tensor_from_js(const std::string& what, const val& v) { return object_of(what, "a tensor", v).tensor; }
Grads& grads_from_js(const std::string& what, const val& v) { return *object_of(what, "gradients", v).grads; }
const Function& function_from_js(const std::string& what, const val& v) {
  return *object_of(what, "a function of tensors", v).function;
}
double number_from_js(const std::string& what, const val& v) {
  check(v.isNumber(), "{}: expected a number, got {}", what, kind_of(v));
  return v.as<double>();
}
bool truth_from_js(const std::string& what, const val& v) {
  check(v.isTrue() || v.isFalse(), "{}: expected true or false, got {}", what, kind_of(v));
  return v.isTrue();
}
int64_t integer_from_js(const std::string& what, const val& v, int64_t least, int64_t most) {
  const double x = number_from_js(what, v);
  if (!is_whole(x, least, most)) refuse(what, x, least, most);
  return static_cast<int64_t>(x);
}
int64_t whole(const std::string& what, size_t i, double x, int64_t least, int64_t most) {
  if (!is_whole(x, least, most)) refuse(fmt::format("{}[{}]", what, i), x, least, most);
  return static_cast<int64_t>(x);
}
Big big_from_js(const std::string& what, const val& v) {
  if (v.isNumber()) return {integer_from_js(what, v)};
  check(v.typeOf().as<std::string>() == "bigint", "{}: expected a BigInt such as 5n, got {}", what, kind_of(v));
  const auto digits = v.call<std::string>("toString");
  Big x;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), x.value);
  check(error == std::errc{}, "{}: expected a BigInt that fits in 64 bits, got {}", what, digits);
  return x;
}
std::string text_from_js(const std::string& what, const val& v) {
  check(v.isString(), "{}: expected a text, got {}", what, kind_of(v));
  const auto bytes = emscripten::convertJSArrayToNumberVector<unsigned char>(policygrad().call<val>("bytesOf", v));
  return {bytes.begin(), bytes.end()};
}
std::vector<val> list_from_js(const std::string& what, const val& v) {
  std::vector<val> all;
  for (int i = 0, n = check_list(what, v); i < n; ++i) all.push_back(v[i]);
  return all;
}
std::vector<double> numbers_from_js(const std::string& what, const val& v) {
  check_list(what, v);
  const int other = policygrad().call<int>("placeOfOther", v);
  if (other >= 0) number_from_js(fmt::format("{}[{}]", what, other), v[other]);
  return emscripten::convertJSArrayToNumberVector<double>(v);
}
Dims dims_from_js(const std::string& what, const val& v) { return detail::back<std::vector<int64_t>>(what, v); }

val run(const char* name, const std::vector<val>& args) {
  val list = val::array();
  for (const val& arg : args) list.call<void>("push", arg);
  const val result = policygrad().call<val>("run", std::string(name), list);
  if (result["todo"].isTrue()) TODO(name);
  if (result["error"].isUndefined()) return result["value"];
  const std::string text = text_from_js(name, result["error"]);
  if (result["refused"].isTrue()) throw Error(text);
  throw std::runtime_error(text);
}

}  // namespace pg::web
