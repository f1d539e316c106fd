#pragma once
// The kernels of CUDA devices, in files *.cu.
#include "tensor/kernels.h"

namespace pg::cuda {

#include "tensor/kernel_list.h"

}  // namespace pg::cuda
