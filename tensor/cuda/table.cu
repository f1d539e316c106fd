#include "tensor/cuda/kernels_cuda.h"
#include "tensor/cuda/runtime/runtime.h"

namespace pg::cuda {

const Kernels& table() { return kTable; }

}  // namespace pg::cuda
