// int8_matmul: a block computes 16 columns of c for up to 4 rows, reading the bytes of the matrix once.
#include "tensor/cuda/base/kernels_cuda.h"
#include "tensor/cuda/base/row.h"
#include "tensor/cuda/runtime/runtime.h"

namespace pg::cuda {
namespace {

constexpr int kColumns = 16;  // a lane reads 16 bytes: these columns, for its k
constexpr int kMostRows = 4;  // more would not leave a lane registers for its sums
constexpr int kWarps = kThreads / kWarp;

template <class S>
struct Int8Product {
  int64_t m, n, k;
  Rows<S> x, c;
  const uint4* w;  // [⌈n/16⌉, k]
  const float* scale;
  const S* bias;  // may be null
};

// Adds `sums` of all lanes of a warp, a step of which halves the columns that a lane keeps: lane l returns the sum of
// column l/2.
__device__ __forceinline__ float sum_columns(float (&sums)[kColumns]) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
#pragma unroll
  for (int half = kColumns / 2; half > 0; half /= 2) {
    const bool upper = (lane & 2 * half) != 0;
#pragma unroll
    for (int j = 0; j < half; ++j) {
      const float kept = upper ? sums[j + half] : sums[j], sent = upper ? sums[j] : sums[j + half];
      sums[j] = kept + __shfl_xor_sync(0xffffffffu, sent, 2 * half);
    }
  }
  return sums[0] + __shfl_xor_sync(0xffffffffu, sums[0], 1);
}

// Block (p, y): the columns 16p … 16p + 15, and kRows rows of c. Thread t adds the products of k = t, t + 256, …; the
// order of a sum depends on K only.
template <int kRows, class S>
__global__ void __launch_bounds__(kThreads) int8_matmul_kernel(Int8Product<S> g) {
  __shared__ float parts[kRows][kWarps][kColumns];
  const int warp = static_cast<int>(threadIdx.x) / kWarp, lane = static_cast<int>(threadIdx.x) % kWarp;
  const int64_t first = int64_t{blockIdx.y} * kMostRows;
  const int rows = static_cast<int>(min(int64_t{kRows}, g.m - first));
  const uint4* const panel = g.w + int64_t{blockIdx.x} * g.k;
  float sums[kRows][kColumns] = {};
#pragma unroll 4
  for (int64_t k = threadIdx.x; k < g.k; k += kThreads) {
    alignas(16) int8_t bytes[kColumns];
    *reinterpret_cast<uint4*>(bytes) = panel[k];
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      if (r >= rows) break;
      const float x = load<float>(g.x[first + r] + k);
#pragma unroll
      for (int j = 0; j < kColumns; ++j) sums[r][j] = ::fma(x, static_cast<float>(bytes[j]), sums[r][j]);
    }
  }
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const float sum = sum_columns(sums[r]);
    if (lane % 2 == 0) parts[r][warp][lane / 2] = sum;
  }
  __syncthreads();
  const int r = static_cast<int>(threadIdx.x) / kColumns, j = static_cast<int>(threadIdx.x) % kColumns;
  const int64_t column = int64_t{blockIdx.x} * kColumns + j;
  if (r >= rows || column >= g.n) return;
  float sum = parts[r][0][j];
  for (int i = 1; i < kWarps; ++i) sum += parts[r][i][j];
  const float bias = g.bias ? load<float>(g.bias + column) : 0.0f;
  store(g.c[first + r] + column, ::fma(sum, g.scale[column], bias));
}

template <class S>
void start_product(const View& c, const View& x, const View& w, const View& scale, const View& bias) {
  using Stored = stored_t<S>;
  const Int8Product<Stored> g{.m = c.shape[0],
                              .n = c.shape[1],
                              .k = x.shape[1],
                              .x = rows_of<S>(x),
                              .c = rows_of<S>(c),
                              .w = static_cast<const uint4*>(w.data),
                              .scale = data_of<float>(scale),
                              .bias = data_of<S>(bias)};
  const auto start = [&](auto kernel) {
    const dim3 grid(static_cast<unsigned>((g.n + kColumns - 1) / kColumns),
                    static_cast<unsigned>((g.m + kMostRows - 1) / kMostRows));
    launch(kernel, grid, kThreads, 0, stream(), g);
  };
  if (g.m == 1) return start(int8_matmul_kernel<1, Stored>);
  if (g.m == 2) return start(int8_matmul_kernel<2, Stored>);
  start(int8_matmul_kernel<kMostRows, Stored>);
}

}  // namespace

void int8_matmul(const View& c, const View& x, const View& w, const View& scale, const View& bias) {
  if (c.numel() == 0) return;
  x.dtype == bf16 ? start_product<BFloat16>(c, x, w, scale, bias) : start_product<float>(c, x, w, scale, bias);
}

}  // namespace pg::cuda
