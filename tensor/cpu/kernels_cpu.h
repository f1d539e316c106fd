#pragma once
// The CPU's kernels.
#include "tensor/format.h"
#include "tensor/kernels.h"

namespace pg::cpu {

#include "tensor/kernel_list.h"

}  // namespace pg::cpu
