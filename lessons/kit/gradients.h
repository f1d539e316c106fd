#pragma once
// What checks of gradients share: leaves, random inputs, the comparison of what arrives at a leaf, and what known
// mistakes give there.
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "autograd/ops.h"
#include "lessons/kit/challenge.h"
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

// Whether the learner's result `x` is on the tape. If it is not, the check is WRONG with `advice`.
inline constexpr const char* kUseOps = "use tensor operations only, without detach(), item(), data() and to_vector()";
inline bool on_the_tape(Grader& g, const Tensor& x, const std::string& advice = kUseOps,
                        const std::string& input = "the result") {
  return g.expect(x.requires_grad(), input, "no tape", "a tensor on the tape",
                  "without a gradient nothing is learned: " + advice);
}

// Random numbers with mean 0.
inline Tensor normal(const Shape& shape, uint64_t seed, double std, DType dtype) {
  Generator random = draws(seed);
  return Tensor::normal(shape, 0, std, random, dtype);
}

inline double mean_of(const Value& x) {
  double total = 0;
  for (double v : x.v) total += v / static_cast<double>(x.v.size());
  return total;
}

// What f returned for fresh leaves in place of the tensors that require a gradient, and the tensors it was called with.
template <class Result>
struct OnLeaves {
  Result result;
  std::vector<Tensor> tensors;

  // What has arrived at the tensor number `at`, or zeros.
  Value gradient(size_t at) const { return gradient_of(tensors[at]); }
};
template <class F, class... Args>
auto on_leaves(const F& f, const Args&... args) {
  std::vector<Tensor> tensors;
  const auto take = [&]<class T>(const T& arg) -> T {
    if constexpr (std::is_same_v<T, Tensor>)
      return tensors.emplace_back(arg.defined() && arg.requires_grad() ? leaf(arg) : arg);
    else
      return arg;
  };
  const std::tuple<Args...> taken{take(args)...};  // from the first to the last
  return OnLeaves<decltype(f(args...))>{std::apply(f, taken), std::move(tensors)};
}

// The results of wrong answers, and the gradients at each tensor argument that requires one, when `weight` arrives at
// the result. A result off the tape or of another shape than `weight` has none. An answer that throws is left out.
struct KnownGradients {
  std::vector<Mistake> results;
  std::vector<std::vector<Mistake>> at;
};
// With call(wrong answer, args...) as the result.
template <class Call, class F, class... Args>
KnownGradients known_gradients_by(const Call& call, const std::vector<KnownMistake<F>>& rows, const Tensor& weight,
                                  const Args&... args) {
  KnownGradients known;
  known.at.resize((0 + ... + size_t{std::is_same_v<Args, Tensor>}));
  for (const KnownMistake<F>& row : rows) {
    try {
      const auto wrong = on_leaves([&](const Args&... x) { return call(row.wrong, x...); }, args...);
      known.results.push_back({row.says, wrong.result.detach()});
      if (!wrong.result.requires_grad() || wrong.result.shape() != weight.shape()) continue;
      backward(wrong.result, weight.to(wrong.result.dtype()));
      for (size_t i = 0; i < wrong.tensors.size(); ++i) {
        if (wrong.tensors[i].defined() && wrong.tensors[i].requires_grad())
          known.at[i].push_back({row.says, wrong.gradient(i)});
      }
    } catch (const Error&) {
    }
  }
  return known;
}
template <class F, class... Args>
KnownGradients known_gradients(const std::vector<KnownMistake<F>>& rows, const Tensor& weight, const Args&... args) {
  return known_gradients_by([](F wrong, const Args&... x) { return wrong(x...); }, rows, weight, args...);
}

}  // namespace pg::kit
