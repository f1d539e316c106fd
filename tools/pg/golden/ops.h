#pragma once
// The operations that a golden case may name (docs/GOLDENS.md).
#include <string>
#include <vector>

#include "tensor/tensor.h"
#include "tools/pg/golden/attributes.h"

namespace pg::tools {

// The results of operation `op`. Throws Error for an unknown op, an unknown attribute or a wrong number of inputs.
std::vector<Tensor> apply_golden_op(const std::string& op, const std::vector<Tensor>& inputs,
                                    const GoldenAttributes& attributes);

}  // namespace pg::tools
