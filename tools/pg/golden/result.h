#pragma once
// The result of replaying a golden case: the error of every tensor.
#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace pg::tools {

struct GoldenError {
  std::string name;  // "out.0", "grad.1", …
  double error = 0;  // ‖got − want‖ / ‖want‖; infinite if integers, or positions of infinities or NaN, differ
  double tolerance = 0;
  bool ok() const { return error <= tolerance; }
};

struct GoldenResult {
  std::string name;  // of the case
  std::vector<GoldenError> tensors;
  bool ok() const;
  std::string to_string() const;  // one line
};

// ‖got − want‖ / ‖want‖ over all elements; ‖got‖ if all wanted elements are 0. Infinite if infinities or NaN are at
// different positions, or if `want` has an integer dtype and an element differs. Throws Error if the shapes differ;
// `name` is used in the message.
double relative_error(const std::string& name, const Tensor& got, const Tensor& want);
// 1e-10 for f64, 1e-5 for f32, 0 for integers.
double default_tolerance(DType dtype);

}  // namespace pg::tools
