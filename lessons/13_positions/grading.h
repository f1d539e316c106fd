#pragma once
// What the checks of lessons 13, 13b, 13c and 14 share: comparisons of tensors, their gradients and their memory.
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "autograd/ops.h"
#include "lessons/kit/lesson.h"

namespace pg::lesson13 {

// Grader::expect for what is no value: `explain` shows it only if it fails.
inline bool require(kit::Grader& g, bool ok, const std::string& input, const std::string& got, const std::string& want,
                    const std::string& diagnosis) {
  return ok ? !g.failed() : g.expect(false, input, got, want, diagnosis);
}

// Grader::equal for a tensor, which must also be defined and have the dtype of `want`.
inline bool same_tensor(kit::Grader& g, const std::string& input, const Tensor& got, const Tensor& want,
                        const kit::Compare& how = {}) {
  return require(g, got.defined(), input, "an undefined tensor", fmt::format("{} {}", want.dtype(), want.shape()),
                 "was the result ever returned?") &&
         require(g, got.dtype() == want.dtype(), input, fmt::format("{} {}", got.dtype(), got.shape()),
                 fmt::format("{} {}", want.dtype(), want.shape()),
                 "the result has another dtype than the input: convert with x.to(dtype)") &&
         g.equal(input, got.detach(), want.detach(), how);
}

// Tensors that a function must not change.
class Unchanged {
 public:
  explicit Unchanged(const std::vector<Tensor>& tensors) : tensors_(tensors) {
    for (const Tensor& x : tensors_) copies_.push_back(x.clone());
  }
  bool expect(kit::Grader& g, const std::string& input) const {
    for (size_t i = 0; i < tensors_.size(); ++i) {
      if (g.failed()) return false;
      require(g, tensors_[i].shape() == copies_[i].shape() && tensors_[i].to_vector() == copies_[i].to_vector(),
              input + ": what went in", "was overwritten", "is as before",
              "an input was written to: others still read it; make a new tensor, or x.clone() first");
    }
    return !g.failed();
  }

 private:
  std::vector<Tensor> tensors_, copies_;
};

// Runs `call`, which should not throw. If it throws an Error, that is WRONG: with the diagnosis of the first pair whose
// words are in the Error's text, else with one for two dtypes, or "".
inline bool runs(kit::Grader& g, const std::string& input, const std::function<void()>& call,
                 const std::vector<std::pair<std::string, std::string>>& says = {}) {
  try {
    call();
    return true;
  } catch (const Error& error) {
    const std::string text = error.what();
    std::string diagnosis;
    if (text.find("dtype") != std::string::npos) {
      diagnosis =
          "two dtypes meet: make new tensors in the dtype of the input, with x.to(dtype) or zeros(shape, dtype)";
    }
    for (const auto& [words, sentence] : says) {
      if (text.find(words) == std::string::npos) continue;
      diagnosis = sentence;
      break;
    }
    return g.expect(false, input, "an Error: " + text, "a result", diagnosis);
  }
}

// `call` must throw an Error.
inline void refuses(kit::Grader& g, const std::string& input, const std::function<void()>& call) {
  g.expect_error(input, call, "",
                 "refuse what cannot be right: check(condition, \"what is wrong\"), before anything is changed");
}

inline Tensor random_tensor(const Shape& shape, uint64_t seed, DType dtype = f64) {
  Generator random = kit::draws(seed);
  return Tensor::normal(shape, 0, 1, random, dtype);
}

// Compares the gradients that `got` and `want` give to each of the named inputs, for one random cotangent.
using NamedInputs = std::vector<std::pair<std::string, Tensor>>;
using Function = std::function<Tensor(const std::vector<Tensor>&)>;
inline bool same_gradients(kit::Grader& g, const std::string& input, const Function& got, const Function& want,
                           const NamedInputs& inputs) {
  std::vector<std::vector<Tensor>> leaves(2);
  for (int of = 0; of < 2; ++of) {
    for (const auto& [name, x] : inputs) leaves[static_cast<size_t>(of)].push_back(x.clone().set_requires_grad());
    const Tensor y = (of == 0 ? got : want)(leaves[static_cast<size_t>(of)]);
    if (!require(g, y.defined() && y.requires_grad(), input + ": the gradient", "none arrives", "one for each input",
                 "the tape is cut: data(), item(), to_vector(), detach(), to(dtype) and NoGrad leave no gradient; use "
                 "operations on the inputs")) {
      return false;
    }
    backward(sum(y * random_tensor(y.shape(), 139, y.dtype())));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string what = fmt::format("{}: the gradient of {}", input, inputs[i].first);
    const Tensor mine = leaves[0][i].grad();
    if (!require(g, mine.defined(), what, "none arrives", "as of the formula",
                 "the tape is cut on this input's way: data(), detach() and to(dtype) leave no gradient") ||
        !g.equal(what, mine, leaves[1][i].grad(), {.rtol = 1e-9})) {
      return false;
    }
  }
  return true;
}

}  // namespace pg::lesson13
