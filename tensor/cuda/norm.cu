// Layer norm (Ba et al. 2016, arXiv:1607.06450) and RMS norm (Zhang and Sennrich 2019, arXiv:1910.07467) of rows.
#include "tensor/cuda/base/held_row.h"
#include "tensor/cuda/base/kernels_cuda.h"
#include "tensor/cuda/base/norm_row.h"
#include "tensor/cuda/runtime/early.h"
#include "tensor/cuda/runtime/runtime.h"

namespace pg::cuda {
namespace {

// Writes K elements of a normalised row to `to`: (v - centre) scale w + b of those that begin at element i.
template <int K, class T, class R, class S>
__device__ __forceinline__ void store_normalised(R* to, T (&v)[K], int64_t i, const NormStats<T>& stats, const S* w,
                                                 const S* b) {
  T other[K];
  for (int j = 0; j < K; ++j) v[j] = (v[j] - stats.centre) * stats.scale;
  if (w) {
    vector_load(other, w + i);
    for (int j = 0; j < K; ++j) v[j] *= other[j];
  }
  if (b) {
    vector_load(other, b + i);
    for (int j = 0; j < K; ++j) v[j] += other[j];
  }
  vector_store(to + i, v);
}
// Writes what the backward needs of row r, by one thread of its group.
template <class Group, class T>
__device__ __forceinline__ void store_stats(T* mean, T* rstd, int64_t r, const NormStats<T>& stats) {
  if (Group::rank() != 0) return;
  if (mean) mean[r] = stats.centre;
  rstd[r] = stats.scale;
}

// Layer norm and, without `mean`, RMS norm, of rows of any length and alignment. A row is read from memory once; the
// second and third read hit the cache. With `residual` it normalises x + residual, as it is stored in `sum`. The
// squared differences from the mean are summed, so that a large mean does not cost precision. residual, sum, mean, w
// and b may be null.
template <class Group, class T, class R, class S>
__global__ void norm_kernel(RowShape shape, Rows<R> y, T* mean, T* rstd, Rows<R> sum, Rows<S> x, Rows<S> residual,
                            const S* w, const S* b, T eps) {
  constexpr int N = kChunk<S>;
  const int64_t n = shape.size;
  wait_for_earlier_kernels();
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
    R *to = y[r], *to_sum = added ? sum[r] : nullptr;
    for_vectors<Group, N>(n, unaligned_head<N>(n, from, added, to, to_sum, w, b), [&](int64_t i, auto lanes) {
      constexpr int K = decltype(lanes)::value;
      T v[K], more[K];
      vector_load(v, from + i);
      if (added) {
        vector_load(more, added + i);
        for (int j = 0; j < K; ++j) v[j] = as_stored<R>(v[j] + more[j]);
        vector_store(to_sum + i, v);
      }
      store_normalised(to, v, i, stats, w, b);
    });
    store_stats<Group>(mean, rstd, r, stats);
  }
}

// norm_kernel for rows of at most kHeld elements per thread, which stay in registers: x and residual are read once, and
// all loads of a row are issued before the first result is needed. n is a multiple of kChunk<S>, and every row of every
// operand begins at a multiple of 16 bytes. The sums have the order of norm_kernel, so the results have its bits.
template <class Group, int kHeld, class T, class R, class S>
__global__ void held_norm_kernel(RowShape shape, Rows<R> y, T* mean, T* rstd, Rows<R> sum, Rows<S> x, Rows<S> residual,
                                 const S* w, const S* b, T eps) {
  constexpr int N = kChunk<S>, kChunks = kHeld / N;
  using Row = HeldRow<Group, kChunks, S>;
  const int n = static_cast<int>(shape.size);
  let_next_kernel_start();
  if (threadIdx.x < Group::kThreadsPerRow) {
    if (w) Row::prefetch(w, n);
    if (b) Row::prefetch(b, n);
  }
  wait_for_earlier_kernels();
  for (int64_t r = Group::first_row(); r < shape.count; r += Group::row_step()) {
    Row row, added;
    row.load(x[r], n);
    if (residual.data) added.load(residual[r], n);
    T v[kChunks][N];
#pragma unroll
    for (int k = 0; k < kChunks; ++k) {
      if (Row::index(k) >= n) continue;
      row.get(v[k], k);
      if (residual.data) {
        T more[N];
        added.get(more, k);
        for (int j = 0; j < N; ++j) v[k][j] = as_stored<R>(v[k][j] + more[j]);
        vector_store(sum[r] + Row::index(k), v[k]);
      }
    }
    const NormStats<T> stats = held_norm_stats<Group>(v, n, mean != nullptr, eps);
    R* const to = y[r];
#pragma unroll
    for (int k = 0; k < kChunks; ++k) {
      if (Row::index(k) < n) store_normalised(to, v[k], Row::index(k), stats, w, b);
    }
    store_stats<Group>(mean, rstd, r, stats);
  }
}

// Layer norm and, if mean is empty, RMS norm.
void norm(const View& y, const View& mean, const View& rstd, const View& sum, const View& x, const View& residual,
          const View& w, const View& b, double eps) {
  visit_result(y, x, "norm",
               [&]<class R, class S, class T>(std::type_identity<R>, std::type_identity<S>, std::type_identity<T>) {
                 if (sum && sum.dtype != y.dtype) fail_pair("norm", sum.dtype, x.dtype);
                 const RowShape shape(x);
                 const Rows to = rows_of<R>(y), to_sum = rows_of<R>(sum);
                 const Rows from = rows_of<S>(x), added = rows_of<S>(residual);
                 const auto *weight = data_of<S>(w), *bias = data_of<S>(b);
                 visit_thread_group(shape, [&]<class Group>(Group) {
                   const auto start = [&](auto* kernel) {
                     launch_early(kernel, Group::blocks(shape.count), kThreads, 0, stream(), shape, to, mean.as<T>(),
                                  rstd.as<T>(), to_sum, from, added, weight, bias, eps);
                   };
                   if constexpr (can_hold<S>) {
                     const bool vectors =
                         rows_of_vectors(shape, to, to_sum, from, added) && is_aligned(weight) && is_aligned(bias);
                     if (vectors && visit_held(shape.size, Group::kThreadsPerRow, [&](auto held) {
                           start(held_norm_kernel<Group, decltype(held)::value, T, stored_t<R>, stored_t<S>>);
                         })) {
                       return;
                     }
                   }
                   start(norm_kernel<Group, T, stored_t<R>, stored_t<S>>);
                 });
               });
}

}  // namespace

void layer_norm(const View& y, const View& mean, const View& rstd, const View& sum, const View& x, const View& residual,
                const View& w, const View& b, double eps) {
  norm(y, mean, rstd, sum, x, residual, w, b, eps);
}

void rms_norm(const View& y, const View& rstd, const View& sum, const View& x, const View& residual, const View& w,
              double eps) {
  norm(y, {}, rstd, sum, x, residual, w, {}, eps);
}

}  // namespace pg::cuda
