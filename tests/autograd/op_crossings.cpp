// Crosses every op sample with tensor layouts, empty sizes and dtypes.
#include "tests/autograd/op_crossings.h"

#include <array>
#include <set>

namespace pg::testing {

const char* name_of(InputLayout layout) {
  switch (layout) {
    case InputLayout::contiguous:
      return "contiguous";
    case InputLayout::transposed:
      return "transposed";
    case InputLayout::stepped:
      return "stepped";
    case InputLayout::repeated_first:
      return "first dim repeated";
    case InputLayout::repeated_last:
      break;
  }
  return "last dim repeated";
}

namespace {

// x with dim `d` resized to `size`, which is 0 or 1: the first elements of x. If x has none, the element is 1, or 0 for
// integer dtypes.
Tensor with_size(const Tensor& x, int d, int64_t size) {
  if (size <= x.size(d)) return x.view_slice(d, 0, size).clone();
  Shape shape = x.shape();
  shape[d] = size;
  return Tensor::full(shape, is_floating(x.dtype()), x.dtype(), x.device());
}

// x with its first slice along dim `d` repeated over the whole dim (stride 0).
Tensor repeated(const Tensor& x, int d) { return with_size(x, d, 1).view_expand(x.shape()); }

Tensor first_element(const Tensor& x) {
  Tensor y = x;
  while (y.rank() > 0) y = with_size(y, 0, 1).view_select(0, 0);
  return y.clone();
}

}  // namespace

Tensor in_layout(const Tensor& x, InputLayout layout) {
  if (!x.defined() || x.rank() == 0) return x;
  switch (layout) {
    case InputLayout::contiguous:
      return x;
    case InputLayout::transposed:
      return x.rank() < 2 ? strided(x) : x.view_transpose(0, -1).clone().view_transpose(0, -1);
    case InputLayout::stepped:
      return strided(x);
    case InputLayout::repeated_first:
      return repeated(x, 0);
    case InputLayout::repeated_last:
      break;
  }
  return x.rank() < 2 ? x : repeated(x, x.rank() - 1);  // for rank 1, repeated_first already does this
}

std::vector<CrossedInputs> crossed(const std::vector<Tensor>& inputs) {
  std::vector<CrossedInputs> all{{"as it is", inputs}};
  std::set<int64_t> sizes;
  for (const Tensor& x : inputs) {
    if (x.defined()) sizes.insert(x.shape().begin(), x.shape().end());
  }
  for (int64_t to : {0, 1}) {
    for (int64_t size : sizes) {
      if (size == to) continue;
      CrossedInputs c{fmt::format("every {} is {}", size, to), inputs};
      for (Tensor& x : c.inputs) {
        for (int d = 0; x.defined() && d < x.rank(); ++d) {
          if (x.size(d) == size) x = with_size(x, d, to);
        }
      }
      all.push_back(std::move(c));
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
      for (int d = 0; inputs[i].defined() && d < inputs[i].rank(); ++d) {
        if (inputs[i].size(d) == to) continue;
        CrossedInputs c{fmt::format("dim {} of input {} is {}", d, i, to), inputs};
        c.inputs[i] = with_size(inputs[i], d, to);
        all.push_back(std::move(c));
      }
    }
  }
  CrossedInputs scalars{"all of rank 0", inputs};
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].defined()) continue;
    CrossedInputs scalar{fmt::format("input {} of rank 0", i), inputs}, none{fmt::format("no input {}", i), inputs};
    CrossedInputs other{fmt::format("input {} of another type", i), inputs};
    scalar.inputs[i] = scalars.inputs[i] = first_element(inputs[i]);
    none.inputs[i] = Tensor{};
    other.inputs[i] = inputs[i].to(is_floating(inputs[i].dtype()) ? i32 : f32);
    for (CrossedInputs* c : {&scalar, &none, &other}) all.push_back(std::move(*c));
  }
  all.push_back(std::move(scalars));
  return all;
}

Outcome outcome_of(const OpSample& s, const TensorFunction& call, const std::vector<Tensor>& inputs) {
  try {
    return {run(s, call, inputs), ""};
  } catch (const Error& error) {
    return {{}, error.what()};
  }
}

std::string names_nothing(const std::string& message) {
  // Valid names besides those of the recorded operations: composed operations and functions of Tensor that samples
  // call.
  static const std::set<std::string> others = {
      "attention_qkv", "attention kv_len", "argmax",  "one_hot",   "eq",        "ne", "lt", "le", "gt", "ge",
      "size",          "select",           "squeeze", "unsqueeze", "contiguous"};
  const std::string name = message.substr(0, message.find(':'));
  if (name.size() == message.size()) return "no operation is named: " + message;
  if (others.count(name)) return "";
  for (int i = 0; i < static_cast<int>(Op::count); ++i) {
    if (name == pg::name_of(static_cast<Op>(i))) return "";
  }
  return "'" + name + "' is no operation: " + message;
}

namespace {

std::string difference(const Tensor& got, const Tensor& want, double tolerance) {
  if (got.defined() != want.defined()) return got.defined() ? "is there, expected none" : "is missing";
  if (!got.defined()) return "";
  if (got.shape() != want.shape()) return fmt::format("is {}, expected {}", got.shape(), want.shape());
  const std::vector<double> x = got.to_vector(), y = want.to_vector();
  double sum = 0, size = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    if (x[i] == y[i] && std::isinf(x[i])) continue;
    if (std::isnan(x[i]) && std::isnan(y[i])) continue;
    sum += (x[i] - y[i]) * (x[i] - y[i]);
    if (std::isfinite(y[i])) size += y[i] * y[i];
  }
  const double error = std::sqrt(sum) / std::max(std::sqrt(size), 1.0);
  if (error <= tolerance) return "";
  return fmt::format("is off by {:.1e}: {}, expected {}", error, got.to_string(), want.to_string());
}

}  // namespace

bool holds_nan(const Outcome& outcome) {
  for (const auto& tensors : {outcome.run.outputs, outcome.run.gradients}) {
    for (const Tensor& t : tensors) {
      if (!t.defined()) continue;  // an input without a gradient
      for (double x : t.to_vector()) {
        if (std::isnan(x)) return true;
      }
    }
  }
  return false;
}

std::string difference(const Outcome& got, const Outcome& want, double tolerance) {
  if (got.error.empty() != want.error.empty()) {
    return got.error.empty() ? "works, but contiguous in f64: " + want.error
                             : "works contiguous in f64, but here: " + got.error;
  }
  if (!got.error.empty()) return "";
  for (size_t i = 0; i < want.run.outputs.size(); ++i) {
    const std::string d = difference(got.run.outputs[i], want.run.outputs[i], tolerance);
    if (!d.empty()) return fmt::format("output {} {}", i, d);
  }
  for (size_t i = 0; i < want.run.gradients.size(); ++i) {
    const std::string d = difference(got.run.gradients[i], want.run.gradients[i], tolerance);
    if (!d.empty()) return fmt::format("gradient {} {}", i, d);
  }
  return "";
}

}  // namespace pg::testing
