#pragma once
// Checks backward functions: compares the gradients that the tape computes with central differences of the forward
// pass.
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace pg {

// The type of a function that is checked. Only f64 outputs are checked; the others have no gradient.
using TensorFunction = std::function<std::vector<Tensor>(std::span<const Tensor>)>;

struct GradcheckOptions {
  std::string op = "function";  // named in messages
  std::string label = {};
  double tolerance = 1e-6;           // on the relative error
  uint64_t seed = 1;                 // for the cotangent and the random directions
  std::vector<int> constant = {};    // f64 inputs that have no gradient by design
  int64_t max_perturbations = 4096;  // an input with more elements: eight random directions instead of every element
};

struct GradcheckResult {
  bool ok = true;
  double error = 0;     // largest relative error over the inputs: |a - n| / max(|a|, |n|, 1e-5), Euclidean norms
  std::string message;  // empty when ok: op, argument, index, both values, and what their ratio suggests
  std::string op;
  std::string label;
  int argument = -1;  // index of the input with the largest error
  Shape index;        // index of its worst element (number of the direction if there were too many elements)
  double numeric = 0;
  double analytic = 0;
  double ratio = 0;  // analytic / numeric
  explicit operator bool() const { return ok; }
};

// Checks every f64 input of `f` that is not `constant`, against fourth-order central differences and a random
// cotangent: the plain sum of the outputs would hide factors in softmax-like functions, whose outputs sum to a
// constant. It also checks that a second backward adds to the first, that an input that needs no gradient gets none,
// and that a rerun gives the same bits, so an f with dropout makes its Generator itself. Inputs are copied. Error: an
// input of type f32, or one whose elements share memory (expand): perturbing one would perturb others.
GradcheckResult gradcheck(const TensorFunction& f, const std::vector<Tensor>& inputs,
                          const GradcheckOptions& options = {});
// gradcheck() of a function with one output.
GradcheckResult gradcheck(const std::function<Tensor(std::span<const Tensor>)>& f, const std::vector<Tensor>& inputs,
                          const GradcheckOptions& options = {});

}  // namespace pg
