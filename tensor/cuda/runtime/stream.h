#pragma once
// The stream that all kernels and copies of the engine run on, in order.
#include "tensor/cuda/runtime/launch.h"

namespace pg::cuda {

cudaStream_t stream();
// Whether work submitted to the stream is being captured for a graph.
bool capturing();
[[noreturn]] void fail_copy_in_graph();

}  // namespace pg::cuda
