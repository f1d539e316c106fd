#pragma once
// Functions that start kernels and return dynamic shared memory in .cu files, for nvcc and for the simulator. They
// exist because kernel<<<grid, block>>>(…) is not C++. This file must not include fmt, which nvcc 13 cannot compile as
// C++20.
#include <cuda_runtime.h>

#include <cstddef>
#include <type_traits>
#include <utility>

namespace pg::cuda {

// Throws pg::Error "operation: CUDA says …" unless `status` is cudaSuccess and this thread has noted no failure.
void check(cudaError_t status, const char* operation);
// check() for destructors and other functions that must not throw: the thread's first failure is kept, and its next
// check() or launch() throws it.
void note(cudaError_t status, const char* operation) noexcept;

// Whether the current device starts kernels before the kernel ahead of them has ended (early.h).
bool starts_early();

namespace detail {
// check() for a launch; the Error names the kernel and its launch shape. Waits for the kernel if synchronous()
// (synchronous.h).
void check_launch(cudaError_t status, const void* kernel, dim3 grid, dim3 block, size_t shared_bytes,
                  cudaStream_t stream);
}  // namespace detail

// A kernel of any parameters.
struct AnyKernel {
  const void* function;
#if defined(POLICYGRAD_CUDA_SIMULATOR)
  const sim::Signature* signature;
#endif
};
// launch() for code that many kernels share: arguments[i] points to an object of the type of the kernel's parameter i.
// These are copied.
void launch(const AnyKernel& kernel, dim3 grid, dim3 block, size_t shared_bytes, cudaStream_t stream,
            const void* const* arguments);

#if defined(__CUDACC__) || defined(POLICYGRAD_CUDA_SIMULATOR)  // else: a .cpp file of a build with nvcc

template <class... Params>
AnyKernel any_kernel(void (*kernel)(Params...)) {
#if defined(__CUDACC__)
  return {reinterpret_cast<const void*>(kernel)};
#else
  return {reinterpret_cast<const void*>(kernel), &sim::kSignature<Params...>};
#endif
}

#if !defined(__CUDACC__)
namespace detail {
// A launch in the simulator. early: by launch_early() (early.h).
void simulate(const AnyKernel& kernel, dim3 grid, dim3 block, size_t shared_bytes, cudaStream_t stream, bool early,
              const void* const* arguments);
template <class... Params>
void simulate(void (*kernel)(Params...), dim3 grid, dim3 block, size_t shared_bytes, cudaStream_t stream, bool early,
              const std::type_identity_t<Params>&... args) {
  const void* const arguments[] = {&args..., nullptr};
  simulate(any_kernel(kernel), grid, block, shared_bytes, stream, early, arguments);
}
}  // namespace detail
#endif

// kernel<<<grid, block, shared_bytes, stream>>>(args...): `block` threads in each of `grid` blocks, with `shared_bytes`
// of dynamic shared memory. Arguments are converted to the kernel's parameter types and copied. If the launch is
// refused, throws a pg::Error that names the kernel; the simulator also throws here if a thread of the kernel makes an
// error.
template <class... Params, class... Args>
void launch(void (*kernel)(Params...), dim3 grid, dim3 block, size_t shared_bytes, cudaStream_t stream,
            Args&&... args) {
  static_assert(sizeof...(Params) == sizeof...(Args),
                "launch: the number of arguments is not the number of the kernel's parameters");
#if defined(__CUDACC__)
  kernel<<<grid, block, shared_bytes, stream>>>(static_cast<Params>(args)...);
  detail::check_launch(cudaGetLastError(), reinterpret_cast<const void*>(kernel), grid, block, shared_bytes, stream);
#else
  detail::simulate(kernel, grid, block, shared_bytes, stream, false, static_cast<Params>(args)...);
#endif
}

// The block's dynamic shared memory, aligned to 256 bytes. It replaces `extern __shared__ T name[]`, which would need a
// different name in every template instance.
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
