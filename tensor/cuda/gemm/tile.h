#pragma once
// Products of tiles in shared memory, used by matmul and attention. A block has 16 x 16 threads. In a square tile of
// sums, thread (row, column) holds kTile/16 neighbouring rows and columns in registers, so that 2·N values from shared
// memory feed N² multiply-adds.
#include "tensor/cuda/base/array.h"
#include "tensor/cuda/base/scalar.h"

namespace pg::cuda {

inline constexpr int kSide = 16;
static_assert(kThreads == kSide * kSide);
__device__ __forceinline__ int tile_row() { return static_cast<int>(threadIdx.x) / kSide; }
__device__ __forceinline__ int tile_column() { return static_cast<int>(threadIdx.x) % kSide; }

inline constexpr int kDepth = 16;  // depth of the part of the operands that is in shared memory at a time

// A kDepth-deep slice of kTile rows of an operand, transposed: [depth][row]. It is padded by 16 bytes: otherwise
// neighbouring elements that are transposed while being stored would use one bank.
template <class T, int kTile>
using Slice = T[kDepth][kTile + 16 / sizeof(T)];

// to[d][r] = x[r·row_step + d·depth_step] for r < rows and d < depth, else 0. Neighbouring threads read adjacent
// elements of the operand.
template <int kTile, class T, class S>
__device__ void stage(Slice<T, kTile>& to, const S* x, int64_t row_step, int64_t depth_step, int64_t rows,
                      int64_t depth) {
  const bool along_depth = depth_step == 1;
  for (int i = static_cast<int>(threadIdx.x); i < kTile * kDepth; i += kThreads) {
    const int r = along_depth ? i / kDepth : i % kTile;
    const int d = along_depth ? i % kDepth : i / kTile;
    to[d][r] = r < rows && d < depth ? load<T>(x + r * row_step + d * depth_step) : T(0);
  }
}

// sums += aᵀ·b: N x N values per thread.
template <int kTile, class T, int N>
__device__ void multiply(T (&sums)[N][N], const Slice<T, kTile>& a, const Slice<T, kTile>& b) {
  static_assert(N * kSide == kTile);
  const int row = tile_row() * N, column = tile_column() * N;
#pragma unroll
  for (int d = 0; d < kDepth; ++d) {
    T left[N], right[N];
#pragma unroll
    for (int i = 0; i < N; ++i) left[i] = a[d][row + i];
#pragma unroll
    for (int j = 0; j < N; ++j) right[j] = b[d][column + j];
#pragma unroll
    for (int i = 0; i < N; ++i) {
#pragma unroll
      for (int j = 0; j < N; ++j) sums[i][j] = fma(Scalar<T>(left[i]), Scalar<T>(right[j]), Scalar<T>(sums[i][j])).v;
    }
  }
}

}  // namespace pg::cuda
