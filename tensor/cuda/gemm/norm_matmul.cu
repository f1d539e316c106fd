// norm_matmul: for a few rows, one kernel that streams the matrix once; else a norm and a product.
#include "tensor/cuda/base/kernels_cuda.h"
#include "tensor/cuda/base/norm_row.h"
#include "tensor/cuda/base/scalar.h"
#include "tensor/cuda/runtime/early.h"
#include "tensor/cuda/runtime/runtime.h"

namespace pg::cuda {
namespace {

constexpr int64_t kMostRows = 8;
constexpr int64_t kMostShared = 47 * 1024;  // bytes of normalised rows: with the reductions' no opt-in is needed
constexpr int kWarps = kThreads / kWarp;
constexpr int kReads = 4;  // 16-byte loads of a lane in flight

template <class T, class S>
struct NormProduct {
  RowShape shape;  // of x
  int64_t n;
  Rows<S> c, sum, x, residual;  // sum and residual may be null
  const S* b;                   // column j at b + j * b_step, contiguous
  int64_t b_step;
  const S *norm_weight, *norm_bias, *bias;  // may be null
  bool rms, gelu;
  T eps;
  int64_t step;       // elements between the normalised rows in shared memory, a multiple of 16 bytes
  bool in_registers;  // normalise_in_registers() can be used

  // The elements of a column of c, from each lane's part of their sums.
  template <int kRows>
  __device__ __forceinline__ void finish(const T (&sums)[kRows], int64_t column) const {
    const T added = bias ? load<T>(bias + column) : T(0);
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      if (r >= shape.count) break;
      T y = ThreadGroup<kWarp>::sum(sums[r]) + added;
      if (static_cast<int>(threadIdx.x % kWarp) != r) continue;
      if (gelu) y = gelu_tanh(Scalar<T>(y)).v;
      store(c[r] + column, y);
    }
  }
};

// Writes the norm of every row to `rows`, rounded as norm_kernel rounds it, with the bits of norm_kernel. Elements past
// a row's end are 0. A thread reads only what it wrote itself.
template <class Group, class T, class S>
__device__ __forceinline__ void normalise(const NormProduct<T, S>& g, S* rows) {
  constexpr int N = kChunk<S>;
  const int64_t n = g.shape.size;
  for (int64_t r = threadIdx.x / Group::kThreadsPerRow; r < g.shape.count; r += Group::kRows) {
    S* const row = rows + r * g.step;
    const S *from = g.x[r], *added = g.residual.data ? g.residual[r] : nullptr;
    for_chunks<Group, N>(n, [&](int64_t i) {
      T v[N];
      load_chunk(v, from, i, n, T(0));
      if (added) {
        T more[N];
        load_chunk(more, added, i, n, T(0));
        for (int j = 0; j < N; ++j) v[j] += more[j];
      }
      vector_store(row + i, v);
      if (!added || blockIdx.x > 0) return;
      S* const to = g.sum[r] + i;
      if (is_aligned(to) && i + N <= n) {
        vector_store(to, v);
      } else {
        for (int j = 0; j < N && i + j < n; ++j) store(to + j, v[j]);
      }
    });
    const auto stats = norm_stats<Group, N>(n, !g.rms, g.eps, [&](T(&v)[N], int64_t i, T other) {
      vector_load(v, row + i);
      for (int j = 0; j < N; ++j) v[j] = i + j < n ? v[j] : other;
    });
    for_chunks<Group, N>(n, [&](int64_t i) {
      T v[N], other[N];
      vector_load(v, row + i);
      for (int j = 0; j < N; ++j) v[j] = (v[j] - stats.centre) * stats.scale;
      if (g.norm_weight) {
        load_chunk(other, g.norm_weight, i, n, T(0));
        for (int j = 0; j < N; ++j) v[j] *= other[j];
      }
      if (g.norm_bias) {
        load_chunk(other, g.norm_bias, i, n, T(0));
        for (int j = 0; j < N; ++j) v[j] += other[j];
      }
      for (int j = 0; j < N; ++j) v[j] = i + j < n ? v[j] : T(0);
      vector_store(row + i, v);
    });
  }
}

// A row of at most kReads · 32 chunks of 16 bytes in the registers of a warp.
template <class S>
using WarpRow = HeldRow<ThreadGroup<kWarp>, kReads, S>;

// normalise() for row r, with the same bits, into a warp's registers. All loads are issued first; without kEarly those
// of the norm's weight and bias come later, which takes fewer registers. The caller has checked that all operands
// consist of whole chunks. The grid's first block stores the sum with the residual.
template <bool kEarly, class T, class S>
__device__ __forceinline__ void normalise_in_registers(const NormProduct<T, S>& g, int r, WarpRow<S>& row) {
  using Row = WarpRow<S>;
  constexpr int N = Row::N;
  const int k = static_cast<int>(g.shape.size);
  Row added, norm_weight, norm_bias;
  row.load(g.x[r], k);
  if (g.residual.data) added.load(g.residual[r], k);
  const auto load_affine = [&] {
    if (g.norm_weight) norm_weight.load(g.norm_weight, k);
    if (g.norm_bias) norm_bias.load(g.norm_bias, k);
  };
  if constexpr (kEarly) load_affine();
  T v[kReads][N];
#pragma unroll
  for (int u = 0; u < kReads; ++u) {
    if (Row::index(u) >= k) continue;
    row.get(v[u], u);
    if (!g.residual.data) continue;
    T more[N];
    added.get(more, u);
    for (int j = 0; j < N; ++j) v[u][j] = as_stored<S>(v[u][j] + more[j]);
    if (blockIdx.x == 0) vector_store(g.sum[r] + Row::index(u), v[u]);
  }
  const NormStats<T> stats = held_norm_stats<ThreadGroup<kWarp>>(v, k, !g.rms, g.eps);
  if constexpr (!kEarly) load_affine();
#pragma unroll
  for (int u = 0; u < kReads; ++u) {
    if (Row::index(u) >= k) continue;
    T other[N];
    for (int j = 0; j < N; ++j) v[u][j] = (v[u][j] - stats.centre) * stats.scale;
    if (g.norm_weight) {
      norm_weight.get(other, u);
      for (int j = 0; j < N; ++j) v[u][j] *= other[j];
    }
    if (g.norm_bias) {
      norm_bias.get(other, u);
      for (int j = 0; j < N; ++j) v[u][j] += other[j];
    }
    row.put(u, v[u]);
  }
}

// A lane's part of a column: kReads times 16 bytes, 32 · 16 bytes apart.
template <class S>
struct alignas(16) Held {
  static constexpr int N = kChunk<S>;
  S elements[kReads][N];

  // The index of element 0 of read u.
  static __device__ __forceinline__ int64_t at(int64_t begin, int u) {
    return begin + int64_t{u * kWarp + static_cast<int>(threadIdx.x % kWarp)} * N;
  }
  // Reads from element `begin` of a column of k; elements past its end are 0. kWhole: columns begin at multiples of 16
  // bytes and consist of such.
  template <bool kWhole>
  __device__ __forceinline__ void read(const S* column, int64_t begin, int64_t k) {
#pragma unroll
    for (int u = 0; u < kReads; ++u) {
      const int64_t i = at(begin, u);
      if constexpr (kWhole) {
        reinterpret_cast<uint4*>(elements)[u] =
            i < k ? *reinterpret_cast<const uint4*>(column + i) : make_uint4(0, 0, 0, 0);
      } else {
#pragma unroll
        for (int j = 0; j < N; ++j) elements[u][j] = i + j < k ? column[i + j] : S(0.0f);
      }
    }
  }
};

// A warp computes one column of c after another. Its first loads of b are in flight while the rows are normalised, and
// later ones while it multiplies. The order of a sum depends on K only. At most kRows rows.
template <int kRows, bool kWhole, class T, class S>
__global__ void __launch_bounds__(kThreads, 2) norm_matmul_kernel(NormProduct<T, S> g) {
  constexpr int N = kChunk<S>;
  constexpr int64_t kStep = kReads * kWarp * N;
  S* const rows = dynamic_shared<S>();
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int count = static_cast<int>(g.shape.count);
  const int64_t k = g.shape.size;
  int64_t column = int64_t{blockIdx.x} * kWarps + warp, begin = 0;
  let_next_kernel_start();
  wait_for_earlier_kernels();
  Held<S> held = {}, next = {};
  if (column < g.n) held.template read<kWhole>(g.b + column * g.b_step, 0, k);
  if (g.in_registers) {
    for (int r = warp; r < count; r += kWarps) {
      WarpRow<S> row;
      normalise_in_registers<false>(g, r, row);
      row.save(rows + r * g.step, static_cast<int>(k));
    }
  } else if (k <= kWarpRow) {
    normalise<ThreadGroup<kWarp>>(g, rows);
  } else {
    normalise<ThreadGroup<kThreads>>(g, rows);
  }
  __syncthreads();

  T sums[kRows] = {};
  while (column < g.n) {
    const bool ends = begin + kStep >= k;
    const int64_t next_column = ends ? column + int64_t{gridDim.x} * kWarps : column,
                  next_begin = ends ? 0 : begin + kStep;
    if (next_column < g.n) next.template read<kWhole>(g.b + next_column * g.b_step, next_begin, k);
#pragma unroll
    for (int u = 0; u < kReads; ++u) {
      const int64_t i = Held<S>::at(begin, u);
      if (i >= k) break;
      T weight[N];
#pragma unroll
      for (int j = 0; j < N; ++j) weight[j] = load<T>(&held.elements[u][j]);
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        if (r >= count) break;
        T v[N];
        vector_load(v, rows + r * g.step + i);
#pragma unroll
        for (int j = 0; j < N; ++j) sums[r] = ::fma(v[j], weight[j], sums[r]);
      }
    }
    if (ends) {
      g.finish(sums, column);
#pragma unroll
      for (int r = 0; r < kRows; ++r) sums[r] = 0;
    }
    held = next;
    column = next_column;
    begin = next_begin;
  }
}

// norm_matmul_kernel, with the same bits, for one row that a warp can hold in registers. One warp of a block normalises
// it while the first two columns of every warp are loaded.
template <class T, class S>
__global__ void __launch_bounds__(kThreads, 2) one_row_kernel(NormProduct<T, S> g) {
  using Row = WarpRow<S>;
  constexpr int N = Row::N;
  const int warp = static_cast<int>(threadIdx.x) / kWarp, k = static_cast<int>(g.shape.size);
  const int64_t step = int64_t{gridDim.x} * kWarps;
  int64_t column = int64_t{blockIdx.x} * kWarps + warp;
  let_next_kernel_start();
  if (column < g.n) Row::prefetch(g.b + column * g.b_step, k);
  if (column + step < g.n) Row::prefetch(g.b + (column + step) * g.b_step, k);
  if (warp == 0 && g.norm_weight) Row::prefetch(g.norm_weight, k);
  if (warp == 0 && g.norm_bias) Row::prefetch(g.norm_bias, k);
  wait_for_earlier_kernels();
  __shared__ uint4 normed[kReads * kWarp];
  Row row, held, next;
  if (column < g.n) held.load(g.b + column * g.b_step, k);
  if (column + step < g.n) next.load(g.b + (column + step) * g.b_step, k);
  if (warp == 0) {
    normalise_in_registers<true>(g, 0, row);
    row.save(reinterpret_cast<S*>(normed), k);
  }
  __syncthreads();
  row.load(reinterpret_cast<const S*>(normed), k);
  for (; column < g.n; column += step) {
    T sums[1] = {};
#pragma unroll
    for (int u = 0; u < kReads; ++u) {
      if (Row::index(u) >= k) continue;
      T weight[N], v[N];
      held.get(weight, u);
      row.get(v, u);
      for (int j = 0; j < N; ++j) sums[0] = ::fma(v[j], weight[j], sums[0]);
    }
    held = next;
    if (column + 2 * step < g.n) next.load(g.b + (column + 2 * step) * g.b_step, k);
    g.finish(sums, column);
  }
}

template <class S, class T>
void launch_fused(const View& c, const View& sum, const View& x, const View& residual, const View& b,
                  const NormMatmulArgs& args) {
  using Stored = stored_t<S>;
  constexpr int N = kChunk<Stored>;
  const RowShape shape(x);
  NormProduct<T, Stored> g{.shape = shape,
                           .n = c.shape[1],
                           .c = rows_of<S>(c),
                           .sum = sum ? rows_of<S>(sum) : Rows<Stored>{},
                           .x = rows_of<S>(x),
                           .residual = residual ? rows_of<S>(residual) : Rows<Stored>{},
                           .b = data_of<S>(b),
                           .b_step = b.strides[1],
                           .norm_weight = data_of<S>(args.norm_weight),
                           .norm_bias = data_of<S>(args.norm_bias),
                           .bias = data_of<S>(args.bias),
                           .rms = args.rms,
                           .gelu = args.activation == Activation::gelu_tanh,
                           .eps = static_cast<T>(args.eps),
                           .step = (shape.size + N - 1) / N * N,
                           .in_registers = false};
  const bool whole = reinterpret_cast<uintptr_t>(b.data) % 16 == 0 && shape.size % N == 0 && g.b_step % N == 0;
  g.in_registers = shape.size <= kReads * kWarp * N && rows_of_vectors(shape, g.sum, g.x, g.residual) &&
                   is_aligned(g.norm_weight) && is_aligned(g.norm_bias);
  const auto start = [&](auto kernel, int64_t columns, size_t shared_bytes) {  // columns that a warp computes at least
    const int64_t blocks = std::min(kBusyBlocks, (g.n + columns * kWarps - 1) / (columns * kWarps));
    launch_early(kernel, static_cast<unsigned>(blocks), kThreads, shared_bytes, stream(), g);
  };
  if (whole && g.in_registers && shape.count == 1) return start(one_row_kernel<T, Stored>, 2, 0);
  const auto start_many = [&](auto kernel) {
    start(kernel, 1, static_cast<size_t>(shape.count * g.step) * sizeof(Stored));
  };
  if (!whole) return start_many(norm_matmul_kernel<8, false, T, Stored>);
  if (shape.count == 1) return start_many(norm_matmul_kernel<1, true, T, Stored>);
  if (shape.count == 2) return start_many(norm_matmul_kernel<2, true, T, Stored>);
  if (shape.count <= 4) return start_many(norm_matmul_kernel<4, true, T, Stored>);
  start_many(norm_matmul_kernel<8, true, T, Stored>);
}

// Whether norm_matmul_kernel computes it. In exact mode a row must have the bits that it has among many rows.
bool is_fused(const View& c, const View& x, const View& b) {
  const int64_t rows = x.shape[0], k = x.shape[1];
  const auto bytes = static_cast<int64_t>(size_of(x.dtype));
  return !exact() && x.dtype != f64 && c.dtype == x.dtype && rows <= kMostRows && k > 0 && b.strides[0] == 1 &&
         rows * (k * bytes + 15) <= kMostShared;
}

}  // namespace

void norm_matmul(const View& c, const View& sum, const View& x, const View& residual, const View& b,
                 const NormMatmulArgs& args) {
  if (c.numel() > 0 && is_fused(c, x, b)) {
    if (x.dtype == f32) return launch_fused<float, float>(c, sum, x, residual, b, args);
    return launch_fused<BFloat16, float>(c, sum, x, residual, b, args);
  }
  if (args.rms) {
    rms_norm(args.normed, args.rstd, sum, x, residual, args.norm_weight, args.eps);
  } else {
    layer_norm(args.normed, args.mean, args.rstd, sum, x, residual, args.norm_weight, args.norm_bias, args.eps);
  }
  matmul(c, args.normed, b, {.bias = args.bias, .activation = args.activation});
}

}  // namespace pg::cuda
