#pragma once
// Calls generated from the samples of every operation: each sample's inputs with every dim in turn of size 0 or 1, of
// rank 0 or undefined, crossed with the layouts that a tensor can have. Nobody writes them by hand, so that a new
// sample brings its own.
#include <functional>
#include <string>
#include <vector>

#include "tests/autograd/op_runs.h"

namespace pg::testing {

enum class InputLayout { contiguous, transposed, stepped, repeated_first, repeated_last };
inline constexpr InputLayout kLayouts[] = {InputLayout::contiguous, InputLayout::transposed, InputLayout::stepped,
                                           InputLayout::repeated_first, InputLayout::repeated_last};
const char* name_of(InputLayout layout);
// Tensors whose elements are equal along a dim; the others hold the elements of x.
inline bool repeats(InputLayout layout) { return layout >= InputLayout::repeated_first; }
// A tensor of x's shape in that layout, undefined for an undefined x.
Tensor in_layout(const Tensor& x, InputLayout layout);

struct CrossedInputs {
  std::string label;  // what was changed, e.g. "every 7 is 0"
  std::vector<Tensor> inputs;
};
// The inputs themselves, and the same with: every dim of one size at once of size 0 or 1; one dim of one input of size
// 0 or 1; one input, or all, of rank 0; one input undefined, or integers for floats and floats for integers.
std::vector<CrossedInputs> crossed(const std::vector<Tensor>& inputs);

// What a call gave: a Run, or the message of its Error. Any other exception passes on.
struct Outcome {
  Run run;
  std::string error;
};
Outcome outcome_of(const OpSample& s, const TensorFunction& call, const std::vector<Tensor>& inputs);

// Empty when the message begins with the name of an operation or of a tensor's function, as every Error must; else why
// not.
std::string names_nothing(const std::string& message);

// Empty when the two agree, where both failing counts as agreement; else what differs. NaN equals NaN, and infinities
// of one sign are equal; the rest is compared by norms. A norm below 1, the size of the inputs, counts as 1: a result
// of a row of one element is often nothing but rounding.
std::string difference(const Outcome& got, const Outcome& want, double tolerance);
bool holds_nan(const Outcome& outcome);

}  // namespace pg::testing
