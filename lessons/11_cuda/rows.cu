// Softmax and layer norm of rows, step by step.
#include "lessons/11_cuda/harness.h"
#include "lessons/11_cuda/versions.h"

namespace pg::lesson11 {
namespace {

// ---- naive: one thread per row

__global__ void softmax_naive_kernel(float* y, const float* x, int rows, int n) {
  const int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  const float* from = x + int64_t{r} * n;
  float top = from[0], sum = 0;
  for (int i = 1; i < n; ++i) top = Max{}(top, from[i]);
  for (int i = 0; i < n; ++i) sum += ::expf(from[i] - top);
  for (int i = 0; i < n; ++i) y[int64_t{r} * n + i] = ::expf(from[i] - top) / sum;
}

__global__ void layer_norm_naive_kernel(float* y, const float* x, const float* w, const float* b, int rows, int n) {
  const int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  const float* from = x + int64_t{r} * n;
  float mean = 0, squares = 0;
  for (int i = 0; i < n; ++i) mean += from[i] / n;
  for (int i = 0; i < n; ++i) squares += (from[i] - mean) * (from[i] - mean);
  const float scale = 1 / ::sqrtf(squares / n + 1e-5f);
  for (int i = 0; i < n; ++i) y[int64_t{r} * n + i] = (from[i] - mean) * scale * w[i] + b[i];
}

// ---- coalesced: one warp per row, whose 32 lanes read 32 neighbouring elements

__global__ void softmax_coalesced_kernel(float* y, const float* x, int64_t rows, int n) {
  for (int64_t r = Team::first_row(); r < rows; r += Team::row_step()) {
    const float* from = x + r * n;
    float top = kLowest, sum = 0;
    for (int i = Team::rank(); i < n; i += kWarp) top = Max{}(top, from[i]);
    top = Team::reduce(top, Max{});
    for (int i = Team::rank(); i < n; i += kWarp) sum += ::expf(from[i] - top);
    sum = Team::reduce(sum, Plus{});
    for (int i = Team::rank(); i < n; i += kWarp) y[r * n + i] = ::expf(from[i] - top) / sum;
  }
}

__global__ void layer_norm_coalesced_kernel(float* y, const float* x, const float* w, const float* b, int64_t rows,
                                            int n) {
  for (int64_t r = Team::first_row(); r < rows; r += Team::row_step()) {
    const float* from = x + r * n;
    float sum = 0, squares = 0;
    for (int i = Team::rank(); i < n; i += kWarp) sum += from[i];
    const float mean = Team::reduce(sum, Plus{}) / n;
    for (int i = Team::rank(); i < n; i += kWarp) squares += (from[i] - mean) * (from[i] - mean);
    const float scale = 1 / ::sqrtf(Team::reduce(squares, Plus{}) / n + 1e-5f);
    for (int i = Team::rank(); i < n; i += kWarp) y[r * n + i] = (from[i] - mean) * scale * w[i] + b[i];
  }
}

// ---- vectorised: 16 bytes per access, and the row stays in registers

constexpr int kVectors = kMostInRegisters / (4 * kWarp);  // number of float4 of a row per lane

// Calls f(vector of v, index of the vector in the row) for this lane's vectors.
template <class F>
__device__ void for_vectors(float4 (&v)[kVectors], int n, F f) {
#pragma unroll
  for (int j = 0; j < kVectors; ++j) {
    if (const int i = j * kWarp + Team::rank(); i < n / 4) f(v[j], i);
  }
}

__global__ void softmax_vectorised_kernel(float4* y, const float4* x, int64_t rows, int n) {
  for (int64_t r = Team::first_row(); r < rows; r += Team::row_step()) {
    const int64_t first = r * n / 4;
    float4 v[kVectors];
    float top = kLowest, sum = 0;
    for_vectors(v, n, [&](float4& p, int i) {
      p = x[first + i];
      top = Max{}(top, Max{}(Max{}(p.x, p.y), Max{}(p.z, p.w)));
    });
    top = Team::reduce(top, Max{});
    for_vectors(v, n, [&](float4& p, int) {
      p = make_float4(::expf(p.x - top), ::expf(p.y - top), ::expf(p.z - top), ::expf(p.w - top));
      sum += p.x + p.y + p.z + p.w;
    });
    const float inverse = 1 / Team::reduce(sum, Plus{});
    for_vectors(v, n, [&](float4& p, int i) {
      y[first + i] = make_float4(p.x * inverse, p.y * inverse, p.z * inverse, p.w * inverse);
    });
  }
}

__global__ void layer_norm_vectorised_kernel(float4* y, const float4* x, const float4* w, const float4* b, int64_t rows,
                                             int n) {
  for (int64_t r = Team::first_row(); r < rows; r += Team::row_step()) {
    const int64_t first = r * n / 4;
    float4 v[kVectors];
    float sum = 0, squares = 0;
    for_vectors(v, n, [&](float4& p, int i) {
      p = x[first + i];
      sum += p.x + p.y + p.z + p.w;
    });
    const float mean = Team::reduce(sum, Plus{}) / n;
    for_vectors(v, n, [&](float4& p, int) {
      p = make_float4(p.x - mean, p.y - mean, p.z - mean, p.w - mean);
      squares += p.x * p.x + p.y * p.y + p.z * p.z + p.w * p.w;
    });
    const float scale = 1 / ::sqrtf(Team::reduce(squares, Plus{}) / n + 1e-5f);
    for_vectors(v, n, [&](float4& p, int i) {
      const float4 g = w[i], c = b[i];
      y[first + i] = make_float4(p.x * scale * g.x + c.x, p.y * scale * g.y + c.y, p.z * scale * g.z + c.z,
                                 p.w * scale * g.w + c.w);
    });
  }
}

constexpr int kRowThreads = 64;  // threads per block if each thread has a row: more blocks for the same rows

}  // namespace

Matrix softmax_naive(const Matrix& x) {
  return by_rows(softmax_naive_kernel, blocks_of(x.rows, kRowThreads), kRowThreads, x);
}
Matrix softmax_coalesced(const Matrix& x) {
  return by_rows(softmax_coalesced_kernel, Team::blocks(x.rows), kThreads, x);
}
Matrix softmax_vectorised(const Matrix& x) {
  return by_rows(softmax_vectorised_kernel, Team::blocks(x.rows), kThreads, x);
}

Matrix layer_norm_naive(const Matrix& x, const Numbers& w, const Numbers& b) {
  return by_rows(layer_norm_naive_kernel, blocks_of(x.rows, kRowThreads), kRowThreads, x, w, b);
}
Matrix layer_norm_coalesced(const Matrix& x, const Numbers& w, const Numbers& b) {
  return by_rows(layer_norm_coalesced_kernel, Team::blocks(x.rows), kThreads, x, w, b);
}
Matrix layer_norm_vectorised(const Matrix& x, const Numbers& w, const Numbers& b) {
  return by_rows(layer_norm_vectorised_kernel, Team::blocks(x.rows), kThreads, x, w, b);
}

}  // namespace pg::lesson11
