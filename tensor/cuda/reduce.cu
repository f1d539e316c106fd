// Reductions. Sums over the rows of a matrix load 16 bytes at a time (column_sum_kernel). Elsewhere a block computes
// several results at once. Each of the kAlong threads of a result combines every kAlong-th of its terms, and a tree
// reduction combines the threads. For few results with many terms, the terms are also split over blocks, and a second
// launch reduces the partial results. The order of a sum depends on shapes and strides only.
#include <limits>

#include "tensor/cuda/base/kernels_cuda.h"
#include "tensor/cuda/base/row.h"
#include "tensor/cuda/runtime/runtime.h"

namespace pg::cuda {
namespace {

constexpr int64_t kBlocks = 512;  // enough for a large GPU: with fewer blocks, reductions are split further
constexpr int64_t kTerms = 16;    // minimum terms per thread: reductions are not split further than this

template <Reduce kOp, class T>
constexpr T kNothing = kOp == Reduce::sum ? T(0) : -std::numeric_limits<T>::infinity();

// Reduces the values of groups of kAlong threads, a power of two, that are kStep threads apart: combine(a, b) along a
// tree in shared memory `values` [blockDim.x]. The first thread of each group gets the result. All threads of the block
// must call it.
template <int kAlong, int kStep, class V, class F>
__device__ __forceinline__ V block_reduce(V* values, V value, F combine) {
  const int t = static_cast<int>(threadIdx.x), along = t / kStep % kAlong;
  for (int half = kAlong / 2; half > 0; half /= 2) {
    values[t] = value;
    __syncthreads();
    if (along < half) value = combine(value, values[t + half * kStep]);
    __syncthreads();
  }
  return value;
}

template <Reduce kOp, class T>
__device__ __forceinline__ T combine(T a, T b) {
  if constexpr (kOp == Reduce::sum) return a + b;
  if constexpr (kOp == Reduce::max) return max_with_nan(a, b);
}

// to = beta·to + total / divisor
template <class R, class T>
__device__ __forceinline__ void store_sum(R* to, T total, T divisor, T beta) {
  total /= divisor;
  if (beta != 0) total += beta * load<T>(to);
  store(to, total);
}

struct Plan : ReductionLoops {
  bool columns;  // neighbouring results are closer in x than neighbouring terms of one result
};

// y = beta·y + (sum of the terms [blockIdx.y · per_split, + per_split) of each result) / divisor, or their maximum. The
// results of split i begin at offset i · split_step. Neighbouring threads belong to one result if its terms are
// adjacent; with kColumns they belong to neighbouring results.
template <Reduce kOp, int kAlong, bool kColumns, class R, class S, class T>
__global__ void reduce_kernel(__grid_constant__ const StridedLoop<2> kept,
                              __grid_constant__ const StridedLoop<1> reduced, int64_t per_split, R* y,
                              int64_t split_step, const S* x, T divisor, T beta) {
  constexpr int kAcross = kThreads / kAlong, kStep = kColumns ? kAcross : 1;
  __shared__ T values[kThreads];
  const int t = static_cast<int>(threadIdx.x);
  const int along = t / kStep % kAlong, across = kColumns ? t % kAcross : t / kAlong;
  const int64_t begin = blockIdx.y * per_split, end = min(begin + per_split, reduced.n);
  for (int64_t first = int64_t{blockIdx.x} * kAcross; first < kept.n; first += int64_t{gridDim.x} * kAcross) {
    const bool mine = first + across < kept.n;
    int64_t at[2] = {};
    T total = kNothing<kOp, T>;
    if (mine) {
      offsets_of(kept, first + across, at);
      for (int64_t i = begin + along; i < end; i += kAlong) {
        int64_t term[1];
        offsets_of(reduced, i, term);
        total = combine<kOp>(total, load<T>(x + at[0] + term[0]));
      }
    }
    total = block_reduce<kAlong, kStep>(values, total, [](T a, T b) { return combine<kOp>(a, b); });
    if (mine && along == 0) {
      R* to = y + at[1] + blockIdx.y * split_step;
      if constexpr (kOp == Reduce::sum) {
        store_sum(to, total, divisor, beta);
      } else {
        store(to, total);
      }
    }
  }
}

template <Reduce kOp, int kAlong, bool kColumns, class R, class S, class T>
void run(const Plan& p, R* y, const S* x, T divisor, T beta) {
  constexpr int64_t kAcross = kThreads / kAlong;
  const int64_t tasks = (p.kept.n + kAcross - 1) / kAcross;
  const auto blocks = static_cast<unsigned>(std::min<int64_t>(tasks, 1 << 20));
  const int64_t wanted = std::max<int64_t>(1, std::min(kBlocks / tasks, p.reduced.n / (kAlong * kTerms)));
  const int64_t per_split = (p.reduced.n + wanted - 1) / wanted;
  if (wanted == 1) {
    launch(reduce_kernel<kOp, kAlong, kColumns, R, S, T>, blocks, kThreads, 0, stream(), p.kept, p.reduced, per_split,
           y, 0, x, divisor, beta);
    return;
  }
  const int64_t splits = (p.reduced.n + per_split - 1) / per_split;
  const Scratch<T> parts(splits * p.kept.n);  // [splits, results]
  Plan whole = p;
  int64_t step = 1;
  for (int d = p.kept.rank - 1; d >= 0; step *= p.kept.size[d--]) whole.kept.stride[1][d] = step;
  launch(reduce_kernel<kOp, kAlong, kColumns, T, S, T>, dim3(blocks, static_cast<unsigned>(splits)), kThreads, 0,
         stream(), whole.kept, p.reduced, per_split, parts.data(), p.kept.n, x, 1, 0);
  // The second launch reduces the few partial results of each result; the dimensions of the results stay as they are.
  whole.kept.stride[0] = whole.kept.stride[1];
  whole.kept.stride[1] = p.kept.stride[1];
  const Strides between_parts{p.kept.n};
  whole.reduced = plan_loop<1>({splits}, {&between_parts});
  launch(reduce_kernel<kOp, 32, false, R, T, T>, static_cast<unsigned>((p.kept.n + 7) / 8), kThreads, 0, stream(),
         whole.kept, whole.reduced, splits, y, 0, parts.data(), divisor, beta);
}

// ---- chunks of 16 bytes

constexpr int kAtOnce = 4;  // chunks that a thread loads before it adds them

// Calls f(v) for the elements v [N] of the chunks at p + u·apart, in order; all are aligned.
template <class T, class S, class F>
__device__ __forceinline__ void for_aligned_chunks(const S* p, int64_t apart, F f) {
  constexpr int N = kChunk<S>;
  uint4 bits[kAtOnce];
  for (int u = 0; u < kAtOnce; ++u) bits[u] = *reinterpret_cast<const uint4*>(p + u * apart);
  for (int u = 0; u < kAtOnce; ++u) {
    alignas(16) S held[N];
    *reinterpret_cast<uint4*>(held) = bits[u];
    T v[N];
    for (int j = 0; j < N; ++j) v[j] = load<T>(held + j);
    f(v);
  }
}

// The columns' sums of a matrix x [rows, columns] with contiguous rows `step` apart: y = beta·y + (sum over rows
// [blockIdx.y · per_split, + per_split)) / divisor. The results of split i begin at y + i · split_step. A thread adds
// one chunk of every kAlong-th row; one thread adds the kAlong sums of a column, in order. `aligned`: all chunks are
// whole and aligned; this changes no result.
template <int kAcross, class R, class S, class T>
__global__ void __launch_bounds__(kThreads)
    column_sum_kernel(const S* x, int64_t step, int64_t rows, int64_t columns, int64_t per_split, R* y, int64_t y_step,
                      int64_t split_step, T divisor, T beta, bool aligned) {
  constexpr int N = kChunk<S>, kAlong = kThreads / kAcross, kColumns = kAcross * N;
  static_assert(kColumns <= kThreads);
  __shared__ __align__(16) T sums[kAlong][kColumns];
  const int t = static_cast<int>(threadIdx.x), along = t / kAcross, across = t % kAcross;
  const int64_t first = int64_t{blockIdx.x} * kColumns, column = first + across * N;
  const int64_t begin = blockIdx.y * per_split, end = min(begin + per_split, rows);
  T sum[N] = {};
  const auto add = [&](const T(&v)[N]) {
    for (int j = 0; j < N; ++j) sum[j] += v[j];
  };
  if (column < columns) {
    int64_t row = begin + along;
    if (aligned) {
      for (; row + (kAtOnce - 1) * kAlong < end; row += kAtOnce * kAlong) {
        for_aligned_chunks<T>(x + row * step + column, kAlong * step, add);
      }
    }
    for (; row < end; row += kAlong) {
      T v[N];
      load_chunk(v, x + row * step, column, columns, T(0));
      add(v);
    }
  }
  vector_store(&sums[along][across * N], sum);
  __syncthreads();
  if (t >= kColumns || first + t >= columns) return;
  T total = sums[0][t];
  for (int a = 1; a < kAlong; ++a) total += sums[a][t];
  store_sum(y + (first + t) * y_step + blockIdx.y * split_step, total, divisor, beta);
}

// If the rows are split, a second launch adds the sums of the splits.
template <int kAcross, class R, class S, class T>
void sum_columns(const S* x, int64_t step, int64_t rows, int64_t columns, R* y, int64_t y_step, T divisor, T beta) {
  constexpr int64_t N = kChunk<S>, kAlong = kThreads / kAcross;
  const int64_t tasks = (columns + kAcross * N - 1) / (kAcross * N);
  const int64_t wanted = std::max<int64_t>(1, std::min(kBlocks / tasks, rows / (kAlong * kTerms)));
  const int64_t per_split = (rows + wanted - 1) / wanted, splits = (rows + per_split - 1) / per_split;
  const bool aligned = reinterpret_cast<uintptr_t>(x) % 16 == 0 && step % N == 0 && columns % N == 0;
  const dim3 grid(static_cast<unsigned>(tasks), static_cast<unsigned>(splits));
  if (splits == 1) {
    launch(column_sum_kernel<kAcross, R, S, T>, grid, kThreads, 0, stream(), x, step, rows, columns, per_split, y,
           y_step, 0, divisor, beta, aligned);
    return;
  }
  const Scratch<T> parts(splits * columns);  // [splits, columns]
  launch(column_sum_kernel<kAcross, T, S, T>, grid, kThreads, 0, stream(), x, step, rows, columns, per_split,
         parts.data(), 1, columns, 1, 0, aligned);
  sum_columns<8, R, T, T>(parts.data(), columns, splits, columns, y, y_step, divisor, beta);
}

// Whether x is a matrix of many rows, or a list of them, whose rows are summed.
template <class S>
bool sums_rows(const Plan& p) {
  return p.kept.rank == 1 && p.kept.stride[0][0] == 1 && p.kept.n >= 8 * kChunk<S> && p.reduced.rank == 1 &&
         p.reduced.stride[0][0] > 0;
}

template <Reduce kOp, class R, class S, class T>
void reduce_as(const Plan& p, R* y, const S* x, T divisor, T beta) {
  constexpr int64_t kShort = 8;  // up to this number of terms, one thread adds them
  if (p.columns && p.reduced.n <= kShort) return run<kOp, 1, true>(p, y, x, divisor, beta);
  if constexpr (kOp == Reduce::sum) {
    if (p.columns && sums_rows<S>(p)) {
      const auto sum = p.kept.n >= 32 * kChunk<S> ? sum_columns<32, R, S, T> : sum_columns<8, R, S, T>;
      return sum(x, p.reduced.stride[0][0], p.reduced.n, p.kept.n, y, p.kept.stride[1][0], divisor, beta);
    }
  }
  if (p.columns) return run<kOp, 8, true>(p, y, x, divisor, beta);
  if (p.reduced.n <= kShort) return run<kOp, 1, false>(p, y, x, divisor, beta);
  if (p.reduced.n <= 1024) return run<kOp, 32, false>(p, y, x, divisor, beta);
  run<kOp, kThreads, false>(p, y, x, divisor, beta);
}

Plan plan(const View& y, const View& x) {
  Plan p{plan_reduction(y, x), false};
  p.columns = p.kept.n > 1 && (p.reduced.n <= 1 || p.reduced.inner_stride(0) >= p.kept.inner_stride(0));
  return p;
}

// parts[block] = its part of Σ x², in double: the squares must not overflow.
template <class S>
__global__ void squares_kernel(double* parts, const S* x, int64_t n) {
  constexpr int N = kChunk<S>;
  __shared__ double values[kThreads];
  double total = 0;
  const auto add = [&](const double(&v)[N]) {
    for (int j = 0; j < N; ++j) total += v[j] * v[j];
  };
  constexpr int64_t kTile = kAtOnce * kThreads * N;
  const int64_t step = gridDim.x * kTile;
  int64_t i = blockIdx.x * kTile + threadIdx.x * N;
  if (is_aligned(x)) {
    for (; i + ((kAtOnce - 1) * kThreads + 1) * N <= n; i += step) for_aligned_chunks<double>(x + i, kThreads * N, add);
  }
  for (; i < n; i += step) {
    for (int64_t at = i; at < n && at < i + kTile; at += kThreads * N) {
      double v[N];
      load_chunk(v, x, at, n, 0.0);
      add(v);
    }
  }
  total = block_reduce<kThreads, 1>(values, total, [](double a, double b) { return a + b; });
  if (threadIdx.x == 0) parts[blockIdx.x] = total;
}

// Comparison for argmax: the first of the largest values; NaN counts as larger than all others.
template <class T>
struct Candidate {
  using Index = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;  // no padding, which would stay uninitialised
  T value;
  Index index;
};
template <class T>
__device__ Candidate<T> better(Candidate<T> a, Candidate<T> b) {
  const bool a_nan = a.value != a.value, b_nan = b.value != b.value;
  const bool equal = a_nan ? b_nan : a.value == b.value;
  if (equal) return a.index < b.index ? a : b;
  return b_nan || b.value > a.value ? b : a;
}

// index [R] of x [R, C], whose rows are x_step apart; kAlong threads per row.
template <int kAlong, class S, class T>
__global__ void argmax_kernel(int32_t* index, const S* x, int64_t x_step, int64_t rows, int64_t columns) {
  constexpr int kAcross = kThreads / kAlong, N = kChunk<S>;
  __shared__ Candidate<T> values[kThreads];
  const int along = static_cast<int>(threadIdx.x) % kAlong, across = static_cast<int>(threadIdx.x) / kAlong;
  for (int64_t first = int64_t{blockIdx.x} * kAcross; first < rows; first += int64_t{gridDim.x} * kAcross) {
    const int64_t row = first + across;
    Candidate<T> top{-std::numeric_limits<T>::infinity(), std::numeric_limits<int32_t>::max()};
    if (row < rows) {
      const S* const elements = x + row * x_step;
      const auto take = [&](const T& value, int64_t column) {
        top = better(top, Candidate<T>{value, static_cast<typename Candidate<T>::Index>(column)});
      };
      const int64_t chunks = is_aligned(elements) ? columns / N : 0;  // the others are read one by one
      int64_t chunk = along;
      for (; chunk + (kInFlight - 1) * kAlong < chunks; chunk += kInFlight * kAlong) {
        T v[kInFlight][N];
#pragma unroll
        for (int u = 0; u < kInFlight; ++u) vector_load(v[u], elements + (chunk + u * kAlong) * N);
#pragma unroll
        for (int u = 0; u < kInFlight; ++u) {
          for (int j = 0; j < N; ++j) take(v[u][j], (chunk + u * kAlong) * N + j);
        }
      }
      for (; chunk < chunks; chunk += kAlong) {
        T v[N];
        vector_load(v, elements + chunk * N);
        for (int j = 0; j < N; ++j) take(v[j], chunk * N + j);
      }
      for (int64_t c = chunks * N + along; c < columns; c += kAlong) take(load<T>(elements + c), c);
    }
    top = block_reduce<kAlong, 1>(values, top, [](Candidate<T> a, Candidate<T> b) { return better(a, b); });
    if (along == 0 && row < rows) index[row] = static_cast<int32_t>(top.index);
  }
}

}  // namespace

void reduce(Reduce op, const View& y, const View& x, double divisor, double beta) {
  const Plan p = plan(y, x);
  if (p.kept.n == 0) return;
  visit_result(y, x, "reduce",
               [&]<class R, class S, class T>(std::type_identity<R>, std::type_identity<S>, std::type_identity<T>) {
                 const T n = static_cast<T>(divisor), b = static_cast<T>(beta);
                 if (op == Reduce::sum) return reduce_as<Reduce::sum>(p, data_of<R>(y), data_of<S>(x), n, b);
                 reduce_as<Reduce::max>(p, data_of<R>(y), data_of<S>(x), n, b);
               });
}

void argmax(const View& index, const View& x) {
  visit_stored(x.dtype, "argmax", [&]<class S, class T>(std::type_identity<S>, std::type_identity<T>) {
    const int64_t rows = x.shape[0], columns = x.shape[1];
    const bool narrow = columns <= 1024;
    const auto kernel = narrow ? argmax_kernel<32, stored_t<S>, T> : argmax_kernel<kThreads, stored_t<S>, T>;
    const auto blocks = static_cast<unsigned>(std::clamp<int64_t>(narrow ? (rows + 7) / 8 : rows, 1, 1 << 20));
    launch(kernel, blocks, kThreads, 0, stream(), index.as<int32_t>(), data_of<S>(x), x.strides[0], rows, columns);
  });
}

void sum_of_squares(const View& y, const View& x) {
  visit_stored(x.dtype, "sum_of_squares", [&]<class S, class T>(std::type_identity<S>, std::type_identity<T>) {
    const int64_t n = x.numel(), per_block = kThreads * kAtOnce * kChunk<stored_t<S>>;
    const int64_t blocks = std::clamp<int64_t>(n / per_block, 1, 2 * kBlocks);
    const Scratch<double> parts(blocks);
    launch(squares_kernel<stored_t<S>>, static_cast<unsigned>(blocks), kThreads, 0, stream(), parts.data(),
           data_of<S>(x), n);
    reduce(Reduce::sum, y, {parts.data(), f64, {blocks}, {1}}, 1, 0);
  });
}

}  // namespace pg::cuda
