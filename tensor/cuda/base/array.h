#pragma once
// Shared helpers of the CUDA kernels: element types, dtype dispatch, grid-stride loops, packs of four elements. bf16 is
// a storage type; kernels compute in f32.
#include <cuda_bf16.h>

#include <algorithm>
#include <cstdint>

#include "tensor/cuda/runtime/runtime.h"
#include "tensor/strided_loop.h"

namespace pg::cuda {

// The type of an element in device memory: __nv_bfloat16 for BFloat16, otherwise S itself.
template <class S>
using stored_t = std::conditional_t<std::is_same_v<S, BFloat16>, __nv_bfloat16, S>;

// Throws pg::Error: `op` has no kernel that reads `input` and writes `result`.
[[noreturn]] void fail_pair(const char* op, DType result, DType input);
// Throws pg::Error: `op` has no kernel for head dimension `size`.
[[noreturn]] void fail_head_size(const char* op, int64_t size, int64_t most);

// The data pointer of a view, with CUDA's element type.
template <class S>
stored_t<S>* data_of(const View& v) {
  return static_cast<stored_t<S>*>(v.data);
}

// f(identity<R>, identity<S>, identity<T>): result type R, input type S, computation type T. R and S are one type, or
// the result is f32 and the inputs are bf16.
template <class F>
void visit_result(const View& result, const View& input, const char* op, F&& f) {
  visit_stored(result.dtype, op, [&]<class R, class T>(std::type_identity<R> r, std::type_identity<T> t) {
    if constexpr (std::is_same_v<R, float>) {
      if (input.dtype == bf16) return f(r, std::type_identity<BFloat16>{}, t);
    }
    if (input.dtype != dtype_of<R>()) fail_pair(op, result.dtype, input.dtype);
    f(r, r, t);
  });
}

template <class T, class S>
__host__ __device__ __forceinline__ T load(const S* p) {
  if constexpr (std::is_same_v<S, __nv_bfloat16>) {
    return static_cast<T>(__bfloat162float(*p));
  } else {
    return static_cast<T>(*p);
  }
}
template <class S, class T>
__host__ __device__ __forceinline__ void store(S* p, T x) {
  if constexpr (std::is_same_v<S, __nv_bfloat16>) {
    *p = __float2bfloat16(static_cast<float>(x));
  } else {
    *p = static_cast<S>(x);
  }
}

inline constexpr int kThreads = 256;  // threads per block unless stated otherwise

// Number of blocks of kThreads for n elements; it is limited to a few waves of a large GPU, beyond that threads loop.
inline unsigned blocks_for(int64_t n) {
  return static_cast<unsigned>(std::clamp<int64_t>((n + kThreads - 1) / kThreads, 1, 4096));
}

// The loop of such a grid: for (int64_t i = first_index(); i < n; i += index_step()).
__device__ __forceinline__ int64_t first_index() { return int64_t{blockIdx.x} * blockDim.x + threadIdx.x; }
__device__ __forceinline__ int64_t index_step() { return int64_t{gridDim.x} * blockDim.x; }

// The offset of element i of a loop in each operand. std::array's constexpr members may be called by kernels.
template <int N>
__device__ __forceinline__ void offsets_of(const StridedLoop<N>& w, int64_t i, int64_t (&offset)[N]) {
  for (int k = 0; k < N; ++k) offset[k] = 0;
  for (int d = w.rank - 1; d >= 0; --d) {
    const int64_t rest = d == 0 ? 0 : i / w.size[d], at = i - rest * w.size[d];
    i = rest;
    for (int k = 0; k < N; ++k) offset[k] += at * w.stride[k][d];
  }
}

// NaN if either is NaN.
template <class T>
__device__ __forceinline__ T max_with_nan(T a, T b) {
  return b > a || b != b ? b : a;
}

// ---- packs: adjacent elements of a contiguous array as one memory access, the unit of work of a thread in
// memory-bound kernels; four of them where nothing else is stated

inline constexpr int kPack = 4;

template <class S, int kSize = kPack>
struct alignas(kSize * sizeof(S)) Pack {
  S v[kSize];
};

// Whether a pack can start at every fourth element of each array.
template <class... S>
bool aligned_for_packs(const S*... arrays) {
  return ((reinterpret_cast<uintptr_t>(arrays) % alignof(Pack<S>) == 0) && ...);
}

inline int64_t packs_of(int64_t n) { return (n + kPack - 1) / kPack; }

// x = elements i … i + 3 of the n elements at p; 0 beyond the end. i is a multiple of 4.
template <class T, class S>
__device__ __forceinline__ void load_pack(T (&x)[kPack], const S* p, int64_t i, int64_t n, bool aligned) {
  if (aligned && i + kPack <= n) {
    const Pack<S> pack = *reinterpret_cast<const Pack<S>*>(p + i);
    for (int k = 0; k < kPack; ++k) x[k] = load<T>(&pack.v[k]);
  } else {
    for (int k = 0; k < kPack; ++k) x[k] = i + k < n ? load<T>(p + i + k) : T(0);
  }
}
template <class S, class T>
__device__ __forceinline__ void store_pack(S* p, const T (&x)[kPack], int64_t i, int64_t n, bool aligned) {
  if (aligned && i + kPack <= n) {
    Pack<S> pack;
    for (int k = 0; k < kPack; ++k) store(&pack.v[k], x[k]);
    *reinterpret_cast<Pack<S>*>(p + i) = pack;
  } else {
    for (int k = 0; k < kPack && i + k < n; ++k) store(p + i + k, x[k]);
  }
}

}  // namespace pg::cuda
