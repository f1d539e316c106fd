#pragma once
// Products of bf16 tiles in shared memory on tensor cores, with sums in f32 registers. A tile has rows of kSize values
// in chunks of 16 bytes. Chunk c of row r is stored at position c ^ r % 8. So chunks c of eight rows are in different
// banks, as ldmatrix requires for speed, and a row is contiguous, as cp.async writes it.
#include <cuda_bf16.h>

#include <cstring>

#include "tensor/cuda/mma/mma.h"

namespace pg::cuda {

inline constexpr int kMmaThreads = 128;  // threads per block: four warps
__device__ __forceinline__ int warp_index() { return static_cast<int>(threadIdx.x) / 32; }
__device__ __forceinline__ int lane_index() { return static_cast<int>(threadIdx.x) % 32; }
// In the sums c of an mma (mma.h), a lane holds rows sum_row() and sum_row() + 8, columns sum_column() and sum_column()
// + 1.
__device__ __forceinline__ int sum_row() { return lane_index() / 4; }
__device__ __forceinline__ int sum_column() { return lane_index() % 4 * 2; }

// Reductions over the four neighbouring lanes that share a row of sums.
__device__ __forceinline__ float row_max(float x) {
  x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 1));
  return fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 2));
}
__device__ __forceinline__ float row_sum(float x) {
  x += __shfl_xor_sync(0xffffffffu, x, 1);
  return x + __shfl_xor_sync(0xffffffffu, x, 2);
}

template <int kSize>
class MmaTile {
 public:
  static constexpr int kChunks = kSize / 8, kRowBytes = 2 * kSize;
  static_assert(kChunks >= 8 && kChunks % 8 == 0, "the positions c ^ r % 8 of a row's chunks must be inside the row");

  // `begin` must be a multiple of kRowBytes.
  __device__ explicit MmaTile(const void* begin)
      : begin_(address_in_shared(begin)),
        straight_(begin_ + chunk(lane_index() % 16, lane_index() / 16)),
        crossed_(begin_ + chunk(lane_index() % 8 + lane_index() / 16 * 8, lane_index() / 8 % 2)) {}

  // The tile that begins `bytes` after this one.
  __device__ __forceinline__ MmaTile behind(int bytes) const {
    MmaTile other = *this;
    for (shared_address* at : {&other.begin_, &other.straight_, &other.crossed_}) *at += static_cast<unsigned>(bytes);
    return other;
  }

  // Starts asynchronous copies of rows first … first + kRows - 1 of a matrix, whose rows are `step` elements apart, to
  // the tile's rows. Rows for which there(row) is false become 0.
  template <int kRows, class There>
  __device__ __forceinline__ void fetch(const __nv_bfloat16* matrix, int step, int first, There there) const {
    static_assert(kRows * kChunks % kMmaThreads == 0);
    const int r = static_cast<int>(threadIdx.x) / kChunks, c = static_cast<int>(threadIdx.x) % kChunks;
#pragma unroll
    for (int i = 0; i < kRows; i += kMmaThreads / kChunks) {
      const int row = first + r + i;
      cp_async_16(begin_ + chunk(r + i, c), matrix + int64_t{row} * step + 8 * c, there(row));
    }
  }

  // Loads the 16 x 16 block at `row` (a multiple of 8) and column 16·part as left operand.
  __device__ __forceinline__ void left(uint32_t (&a)[4], int row, int part) const {
    ldmatrix_x4(a, at(straight_, row, part));
  }
  // Loads two right operands; rows of the tile are columns of the operands.
  __device__ __forceinline__ void right_transposed(uint32_t (&b)[4], int row, int part) const {
    ldmatrix_x4(b, at(crossed_, row, part));
  }
  // Loads two right operands; rows of the tile are rows of the operands.
  __device__ __forceinline__ void right(uint32_t (&b)[4], int row, int part) const {
    ldmatrix_x4_trans(b, at(straight_, row, part));
  }

 private:
  static __device__ __forceinline__ unsigned chunk(int row, int c) {
    return static_cast<unsigned>(row * kRowBytes + (c ^ row % 8) * 16);
  }
  // Converts the address of a lane's ldmatrix row in block (0, 0) to the address in another block.
  static __device__ __forceinline__ shared_address at(shared_address lane, int row, int part) {
    return (lane ^ static_cast<unsigned>(part * 32)) + static_cast<unsigned>(row * kRowBytes);
  }

  // Shared-memory addresses: the tile's start; this lane's ldmatrix row in block (0, 0), plain and transposed.
  shared_address begin_, straight_, crossed_;
};

// 16·kM rows of a tile as left operands: kept in registers, or read again for each use.
template <int kM, int kSize, bool kKept>
class LeftRows {
 public:
  __device__ __forceinline__ LeftRows(const MmaTile<kSize>& tile, int row) : tile_(tile), row_(row) {}

  // Must be called after the rows have arrived.
  __device__ __forceinline__ void begin() {
    if constexpr (kKept) {
#pragma unroll
      for (int part = 0; part < kSize / 16; ++part) read(kept_[part], part);
    }
  }
  __device__ __forceinline__ void read(uint32_t (&a)[kM][4], int part) const {
#pragma unroll
    for (int m = 0; m < kM; ++m) tile_.left(a[m], row_ + 16 * m, part);
  }
  __device__ __forceinline__ void get(uint32_t (&a)[kM][4], int part) const {
    if constexpr (kKept) {
#pragma unroll
      for (int m = 0; m < kM; ++m) {
#pragma unroll
        for (int i = 0; i < 4; ++i) a[m][i] = kept_[part][m][i];
      }
    } else {
      read(a, part);
    }
  }

 private:
  MmaTile<kSize> tile_;
  int row_;
  uint32_t kept_[kKept ? kSize / 16 : 1][kM][4];
};

// A warp's sums: [16·kM, 8·kN] values.
template <int kM, int kN>
using Sums = float[kM][kN][4];

template <int kM, int kN>
__device__ __forceinline__ void clear(Sums<kM, kN>& sums) {
#pragma unroll
  for (int m = 0; m < kM; ++m) {
#pragma unroll
    for (int n = 0; n < kN; ++n) {
#pragma unroll
      for (int i = 0; i < 4; ++i) sums[m][n][i] = 0;
    }
  }
}

// scores = x·yᵀ, for the first rows of y.
template <int kM, int kN, int kSize, bool kKept>
__device__ __forceinline__ void multiply_rows(Sums<kM, kN>& scores, const LeftRows<kM, kSize, kKept>& x,
                                              const MmaTile<kSize>& y) {
  clear(scores);
#pragma unroll
  for (int part = 0; part < kSize / 16; ++part) {
    uint32_t a[kM][4];
    x.get(a, part);
#pragma unroll
    for (int n = 0; n < kN; n += 2) {
      uint32_t b[4];
      y.right_transposed(b, 8 * n, part);
#pragma unroll
      for (int m = 0; m < kM; ++m) {
        mma_m16n8k16(scores[m][n], a[m], b[0], b[1]);
        mma_m16n8k16(scores[m][n + 1], a[m], b[2], b[3]);
      }
    }
  }
}

__device__ __forceinline__ uint32_t bf16_pair(float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  uint32_t bits;
  std::memcpy(&bits, &pair, sizeof(bits));
  return bits;
}

// sums += w·y, w rounded to bf16, for the first rows of y. The layout of sums in a lane's registers is the one that a
// left operand requires, so w needs no data exchange.
template <int kM, int kN, int kSize>
__device__ __forceinline__ void add_weighted(Sums<kM, kSize / 8>& sums, const Sums<kM, kN>& w,
                                             const MmaTile<kSize>& y) {
#pragma unroll
  for (int n = 0; n < kN; n += 2) {
    uint32_t a[kM][4];
#pragma unroll
    for (int m = 0; m < kM; ++m) {
#pragma unroll
      for (int i = 0; i < 4; ++i) a[m][i] = bf16_pair(w[m][n + i / 2][i % 2 * 2], w[m][n + i / 2][i % 2 * 2 + 1]);
    }
#pragma unroll
    for (int part = 0; part < kSize / 16; ++part) {
      uint32_t b[4];
      y.right(b, 8 * n, part);
#pragma unroll
      for (int m = 0; m < kM; ++m) {
        mma_m16n8k16(sums[m][2 * part], a[m], b[0], b[1]);
        mma_m16n8k16(sums[m][2 * part + 1], a[m], b[2], b[3]);
      }
    }
  }
}

}  // namespace pg::cuda
