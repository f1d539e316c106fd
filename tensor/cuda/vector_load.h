#pragma once
// Four adjacent elements of a contiguous array as one memory access: the unit of work of a thread in memory-bound
// kernels.
#include "tensor/cuda/array.h"

namespace pg::cuda {

inline constexpr int kPack = 4;

template <class S>
struct alignas(kPack * sizeof(S)) Pack {
  S v[kPack];
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
