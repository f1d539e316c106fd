#pragma once
// The kernels that call the exercise functions, and the functions of Impl that launch these kernels. `Pieces` holds the
// engine's device functions (reference.cu) or yours (exercise.cu).
#include <algorithm>

#include "lessons/11_cuda/device.h"
#include "lessons/11_cuda/pieces.h"

namespace pg::lesson11 {

inline unsigned blocks_of(int64_t n, int64_t each) { return static_cast<unsigned>((n + each - 1) / each); }

// Runs kernel<<<blocks, kThreads>>>(arguments...).
template <class Kernel, class... Arguments>
void run(Kernel kernel, dim3 blocks, const Arguments&... arguments) {
  start([&] { cuda::launch(kernel, blocks, kThreads, 0, nullptr, arguments...); });
}

// What kernel(y, x, more..., rows, columns) writes to y, which is as large as x.
template <class Kernel, class... Vectors>
Matrix by_rows(Kernel kernel, unsigned blocks, int threads, const Matrix& x, const Vectors&... more) {
  const OnDevice to(x.rows * x.columns);
  const auto launch = [&](const auto&... from) {
    start([&] { cuda::launch(kernel, blocks, threads, 0, nullptr, to, from..., x.rows, x.columns); });
  };
  launch(OnDevice(x.v), OnDevice(more)...);
  return {x.rows, x.columns, to.numbers()};
}

// ---- 11.1

// More blocks than any check or demonstration asks for.
inline constexpr unsigned kMostCounted = 64;

// visits [min(gridDim.x, kMostCounted), n]: up to kMostCounted blocks each count in a row of their own. Blocks run at
// the same time, and two of them that wrote to one count could lose a visit.
template <class Pieces>
__global__ void visits_kernel(float* visits, int64_t n) {
  // As exercise.cu has it, but never more than n + 1 steps: with a step of 0 the loop would not end.
  int64_t left = n + 1;
  for (int64_t i = Pieces::first_index(); i < n && left > 0; i += Pieces::index_step(), --left) {
    visits[blockIdx.x % kMostCounted * n + i] += 1;
  }
}

template <class Pieces>
Numbers visits(unsigned blocks, int64_t n) {
  const OnDevice count(std::min(blocks, kMostCounted) * n);
  run(visits_kernel<Pieces>, blocks, count, n);
  const Numbers of_blocks = count.numbers();
  Numbers sums(static_cast<size_t>(n));
  for (size_t i = 0; i < of_blocks.size(); ++i) sums[i % sums.size()] += of_blocks[i];
  return sums;
}

// ---- 11.2

template <class Pieces, int kSize>
__global__ void reduce_kernel(const float* x, float* sums, float* squares, float* maxima) {
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  sums[i] = Pieces::template reduce<kSize>(x[i], Plus{});
  squares[i] = Pieces::template reduce<kSize>(x[i] * x[i], Plus{});
  maxima[i] = Pieces::template reduce<kSize>(x[i], Max{});
}

template <class Pieces>
Reduced reduced(const Numbers& x, int team) {
  const int64_t n = static_cast<int64_t>(x.size());
  const OnDevice from(x), sums(n), squares(n), maxima(n);
  run(team == kWarp ? reduce_kernel<Pieces, kWarp> : reduce_kernel<Pieces, kThreads>, blocks_of(n, kThreads), from,
      sums, squares, maxima);
  return {sums.numbers(), squares.numbers(), maxima.numbers()};
}

inline constexpr int kMostColumns = 2048;  // columns of a row in shared memory

// One block per row. The block reads the row once, keeps it in shared memory, and needs two sums over it.
template <class Pieces>
__global__ void layer_norm_kernel(float* y, const float* x, const float* w, const float* b, int64_t /*rows*/, int n) {
  __shared__ float row[kMostColumns];
  const int64_t first = int64_t{blockIdx.x} * n;
  float sum = 0, squares = 0;
  for (int i = threadIdx.x; i < n; i += kThreads) {
    row[i] = x[first + i];
    sum += row[i];
  }
  const float mean = Pieces::template reduce<kThreads>(sum, Plus{}) / n;
  for (int i = threadIdx.x; i < n; i += kThreads) squares += (row[i] - mean) * (row[i] - mean);
  const float scale = 1 / ::sqrtf(Pieces::template reduce<kThreads>(squares, Plus{}) / n + 1e-5f);
  for (int i = threadIdx.x; i < n; i += kThreads) y[first + i] = (row[i] - mean) * scale * w[i] + b[i];
}

template <class Pieces>
Matrix layer_norm(const Matrix& x, const Numbers& w, const Numbers& b) {
  return by_rows(layer_norm_kernel<Pieces>, static_cast<unsigned>(x.rows), kThreads, x, w, b);
}

// ---- 11.3

// c [m, n] = a·b, or c += a·b. Block (x, y) computes the tile at row y·kTile, column x·kTile; each thread computes
// kN x kN elements of it.
template <class Pieces, bool kAdds>
__global__ void matmul_kernel(float* c, Operand a, Operand b, int64_t k) {
  __shared__ __align__(16) Slice left;
  __shared__ __align__(16) Slice right;
  const int64_t i0 = int64_t{blockIdx.y} * kTile, j0 = int64_t{blockIdx.x} * kTile, n = b.rows;
  float sums[kN][kN] = {};
  const auto for_sums = [&](auto f) {
    for (int i = 0; i < kN; ++i) {
      for (int j = 0; j < kN; ++j) {
        const int64_t row = i0 + cuda::tile_row() * kN + i, column = j0 + cuda::tile_column() * kN + j;
        if (row < a.rows && column < n) f(sums[i][j], c[row * n + column]);
      }
    }
  };
  if constexpr (kAdds) for_sums([](float& sum, float& element) { sum = element; });
  Pieces::add_product(sums, left, right, {a.data + i0 * a.row_step, a.row_step, a.depth_step, a.rows - i0},
                      {b.data + j0 * b.row_step, b.row_step, b.depth_step, n - j0}, k);
  for_sums([](float& sum, float& element) { element = sum; });
}

template <class Pieces>
Matrix matmul(const Matrix& a, const Matrix& b, bool turn_a, bool turn_b) {
  const OnDevice left(a.v), right(b.v);
  const Operand rows = turn_a ? Operand{left, 1, a.columns, a.columns} : Operand{left, a.columns, 1, a.rows};
  const Operand columns = turn_b ? Operand{right, b.columns, 1, b.rows} : Operand{right, 1, b.columns, b.columns};
  const OnDevice c(rows.rows * columns.rows);
  run(matmul_kernel<Pieces, false>, dim3(blocks_of(columns.rows, kTile), blocks_of(rows.rows, kTile)), c, rows, columns,
      turn_a ? a.rows : a.columns);
  return {rows.rows, columns.rows, c.numbers()};
}

template <class Pieces>
Matrix add_matmul(const Matrix& c, const Matrix& a, const Matrix& b) {
  const OnDevice left(a.v), right(b.v), to(c.v);
  run(matmul_kernel<Pieces, true>, dim3(blocks_of(c.columns, kTile), blocks_of(c.rows, kTile)), to,
      Operand{left, a.columns, 1, a.rows}, Operand{right, 1, b.columns, b.columns}, a.columns);
  return {c.rows, c.columns, to.numbers()};
}

// ---- 11.4: one warp per row

template <class Pieces>
__global__ void row_stats_kernel(float* max, float* sum, const float* x, int64_t rows, int64_t n) {
  for (int64_t r = Team::first_row(); r < rows; r += Team::row_step()) {
    const RowStats stats = Pieces::row_stats(x + r * n, n);
    if (Team::rank() != 0) continue;
    max[r] = stats.max;
    sum[r] = stats.sum;
  }
}

template <class Pieces>
Stats row_stats(const Matrix& x) {
  const OnDevice from(x.v), max(x.rows), sum(x.rows);
  run(row_stats_kernel<Pieces>, Team::blocks(x.rows), max, sum, from, x.rows, x.columns);
  return {max.numbers(), sum.numbers()};
}

template <class Pieces>
__global__ void softmax_kernel(float* y, const float* x, int64_t rows, int64_t n) {
  for (int64_t r = Team::first_row(); r < rows; r += Team::row_step()) {
    const RowStats stats = Pieces::row_stats(x + r * n, n);
    for (int64_t i = Team::rank(); i < n; i += kWarp) y[r * n + i] = ::expf(x[r * n + i] - stats.max) / stats.sum;
  }
}

template <class Pieces>
Matrix softmax(const Matrix& x) {
  return by_rows(softmax_kernel<Pieces>, Team::blocks(x.rows), kThreads, x);
}

// ---- 11.5

// y [columns, rows] = xᵀ. One block per tile. A warp reads rows of the tile, then writes columns.
template <class Pieces>
__global__ void transpose_kernel(float* y, const float* x, int64_t rows, int64_t columns) {
  __shared__ float tile[kSlots];
  const int64_t i0 = int64_t{blockIdx.y} * kSquare, j0 = int64_t{blockIdx.x} * kSquare;
  const int lane = threadIdx.x % kWarp;
  for (int i = threadIdx.x / kWarp; i < kSquare; i += kThreads / kWarp) {
    if (i0 + i < rows && j0 + lane < columns) tile[Pieces::slot(i, lane)] = x[(i0 + i) * columns + j0 + lane];
  }
  __syncthreads();
  for (int j = threadIdx.x / kWarp; j < kSquare; j += kThreads / kWarp) {
    if (j0 + j < columns && i0 + lane < rows) y[(j0 + j) * rows + i0 + lane] = tile[Pieces::slot(lane, j)];
  }
}

template <class Pieces>
Matrix transpose(const Matrix& x) {
  const OnDevice from(x.v), to(x.rows * x.columns);
  run(transpose_kernel<Pieces>, dim3(blocks_of(x.columns, kSquare), blocks_of(x.rows, kSquare)), to, from, x.rows,
      x.columns);
  return {x.columns, x.rows, to.numbers()};
}

template <class Pieces>
Impl impl_of() {
  return {.blocks_for = Pieces::blocks_for,
          .visits = visits<Pieces>,
          .reduce = reduced<Pieces>,
          .layer_norm = layer_norm<Pieces>,
          .matmul = matmul<Pieces>,
          .add_matmul = add_matmul<Pieces>,
          .row_stats = row_stats<Pieces>,
          .softmax = softmax<Pieces>,
          .transpose = transpose<Pieces>};
}

}  // namespace pg::lesson11
