// The matrix product c [M, N] = a [M, K] · b [K, N], step by step.
#include "lessons/11_cuda/harness.h"
#include "lessons/11_cuda/versions.h"

namespace pg::lesson11 {
namespace {

struct Sizes {
  int m, n, k;
};

__device__ float dot(const float* a, const float* b, Sizes s, int i, int j) {
  float sum = 0;
  for (int k = 0; k < s.k; ++k) sum += a[i * s.k + k] * b[k * s.n + j];
  return sum;
}

__global__ void naive_kernel(float* c, const float* a, const float* b, Sizes s) {
  const int64_t t = cuda::first_index();
  const int i = static_cast<int>(t % s.m), j = static_cast<int>(t / s.m);  // neighbours: same column of c
  if (j < s.n) c[i * s.n + j] = dot(a, b, s, i, j);
}

__global__ void coalesced_kernel(float* c, const float* a, const float* b, Sizes s) {
  const int64_t t = cuda::first_index();
  const int i = static_cast<int>(t / s.n), j = static_cast<int>(t % s.n);  // neighbours: same row of c
  if (i < s.m) c[i * s.n + j] = dot(a, b, s, i, j);
}

constexpr int kSmall = 16;  // rows and columns of a tile; each thread computes one element

template <bool kRace>
__global__ void shared_kernel(float* c, const float* a, const float* b, Sizes s) {
  __shared__ float left[kSmall][kSmall];
  __shared__ float right[kSmall][kSmall];
  const int row = threadIdx.x / kSmall, column = threadIdx.x % kSmall;
  const int i = blockIdx.y * kSmall + row, j = blockIdx.x * kSmall + column;
  float sum = 0;
  for (int k = 0; k < s.k; k += kSmall) {
    left[row][column] = i < s.m && k + column < s.k ? a[i * s.k + k + column] : 0.0f;
    right[row][column] = j < s.n && k + row < s.k ? b[(k + row) * s.n + j] : 0.0f;
    __syncthreads();
    for (int d = 0; d < kSmall; ++d) sum += left[row][d] * right[d][column];
    if (!kRace) __syncthreads();  // wait before the next tile overwrites this one
  }
  if (i < s.m && j < s.n) c[i * s.n + j] = sum;
}

// Your tiles of 64 x 64 with vectorized 16-byte accesses: sizes are multiples of kTile.
__global__ void __launch_bounds__(kThreads) vectorised_kernel(float* c, const float* a, const float* b, Sizes s) {
  __shared__ __align__(16) Slice left;
  __shared__ __align__(16) Slice right;
  const int i0 = blockIdx.y * kTile, j0 = blockIdx.x * kTile, t = threadIdx.x;
  float sums[kN][kN] = {};
  for (int k = 0; k < s.k; k += kDepth) {
    const int r = t / 4, d = t % 4 * 4;  // a thread copies four elements of a row of a …
    const float4 x = *reinterpret_cast<const float4*>(a + int64_t{i0 + r} * s.k + k + d);
    left[d][r] = x.x, left[d + 1][r] = x.y, left[d + 2][r] = x.z, left[d + 3][r] = x.w;
    const int e = t / kDepth, q = t % kDepth * 4;  // … and four of a row of b
    *reinterpret_cast<float4*>(&right[e][q]) = *reinterpret_cast<const float4*>(b + int64_t{k + e} * s.n + j0 + q);
    __syncthreads();
#pragma unroll
    for (int depth = 0; depth < kDepth; ++depth) {
      const float4 u = *reinterpret_cast<const float4*>(&left[depth][cuda::tile_row() * kN]);
      const float4 v = *reinterpret_cast<const float4*>(&right[depth][cuda::tile_column() * kN]);
      const float us[kN] = {u.x, u.y, u.z, u.w}, vs[kN] = {v.x, v.y, v.z, v.w};
      for (int i = 0; i < kN; ++i) {
        for (int j = 0; j < kN; ++j) sums[i][j] += us[i] * vs[j];
      }
    }
    __syncthreads();
  }
  for (int i = 0; i < kN; ++i) {
    const int64_t row = i0 + cuda::tile_row() * kN + i, column = j0 + cuda::tile_column() * kN;
    *reinterpret_cast<float4*>(c + row * s.n + column) = make_float4(sums[i][0], sums[i][1], sums[i][2], sums[i][3]);
  }
}

Matrix product(void (*kernel)(float*, const float*, const float*, Sizes), dim3 (*blocks)(Sizes), const Matrix& a,
               const Matrix& b) {
  const OnDevice left(a.v), right(b.v), c(a.rows * b.columns);
  const Sizes s{static_cast<int>(a.rows), static_cast<int>(b.columns), static_cast<int>(a.columns)};
  run(kernel, blocks(s), c, left, right, s);
  return {a.rows, b.columns, c.numbers()};
}
dim3 one_per_thread(Sizes s) { return blocks_of(int64_t{s.m} * s.n, kThreads); }
template <int kEdge>
dim3 one_per_tile(Sizes s) {
  return dim3(blocks_of(s.n, kEdge), blocks_of(s.m, kEdge));
}

}  // namespace

Matrix matmul_naive(const Matrix& a, const Matrix& b) { return product(naive_kernel, one_per_thread, a, b); }
Matrix matmul_coalesced(const Matrix& a, const Matrix& b) { return product(coalesced_kernel, one_per_thread, a, b); }
Matrix matmul_shared(const Matrix& a, const Matrix& b) {
  return product(shared_kernel<false>, one_per_tile<kSmall>, a, b);
}
Matrix matmul_racing(const Matrix& a, const Matrix& b) {
  return product(shared_kernel<true>, one_per_tile<kSmall>, a, b);
}
Matrix matmul_vectorised(const Matrix& a, const Matrix& b) {
  return product(vectorised_kernel, one_per_tile<kTile>, a, b);
}

}  // namespace pg::lesson11
