#pragma once
// The device code that you write. exercise.cu includes this file and, at its end, harness.h.
#include "lessons/11_cuda/device.h"
#include "tensor/cuda/base/row.h"
#include "tensor/cuda/gemm/tile.h"

namespace pg::lesson11 {

using cuda::kThreads;  // 256: threads per block
using cuda::kWarp;     // 32

// ---- 11.1
unsigned blocks_for(int64_t n);
__device__ int64_t first_index();
__device__ int64_t index_step();

// ---- 11.2
struct Plus {
  __device__ float operator()(float a, float b) const { return a + b; }
};
struct Max {
  __device__ float operator()(float a, float b) const { return a > b ? a : b; }
};
template <int kSize, class T, class F>
__device__ T reduce(T x, F f);

// ---- 11.3
inline constexpr int kTile = 64;                // rows and columns of c that a block computes
inline constexpr int kDepth = cuda::kDepth;     // 16: depth of the sum over k that is in shared memory at a time
inline constexpr int kN = kTile / cuda::kSide;  // 4: rows and columns of c that a thread computes
using Slice = cuda::Slice<float, kTile>;        // [kDepth][kTile + 4] floats
// Rows of a, or columns of b. Element d of row r is data[r·row_step + d·depth_step], and there are `rows` rows.
struct Operand {
  const float* data;
  int64_t row_step, depth_step, rows;
};
__device__ void add_product(float (&sums)[kN][kN], Slice& left, Slice& right, Operand a, Operand b, int64_t k);

// ---- 11.4
using Team = cuda::ThreadGroup<kWarp>;  // the warp that shares a row
inline constexpr float kLowest = -std::numeric_limits<float>::infinity();
struct RowStats {
  float max, sum;  // the largest x, and Σ e^(x - max)
};
__device__ RowStats row_stats(const float* x, int64_t n);

// ---- 11.5
inline constexpr int kSquare = 32;                      // rows and columns of a tile
inline constexpr int kSlots = kSquare * (kSquare + 1);  // floats of shared memory for a tile
__device__ int slot(int row, int column);

}  // namespace pg::lesson11
