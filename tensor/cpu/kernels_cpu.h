#pragma once
// The CPU's kernels, one function per row of tensor/kernels.def.
#include "tensor/format.h"
#include "tensor/kernels.h"

namespace pg::cpu {

#define KERNEL(name, parameters) void name parameters;
#include "tensor/kernels.def"

}  // namespace pg::cpu
