// Layer norm (Ba et al. 2016, arXiv:1607.06450) and RMS norm (Zhang and Sennrich 2019, arXiv:1910.07467) of rows. A row
// is read from memory once; the second and third read hit the cache.
#include <optional>

#include "tensor/cuda/kernels_cuda.h"
#include "tensor/cuda/norm_row.h"
#include "tensor/cuda/runtime/runtime.h"

namespace pg::cuda {
namespace {

// Layer norm and, without `mean`, RMS norm. With `residual` it normalises x + residual, as it is stored in `sum`.
// residual, sum, mean, w and b may be null.
template <class Group, class T, class R, class S>
__global__ void norm_kernel(RowShape shape, Rows<R> y, T* mean, T* rstd, Rows<R> sum, Rows<S> x, Rows<S> residual,
                            const S* w, const S* b, T eps) {
  constexpr int N = kChunk<S>;
  const int64_t n = shape.size;
  for (int64_t r = Group::first_row(); r < shape.count; r += Group::row_step()) {
    const S *from = x[r], *added = residual.data ? residual[r] : nullptr;
    const auto load_sum = [&](T(&v)[N], int64_t i, T other) {
      load_chunk(v, from, i, n, other);
      if (!added) return;
      T more[N];
      load_chunk(more, added, i, n, T(0));
      for (int j = 0; j < N; ++j) v[j] = i + j < n ? as_stored<R>(v[j] + more[j]) : other;
    };
    const NormStats<T> stats = norm_stats<Group, N>(n, mean != nullptr, eps, load_sum);
    const T centre = stats.centre, scale = stats.scale;
    R *to = y[r], *to_sum = added ? sum[r] : nullptr;
    for_vectors<Group, N>(n, unaligned_head<N>(n, from, added, to, to_sum, w, b), [&](int64_t i, auto lanes) {
      constexpr int K = decltype(lanes)::value;
      T v[K], other[K];
      vector_load(v, from + i);
      if (added) {
        vector_load(other, added + i);
        for (int j = 0; j < K; ++j) v[j] = as_stored<R>(v[j] + other[j]);
        vector_store(to_sum + i, v);
      }
      for (int j = 0; j < K; ++j) v[j] = (v[j] - centre) * scale;
      if (w) {
        vector_load(other, w + i);
        for (int j = 0; j < K; ++j) v[j] *= other[j];
      }
      if (b) {
        vector_load(other, b + i);
        for (int j = 0; j < K; ++j) v[j] += other[j];
      }
      vector_store(to + i, v);
    });
    if (Group::rank() == 0) {
      if (mean) mean[r] = centre;
      rstd[r] = scale;
    }
  }
}

// ---- backward: one pass over dy and x. A thread processes the same columns in every row, so that it can accumulate
// their parts of dw and db in registers. Each block writes its sums, and a second kernel adds them. No atomics: the
// order is fixed.

constexpr int kWarps = kThreads / kWarp;
constexpr int64_t kGroupRows = 4;     // minimum rows per thread group: writing a block's sums costs as much as a row
constexpr int64_t kMostBlocks = 256;  // maximum blocks that write sums: all run at once on a large GPU

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
  const auto leave = [&](const T(&sums)[kChunks + 1][N], T* partial) {
    if (!partial) return;
    partial += blockIdx.x * partials.step;
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
  };
  leave(sum_w, partials.w);
  leave(sum_b, partials.b);
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

// f(constant) with the number of columns that each of `threads` threads accumulates: enough for n columns, or the
// maximum that fits in registers.
template <class F>
void visit_held(int64_t n, int64_t threads, F f) {
  if (n <= 8 * threads) return f(std::integral_constant<int, 8>{});
  if (n <= 24 * threads) return f(std::integral_constant<int, 24>{});
  f(std::integral_constant<int, 32>{});
}

// Layer norm and, if mean is empty, RMS norm.
void norm(const View& y, const View& mean, const View& rstd, const View& sum, const View& x, const View& residual,
          const View& w, const View& b, double eps) {
  visit_result(y, x, "norm",
               [&]<class R, class S, class T>(std::type_identity<R>, std::type_identity<S>, std::type_identity<T>) {
                 if (sum && sum.dtype != y.dtype) fail_pair("norm", sum.dtype, x.dtype);
                 const RowShape shape(x);
                 visit_thread_group(shape, [&]<class Group>(Group) {
                   launch(norm_kernel<Group, T, stored_t<R>, stored_t<S>>, Group::blocks(shape.count), kThreads, 0,
                          stream(), shape, rows_of<R>(y), mean.as<T>(), rstd.as<T>(), rows_of<R>(sum), rows_of<S>(x),
                          rows_of<S>(residual), data_of<S>(w), data_of<S>(b), eps);
                 });
               });
}

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
                 int64_t blocks = 0;
                 std::optional<Scratch<T>> space;
                 Partials<T> partials{nullptr, nullptr, step};
                 visit_thread_group(shape, [&]<class Group>(Group) {
                   const auto start = [&](auto held, dim3 grid, const View& to, const Partials<T>& left) {
                     launch(backward_kernel<Group, decltype(held)::value, T, stored_t<R>, stored_t<S>>, grid, kThreads,
                            0, stream(), shape, rows_of<R>(to), rows_of<S>(dy), rows_of<S>(x), data_of<S>(w),
                            mean.as<T>(), rstd.as<T>(), beta_x, left);
                   };
                   const auto gradient_alone = [&] {
                     start(std::integral_constant<int, 0>{}, Group::blocks(shape.count), dx, {});
                   };
                   if (!sums) return gradient_alone();
                   blocks = std::clamp<int64_t>(shape.count / (Group::kRows * kGroupRows), 1, kMostBlocks);
                   space.emplace(2 * blocks * step);
                   if (dw) partials.w = space->data();
                   if (db) partials.b = space->data() + blocks * step;
                   visit_held(n, Group::kThreadsPerRow, [&](auto held) {
                     const unsigned windows = tiles(n, decltype(held)::value * Group::kThreadsPerRow);
                     const bool whole = windows == 1;  // the threads' columns are the whole row
                     start(held, dim3(static_cast<unsigned>(blocks), windows), whole ? dx : View{}, partials);
                     if (dx && !whole) gradient_alone();
                   });
                 });
                 if (!sums) return;
                 launch(add_partials_kernel<T>, dim3(tiles(n, kWarp), 2), kThreads, 0, stream(), n, blocks, step,
                        column_gradient<T>(dw, partials.w, beta_w), column_gradient<T>(db, partials.b, beta_b));
               });
}

}  // namespace

void layer_norm(const View& y, const View& mean, const View& rstd, const View& sum, const View& x, const View& residual,
                const View& w, const View& b, double eps) {
  norm(y, mean, rstd, sum, x, residual, w, b, eps);
}

void layer_norm_backward(const View& dx, const View& dw, const View& db, const View& dy, const View& x, const View& w,
                         const View& mean, const View& rstd, double beta_x, double beta_w, double beta_b) {
  norm_backward(dx, dw, db, dy, x, w, mean, rstd, beta_x, beta_w, beta_b);
}

void rms_norm(const View& y, const View& rstd, const View& sum, const View& x, const View& residual, const View& w,
              double eps) {
  norm(y, {}, rstd, sum, x, residual, w, {}, eps);
}

void rms_norm_backward(const View& dx, const View& dw, const View& dy, const View& x, const View& w, const View& rstd,
                       double beta_x, double beta_w) {
  norm_backward(dx, dw, {}, dy, x, w, {}, rstd, beta_x, beta_w, 0);
}

}  // namespace pg::cuda
