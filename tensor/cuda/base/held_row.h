#pragma once
// Rows in registers, for kernels that use a row several times and read it once.
#include "tensor/cuda/base/row.h"
#include "tensor/cuda/runtime/early.h"

namespace pg::cuda {

// Calls f(constant) with the number of elements that each of `threads` threads holds of a row of n; false if a row is
// too long to be held in registers.
template <class F>
bool visit_held(int64_t n, int64_t threads, F f) {
  if (n > 32 * threads) return false;
  if (n <= 8 * threads) {
    f(std::integral_constant<int, 8>{});
  } else if (n <= 24 * threads) {
    f(std::integral_constant<int, 24>{});
  } else {
    f(std::integral_constant<int, 32>{});
  }
  return true;
}

// Whether kernels hold rows of this type in registers.
template <class S>
inline constexpr bool can_hold = !std::is_same_v<S, double>;

// Whether every row of every operand begins at a multiple of 16 bytes. Operands may be null.
template <class... S>
bool begin_aligned(const RowShape& shape, const Rows<S>&... rows) {
  const auto good = [&](const auto& x) {
    constexpr int64_t N = 16 / sizeof(*x.data);
    return !x.data || (is_aligned(x.data) && (shape.count == 1 || x.step % N == 0));
  };
  return (... && good(rows));
}
// Whether they also consist of whole chunks of 16 bytes.
template <class... S>
bool rows_of_vectors(const RowShape& shape, const Rows<S>&... rows) {
  return (... && (shape.size % kChunk<S> == 0)) && begin_aligned(shape, rows...);
}

// A thread's kChunks chunks of a row of n elements, as they are stored: chunk k begins at index(k), as in for_chunks.
template <class Group, int kChunks, class S>
struct HeldRow {
  static constexpr int N = kChunk<S>;
  uint4 chunks[kChunks];

  static __device__ __forceinline__ int index(int k) { return (k * Group::kThreadsPerRow + Group::rank()) * N; }
  // Issues all loads. row is a multiple of 16 bytes, n of N.
  __device__ __forceinline__ void load(const S* row, int n) {
#pragma unroll
    for (int k = 0; k < kChunks; ++k) {
      if (index(k) < n) chunks[k] = *reinterpret_cast<const uint4*>(row + index(k));
    }
  }
  // Moves a row to the second-level cache, for load().
  static __device__ __forceinline__ void prefetch(const S* row, int n) {
#pragma unroll
    for (int k = 0; k < kChunks; ++k) {
      if (index(k) < n) cuda::prefetch(row + index(k));
    }
  }
  __device__ __forceinline__ void save(S* row, int n) const {
#pragma unroll
    for (int k = 0; k < kChunks; ++k) {
      if (index(k) < n) *reinterpret_cast<uint4*>(row + index(k)) = chunks[k];
    }
  }
  // The elements of chunk k, which must be within the row.
  template <class T>
  __device__ __forceinline__ void get(T (&v)[N], int k) const {
    alignas(16) S held[N];
    *reinterpret_cast<uint4*>(held) = chunks[k];
    for (int j = 0; j < N; ++j) v[j] = cuda::load<T>(held + j);
  }
  template <class T>
  __device__ __forceinline__ void put(int k, const T (&v)[N]) {
    alignas(16) S held[N];
    for (int j = 0; j < N; ++j) store(held + j, v[j]);
    chunks[k] = *reinterpret_cast<const uint4*>(held);
  }
};

}  // namespace pg::cuda
