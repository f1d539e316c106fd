#pragma once
// Kernels that are started before the kernel ahead of them in the stream has ended, so that their launch, and what they
// do before they need its results, costs no time ("programmatic dependent launch", CUDA C++ Programming Guide). It
// matters for the kernels of a decoded token, which take a few microseconds each. Devices before compute capability 9.0
// start them in the usual way; the simulator also does, and reports those that do not wait.
#include <cstdint>

#include "tensor/cuda/runtime/launch.h"

namespace pg::cuda {

inline constexpr int64_t kBusyBlocks = 264;  // two per multiprocessor of an H100

// In a kernel of launch_early(): waits until all kernels ahead of it have ended and their results are visible. Every
// thread must call it before it reads or writes device memory.
__device__ __forceinline__ void wait_for_earlier_kernels() {
#if !defined(__CUDACC__)
  sim::wait_for_earlier_kernels();
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// Lets a kernel of launch_early() that comes next start, once every block of this kernel has called it or ended.
__device__ __forceinline__ void let_next_kernel_start() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

// Starts moving the 128 bytes around `address`, device memory, to the second-level cache. It may be called before
// wait_for_earlier_kernels(): whoever reads the bytes later gets what is in memory then.
__device__ __forceinline__ void prefetch([[maybe_unused]] const void* address) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("prefetch.global.L2 [%0];" ::"l"(__cvta_generic_to_global(address)));
#endif
}

// *address before wait_for_earlier_kernels(), as a hint for prefetch(): it may be an old value. `otherwise` where
// kernels do not start early. It is read past the first-level cache, so that later reads do not get the old value.
template <class T>
__device__ __forceinline__ T likely([[maybe_unused]] const T* address, T otherwise) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  return __ldcg(address);
#else
  return otherwise;
#endif
}

// launch() for a kernel whose threads call wait_for_earlier_kernels().
template <class... Params, class... Args>
void launch_early(void (*kernel)(Params...), dim3 grid, dim3 block, size_t shared_bytes, cudaStream_t stream,
                  Args&&... args) {
#if defined(__CUDACC__)
  if (!starts_early()) return launch(kernel, grid, block, shared_bytes, stream, std::forward<Args>(args)...);
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  const cudaError_t status = cudaLaunchKernelEx(&config, kernel, static_cast<Params>(args)...);
  cudaGetLastError();  // the same error
  detail::check_launch(status, reinterpret_cast<const void*>(kernel), grid, block, shared_bytes, stream);
#else
  detail::simulate(kernel, grid, block, shared_bytes, stream, true, static_cast<Params>(args)...);
#endif
}

}  // namespace pg::cuda
