// Samples tokens from logits, with the filters of tensor/sample.h and without sorting: top-k and top-p are thresholds
// on the logit, found by bitwise search. One block per row; every sum has a fixed order, so a rerun gives the same
// tokens.
#include <bit>
#include <cmath>

#include "tensor/cuda/kernels_cuda.h"
#include "tensor/cuda/row.h"

namespace pg::cuda {
namespace {

constexpr int kSampleThreads = 1024, kWarps = kSampleThreads / kWarp;
using Group = ThreadGroup<kSampleThreads>;

// Maps x to an unsigned integer with the same order; it has as many bits as S.
template <class S, class T>
__device__ __forceinline__ auto key_of(T x) {
  using Word = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
  constexpr Word sign = Word{1} << (8 * sizeof(Word) - 1);
  const Word bits = std::bit_cast<Word>(x + T(0));  // -0 becomes 0
  return (bits & sign ? ~bits : bits | sign) >> (8 * (sizeof(T) - sizeof(S)));
}

// Σ weight(i, x) over a row; every thread gets it.
template <class S, class T, class Weight>
__device__ T sum_of(const S* row, int64_t n, Weight weight) {
  constexpr int N = kChunk<S>;
  T sum = 0;
  for_chunks<Group, N>(n, [&](int64_t i) {
    T x[N];
    load_chunk(x, row, i, n, -std::numeric_limits<T>::infinity());
    for (int j = 0; j < N; ++j) sum += weight(i + j, x[j]);
  });
  return Group::sum(sum);
}

// The largest key for which the elements with this or a larger key have a total weight of at least `target`; 0 if all
// elements together have less. -inf must have weight 0. Determines two bits at a time.
template <class S, class T, class Weight>
__device__ auto threshold(const S* row, int64_t n, T target, Weight weight) {
  constexpr int N = kChunk<S>;
  decltype(key_of<S>(T())) found = 0;
  for (int bit = 8 * static_cast<int>(sizeof(S)) - 2; bit >= 0; bit -= 2) {
    T sums[3] = {};
    for_chunks<Group, N>(n, [&](int64_t i) {
      T x[N];
      load_chunk(x, row, i, n, -std::numeric_limits<T>::infinity());
      for (int j = 0; j < N; ++j) {
        const auto key = key_of<S>(x[j]);
        const T w = weight(x[j]);
        for (int k = 0; k < 3; ++k) sums[k] += key >= (found | (decltype(found)(k + 1) << bit)) ? w : T(0);
      }
    });
    int steps = 0;
    for (int k = 0; k < 3; ++k) {
      if (Group::sum(sums[k]) >= target) steps = k + 1;
    }
    found |= decltype(found)(steps) << bit;
  }
  return found;
}

// The first i at which the running sum of weight(i, x) exceeds fraction·(total weight) + offset; the last i with a
// positive weight if there is none because of rounding; -1 if no weight is positive. A warp sums a part of the row, in
// strips in which each lane reads 16 bytes; the first warp then walks through the strips of the part that contains i.
template <class S, class T, class Weight>
__device__ int64_t first_past(const S* row, int64_t n, T fraction, T offset, Weight weight) {
  constexpr int N = kChunk<S>, kStrip = kWarp * N;
  __shared__ T mass[kWarps];
  __shared__ int64_t result;
  const int lane = static_cast<int>(threadIdx.x % kWarp), warp = static_cast<int>(threadIdx.x / kWarp);
  const int64_t strips = (n + kStrip - 1) / kStrip, length = (strips + kWarps - 1) / kWarps * kStrip;
  // The weights of elements [i, i + N), 0 past the end; returns their sum.
  const auto weigh = [&](T(&w)[N], int64_t i) {
    T x[N] = {}, total = 0;
    if (i < n) load_chunk(x, row, i, n, -std::numeric_limits<T>::infinity());
    for (int j = 0; j < N; ++j) {
      w[j] = i + j < n ? weight(i + j, x[j]) : T(0);
      total += w[j];
    }
    return total;
  };
  const int64_t begin = warp * length, end = std::min(n, begin + length);
  T w[N], sum = 0;
  for (int64_t i = begin + lane * N; i < end; i += kStrip) sum += weigh(w, i);
  for (int step = kWarp / 2; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  __syncthreads();  // other threads may still be reading the previous call's result
  if (lane == 0) mass[warp] = sum;
  __syncthreads();
  if (warp == 0) {
    T total = 0;
    for (int k = 0; k < kWarps; ++k) total += mass[k];
    const T target = fraction * total + offset;
    T before = 0;
    int part = -1;
    for (int k = 0; k < kWarps; ++k) {
      if (mass[k] == 0) continue;
      if (part >= 0) before += mass[part];
      part = k;
      if (before + mass[k] > target) break;
    }
    int64_t found = -1;
    for (int64_t i = part < 0 ? n : part * length, stop = std::min(n, i + length); i < stop; i += kStrip) {
      const T own = weigh(w, i + lane * N);
      T running = own;
      for (int step = 1; step < kWarp; step *= 2) {
        const T other = __shfl_up_sync(0xffffffffu, running, step);
        if (lane >= step) running += other;
      }
      const unsigned heavy = __ballot_sync(0xffffffffu, own > 0);
      const unsigned past = __ballot_sync(0xffffffffu, own > 0 && before + running > target);
      if (heavy) {
        // The element is in this lane's chunk.
        const int from = past ? __ffs(static_cast<int>(past)) - 1 : 31 - __clz(static_cast<int>(heavy));
        const T behind = __shfl_up_sync(0xffffffffu, running, 1);
        T reached = lane == 0 ? before : before + behind;
        int at = -1;
        for (int j = 0; j < N; ++j) {
          if (!(w[j] > 0) || (at >= 0 && past && reached > target)) continue;
          at = j;
          reached += w[j];
        }
        found = i + from * N + __shfl_sync(0xffffffffu, at, from);
      }
      if (past) break;
      before += __shfl_sync(0xffffffffu, running, kWarp - 1);
    }
    if (lane == 0) result = found;
  }
  __syncthreads();
  return result;
}

template <class S, class T>
__global__ void __launch_bounds__(kSampleThreads)
    sample_kernel(int32_t* ids, Rows<S> logits, int64_t n, const double* u, SampleOptions o) {
  constexpr T inf = std::numeric_limits<T>::infinity();
  const S* row = logits[blockIdx.x];
  const T temperature = static_cast<T>(o.temperature), min_p = static_cast<T>(o.min_p);
  T top = -inf;
  for_chunks<Group, kChunk<S>>(n, [&](int64_t i) {
    T x[kChunk<S>];
    load_chunk(x, row, i, n, -inf);
    for (T value : x) top = max_with_nan(top, value);
  });
  top = Group::reduce(top, [](T a, T b) { return max_with_nan(a, b); });
  if (!(top > -inf && top < inf)) {
    if (threadIdx.x == 0) ids[blockIdx.x] = 0;
    return;
  }
  auto floor = key_of<S>(-inf);
  if (o.top_k > 0 && o.top_k < n) {
    floor = threshold<S>(row, n, static_cast<T>(o.top_k), [](T x) { return x > -inf ? T(1) : T(0); });
  }
  // Probability relative to that of the most probable token.
  const auto weight = [&](T x) { return key_of<S>(x) >= floor ? ::exp((x - top) / temperature) : T(0); };
  int64_t last = n;  // the last of the tokens with key `floor` that can be sampled
  if (o.top_p < 1) {
    const T target = static_cast<T>(o.top_p) * sum_of<S, T>(row, n, [&](int64_t, T x) { return weight(x); });
    const auto at = threshold<S>(row, n, target, weight);
    const T above = sum_of<S, T>(row, n, [&](int64_t, T x) { return key_of<S>(x) > at ? weight(x) : T(0); });
    const T here = sum_of<S, T>(row, n, [&](int64_t, T x) { return key_of<S>(x) == at ? weight(x) : T(0); });
    const T count = sum_of<S, T>(row, n, [&](int64_t, T x) { return key_of<S>(x) == at ? T(1) : T(0); });
    // Keeps as many of these tokens as are needed, in the order of their ids.
    const T needed = std::max(T(1), std::ceil((target - above) / (here / count)));
    last =
        first_past<S, T>(row, n, T(0), needed - T(0.5), [&](int64_t, T x) { return key_of<S>(x) == at ? T(1) : T(0); });
    floor = std::max(floor, at);
  }
  const int64_t token = first_past<S, T>(row, n, static_cast<T>(u[blockIdx.x]), T(0), [&](int64_t i, T x) {
    const T w = key_of<S>(x) == floor && i > last ? T(0) : weight(x);
    return w < min_p ? T(0) : w;
  });
  if (threadIdx.x == 0) ids[blockIdx.x] = static_cast<int32_t>(token);
}

}  // namespace

void sample(const View& ids, const View& logits, const View& u, const SampleOptions& options) {
  visit_stored(logits.dtype, "sample", [&]<class Stored, class T>(std::type_identity<Stored>, std::type_identity<T>) {
    const RowShape shape(logits);
    if (shape.count == 0) return;
    launch(sample_kernel<stored_t<Stored>, T>, static_cast<unsigned>(shape.count), kSampleThreads, 0, stream(),
           ids.as<int32_t>(), rows_of<Stored>(logits), shape.size, u.as<const double>(), options);
  });
}

}  // namespace pg::cuda
