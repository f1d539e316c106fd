// The gradients of layer norm and RMS norm.
#include <optional>

#include "tensor/cuda/base/held_row.h"
#include "tensor/cuda/base/kernels_cuda.h"
#include "tensor/cuda/runtime/runtime.h"

namespace pg::cuda {
namespace {

// One pass over dy and x. A thread processes the same columns in every row, so that it can accumulate
// their parts of dw and db in registers. Each block writes its sums, and a second kernel adds them. No atomics: the
// order is fixed.

constexpr int kWarps = kThreads / kWarp;
constexpr int64_t kGroupRows = 4;  // minimum rows per thread group: writing a block's sums costs as much as a row
constexpr int64_t kMostBlocks = kBusyBlocks;  // maximum blocks that write sums

// Sums each of kWarp·N columns over the warps of a block; every lane contributes N columns. Thread c calls f(c, total)
// for column c.
template <int N, class T, class F>
__device__ __forceinline__ void sum_over_warps(const T (&mine)[N], F f) {
  __shared__ T parts[kWarps][N][kWarp + kWarp / N];  // padded: neither writes nor reads have bank conflicts
  const int thread = static_cast<int>(threadIdx.x), warp = thread / kWarp, lane = thread % kWarp;
  for (int j = 0; j < N; ++j) parts[warp][j][lane] = mine[j];
  __syncthreads();
  if (thread < kWarp * N) {
    T total = 0;
    for (int k = 0; k < kWarps; ++k) total += parts[k][thread % N][thread / N];
    f(thread, total);
  }
  __syncthreads();  // before the next call writes to parts
}

// Partial sums of every block, [blocks, C] with rows `step` apart, a multiple of 16 bytes; w: Σ dy·h, b: Σ dy. Either
// may be null.
template <class T>
struct Partials {
  T *w, *b;
  int64_t step;
};
// Writes a block's sums of the columns [first, first + kChunks · N · threads of a group) of n; nothing if `partial` is
// null.
template <class Group, int kChunks, int kSums, int N, class T>
__device__ __forceinline__ void write_partial(const T (&sums)[kSums][N], T* partial, int64_t step, int64_t first,
                                              int64_t n) {
  if (!partial) return;
  partial += blockIdx.x * step;
#pragma unroll
  for (int k = 0; k < kChunks; ++k) {
    const int64_t tile = first + int64_t{k} * Group::kThreadsPerRow * N, i = tile + Group::rank() * N;
    if (tile >= n) break;
    if constexpr (Group::kRows == 1) {
      if (i < n) vector_store(partial + i, sums[k]);
    } else {
      sum_over_warps(sums[k], [=](int c, T total) {
        if (tile + c < n) partial[tile + c] = total;
      });
    }
  }
}
// The blocks of held_backward_kernel that a multiprocessor has registers for, without spills; the simulator ignores it.
template <int kHeld, class S>
[[maybe_unused]] inline constexpr int kBlocksPerProcessor = sizeof(S) == 2 && kHeld <= 24 ? 2 : 1;

// With h = (x - mean)·rstd and g = dy·w: dx = beta·dx + rstd·(g - avg(g) - h·avg(g·h)). For RMS norm `mean` is null and
// the term avg(g) is left out. dx and w may be null. Every thread accumulates kHeld columns for `partials`; the columns
// of a thread group begin at blockIdx.y · kHeld · kThreadsPerRow. If dx is also computed, these must be all columns of
// the row; kHeld 0 computes dx only.
template <class Group, int kHeld, class T, class R, class S>
__global__ void backward_kernel(RowShape shape, Rows<R> dx, Rows<S> dy, Rows<S> x, const S* w, const T* mean,
                                const T* rstd, T beta, Partials<T> partials) {
  constexpr int N = kChunk<S>, kChunks = kHeld / N;
  const int64_t n = shape.size, first = int64_t{blockIdx.y} * Group::kThreadsPerRow * kHeld;
  T sum_w[kChunks + 1][N] = {}, sum_b[kChunks + 1][N] = {};  // + 1: kHeld can be 0
  for (int64_t r = Group::first_row(); r < shape.count; r += Group::row_step()) {
    const S *grad = dy[r], *from = x[r];
    const T centre = mean ? mean[r] : T(0), scale = rstd[r];
    T sum_g = 0, sum_gh = 0;
    const auto add = [&](int64_t i, T(&g)[N], T(&h)[N]) {
      load_chunk(g, grad, i, n, T(0));
      load_chunk(h, from, i, n, T(0));
      for (int j = 0; j < N; ++j) h[j] = (h[j] - centre) * scale;
      T weight[N];
      if (w) load_chunk(weight, w, i, n, T(0));
      for (int j = 0; j < N; ++j) {
        const T weighted = w ? g[j] * weight[j] : g[j];
        sum_g += weighted;
        sum_gh += weighted * h[j];
      }
    };
    if constexpr (kHeld == 0) {
      for_chunks<Group, N>(n, [&](int64_t i) {
        T g[N], h[N];
        add(i, g, h);
      });
    } else {
#pragma unroll
      for (int k = 0; k < kChunks; ++k) {
        const int64_t i = first + int64_t{k * Group::kThreadsPerRow + Group::rank()} * N;
        if (i >= n) continue;
        T g[N], h[N];
        add(i, g, h);
        for (int j = 0; j < N; ++j) {
          sum_w[k][j] += g[j] * h[j];
          sum_b[k][j] += g[j];
        }
      }
    }
    if (!dx.data) continue;
    R* to = dx[r];
    const T avg_g = mean ? Group::sum(sum_g) / static_cast<T>(n) : T(0);
    const T avg_gh = Group::sum(sum_gh) / static_cast<T>(n);
    for_vectors<Group, N>(n, unaligned_head<N>(n, from, grad, to, w), [&](int64_t i, auto lanes) {
      constexpr int K = decltype(lanes)::value;
      T g[K], v[K], weight[K];
      vector_load(g, grad + i);
      vector_load(v, from + i);
      if (w) vector_load(weight, w + i);
      for (int j = 0; j < K; ++j) {
        if (w) g[j] *= weight[j];
        g[j] = (g[j] - avg_g - (v[j] - centre) * scale * avg_gh) * scale;
      }
      write_gradient(to + i, g, beta);
    });
  }
  write_partial<Group, kChunks>(sum_w, partials.w, partials.step, first, n);
  write_partial<Group, kChunks>(sum_b, partials.b, partials.step, first, n);
}

// backward_kernel for rows of at most kHeld elements per thread, which stay in registers: dy, x and w are read once,
// and all loads of a row are issued before the first result is needed. n is a multiple of kChunk<S>, and every row of
// every operand begins at a multiple of 16 bytes. The sums over a row have the order of backward_kernel, so dx has its
// bits.
template <class Group, int kHeld, class T, class R, class S>
__global__ void __launch_bounds__(kThreads, kBlocksPerProcessor<kHeld, S>)
    held_backward_kernel(RowShape shape, Rows<R> dx, Rows<S> dy, Rows<S> x, const S* w, const T* mean, const T* rstd,
                         T beta, Partials<T> partials) {
  constexpr int N = kChunk<S>, kChunks = kHeld / N;
  using Row = HeldRow<Group, kChunks, S>;
  const int n = static_cast<int>(shape.size);
  T sum_w[kChunks][N] = {}, sum_b[kChunks][N] = {};
  Row weights;
  if (w) weights.load(w, n);
  for (int64_t r = Group::first_row(); r < shape.count; r += Group::row_step()) {
    Row grad, from;
    grad.load(dy[r], n);
    from.load(x[r], n);
    const T centre = mean ? mean[r] : T(0), scale = rstd[r];
    T sum_g = 0, sum_gh = 0;
#pragma unroll
    for (int k = 0; k < kChunks; ++k) {
      if (Row::index(k) >= n) continue;
      T g[N], h[N], weight[N];
      grad.get(g, k);
      from.get(h, k);
      if (w) weights.get(weight, k);
      for (int j = 0; j < N; ++j) {
        h[j] = (h[j] - centre) * scale;
        const T weighted = w ? g[j] * weight[j] : g[j];
        sum_g += weighted;
        sum_gh += weighted * h[j];
        sum_w[k][j] += g[j] * h[j];
        sum_b[k][j] += g[j];
      }
    }
    if (!dx.data) continue;
    R* to = dx[r];
    const T avg_g = mean ? Group::sum(sum_g) / static_cast<T>(n) : T(0);
    const T avg_gh = Group::sum(sum_gh) / static_cast<T>(n);
#pragma unroll
    for (int k = 0; k < kChunks; ++k) {
      if (Row::index(k) >= n) continue;
      T g[N], v[N], weight[N];
      grad.get(g, k);
      from.get(v, k);
      if (w) weights.get(weight, k);
      for (int j = 0; j < N; ++j) {
        if (w) g[j] *= weight[j];
        g[j] = (g[j] - avg_g - (v[j] - centre) * scale * avg_gh) * scale;
      }
      write_gradient(to + Row::index(k), g, beta);
    }
  }
  write_partial<Group, kChunks>(sum_w, partials.w, partials.step, 0, n);
  write_partial<Group, kChunks>(sum_b, partials.b, partials.step, 0, n);
}

// d [C] = beta·d + Σ partial [blocks, C]; d may be empty.
template <class T>
struct ColumnGradient {
  T* d;
  int64_t d_step;
  const T* partial;
  T beta;
};
template <class T>
ColumnGradient<T> column_gradient(const View& d, const T* partial, double beta) {
  if (!d) return {};
  return {d.as<T>(), d.strides[0], partial, static_cast<T>(beta)};
}
template <class T>
__global__ void add_partials_kernel(int64_t n, int64_t blocks, int64_t step, ColumnGradient<T> w, ColumnGradient<T> b) {
  const ColumnGradient<T> g = blockIdx.y == 0 ? w : b;
  if (!g.d) return;
  const int64_t column = int64_t{blockIdx.x} * kWarp + threadIdx.x % kWarp;
  T sum[1] = {};
  for (int64_t block = threadIdx.x / kWarp; block < blocks && column < n; block += kWarps) {
    sum[0] += g.partial[block * step + column];
  }
  sum_over_warps(sum, [=](int, T total) {  // total is valid in warp 0
    if (column >= n) return;
    T* to = g.d + column * g.d_step;
    *to = g.beta == 0 ? total : g.beta * *to + total;
  });
}

unsigned tiles(int64_t n, int64_t width) { return static_cast<unsigned>((n + width - 1) / width); }

void norm_backward(const View& dx, const View& dw, const View& db, const View& dy, const View& x, const View& w,
                   const View& mean, const View& rstd, double beta_x, double beta_w, double beta_b) {
  if (x.shape.back() == 0) return;  // rows without columns: there is nothing to write, and a grid must not be empty
  visit_result(dx ? dx : x, x, "norm_backward",
               [&]<class R, class S, class T>(std::type_identity<R>, std::type_identity<S>, std::type_identity<T>) {
                 if (dy.dtype != x.dtype) fail_pair("norm_backward", dy.dtype, x.dtype);
                 constexpr int64_t N = kChunk<stored_t<S>>;
                 const RowShape shape(x);
                 const bool sums = dw || db;
                 const int64_t n = shape.size, step = (n + N - 1) / N * N;
                 const Rows to = rows_of<R>(dx);
                 const Rows grad = rows_of<S>(dy), from = rows_of<S>(x);
                 const auto* weight = data_of<S>(w);
                 int64_t blocks = 0;
                 std::optional<Scratch<T>> space;
                 Partials<T> partials{nullptr, nullptr, step};
                 visit_thread_group(shape, [&]<class Group>(Group) {
                   const auto start = [&](auto* kernel, dim3 grid, const auto& gradient, const Partials<T>& left) {
                     launch(kernel, grid, kThreads, 0, stream(), shape, gradient, grad, from, weight, mean.as<T>(),
                            rstd.as<T>(), beta_x, left);
                   };
                   blocks = Group::blocks(shape.count);
                   if (sums) {
                     blocks = std::clamp<int64_t>(shape.count / (Group::kRows * kGroupRows), 1, kMostBlocks);
                     space.emplace(2 * blocks * step);
                     if (dw) partials.w = space->data();
                     if (db) partials.b = space->data() + blocks * step;
                   }
                   const auto grid = static_cast<unsigned>(blocks);
                   if constexpr (can_hold<S>) {
                     if (rows_of_vectors(shape, to, grad, from) && is_aligned(weight) &&
                         visit_held(n, Group::kThreadsPerRow, [&](auto held) {
                           constexpr int kHeld = decltype(held)::value;
                           start(held_backward_kernel<Group, kHeld, T, stored_t<R>, stored_t<S>>, grid, to, partials);
                         })) {
                       return;
                     }
                   }
                   const auto gradient_alone = [&] {
                     start(backward_kernel<Group, 0, T, stored_t<R>, stored_t<S>>, Group::blocks(shape.count), to, {});
                   };
                   if (!sums) return gradient_alone();
                   const auto with_sums = [&]<int kHeld>(std::integral_constant<int, kHeld>) {
                     const unsigned windows = tiles(n, kHeld * Group::kThreadsPerRow);
                     const bool whole = windows == 1;  // the threads' columns are the whole row
                     start(backward_kernel<Group, kHeld, T, stored_t<R>, stored_t<S>>, dim3(grid, windows),
                           whole ? to : decltype(to){}, partials);
                     if (dx && !whole) gradient_alone();
                   };
                   if (n <= 8 * Group::kThreadsPerRow) {
                     with_sums(std::integral_constant<int, 8>{});
                   } else {
                     with_sums(std::integral_constant<int, 32>{});
                   }
                 });
                 if (!sums) return;
                 launch(add_partials_kernel<T>, dim3(tiles(n, kWarp), 2), kThreads, 0, stream(), n, blocks, step,
                        column_gradient<T>(dw, partials.w, beta_w), column_gradient<T>(db, partials.b, beta_b));
               });
}

}  // namespace

void layer_norm_backward(const View& dx, const View& dw, const View& db, const View& dy, const View& x, const View& w,
                         const View& mean, const View& rstd, double beta_x, double beta_w, double beta_b) {
  norm_backward(dx, dw, db, dy, x, w, mean, rstd, beta_x, beta_w, beta_b);
}

void rms_norm_backward(const View& dx, const View& dw, const View& dy, const View& x, const View& w, const View& rstd,
                       double beta_x, double beta_w) {
  norm_backward(dx, dw, {}, dy, x, w, {}, rstd, beta_x, beta_w, 0);
}

}  // namespace pg::cuda
