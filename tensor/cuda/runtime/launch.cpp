// Converts CUDA's error codes to pg::Error.
#include "tensor/cuda/runtime/launch.h"

#include <fmt/format.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "tensor/base/error.h"
#include "tensor/cuda/runtime/synchronous.h"

namespace pg::cuda {

namespace {

struct Failure {
  cudaError_t status = cudaSuccess;
  const char* operation = nullptr;
};
constinit thread_local Failure noted;  // the first since the last Error

std::atomic<bool>& waits() {
  static std::atomic<bool> on = [] {
    const char* text = std::getenv("POLICYGRAD_CUDA_SYNC");
    return text && std::strcmp(text, "1") == 0;
  }();
  return on;
}

// Whether it is a kernel's error, which ends the use of the device.
bool of_kernel(cudaError_t status) {
  return status == cudaErrorIllegalAddress || status == cudaErrorMisalignedAddress || status == cudaErrorLaunchFailure;
}

std::string says(cudaError_t status) {
  const char* hint = of_kernel(status) && !synchronous()
                         ? "; an earlier kernel made this error: run again with POLICYGRAD_CUDA_SYNC=1, which names it"
                         : "";
  return fmt::format("CUDA says {} ({}){}", cudaGetErrorString(status), cudaGetErrorName(status), hint);
}

void throw_noted() {
  if (noted.status == cudaSuccess) return;
  const Failure first = std::exchange(noted, {});
  fail("{}: {}", first.operation, says(first.status));
}

}  // namespace

bool synchronous() { return waits().load(std::memory_order_relaxed); }
void set_synchronous(bool on) { waits() = on; }

bool starts_early() {
  int device = 0, major = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device), "cudaDeviceGetAttribute");
  return major >= 9;
}

void check(cudaError_t status, const char* operation) {
  throw_noted();
  if (status != cudaSuccess) fail("{}: {}", operation, says(status));
}

void note(cudaError_t status, const char* operation) noexcept {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // otherwise the next launch would seem to have failed
  if (noted.status == cudaSuccess) noted = {status, operation};
}

void detail::check_launch(cudaError_t status, const void* kernel, dim3 grid, dim3 block, size_t shared_bytes,
                          cudaStream_t stream) {
  throw_noted();
  const bool launched = status == cudaSuccess;
  if (launched && synchronous()) status = cudaStreamSynchronize(stream);
  if (status == cudaSuccess) return;
  const char* name = nullptr;
#if defined(POLICYGRAD_CUDA_SIMULATOR) || CUDART_VERSION >= 12030
  cudaFuncGetName(&name, kernel);
#endif
  fail("{}{}: {}; grid {} x {} x {}, block {} x {} x {}, {} bytes of dynamic shared memory",
       launched ? "" : "launch of ", name ? name : fmt::format("kernel {}", fmt::ptr(kernel)), says(status), grid.x,
       grid.y, grid.z, block.x, block.y, block.z, shared_bytes);
}

#if defined(POLICYGRAD_CUDA_SIMULATOR)
void detail::simulate(const AnyKernel& kernel, dim3 grid, dim3 block, size_t shared_bytes, cudaStream_t stream,
                      bool early, const void* const* arguments) {
  sim::enqueue({.function = kernel.function,
                .grid = grid,
                .block = block,
                .shared_bytes = shared_bytes,
                .signature = kernel.signature,
                .arguments = sim::copy_of(*kernel.signature, arguments),
                .early = early},
               stream);
  check_launch(cudaGetLastError(), kernel.function, grid, block, shared_bytes, stream);
}
#endif

void launch(const AnyKernel& kernel, dim3 grid, dim3 block, size_t shared_bytes, cudaStream_t stream,
            const void* const* arguments) {
#if defined(POLICYGRAD_CUDA_SIMULATOR)
  detail::simulate(kernel, grid, block, shared_bytes, stream, false, arguments);
#else
  cudaLaunchKernel(kernel.function, grid, block, const_cast<void**>(arguments), shared_bytes, stream);
  detail::check_launch(cudaGetLastError(), kernel.function, grid, block, shared_bytes, stream);
#endif
}

}  // namespace pg::cuda
