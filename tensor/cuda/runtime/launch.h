#pragma once
// How .cu files start kernels and reach dynamic shared memory, the same for nvcc and for the simulator. Written once
// here because kernel<<<grid, block>>>(…) is not C++. Must not include fmt, which nvcc 13 cannot compile as C++20.
#include <cuda_runtime.h>

#include <cstddef>
#include <memory>
#include <tuple>
#include <utility>

namespace pg::cuda {

// Throws pg::Error "operation: CUDA says …" unless `status` is cudaSuccess.
void check(cudaError_t status, const char* operation);

namespace detail {
// check() of a launch, naming the kernel and its shape.
void check_launch(cudaError_t status, const void* kernel, dim3 grid, dim3 block, size_t shared_bytes);
}  // namespace detail

#if defined(__CUDACC__) || defined(POLICYGRAD_CUDA_SIMULATOR)  // else: a .cpp file of a build with nvcc

// kernel<<<grid, block, shared_bytes, stream>>>(args...): `block` threads in each of `grid` blocks, with `shared_bytes`
// of dynamic shared memory. Arguments are converted to the kernel's parameter types and copied. Throws pg::Error,
// naming the kernel, if the launch is refused; the simulator also throws here what a thread of the kernel does wrong.
template <class... Params, class... Args>
void launch(void (*kernel)(Params...), dim3 grid, dim3 block, size_t shared_bytes, cudaStream_t stream,
            Args&&... args) {
  static_assert(sizeof...(Params) == sizeof...(Args), "launch: the kernel has another number of parameters");
#if defined(__CUDACC__)
  kernel<<<grid, block, shared_bytes, stream>>>(static_cast<Params>(args)...);
#else
  using Arguments = std::tuple<std::remove_cv_t<Params>...>;
  sim::enqueue({.function = reinterpret_cast<const void*>(kernel),
                .grid = grid,
                .block = block,
                .shared_bytes = shared_bytes,
                .arguments = std::make_shared<const Arguments>(static_cast<Params>(args)...),
                .argument_bytes = sizeof(Arguments),
                .call =
                    [](const void* function, const void* arguments) {
                      std::apply(reinterpret_cast<void (*)(Params...)>(const_cast<void*>(function)),
                                 *static_cast<const Arguments*>(arguments));
                    }},
               stream);
#endif
  detail::check_launch(cudaGetLastError(), reinterpret_cast<const void*>(kernel), grid, block, shared_bytes);
}

// The block's dynamic shared memory, aligned to 256 bytes: what `extern __shared__ T name[]` gives, without that
// declaration's trouble that every template instance must use another name.
template <class T>
__device__ __forceinline__ T* dynamic_shared() {
#if defined(__CUDACC__)
  extern __shared__ __align__(256) unsigned char policygrad_dynamic_shared[];
  return reinterpret_cast<T*>(policygrad_dynamic_shared);
#else
  return static_cast<T*>(sim::dynamic_shared());
#endif
}

#endif

}  // namespace pg::cuda
