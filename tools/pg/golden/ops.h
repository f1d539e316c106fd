#pragma once
// The operations that a golden case may name (docs/GOLDENS.md).
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tensor/tensor.h"
#include "tools/pg/golden/attributes.h"

namespace pg::tools {

// The results of operation `op`. Throws Error for an unknown op, an unknown attribute or a wrong number of inputs.
std::vector<Tensor> apply_golden_op(const std::string& op, const std::vector<Tensor>& inputs,
                                    const GoldenAttributes& attributes);

// A row of the table of the operations.
struct GoldenOp {
  using Inputs = std::vector<Tensor>;
  size_t min_inputs, max_inputs;
  std::vector<std::string> attributes;
  std::function<std::vector<Tensor>(const Inputs&, const GoldenAttributes&)> run;
};
using GoldenTable = std::map<std::string, GoldenOp>;

// An undefined tensor if there are fewer inputs.
inline Tensor input_or_none(const GoldenOp::Inputs& in, size_t i) { return i < in.size() ? in[i] : Tensor{}; }

// Adds the operations "rl.*": the functions of rl/.
void add_rl(GoldenTable& table);

}  // namespace pg::tools
