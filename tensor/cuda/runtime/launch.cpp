// Converts CUDA's error codes to pg::Error.
#include "tensor/cuda/runtime/launch.h"

#include <fmt/format.h>

#include <string>

#include "tensor/base/error.h"

namespace pg::cuda {

namespace {

std::string says(cudaError_t status) {
  return fmt::format("CUDA says {} ({})", cudaGetErrorString(status), cudaGetErrorName(status));
}

}  // namespace

void check(cudaError_t status, const char* operation) {
  if (status != cudaSuccess) fail("{}: {}", operation, says(status));
}

void detail::check_launch(cudaError_t status, const void* kernel, dim3 grid, dim3 block, size_t shared_bytes) {
  if (status == cudaSuccess) return;
  const char* name = nullptr;
#if defined(CUDART_VERSION) && CUDART_VERSION >= 12030
  cudaFuncGetName(&name, kernel);
#endif
  fail("launch of {}: {}; grid {} x {} x {}, block {} x {} x {}, {} bytes of dynamic shared memory",
       name ? name : fmt::format("kernel {}", fmt::ptr(kernel)), says(status), grid.x, grid.y, grid.z, block.x, block.y,
       block.z, shared_bytes);
}

}  // namespace pg::cuda
