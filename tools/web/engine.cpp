// Values of C++ as values of JavaScript, and back.
#include "tools/web/engine.h"

#include <cmath>
#include <map>

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

val policygrad() { return val::global("policygrad"); }

const Known& object_of(const std::string& what, const char* kind, const val& v) {
  const std::string is = kind_of(v);
  check(is == kind, "{}: expected {}, got {}", what, kind, is);
  const auto found = known().find(v["id"].as<int>());
  check(found != known().end(), "{}: {} of an earlier call: keep none between calls", what, kind);
  return found->second;
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
val to_js(const std::vector<Tensor>& x) {
  val list = val::array();
  for (const Tensor& one : x) list.call<void>("push", to_js(one));
  return list;
}
val to_js(Grads& grads) { return policygrad().call<val>("makeGrads", static_cast<int>(keep({.grads = &grads}))); }
val to_js(const Function& f) {
  return policygrad().call<val>("makeFunction", static_cast<int>(keep({.function = &f})));
}
val numbers_to_js(const std::vector<double>& x) {
  return val::global("Float64Array").call<val>("from", val(emscripten::typed_memory_view(x.size(), x.data())));
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
int64_t integer_from_js(const std::string& what, const val& v) {
  if (v.isTrue() || v.isFalse()) return v.isTrue();
  const double x = number_from_js(what, v);
  check(x == std::floor(x) && std::abs(x) <= 9007199254740992.0, "{}: expected a whole number, got {}", what, x);
  return static_cast<int64_t>(x);
}
std::string text_from_js(const std::string& what, const val& v) {
  check(v.isString(), "{}: expected a text, got {}", what, kind_of(v));
  return v.as<std::string>();
}
std::vector<val> list_from_js(const std::string& what, const val& v) {
  const std::string is = kind_of(v);
  check(is == "a list", "{}: expected a list, got {}", what, is);
  std::vector<val> all;
  for (int i = 0, n = v["length"].as<int>(); i < n; ++i) all.push_back(v[i]);
  return all;
}
std::vector<double> numbers_from_js(const std::string& what, const val& v) {
  std::vector<double> numbers;
  int i = 0;
  for (const val& x : list_from_js(what, v)) numbers.push_back(number_from_js(fmt::format("{}[{}]", what, i++), x));
  return numbers;
}
Dims dims_from_js(const std::string& what, const val& v) {
  std::vector<int64_t> sizes;
  int i = 0;
  for (const val& x : list_from_js(what, v)) sizes.push_back(integer_from_js(fmt::format("{}[{}]", what, i++), x));
  return sizes;
}

val run(const char* name, const std::vector<val>& args) {
  val list = val::array();
  for (const val& arg : args) list.call<void>("push", arg);
  const val result = policygrad().call<val>("run", std::string(name), list);
  if (result["todo"].isTrue()) TODO(name);
  if (result["error"].isUndefined()) return result["value"];
  const std::string text = result["error"].as<std::string>();
  if (result["refused"].isTrue()) throw Error(text);
  throw std::runtime_error(text);
}

}  // namespace pg::web
