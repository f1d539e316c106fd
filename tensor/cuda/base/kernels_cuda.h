#pragma once
// The kernels of CUDA devices, in files *.cu: one function per row of tensor/kernels.def.
#include "tensor/kernels.h"

namespace pg::cuda {

#define KERNEL(name, parameters) void name parameters;
#include "tensor/kernels.def"

}  // namespace pg::cuda
