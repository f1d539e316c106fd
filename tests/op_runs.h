#pragma once
// Runs op samples, forward and backward, and compares two runs. Shared by the CPU tests and the CUDA tests.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "autograd/op_util.h"
#include "tests/catch.h"
#include "tests/op_samples/op_samples.h"
#include "tests/tensors.h"

namespace pg::testing {

struct Run {
  std::vector<Tensor> outputs;
  std::vector<Tensor> gradients;  // per input; undefined if the input has no gradient
};

inline std::vector<Tensor> inputs_of(const OpSample& s, DType dtype, Device device = {}) {
  Generator g(17);
  std::vector<Tensor> inputs;
  for (const Tensor& x : s.inputs(g, f32)) {
    inputs.push_back((x.defined() && is_floating(x.dtype()) ? x.to(dtype) : x).to(device));
  }
  return inputs;
}

// The inputs on another device, those of floating-point types in f64.
inline std::vector<Tensor> widened(const std::vector<Tensor>& inputs, Device device = {}) {
  std::vector<Tensor> wide;
  for (const Tensor& x : inputs) {
    wide.push_back((x.defined() && is_floating(x.dtype()) ? x.to(f64) : x).to(device));
  }
  return wide;
}

inline bool differentiable(const OpSample& s, const std::vector<Tensor>& inputs, size_t i) {
  if (!inputs[i].defined() || !is_floating(inputs[i].dtype())) return false;
  return std::find(s.constant.begin(), s.constant.end(), static_cast<int>(i)) == s.constant.end();
}

// Runs the forward pass, then the backward pass from fixed random cotangents.
inline Run run(const OpSample& s, const TensorFunction& f, const std::vector<Tensor>& inputs) {
  manual_seed(23);
  std::vector<Tensor> leaves = inputs;
  for (size_t i = 0; i < leaves.size(); ++i) {
    if (differentiable(s, inputs, i)) leaves[i] = leaves[i].detach().set_requires_grad();
  }
  Run r{f(leaves), {}};
  Generator g(29);
  std::vector<Tensor> wanted, cotangents;
  for (const Tensor& y : r.outputs) {
    const Tensor v = Tensor::normal(y.shape(), 0, 1, g, f32).to(y.dtype()).to(y.device());
    if (!y.requires_grad()) continue;
    wanted.push_back(y);
    cotangents.push_back(v);
  }
  if (!wanted.empty()) {
    backward(record(Op::sum, Tensor::scalar(0, wanted[0].dtype(), wanted[0].device()), wanted,
                    [&](const Tensor&, Grads& grads) {
                      for (size_t i = 0; i < cotangents.size(); ++i) grads.pass(static_cast<int>(i), cotangents[i]);
                    }));
  }
  for (const Tensor& leaf : leaves) r.gradients.push_back(leaf.grad());
  return r;
}

inline void check_close(const Run& a, const Run& b, double tolerance) {
  REQUIRE(a.outputs.size() == b.outputs.size());
  for (size_t i = 0; i < a.outputs.size(); ++i) {
    INFO("output " << i);
    REQUIRE(a.outputs[i].shape() == b.outputs[i].shape());
    CHECK(relative_error(a.outputs[i], b.outputs[i]) <= tolerance);
  }
  for (size_t i = 0; i < a.gradients.size(); ++i) {
    INFO("gradient of input " << i);
    if (a.gradients[i].defined() && b.gradients[i].defined()) {
      REQUIRE(a.gradients[i].shape() == b.gradients[i].shape());
      CHECK(relative_error(a.gradients[i], b.gradients[i]) <= tolerance);
    } else {
      CHECK(a.gradients[i].defined() == b.gradients[i].defined());
    }
  }
}

inline void check_same_bits(const Run& a, const Run& b) {
  for (size_t i = 0; i < a.outputs.size(); ++i) {
    INFO("output " << i);
    CHECK(same_bits(a.outputs[i], b.outputs[i]));
  }
  for (size_t i = 0; i < a.gradients.size(); ++i) {
    INFO("gradient of input " << i);
    CHECK(same_bits(a.gradients[i], b.gradients[i]));
  }
}

// Fills the pool's free blocks of up to `most` bytes with NaN, so that a result element that is never written shows up.
inline void poison_free_memory(Device device = {}, int64_t most = 4 << 20) {
  std::vector<Tensor> held;
  for (int64_t bytes = 64; bytes <= most; bytes += std::max<int64_t>(256, bytes / 8)) {
    for (int i = 0; i < (bytes <= 65536 ? 8 : 2); ++i) held.push_back(Tensor::full({bytes / 8}, NAN, f64, device));
  }
}

// The same elements with other strides: last two dims swapped in memory, every second element used, an offset.
inline Tensor strided(const Tensor& x) {
  if (!x.defined() || x.rank() == 0) return x;
  Shape shape = x.shape();
  for (int d = 0; d < x.rank(); ++d) shape[d] = 2 * shape[d] + 1;
  if (x.rank() >= 2) std::swap(shape[x.rank() - 1], shape[x.rank() - 2]);
  Tensor view = Tensor::full(shape, is_floating(x.dtype()) ? NAN : 77, x.dtype(), x.device());
  if (x.rank() >= 2) view = view.view_transpose(-1, -2);
  for (int d = 0; d < x.rank(); ++d) view = view.view_slice(d, 1, 2 * x.size(d) + 1, 2);
  view.copy_from(x);
  return view;
}

inline std::string title(const OpSample& s) { return std::string(name_of(s.op)) + ", " + s.label; }

}  // namespace pg::testing
