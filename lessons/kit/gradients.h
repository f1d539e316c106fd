#pragma once
// What checks of gradients share: leaves, random inputs, and the comparison of what arrives at a leaf.
#include <array>
#include <string>
#include <tuple>
#include <vector>

#include "autograd/ops.h"
#include "lessons/kit/grader.h"
#include "lessons/kit/mistakes.h"

namespace pg::kit {

constexpr double kDouble = 1e-9, kSingle = 1e-5;  // tolerances for inputs in f64 and in f32

// How gradients are compared: zeros mean that none has arrived.
inline Compare as_gradient(double rtol, std::vector<Mistake> mistakes = {}) {
  return {.rtol = rtol, .mistakes = std::move(mistakes), .gradient = true};
}

// x as a leaf that shares its memory.
inline Tensor leaf(const Tensor& x) {
  Tensor result = x.detach();
  return result.set_requires_grad();
}
// The gradient of a leaf, or zeros if it has none.
inline Value gradient_of(const Tensor& x) { return has_grad(x) ? Value(x.grad()) : Value(zeros_like(x)); }

// The gradients that arrive at the inputs when dy goes back through call(wrong answer, leaves...): per input, those of
// all wrong answers. An answer that throws is left out.
template <class F, class Call, class... Inputs>
std::array<std::vector<Mistake>, sizeof...(Inputs)> gradients_through(const std::vector<KnownMistake<F>>& rows,
                                                                      const Call& call, const Tensor& dy,
                                                                      const Inputs&... inputs) {
  std::array<std::vector<Mistake>, sizeof...(Inputs)> all;
  for (const KnownMistake<F>& row : rows) {
    const std::array<Tensor, sizeof...(Inputs)> leaves{leaf(inputs)...};
    try {
      backward(std::apply([&](const auto&... x) { return call(row.wrong, x...); }, leaves), dy);
    } catch (const Error&) {
      continue;
    }
    for (size_t i = 0; i < leaves.size(); ++i) all[i].push_back({row.says, gradient_of(leaves[i])});
  }
  return all;
}
template <class F, class... Inputs>
auto gradients_of(const std::vector<KnownMistake<F>>& rows, const Tensor& dy, const Inputs&... inputs) {
  return gradients_through(
      rows, [](F wrong, const auto&... x) { return wrong(x...); }, dy, inputs...);
}

// Whether the learner's result `x` is on the tape. If it is not, the check is WRONG with `advice`.
inline constexpr const char* kUseOps = "use tensor operations only, without detach(), item(), data() and to_vector()";
inline bool on_the_tape(Grader& g, const Tensor& x, const std::string& advice = kUseOps,
                        const std::string& input = "the result") {
  return g.expect(x.requires_grad(), input, "no tape", "a tensor on the tape",
                  "without a gradient nothing is learned: " + advice);
}

// Random numbers with mean 0.
inline Tensor normal(const Shape& shape, uint64_t seed, double std, DType dtype) {
  Generator random(seed);
  return Tensor::normal(shape, 0, std, random, dtype);
}

inline double mean_of(const Value& x) {
  double total = 0;
  for (double v : x.v) total += v / static_cast<double>(x.v.size());
  return total;
}

}  // namespace pg::kit
