#pragma once
// Shared code of the attention kernels on tensor cores: which keys a query sees, and loading rows into shared memory.
#include "tensor/cuda/attention/attention.h"
#include "tensor/cuda/attention/attention_tile.h"
#include "tensor/cuda/mma/mma_tile.h"

namespace pg::cuda {

inline constexpr float kLog2E = 1.44269504088896341f;
inline constexpr int kWarps = kMmaThreads / 32;

// f(integral_constant<kSize>) for the head dimension of q.
template <class F>
void visit_mma_size(const View& q, F&& f) {
  if (q.shape[3] == 64) return f(std::integral_constant<int, 64>{});
  f(std::integral_constant<int, 128>{});
}

// kernel<<<blocks, kMmaThreads, shared_bytes>>>(args...), opting in to more than 48 KB of shared memory if needed.
template <class... Params, class... Args>
void launch_mma(void (*kernel)(Params...), int64_t blocks, int shared_bytes, Args&&... args) {
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes),
        "cudaFuncSetAttribute");
  launch(kernel, static_cast<unsigned>(blocks), kMmaThreads, static_cast<size_t>(shared_bytes), stream(),
         std::forward<Args>(args)...);
}

// Which keys the queries of a batch row see, in 32-bit integers: those before `length`; with a causal mask query t only
// up to key t + shift.
struct Horizon {
  __device__ Horizon(const AttentionSizes<float>& s, int64_t b)
      : length(static_cast<int>(s.length(b))), shift(s.causal ? length - static_cast<int>(s.queries) : length) {}
  int length, shift;

  __device__ int end(int t) const { return max(0, min(length, t + shift + 1)); }
  // The first query that sees the key.
  __device__ int first_query(int key) const { return key < length ? key - shift : 0x7fffffff; }
};

// Sets the scores to -inf for keys (columns, from `key` on) that the query (rows, from `query` on) does not see.
template <int kM, int kN>
__device__ __forceinline__ void hide_keys(Sums<kM, kN>& scores, const Horizon& horizon, int query, int key) {
  constexpr float inf = std::numeric_limits<float>::infinity();
#pragma unroll
  for (int m = 0; m < kM; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int seen = horizon.end(query + 16 * m + 8 * half + sum_row()) - key - sum_column();
#pragma unroll
      for (int n = 0; n < kN; ++n) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          if (8 * n + i >= seen) scores[m][n][2 * half + i] = -inf;
        }
      }
    }
  }
}

// hide_keys for transposed scores: rows are keys, columns are queries.
template <int kM, int kN>
__device__ __forceinline__ void hide_keys_transposed(Sums<kM, kN>& scores, const Horizon& horizon, int key, int query) {
#pragma unroll
  for (int m = 0; m < kM; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = key + 16 * m + 8 * half + sum_row();
      const int first = row < horizon.length ? row - horizon.shift - query - sum_column() : 0x7fffffff;
#pragma unroll
      for (int n = 0; n < kN; ++n) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          if (8 * n + i < first) scores[m][n][2 * half + i] = -std::numeric_limits<float>::infinity();
        }
      }
    }
  }
}

// A head of q, k, v or dout as a matrix of rows.
struct Matrix {
  __device__ Matrix(const Heads<const __nv_bfloat16>& x, int64_t b, int64_t h)
      : data(x.at(b, h, 0)), step(static_cast<int>(x.row)) {}
  const __nv_bfloat16* data;
  int step;
};

// Starts asynchronous copies of rows first, first + 1, …, below `end`. The remaining rows of the tile become 0: with
// weight 0 they then contribute nothing, whatever the memory held.
template <int kRows, int kSize>
__device__ __forceinline__ void fetch_rows(const MmaTile<kSize>& tile, const Matrix& from, int first, int end) {
  tile.template fetch<kRows>(from.data, from.step, first, [=](int row) { return row < end; });
}
}  // namespace pg::cuda
