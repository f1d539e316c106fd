// Samples tokens from logits, with the filters of tensor/sample.h and without sorting: top-k and top-p are thresholds
// on the logit, found by bitwise search. One block per row; every sum has a fixed order, so a rerun gives the same
// tokens. Without filters, rows of bf16 are held in registers; the sums have the same order and the tokens are the
// same.
#include <bit>
#include <cmath>

#include "tensor/cuda/base/held_row.h"
#include "tensor/cuda/base/kernels_cuda.h"

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

// ---- rows of bf16 in registers, without filters

using Held = __nv_bfloat16;
constexpr int kHeldChunk = kChunk<Held>, kHeldStrip = kWarp * kHeldChunk;
constexpr int kHeldStrips = 7;  // strips of a warp's part; their chunks take 28 of a thread's 64 registers
constexpr int64_t kHeldRow = int64_t{kWarps} * kHeldStrips * kHeldStrip;  // elements; longer rows are not held

// A thread's chunks of its warp's part of a row. Parts and strips are those of first_past.
struct HeldPart {
  uint4 chunks[kHeldStrips];
  float mass[kHeldStrips];  // the sum of each chunk's weights
  int strips;               // of this warp; further chunks are -inf and have mass 0

  // Issues all loads. row is a multiple of 16 bytes; the part is [begin, end).
  __device__ __forceinline__ void load(const Held* row, int begin, int end) {
    constexpr unsigned low = 0xff80ff80u;  // two times -inf
    strips = (end - begin + kHeldStrip - 1) / kHeldStrip;
#pragma unroll
    for (int k = 0; k < kHeldStrips; ++k) {
      const int i = begin + k * kHeldStrip + static_cast<int>(threadIdx.x % kWarp) * kHeldChunk;
      chunks[k] = make_uint4(low, low, low, low);
      if (i + kHeldChunk <= end) {
        chunks[k] = *reinterpret_cast<const uint4*>(row + i);
      } else if (i < end) {  // the end of the row
        alignas(16) Held held[kHeldChunk];
        *reinterpret_cast<uint4*>(held) = chunks[k];
        for (int j = 0; j < kHeldChunk && i + j < end; ++j) held[j] = row[i + j];
        chunks[k] = *reinterpret_cast<const uint4*>(held);
      }
    }
  }
  // The elements of a chunk.
  static __device__ __forceinline__ void get(float (&x)[kHeldChunk], const uint4& chunk) {
    alignas(16) Held held[kHeldChunk];
    *reinterpret_cast<uint4*>(held) = chunk;
    for (int j = 0; j < kHeldChunk; ++j) x[j] = cuda::load<float>(held + j);
  }
  // The largest of the thread's elements. NaN is left out.
  __device__ __forceinline__ float largest() const {
    float top = -std::numeric_limits<float>::infinity();
#pragma unroll
    for (int k = 0; k < kHeldStrips; ++k) {
      if (k >= strips) break;
      float x[kHeldChunk];
      get(x, chunks[k]);
      for (float value : x) top = ::fmax(top, value);
    }
    return top;
  }
  // Sets mass; returns the sum of all weights.
  template <class Weight>
  __device__ __forceinline__ float weigh(Weight weight) {
    float sum = 0;
#pragma unroll
    for (int k = 0; k < kHeldStrips; ++k) {
      mass[k] = 0;
      if (k >= strips) continue;
      float x[kHeldChunk];
      get(x, chunks[k]);
      for (float value : x) mass[k] += weight(value);
      sum += mass[k];
    }
    return sum;
  }
  // The token's index in the part, as first_past finds it. `before` is the mass of the parts before this one. All lanes
  // of the warp must call this together and get the same result.
  template <class Weight>
  __device__ __forceinline__ int find(float before, float target, Weight weight) const {
    const int lane = static_cast<int>(threadIdx.x % kWarp);
    float running[kHeldStrips];
#pragma unroll
    for (int k = 0; k < kHeldStrips; ++k) running[k] = mass[k];
#pragma unroll
    for (int step = 1; step < kWarp; step *= 2) {
#pragma unroll
      for (int k = 0; k < kHeldStrips; ++k) {  // the strips' scans do not depend on each other
        const float other = __shfl_up_sync(0xffffffffu, running[k], step);
        if (lane >= step) running[k] += other;
      }
    }
    // The strip of the token and what belongs to it.
    int strip = 0;
    unsigned heavy = 0, past = 0;
    float start = 0, reach = 0;
    uint4 chunk = chunks[0];
#pragma unroll
    for (int k = 0; k < kHeldStrips; ++k) {
      const unsigned some = __ballot_sync(0xffffffffu, mass[k] > 0);
      const unsigned beyond = __ballot_sync(0xffffffffu, mass[k] > 0 && before + running[k] > target);
      if (some != 0 && past == 0) {
        strip = k;
        heavy = some;
        past = beyond;
        start = before;
        reach = running[k];
        chunk = chunks[k];
      }
      before += __shfl_sync(0xffffffffu, running[k], kWarp - 1);
    }
    // The element is in this lane's chunk.
    const int from = past ? __ffs(static_cast<int>(past)) - 1 : 31 - __clz(static_cast<int>(heavy));
    const float behind = __shfl_up_sync(0xffffffffu, reach, 1);
    float reached = lane == 0 ? start : start + behind, x[kHeldChunk];
    get(x, chunk);
    int at = -1;
    for (int j = 0; j < kHeldChunk; ++j) {
      const float w = weight(x[j]);
      if (!(w > 0) || (at >= 0 && past && reached > target)) continue;
      at = j;
      reached += w;
    }
    return strip * kHeldStrip + from * kHeldChunk + __shfl_sync(0xffffffffu, at, from);
  }
};

// The part that contains the token: the warp that has it, -1 if the row has NaN or no finite maximum.
struct ChosenPart {
  int warp;
  float before, target;
};
// Sets `chosen` by the masses of all parts, as first_past does: a part without mass adds 0 to the sums, which leaves
// them unchanged. The lanes of one warp call this together.
__device__ __forceinline__ void choose_part(ChosenPart& chosen, const float (&masses)[kWarps], float fraction) {
  const int lane = static_cast<int>(threadIdx.x % kWarp);
  float sum = 0, before = 0;
#pragma unroll
  for (int k = 0; k < kWarps; ++k) {
    if (k == lane) before = sum;
    sum += masses[k];
  }
  const float mass = masses[lane], target = fraction * sum;
  const unsigned heavy = __ballot_sync(0xffffffffu, mass != 0);
  const unsigned past = __ballot_sync(0xffffffffu, mass != 0 && before + mass > target);
  const bool finite = sum > 0 && sum < std::numeric_limits<float>::infinity();
  const int part = past ? __ffs(static_cast<int>(past)) - 1 : 31 - __clz(static_cast<int>(heavy));
  if (!finite) {
    if (lane == 0) chosen.warp = -1;
  } else if (lane == part) {
    chosen = {part, before, target};
  }
}

// sample_kernel without filters for rows of n ≤ kHeldRow elements that begin at multiples of 16 bytes. kDivide: the
// temperature is not 1; a division takes longer than the exponential.
template <bool kDivide>
__global__ void __launch_bounds__(kSampleThreads)
    sample_held_kernel(int32_t* ids, Rows<Held> logits, int n, const double* u, float temperature) {
  __shared__ float tops[kWarps], masses[kWarps];
  __shared__ ChosenPart chosen;
  const int lane = static_cast<int>(threadIdx.x % kWarp), warp = static_cast<int>(threadIdx.x / kWarp);
  const int strips = (n + kHeldStrip - 1) / kHeldStrip, length = (strips + kWarps - 1) / kWarps * kHeldStrip;
  const int begin = std::min(n, warp * length), end = std::min(n, begin + length);
  let_next_kernel_start();
  wait_for_earlier_kernels();
  HeldPart part;
  part.load(logits[blockIdx.x], begin, end);
  const float fraction = warp == 0 ? static_cast<float>(u[blockIdx.x]) : 0;
  const auto max_of_warp = [](float x) {
    for (int step = kWarp / 2; step > 0; step /= 2) x = ::fmax(x, __shfl_xor_sync(0xffffffffu, x, step));
    return x;
  };
  float top = max_of_warp(part.largest());
  if (lane == 0) tops[warp] = top;
  __syncthreads();
  top = max_of_warp(tops[lane]);
  // If an element is NaN or the maximum is infinite, a weight is NaN and so is the sum of all.
  // A weight is rounded to float before it is added, as in sample_kernel: in the simulator ::exp may return a double.
  const auto weight = [=](float x) -> float { return ::exp(kDivide ? (x - top) / temperature : x - top); };
  float sum = part.weigh(weight);
  for (int step = kWarp / 2; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  if (lane == 0) masses[warp] = sum;
  __syncthreads();
  if (warp == 0) choose_part(chosen, masses, fraction);
  __syncthreads();
  if (chosen.warp == warp) {
    const int at = part.find(chosen.before, chosen.target, weight);
    if (lane == 0) ids[blockIdx.x] = begin + at;
  } else if (chosen.warp < 0 && threadIdx.x == 0) {
    ids[blockIdx.x] = 0;
  }
}

// Whether sample_held_kernel can sample from these rows.
bool can_sample_held(const RowShape& shape, const Rows<Held>& logits, const SampleOptions& o) {
  const bool filters = (o.top_k > 0 && o.top_k < shape.size) || o.top_p < 1 || o.min_p > 0;
  return !filters && std::isnormal(static_cast<float>(o.temperature)) && shape.size > 0 && shape.size <= kHeldRow &&
         begin_aligned(shape, logits);
}

}  // namespace

void sample(const View& ids, const View& logits, const View& u, const SampleOptions& options) {
  visit_stored(logits.dtype, "sample", [&]<class Stored, class T>(std::type_identity<Stored>, std::type_identity<T>) {
    const RowShape shape(logits);
    if (shape.count == 0) return;
    if constexpr (std::is_same_v<stored_t<Stored>, Held>) {
      if (can_sample_held(shape, rows_of<Stored>(logits), options)) {
        const auto temperature = static_cast<float>(options.temperature);
        launch_early(temperature == 1 ? sample_held_kernel<false> : sample_held_kernel<true>,
                     static_cast<unsigned>(shape.count), kSampleThreads, 0, stream(), ids.as<int32_t>(),
                     rows_of<Stored>(logits), static_cast<int>(shape.size), u.as<const double>(), temperature);
        return;
      }
    }
    launch(sample_kernel<stored_t<Stored>, T>, static_cast<unsigned>(shape.count), kSampleThreads, 0, stream(),
           ids.as<int32_t>(), rows_of<Stored>(logits), shape.size, u.as<const double>(), options);
  });
}

}  // namespace pg::cuda
