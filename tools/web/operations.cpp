// The operations that a learner's JavaScript calls: those of autograd/ops.h under their names, and a few functions that
// make, read and write tensors.
#include <emscripten/bind.h>

#include <cmath>
#include <memory>

#include "autograd/ops.h"
#include "lessons/kit/print.h"
#include "tools/web/engine.h"

namespace pg::web {
namespace {

// The arguments of one call. One that is missing has the value `otherwise`, or is an Error where there is none.
class Args {
 public:
  Args(const std::string& operation, const std::vector<std::string>& names, const val& list)
      : operation_(operation), names_(names), list_(list), count_(list["length"].as<int>()) {
    check(count_ <= static_cast<int>(names.size()), "{}: expected at most {} arguments, got {}", operation,
          names.size(), count_);
  }
  Tensor tensor(int i) const { return tensor_from_js(what(i), list_[i]); }
  // A number has the dtype of the tensor `other`, or is f64.
  Tensor tensor_or_number(int i, int other) const {
    if (!list_[i].isNumber()) return tensor(i);
    return Tensor::scalar(list_[i].as<double>(), list_[other].isNumber() ? f64 : tensor(other).dtype());
  }
  Tensor tensor_or_none(int i) const { return given(i) ? tensor(i) : Tensor(); }
  std::vector<Tensor> tensors(int i) const {
    std::vector<Tensor> all;
    for (const val& v : list_from_js(what(i), list_[i])) all.push_back(tensor_from_js(what(i), v));
    return all;
  }
  double number(int i) const { return number_from_js(what(i), list_[i]); }
  double number(int i, double otherwise) const { return given(i) ? number(i) : otherwise; }
  int64_t integer(int i) const { return integer_from_js(what(i), list_[i]); }
  int integer(int i, int otherwise) const { return given(i) ? dim(i) : otherwise; }
  int dim(int i) const { return detail::back<int>(what(i), list_[i]); }
  bool flag(int i) const {
    return given(i) && (list_[i].isNumber() ? number(i) != 0 : truth_from_js(what(i), list_[i]));
  }
  // A shape. A size in bytes is a number of 32 bits here.
  Dims dims(int i) const {
    const Dims sizes = dims_from_js(what(i), list_[i]);
    double count = 1;
    for (const int64_t size : sizes) count *= static_cast<double>(size);
    check(std::abs(count) <= 0x1p28, "{}: expected at most 2^28 elements, got the shape {}", what(i), sizes);
    return sizes;
  }
  // The dims of a reduction: a number, a list, or none for all.
  std::vector<int> reduced(int i) const {
    if (!given(i)) return {};
    if (list_[i].isNumber()) return {dim(i)};
    return detail::back<std::vector<int>>(what(i), list_[i]);
  }
  DType dtype(int i, DType otherwise) const { return given(i) ? detail::back<DType>(what(i), list_[i]) : otherwise; }
  std::vector<std::pair<std::string, val>> all() const {
    std::vector<std::pair<std::string, val>> all;
    for (int i = 0; i < static_cast<int>(names_.size()); ++i) all.emplace_back(what(i), list_[i]);
    return all;
  }
  val operator[](int i) const { return list_[i]; }
  std::string what(int i) const { return operation_ + ": " + names_[static_cast<size_t>(i)]; }

 private:
  bool given(int i) const { return i < count_ && !list_[i].isUndefined() && !list_[i].isNull(); }

  const std::string& operation_;
  const std::vector<std::string>& names_;
  const val& list_;
  int count_;
};

struct Operation {
  std::vector<std::string> parameters;
  std::function<val(const Args&)> run;
};

using Unary = Tensor (*)(const Tensor&);
using Binary = Tensor (*)(const Tensor&, const Tensor&);
using Along = Tensor (*)(const Tensor&, int);
using Reduction = Tensor (*)(const Tensor&, const ReduceDims&, bool);
Operation unary(Unary f) {
  return {{"x"}, [=](const Args& a) { return to_js(f(a.tensor(0))); }};
}
Operation binary(Binary f) {
  return {{"a", "b"}, [=](const Args& a) { return to_js(f(a.tensor_or_number(0, 1), a.tensor_or_number(1, 0))); }};
}
Operation along_last(Along f) {
  return {{"x", "dim"}, [=](const Args& a) { return to_js(f(a.tensor(0), a.integer(1, -1))); }};
}
Operation reduction(Reduction f) {
  return {{"x", "dims", "keepdim"}, [=](const Args& a) { return to_js(f(a.tensor(0), a.reduced(1), a.flag(2))); }};
}
Operation over_list(Tensor (*f)(const std::vector<Tensor>&, int)) {
  return {{"tensors", "dim"}, [=](const Args& a) { return to_js(f(a.tensors(0), a.integer(1, 0))); }};
}

using Table = std::map<std::string, Operation>;

Table elementwise() {
  return {
#define UNARY(name, ...) {#name, unary(pg::name)},
#define COMPARISON(name, ...) {#name, binary(pg::name)},
#include "tensor/elementwise.def"
#undef UNARY
#undef COMPARISON
      {"add", binary(add)},
      {"sub", binary(sub)},
      {"mul", binary(mul)},
      {"div", binary(static_cast<Binary>(div))},
      {"pow", binary(static_cast<Binary>(pow))},
      {"minimum", binary(minimum)},
      {"maximum", binary(maximum)},
      {"where",
       {{"mask", "a", "b"},
        [](const Args& a) { return to_js(where(a.tensor(0), a.tensor_or_number(1, 2), a.tensor_or_number(2, 1))); }}},
      {"clamp",
       {{"x", "min", "max"}, [](const Args& a) { return to_js(clamp(a.tensor(0), a.number(1), a.number(2))); }}},
      {"gelu", {{"x"}, [](const Args& a) { return to_js(gelu(a.tensor(0))); }}},
      {"cast", {{"x", "dtype"}, [](const Args& a) { return to_js(cast(a.tensor(0), a.dtype(1, f64))); }}},
  };
}

Table of_rows() {
  return {
      {"sum", reduction(sum)},
      {"mean", reduction(mean)},
      {"amax", reduction(amax)},
      {"logsumexp", reduction(logsumexp)},
      {"var",
       {{"x", "dims", "correction", "keepdim"},
        [](const Args& a) { return to_js(var(a.tensor(0), a.reduced(1), a.integer(2, 1), a.flag(3))); }}},
      {"cumsum", along_last(cumsum)},
      {"argmax",
       {{"x", "dim", "keepdim"},
        [](const Args& a) { return to_js(argmax(a.tensor(0), a.integer(1, -1), a.flag(2))); }}},
      {"softmax", along_last(softmax)},
      {"log_softmax", along_last(log_softmax)},
      {"matmul", binary(matmul)},
      {"gather",
       {{"x", "dim", "index"}, [](const Args& a) { return to_js(gather(a.tensor(0), a.dim(1), a.tensor(2))); }}},
      {"index_select",
       {{"x", "dim", "index"}, [](const Args& a) { return to_js(index_select(a.tensor(0), a.dim(1), a.tensor(2))); }}},
      {"one_hot",
       {{"ids", "classes", "dtype"},
        [](const Args& a) { return to_js(one_hot(a.tensor(0), a.integer(1), a.dtype(2, f32))); }}},
      {"embedding", {{"weight", "ids"}, [](const Args& a) { return to_js(embedding(a.tensor(0), a.tensor(1))); }}},
  };
}

Table of_shapes() {
  return {
      {"reshape", {{"x", "shape"}, [](const Args& a) { return to_js(reshape(a.tensor(0), a.dims(1))); }}},
      {"transpose",
       {{"x", "dim0", "dim1"},
        [](const Args& a) { return to_js(transpose(a.tensor(0), a.integer(1, -2), a.integer(2, -1))); }}},
      {"permute", {{"x", "dims"}, [](const Args& a) { return to_js(permute(a.tensor(0), a.reduced(1))); }}},
      {"slice",
       {{"x", "dim", "start", "end", "step"},
        [](const Args& a) {
          return to_js(slice(a.tensor(0), a.dim(1), a.integer(2), a.integer(3), a.integer(4, 1)));
        }}},
      {"select",
       {{"x", "dim", "index"}, [](const Args& a) { return to_js(select(a.tensor(0), a.dim(1), a.integer(2))); }}},
      {"expand", {{"x", "shape"}, [](const Args& a) { return to_js(expand(a.tensor(0), a.dims(1))); }}},
      {"unsqueeze", {{"x", "dim"}, [](const Args& a) { return to_js(unsqueeze(a.tensor(0), a.dim(1))); }}},
      {"squeeze", {{"x", "dim"}, [](const Args& a) { return to_js(squeeze(a.tensor(0), a.dim(1))); }}},
      {"cat", over_list(cat)},
      {"stack", over_list(stack)},
  };
}

// Numbers, row by row, as a tensor.
Tensor from_numbers(const std::vector<double>& x, const Shape& shape, DType dtype) {
  return Tensor::from(x, shape).to(dtype);
}

std::vector<std::unique_ptr<NoGrad>> unrecorded;

Table of_memory() {
  return {
      {"tensor",
       {{"numbers", "shape", "dtype"},
        [](const Args& a) {
          return to_js(from_numbers(numbers_from_js(a.what(0), a[0]), a.dims(1), a.dtype(2, f64)));
        }}},
      {"full",
       {{"shape", "value", "dtype"},
        [](const Args& a) { return to_js(Tensor::full(a.dims(0), a.number(1), a.dtype(2, f64))); }}},
      {"arange", {{"n", "dtype"}, [](const Args& a) { return to_js(Tensor::arange(a.integer(0), a.dtype(1, f64))); }}},
      {"normal",
       {{"shape", "seed", "dtype"},
        [](const Args& a) {
          Generator generator(static_cast<uint64_t>(a.integer(1)));
          return to_js(Tensor::normal(a.dims(0), 0, 1, generator, a.dtype(2, f64)));
        }}},
      {"numbers", {{"x"}, [](const Args& a) { return numbers_to_js(a.tensor(0).to_vector()); }}},
      {"item", {{"x"}, [](const Args& a) { return to_js(a.tensor(0).item()); }}},
      {"text", {{"x"}, [](const Args& a) { return text_to_js(kit::text_of(a.tensor(0))); }}},
      {"clone", {{"x"}, [](const Args& a) { return to_js(a.tensor(0).clone()); }}},
      {"detach", {{"x"}, [](const Args& a) { return to_js(a.tensor(0).detach()); }}},
      {"to", {{"x", "dtype"}, [](const Args& a) { return to_js(a.tensor(0).to(a.dtype(1, f64))); }}},
      // The numbers of x, in place of those that it has.
      {"write",
       {{"x", "numbers"},
        [](const Args& a) {
          const Tensor x = a.tensor(0);
          x.copy_from(from_numbers(numbers_from_js(a.what(1), a[1]), x.shape(), x.dtype()));
          return val::undefined();
        }}},
      // A copy of x that requires a gradient.
      {"leaf", {{"x"}, [](const Args& a) { return to_js(a.tensor(0).clone().set_requires_grad()); }}},
      // null where no gradient has arrived.
      {"grad", {{"x"}, [](const Args& a) { return to_js(a.tensor(0).grad()); }}},
      {"backward",
       {{"y", "gradient"},
        [](const Args& a) {
          const Tensor gradient = a.tensor_or_none(1);
          gradient.defined() ? backward(a.tensor(0), gradient) : backward(a.tensor(0));
          return val::undefined();
        }}},
      // What is computed between grad_off and grad_on is not recorded; no_grad() of engine.js calls both.
      {"grad_off",
       {{},
        [](const Args&) {
          unrecorded.push_back(std::make_unique<NoGrad>());
          return val::undefined();
        }}},
      {"grad_on",
       {{},
        [](const Args&) {
          check(!unrecorded.empty(), "grad_on: no grad_off before it; use no_grad(() => ...)");
          unrecorded.pop_back();
          return val::undefined();
        }}},
      {"wants", {{"g", "input"}, [](const Args& a) { return val(grads_from_js(a.what(0), a[0]).wants(a.dim(1))); }}},
      {"pass",
       {{"g", "input", "gradient"},
        [](const Args& a) {
          grads_from_js(a.what(0), a[0]).pass(a.dim(1), a.tensor(2));
          return val::undefined();
        }}},
      {"apply",
       {{"f", "tensors"}, [](const Args& a) { return to_js(function_from_js(a.what(0), a[0])(a.tensors(1))); }}},
  };
}

const Table& operations() {
  static const Table all = [] {
    Table rows = elementwise();
    for (Table more : {of_rows(), of_shapes(), of_memory()}) rows.merge(more);
    for (const auto& [name, offer] : offered()) {
      rows[name] = {offer.parameters, [run = offer.run](const Args& a) { return run(a.all()); }};
    }
    return rows;
  }();
  return all;
}

// {value}, or {error} with the text of what was thrown.
val operate(const std::string& name, const val& list) {
  val result = val::object();
  try {
    const Operation& operation = operations().at(name);
    result.set("value", operation.run(Args(name, operation.parameters, list)));
  } catch (const std::exception& error) {
    result.set("error", text_to_js(error.what()));
  }
  return result;
}

// "clamp(x, min, max)", and so on.
val forms_of_operations() {
  val forms = val::array();
  for (const auto& [name, operation] : operations()) {
    forms.call<void>("push", fmt::format("{}({})", name, fmt::join(operation.parameters, ", ")));
  }
  return forms;
}

}  // namespace

EMSCRIPTEN_BINDINGS(policygrad) {
  emscripten::function("operate", operate);
  emscripten::function("operations", forms_of_operations);
}

}  // namespace pg::web
