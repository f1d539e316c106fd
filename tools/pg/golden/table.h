#pragma once
// The table of the golden operations.
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tensor/tensor.h"
#include "tools/pg/golden/attributes.h"

namespace pg::tools {

struct GoldenOp {
  using Inputs = std::vector<Tensor>;
  size_t min_inputs, max_inputs;
  std::vector<std::string> attributes;
  std::function<std::vector<Tensor>(const Inputs&, const GoldenAttributes&)> run;
};
using GoldenTable = std::map<std::string, GoldenOp>;

// An undefined tensor if there are fewer inputs.
inline Tensor input_or_none(const GoldenOp::Inputs& in, size_t i) { return i < in.size() ? in[i] : Tensor{}; }

}  // namespace pg::tools
