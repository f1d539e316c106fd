// Adds integers, for the sums of collectives.
#include "tensor/cuda/nccl/add_i32.h"
#include "tensor/cuda/runtime/runtime.h"

namespace pg::cuda {
namespace {

constexpr int kThreads = 256;

__global__ void add_i32_kernel(uint32_t* y, const uint32_t* x, int64_t n) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i < n) y[i] += x[i];
}

}  // namespace

void add_i32(int32_t* y, const int32_t* x, int64_t n) {
  if (n == 0) return;
  launch(add_i32_kernel, static_cast<unsigned>((n + kThreads - 1) / kThreads), kThreads, 0, stream(),
         reinterpret_cast<uint32_t*>(y), reinterpret_cast<const uint32_t*>(x), n);
}

}  // namespace pg::cuda
