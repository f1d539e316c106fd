#pragma once
// Kernels that are started before the kernel ahead of them in the stream has ended, so that their launch, and what they
// do before they need its results, costs no time ("programmatic dependent launch", CUDA C++ Programming Guide). It
// matters for the kernels of a decoded token, which take a few microseconds each. Devices before compute capability 9.0
// and the simulator start them in the usual way.
#include "tensor/cuda/runtime/runtime.h"

namespace pg::cuda {

// In a kernel of launch_early(): waits until all kernels ahead of it have ended and their results are visible. Every
// thread must call it before it reads anything that a kernel writes, and before it writes anything.
__device__ __forceinline__ void wait_for_earlier_kernels() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
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

// launch() on stream(), for a kernel that calls wait_for_earlier_kernels().
template <class... Params, class... Args>
void launch_early(void (*kernel)(Params...), dim3 grid, dim3 block, size_t shared_bytes, Args&&... args) {
#if defined(__CUDACC__)
  if (limits().major >= 9) {
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = grid;
    config.blockDim = block;
    config.dynamicSmemBytes = shared_bytes;
    config.stream = stream();
    config.attrs = &attribute;
    config.numAttrs = 1;
    const cudaError_t status = cudaLaunchKernelEx(&config, kernel, static_cast<Params>(args)...);
    cudaGetLastError();  // the same error
    return detail::check_launch(status, reinterpret_cast<const void*>(kernel), grid, block, shared_bytes, stream());
  }
#endif
  launch(kernel, grid, block, shared_bytes, stream(), std::forward<Args>(args)...);
}

}  // namespace pg::cuda
