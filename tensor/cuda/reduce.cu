// Reductions. A block computes several results at once. Each of the kAlong threads of a result combines every kAlong-th
// of its terms, and a tree reduction combines the threads. For few results with many terms, the terms are also split
// over blocks, and a second launch reduces the partial results. The order of a sum depends on shapes and strides only.
#include <limits>

#include "tensor/cuda/array.h"
#include "tensor/cuda/kernels_cuda.h"
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

struct Plan : ReductionLoops {
  bool columns;  // neighbouring results are closer in x than neighbouring terms of one result
};

// y = beta·y + (sum of the terms [blockIdx.y · per_split, + per_split) of each result) / divisor, or their maximum. The
// results of split i begin at offset i · split_step. Neighbouring threads belong to one result if its terms are
// adjacent; with kColumns they belong to neighbouring results.
template <Reduce kOp, int kAlong, bool kColumns, class R, class S, class T>
__global__ void reduce_kernel(StridedLoop<2> kept, StridedLoop<1> reduced, int64_t per_split, R* y, int64_t split_step,
                              const S* x, T divisor, T beta) {
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
        total /= divisor;
        if (beta != 0) total += beta * load<T>(to);
      }
      store(to, total);
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

template <Reduce kOp, class R, class S, class T>
void reduce_as(const Plan& p, R* y, const S* x, T divisor, T beta) {
  constexpr int64_t kShort = 8;  // up to this number of terms, one thread adds them
  if (p.columns && p.reduced.n <= kShort) return run<kOp, 1, true>(p, y, x, divisor, beta);
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
  __shared__ double values[kThreads];
  double total = 0;
  for (int64_t i = first_index(); i < n; i += index_step()) {
    const double v = load<double>(x + i);
    total += v * v;
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
  constexpr int kAcross = kThreads / kAlong;
  __shared__ Candidate<T> values[kThreads];
  const int along = static_cast<int>(threadIdx.x) % kAlong, across = static_cast<int>(threadIdx.x) / kAlong;
  for (int64_t first = int64_t{blockIdx.x} * kAcross; first < rows; first += int64_t{gridDim.x} * kAcross) {
    const int64_t row = first + across;
    Candidate<T> top{-std::numeric_limits<T>::infinity(), std::numeric_limits<int32_t>::max()};
    for (int64_t c = along; row < rows && c < columns; c += kAlong) {
      top = better(top, Candidate<T>{load<T>(x + row * x_step + c), static_cast<typename Candidate<T>::Index>(c)});
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
    const int64_t n = x.numel(), blocks = std::clamp<int64_t>(n / (kThreads * kTerms), 1, 2 * kBlocks);
    const Scratch<double> parts(blocks);
    launch(squares_kernel<stored_t<S>>, static_cast<unsigned>(blocks), kThreads, 0, stream(), parts.data(),
           data_of<S>(x), n);
    reduce(Reduce::sum, y, {parts.data(), f64, {blocks}, {1}}, 1, 0);
  });
}

}  // namespace pg::cuda
