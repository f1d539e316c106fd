// The table of the CUDA kernels.
#include "tensor/cuda/kernels_cuda.h"
#include "tensor/cuda/runtime/runtime.h"

namespace pg::cuda {

const Kernels& table() {
  static constexpr Kernels table = {
#define KERNEL(name, parameters) .name = name,
#include "tensor/kernels.def"
  };
  return table;
}

}  // namespace pg::cuda
