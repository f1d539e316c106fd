#pragma once
// Block reduction in a fixed order.
#include "tensor/cuda/array.h"

namespace pg::cuda {

// NaN if either is NaN.
template <class T>
__device__ __forceinline__ T max_with_nan(T a, T b) {
  return b > a || b != b ? b : a;
}

// Reduces the values of groups of kAlong threads, a power of two, that are kStep threads apart: combine(a, b) along a
// tree in shared memory `values` [blockDim.x]. The first thread of each group gets the result. All threads of the block
// must call it.
template <int kAlong, int kStep, class V, class F>
__device__ __forceinline__ V block_reduce(V* values, V value, F combine) {
  const int t = static_cast<int>(threadIdx.x), along = t / kStep % kAlong;
  for (int half = kAlong / 2; half > 0; half /= 2) {
    values[t] = value;
    __syncthreads();
    if (along < half) value = combine(value, values[t + half * kStep]);
    __syncthreads();
  }
  return value;
}

}  // namespace pg::cuda
