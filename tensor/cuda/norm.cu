// Layer norm (Ba et al. 2016, arXiv:1607.06450) and RMS norm (Zhang and Sennrich 2019, arXiv:1910.07467) of rows. A row
// is read once from memory; its second and third reading come from the cache.
#include "tensor/cuda/kernels_cuda.h"
#include "tensor/cuda/row.h"
#include "tensor/cuda/scratch.h"

namespace pg::cuda {
namespace {

// Of layer norm and, without `mean`, of RMS norm. With `residual` it normalises x + residual, which `sum` receives; the
// variance is summed around the mean, so a large mean costs no digits. residual, sum, mean, w and b may be null.
template <class Team, class T, class R, class S>
__global__ void norm_kernel(RowShape shape, Rows<R> y, T* mean, T* rstd, Rows<R> sum, Rows<S> x, Rows<S> residual,
                            const S* w, const S* b, T eps) {
  constexpr int N = kChunk<S>;
  const int64_t n = shape.size;
  for (int64_t r = Team::first_row(); r < shape.count; r += Team::row_step()) {
    const S *from = x[r], *added = residual.data ? residual[r] : nullptr;
    T centre = 0;
    // Elements [i, i + N) of what is normalised; those behind its end count as the mean, and add nothing.
    const auto load_sum = [&](T(&v)[N], int64_t i) {
      load_chunk(v, from, i, n, centre);
      if (!added) return;
      T more[N];
      load_chunk(more, added, i, n, T(0));
      for (int j = 0; j < N; ++j) v[j] += more[j];
    };
    if (mean) {
      T total = 0;
      for_chunks<Team, N>(n, [&](int64_t i) {
        T v[N];
        load_sum(v, i);
        for (int j = 0; j < N; ++j) total += v[j];
      });
      centre = Team::sum(total) / static_cast<T>(n);
    }
    T squares = 0;
    for_chunks<Team, N>(n, [&](int64_t i) {
      T v[N];
      load_sum(v, i);
      for (int j = 0; j < N; ++j) squares += (v[j] - centre) * (v[j] - centre);
    });
    const T scale = 1 / ::sqrt(Team::sum(squares) / static_cast<T>(n) + eps);
    R *to = y[r], *to_sum = added ? sum[r] : nullptr;
    for_pieces<Team, N>(n, unaligned_head<N>(n, from, added, to, to_sum, w, b), [&](int64_t i, auto lanes) {
      constexpr int K = decltype(lanes)::value;
      T v[K], other[K];
      load_piece(v, from + i);
      if (added) {
        load_piece(other, added + i);
        for (int j = 0; j < K; ++j) v[j] += other[j];
        store_piece(to_sum + i, v);
      }
      for (int j = 0; j < K; ++j) v[j] = (v[j] - centre) * scale;
      if (w) {
        load_piece(other, w + i);
        for (int j = 0; j < K; ++j) v[j] *= other[j];
      }
      if (b) {
        load_piece(other, b + i);
        for (int j = 0; j < K; ++j) v[j] += other[j];
      }
      store_piece(to + i, v);
    });
    if (Team::rank() == 0) {
      if (mean) mean[r] = centre;
      rstd[r] = scale;
    }
  }
}

// With h = (x - mean)·rstd and g = dy·w: dx = beta·dx + rstd·(g - avg(g) - h·avg(g·h)); without the mean's share for
// RMS norm, whose `mean` is null. w may be null.
template <class Team, class T, class R, class S>
__global__ void input_gradient_kernel(RowShape shape, Rows<R> dx, Rows<S> dy, Rows<S> x, const S* w, const T* mean,
                                      const T* rstd, T beta) {
  constexpr int N = kChunk<S>;
  const int64_t n = shape.size;
  for (int64_t r = Team::first_row(); r < shape.count; r += Team::row_step()) {
    const S *grad = dy[r], *from = x[r];
    R* to = dx[r];
    const T centre = mean ? mean[r] : T(0), scale = rstd[r];
    T sum_g = 0, sum_gh = 0;
    for_chunks<Team, N>(n, [&](int64_t i) {
      T g[N], v[N], weight[N];
      load_chunk(g, grad, i, n, T(0));
      load_chunk(v, from, i, n, T(0));
      if (w) load_chunk(weight, w, i, n, T(0));
      for (int j = 0; j < N; ++j) {
        if (w) g[j] *= weight[j];
        sum_g += g[j];
        sum_gh += g[j] * ((v[j] - centre) * scale);
      }
    });
    const T avg_g = mean ? Team::sum(sum_g) / static_cast<T>(n) : T(0);
    const T avg_gh = Team::sum(sum_gh) / static_cast<T>(n);
    for_pieces<Team, N>(n, unaligned_head<N>(n, from, grad, to, w), [&](int64_t i, auto lanes) {
      constexpr int K = decltype(lanes)::value;
      T g[K], v[K], weight[K];
      load_piece(g, grad + i);
      load_piece(v, from + i);
      if (w) load_piece(weight, w + i);
      for (int j = 0; j < K; ++j) {
        if (w) g[j] *= weight[j];
        g[j] = (g[j] - avg_g - (v[j] - centre) * scale * avg_gh) * scale;
      }
      write_gradient(to + i, g, beta);
    });
  }
}

// ---- gradients of weight and bias: sums down the columns, in two steps of fixed order and without atomics

constexpr int kWarps = kThreads / kWarp;
constexpr int64_t kSlabRows = 64;  // at least, per block of the first step
constexpr int64_t kMaxSlabs = 128;

// The block's sum of each of its kWarp·N columns, of which every lane brings N: f(c, total) for column c, in thread c.
template <int N, class T, class F>
__device__ __forceinline__ void sum_over_warps(const T (&mine)[N], F f) {
  __shared__ T parts[kWarps][N][kWarp + kWarp / N];  // padded: neither side has bank conflicts
  const int thread = static_cast<int>(threadIdx.x), warp = thread / kWarp, lane = thread % kWarp;
  for (int j = 0; j < N; ++j) parts[warp][j][lane] = mine[j];
  __syncthreads();
  if (thread < kWarp * N) {
    T total = 0;
    for (int k = 0; k < kWarps; ++k) total += parts[k][thread % N][thread / N];
    f(thread, total);
  }
  __syncthreads();  // before the next call writes
}

// Block (tile, slab): Σ dy·h and Σ dy over the rows of the slab into partial_w, partial_b [slabs, C], either of them
// null.
template <class T, class S>
__global__ void partial_sums_kernel(RowShape shape, int64_t slab_rows, T* partial_w, T* partial_b, Rows<S> dy,
                                    Rows<S> x, const T* mean, const T* rstd) {
  constexpr int N = kChunk<S>;
  const int64_t n = shape.size, first = blockIdx.y * slab_rows;
  const int64_t end = first + slab_rows < shape.count ? first + slab_rows : shape.count;
  const int64_t tile = int64_t{blockIdx.x} * kWarp * N, column = tile + threadIdx.x % kWarp * N;
  T sum_w[N] = {}, sum_b[N] = {};
  for (int64_t r = first + threadIdx.x / kWarp; r < end; r += kWarps) {
    const T centre = mean ? mean[r] : T(0), scale = rstd[r];
    T g[N], v[N];
    load_chunk(g, dy[r], column, n, T(0));
    load_chunk(v, x[r], column, n, T(0));
    for (int j = 0; j < N; ++j) {
      sum_w[j] += g[j] * ((v[j] - centre) * scale);
      sum_b[j] += g[j];
    }
  }
  const auto write_to = [&](T* partial) {
    return [=](int c, T total) {
      if (tile + c < n) partial[blockIdx.y * n + tile + c] = total;
    };
  };
  if (partial_w) sum_over_warps(sum_w, write_to(partial_w));
  if (partial_b) sum_over_warps(sum_b, write_to(partial_b));
}

// d [C] = beta·d + Σ partial [slabs, C].
template <class T>
__global__ void add_partials_kernel(int64_t n, int64_t slabs, T* d, int64_t step, const T* partial, T beta) {
  const int64_t column = int64_t{blockIdx.x} * kWarp + threadIdx.x % kWarp;
  T sum[1] = {};
  for (int64_t slab = threadIdx.x / kWarp; slab < slabs && column < n; slab += kWarps) {
    sum[0] += partial[slab * n + column];
  }
  sum_over_warps(sum, [=](int, T total) {  // in warp 0
    if (column >= n) return;
    T* to = d + column * step;
    *to = beta == 0 ? total : beta * *to + total;
  });
}

unsigned tiles(int64_t n, int64_t width) { return static_cast<unsigned>((n + width - 1) / width); }

// dw = beta_w·dw + Σ dy·h and db = beta_b·db + Σ dy; mean (RMS norm), dw or db may be null.
template <class S, class T>
void weight_gradients(const View& dw, const View& db, const View& dy, const View& x, const T* mean, const T* rstd,
                      double beta_w, double beta_b) {
  const RowShape shape(x);
  if (shape.size == 0) return;
  const int64_t slab_rows = std::max(kSlabRows, (shape.count + kMaxSlabs - 1) / kMaxSlabs);
  const int64_t slabs = (shape.count + slab_rows - 1) / slab_rows, partials = slabs * shape.size;
  const Scratch<T> space(2 * partials);
  T* const partial = space.data();
  T *partial_w = dw ? partial : nullptr, *partial_b = db ? partial + partials : nullptr;
  if (slabs > 0) {
    const dim3 grid(tiles(shape.size, kWarp * kChunk<stored_t<S>>), static_cast<unsigned>(slabs));
    launch(partial_sums_kernel<T, stored_t<S>>, grid, kThreads, 0, stream(), shape, slab_rows, partial_w, partial_b,
           rows_of<S>(dy), rows_of<S>(x), mean, rstd);
  }
  const auto add = [&](const View& d, const T* from, double beta) {
    launch(add_partials_kernel<T>, tiles(shape.size, kWarp), kThreads, 0, stream(), shape.size, slabs, d.as<T>(),
           d.strides[0], from, beta);
  };
  if (dw) add(dw, partial_w, beta_w);
  if (db) add(db, partial_b, beta_b);
}

// Of layer norm and, where mean is empty, of RMS norm.
void norm(const View& y, const View& mean, const View& rstd, const View& sum, const View& x, const View& residual,
          const View& w, const View& b, double eps) {
  visit_result(y, x, "norm",
               [&]<class R, class S, class T>(std::type_identity<R>, std::type_identity<S>, std::type_identity<T>) {
                 if (sum && sum.dtype != y.dtype) fail_pair("norm", sum.dtype, x.dtype);
                 const RowShape shape(x);
                 visit_team(shape, [&]<class Team>(Team) {
                   launch(norm_kernel<Team, T, stored_t<R>, stored_t<S>>, Team::blocks(shape.count), kThreads, 0,
                          stream(), shape, rows_of<R>(y), mean.as<T>(), rstd.as<T>(), rows_of<R>(sum), rows_of<S>(x),
                          rows_of<S>(residual), data_of<S>(w), data_of<S>(b), eps);
                 });
               });
}

void norm_backward(const View& dx, const View& dw, const View& db, const View& dy, const View& x, const View& w,
                   const View& mean, const View& rstd, double beta_x, double beta_w, double beta_b) {
  visit_result(dx ? dx : x, x, "norm_backward",
               [&]<class R, class S, class T>(std::type_identity<R>, std::type_identity<S>, std::type_identity<T>) {
                 if (dy.dtype != x.dtype) fail_pair("norm_backward", dy.dtype, x.dtype);
                 const RowShape shape(x);
                 if (dw || db) weight_gradients<S, T>(dw, db, dy, x, mean.as<T>(), rstd.as<T>(), beta_w, beta_b);
                 if (!dx) return;
                 visit_team(shape, [&]<class Team>(Team) {
                   launch(input_gradient_kernel<Team, T, stored_t<R>, stored_t<S>>, Team::blocks(shape.count), kThreads,
                          0, stream(), shape, rows_of<R>(dx), rows_of<S>(dy), rows_of<S>(x), data_of<S>(w),
                          mean.as<T>(), rstd.as<T>(), beta_x);
                 });
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
