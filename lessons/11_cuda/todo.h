#pragma once
// TODO("11.k name") for device code. In the simulator a kernel may throw: the launch rethrows the exception of its
// thread. A GPU has no exceptions: the thread sets a flag and exits, and start() throws if the flag is set.
#include "lessons/kit/todo.h"
#include "tensor/cuda/runtime/launch.h"

namespace pg::lesson11 {

#if defined(__CUDACC__)
static __device__ int todo_reached = 0;

[[noreturn]] inline __host__ __device__ void TODO(const char* piece) {
#if defined(__CUDA_ARCH__)
  todo_reached = 1;
  asm volatile("exit;");
  __builtin_unreachable();
#else
  pg::TODO(piece);
#endif
}

// Throws Todo if a thread reached a TODO since the last call.
inline void throw_todo() {
  int reached = 0;
  cuda::check(cudaMemcpyFromSymbol(&reached, todo_reached, sizeof(reached)), "cudaMemcpyFromSymbol");
  if (!reached) return;
  const int none = 0;
  cuda::check(cudaMemcpyToSymbol(todo_reached, &none, sizeof(none)), "cudaMemcpyToSymbol");
  pg::TODO("a device function");
}
#else
inline void throw_todo() {}
#endif

}  // namespace pg::lesson11
