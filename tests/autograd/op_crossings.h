#pragma once
// Calls generated from the samples of every operation. In each sample's inputs, every dim in turn gets size 0 or 1, and
// inputs get rank 0 or become undefined. These inputs are crossed with the layouts that a tensor can have. The
// generation is automatic, so a new sample is covered without extra work.
#include <functional>
#include <string>
#include <vector>

#include "tests/op_runs.h"

namespace pg::testing {

enum class InputLayout { contiguous, transposed, stepped, repeated_first, repeated_last };
inline constexpr InputLayout kLayouts[] = {InputLayout::contiguous, InputLayout::transposed, InputLayout::stepped,
                                           InputLayout::repeated_first, InputLayout::repeated_last};
const char* name_of(InputLayout layout);
// Whether the layout makes the elements equal along a dim; the other layouts hold the elements of x.
inline bool repeats(InputLayout layout) { return layout >= InputLayout::repeated_first; }
// Returns a tensor of x's shape in that layout; undefined if x is undefined.
Tensor in_layout(const Tensor& x, InputLayout layout);

struct CrossedInputs {
  std::string label;  // what was changed, e.g. "every 7 is 0"
  std::vector<Tensor> inputs;
};
// Returns the inputs unchanged, and these variants: all dims of one size set to 0 or 1 at once; one dim of one input
// set to 0 or 1; one input, or all, of rank 0; one input undefined; integers in place of floats and floats in place of
// integers.
std::vector<CrossedInputs> crossed(const std::vector<Tensor>& inputs);

// The outcome of a call: a Run, or the message of its Error. Any other exception propagates.
struct Outcome {
  Run run;
  std::string error;
};
Outcome outcome_of(const OpSample& s, const TensorFunction& call, const std::vector<Tensor>& inputs);

// Returns "" if the message begins with the name of an operation or of a function of Tensor, as every Error must;
// otherwise returns the reason why not.
std::string names_nothing(const std::string& message);

// Returns "" if the two outcomes agree; otherwise returns what differs. Two failures count as agreement. NaN equals
// NaN, and infinities of the same sign are equal. All other elements are compared by norms. A norm below 1, the size of
// the inputs, counts as 1: a result for a row of one element is often nothing but rounding error.
std::string difference(const Outcome& got, const Outcome& want, double tolerance);
bool holds_nan(const Outcome& outcome);

}  // namespace pg::testing
