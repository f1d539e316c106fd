#pragma once
// The stream that all kernels and copies of the engine run on, in order.
#include "tensor/cuda/launch.h"

namespace pg::cuda {

cudaStream_t stream();

}  // namespace pg::cuda
