// Three of the four competitors in the matmul race. The fourth is the engine's tensor/cpu/gemm/gemm.cpp.
// Full optimisation: they race.
#include <algorithm>
#include <vector>

#include "lessons/01_tensors/lesson.h"

namespace pg::lesson01 {

void matmul_naive(View c, View a, View b) {
  const int64_t M = c.shape[0], N = c.shape[1], K = a.shape[1];
  float* pc = c.as<float>();
  const float *pa = a.as<float>(), *pb = b.as<float>();
  for (int64_t i = 0; i < M; ++i) {
    for (int64_t j = 0; j < N; ++j) {
      float sum = 0;
      for (int64_t k = 0; k < K; ++k) sum += pa[i * K + k] * pb[k * N + j];  // a column of b: a cache line per element
      pc[i * N + j] = sum;
    }
  }
}

void matmul_blocked(View c, View a, View b) {
  constexpr int64_t kDepth = 64, kWidth = 256;  // 64 KiB of b stay in the L2 cache while all rows are processed
  const int64_t M = c.shape[0], N = c.shape[1], K = a.shape[1];
  float* pc = c.as<float>();
  const float *pa = a.as<float>(), *pb = b.as<float>();
  std::fill(pc, pc + M * N, 0.0f);
  for (int64_t k0 = 0; k0 < K; k0 += kDepth) {
    for (int64_t j0 = 0; j0 < N; j0 += kWidth) {
      const int64_t k1 = std::min(k0 + kDepth, K), j1 = std::min(j0 + kWidth, N);
      for (int64_t i = 0; i < M; ++i) {
        for (int64_t k = k0; k < k1; ++k) {
          for (int64_t j = j0; j < j1; ++j) pc[i * N + j] += pa[i * K + k] * pb[k * N + j];
        }
      }
    }
  }
}

namespace {

constexpr int64_t kRows = 4, kColumns = 32;  // the tile of c that is kept in registers

// tile [kRows, kColumns] = a panel [depth, kRows] times b panel [depth, kColumns], both read sequentially.
void multiply_panels(float* tile, const float* a, const float* b, int64_t depth) {
  float sum[kRows][kColumns] = {};
  for (int64_t k = 0; k < depth; ++k) {
    for (int64_t i = 0; i < kRows; ++i) {
      for (int64_t j = 0; j < kColumns; ++j) sum[i][j] += a[k * kRows + i] * b[k * kColumns + j];
    }
  }
  std::copy(&sum[0][0], &sum[0][0] + kRows * kColumns, tile);
}

}  // namespace

void matmul_packed(View c, View a, View b) {
  constexpr int64_t kDepth = 256;
  const int64_t M = c.shape[0], N = c.shape[1], K = a.shape[1];
  float* pc = c.as<float>();
  const float *pa = a.as<float>(), *pb = b.as<float>();
  const int64_t panels = (N + kColumns - 1) / kColumns;
  std::vector<float> packed_b(panels * kDepth * kColumns), packed_a(kDepth * kRows);
  float tile[kRows * kColumns];
  std::fill(pc, pc + M * N, 0.0f);
  for (int64_t k0 = 0; k0 < K; k0 += kDepth) {
    const int64_t depth = std::min(kDepth, K - k0);
    std::fill(packed_b.begin(), packed_b.end(), 0.0f);  // columns past the edge multiply by 0
    for (int64_t k = 0; k < depth; ++k) {
      for (int64_t j = 0; j < N; ++j) {
        packed_b[(j / kColumns * depth + k) * kColumns + j % kColumns] = pb[(k0 + k) * N + j];
      }
    }
    for (int64_t i0 = 0; i0 < M; i0 += kRows) {
      const int64_t rows = std::min(kRows, M - i0);
      std::fill(packed_a.begin(), packed_a.end(), 0.0f);
      for (int64_t i = 0; i < rows; ++i) {
        for (int64_t k = 0; k < depth; ++k) packed_a[k * kRows + i] = pa[(i0 + i) * K + k0 + k];
      }
      for (int64_t p = 0; p < panels; ++p) {
        multiply_panels(tile, packed_a.data(), packed_b.data() + p * depth * kColumns, depth);
        const int64_t columns = std::min(kColumns, N - p * kColumns);
        for (int64_t i = 0; i < rows; ++i) {
          for (int64_t j = 0; j < columns; ++j) pc[(i0 + i) * N + p * kColumns + j] += tile[i * kColumns + j];
        }
      }
    }
  }
}

}  // namespace pg::lesson01
