#pragma once
// Shared code of the kernels that work along rows: groups of threads, loops over a row, and reductions in a fixed
// order. The maximum and log-sum-exp of a row are computed in one function, row_stats: softmax, log-softmax,
// cross-entropy and token log-probabilities are bit-identical because they all use it.
#include <limits>

#include "tensor/cuda/base/array.h"
#include "tensor/cuda/mma/mma.h"

namespace pg::cuda {

// The rows of a view [R, C]: contiguous within a row, any stride between rows. Higher ranks count as one list of rows.
struct RowShape {
  int64_t count, size;
  explicit RowShape(const View& v) : count(1), size(v.rank() ? v.shape.back() : 1) {
    for (int d = 0; d + 1 < v.rank(); ++d) count *= v.shape[d];
  }
};
template <class S>  // as stored
struct Rows {
  S* data;
  int64_t step;
  __device__ __forceinline__ S* operator[](int64_t row) const { return data + row * step; }
};
template <class S>
Rows<stored_t<S>> rows_of(const View& v) {
  return {data_of<S>(v), v.rank() == 2 ? v.strides[0] : RowShape(v).size};
}
// One value per row, with any stride: a broadcast gradient has stride 0.
template <class T>
Rows<T> values_of(const View& v) {
  return {v.as<T>(), v.rank() == 1 ? v.strides[0] : 1};
}

// ---- thread groups

inline constexpr int kWarp = 32;
inline constexpr int64_t kWarpRow = 1024;  // elements; longer rows use a block each

// The group of kSize threads that share a row: a warp or the whole block. All of them must call reduce together.
template <int kSize>
struct ThreadGroup {
  static constexpr int kThreadsPerRow = kSize;
  static constexpr int kRows = kThreads / kSize;  // rows that a block processes at a time

  static unsigned blocks(int64_t rows) {
    return static_cast<unsigned>(std::clamp<int64_t>((rows + kRows - 1) / kRows, 1, 4096));
  }
  // The loop over this thread group's rows: for (int64_t r = first_row(); r < rows; r += row_step()).
  static __device__ __forceinline__ int64_t first_row() { return int64_t{blockIdx.x} * kRows + threadIdx.x / kSize; }
  static __device__ __forceinline__ int64_t row_step() { return int64_t{gridDim.x} * kRows; }
  static __device__ __forceinline__ int rank() { return static_cast<int>(threadIdx.x % kSize); }

  // Reduces the x of all threads with f in a fixed order; every thread gets the bit-identical result.
  template <class T, class F>
  static __device__ __forceinline__ T reduce(T x, F f) {
    for (int step = kWarp / 2; step > 0; step /= 2) x = f(x, __shfl_xor_sync(0xffffffffu, x, step));
    if constexpr (kSize == kWarp) {
      return __shfl_sync(0xffffffffu, x, 0);
    } else {
      __shared__ T parts[kSize / kWarp];
      if (threadIdx.x % kWarp == 0) parts[threadIdx.x / kWarp] = x;
      __syncthreads();
      x = parts[0];
      for (int i = 1; i < kSize / kWarp; ++i) x = f(x, parts[i]);
      __syncthreads();  // before the next call writes to parts
      return x;
    }
  }
  template <class T>
  static __device__ __forceinline__ T sum(T x) {
    return reduce(x, [](T a, T b) { return a + b; });
  }
  // Memory that a thread of the group read or wrote before it may be written or read by another one after it.
  static __device__ __forceinline__ void sync() {
    if constexpr (kSize == kWarp) {
      __syncwarp();
    } else {
      __syncthreads();
    }
  }
};

// Calls f(Group) with the thread group for rows of this shape; the choice depends on the row length only. Does nothing
// if there are no rows.
template <class F>
void visit_thread_group(const RowShape& shape, F f) {
  if (shape.count == 0) return;
  if (shape.size <= kWarpRow) {
    f(ThreadGroup<kWarp>{});
  } else {
    f(ThreadGroup<kThreads>{});
  }
}

// ---- parts of a row in registers

template <class S>  // as stored
inline constexpr int kChunk = 16 / sizeof(S);

// Loads N elements from p or stores them to p. If N is more than 1, p must be a multiple of 16 bytes.
template <int N, class T, class S>
__device__ __forceinline__ void vector_load(T (&v)[N], const S* p) {
  if constexpr (N == 1) {
    v[0] = load<T>(p);
  } else {
    alignas(16) S held[N];
    for (int i = 0; i < N / kChunk<S>; ++i) reinterpret_cast<uint4*>(held)[i] = reinterpret_cast<const uint4*>(p)[i];
    for (int j = 0; j < N; ++j) v[j] = load<T>(held + j);
  }
}
template <int N, class T, class S>
__device__ __forceinline__ void vector_store(S* p, const T (&v)[N]) {
  if constexpr (N == 1) {
    store(p, v[0]);
  } else {
    alignas(16) S held[N];
    for (int j = 0; j < N; ++j) store(held + j, v[j]);
    for (int i = 0; i < N / kChunk<S>; ++i) reinterpret_cast<uint4*>(p)[i] = reinterpret_cast<const uint4*>(held)[i];
  }
}
// vector_store to device memory. The instruction is chosen here because nvcc splits the assignment of a uint4 into four
// stores in some kernels.
template <int N, class T, class S>
__device__ __forceinline__ void device_store(S* p, const T (&v)[N]) {
#if defined(__CUDACC__)
  if constexpr (N > 1) {
    alignas(16) S held[N];
    for (int j = 0; j < N; ++j) store(held + j, v[j]);
    for (int i = 0; i < N / kChunk<S>; ++i) {
      const uint4 x = reinterpret_cast<const uint4*>(held)[i];
      asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(p + i * kChunk<S>)),
                   "r"(x.x), "r"(x.y), "r"(x.z), "r"(x.w)
                   : "memory");
    }
    return;
  }
#endif
  vector_store(p, v);
}
// to = beta·to + g; for beta 0 `to` is not read.
template <int N, class T, class S>
__device__ __forceinline__ void write_gradient(S* to, T (&g)[N], T beta) {
  if (beta != 0) {
    T old[N];
    vector_load(old, to);
    for (int j = 0; j < N; ++j) g[j] += old[j] * beta;
  }
  vector_store(to, g);
}

__host__ __device__ __forceinline__ bool is_aligned(const void* p) { return reinterpret_cast<uintptr_t>(p) % 16 == 0; }

// The 16 bytes at p, a multiple of 2: two aligned loads, combined by shifts. Reads up to 14 bytes before or after them.
__device__ __forceinline__ uint4 load_unaligned(const void* p) {
  const unsigned skip = reinterpret_cast<uintptr_t>(p) % 16;
  const uint4* from = reinterpret_cast<const uint4*>(static_cast<const char*>(p) - skip);
  const uint4 low = from[0], high = from[1];
  unsigned word[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
  if (skip & 8) {
    for (int i = 0; i < 6; ++i) word[i] = word[i + 2];
  }
  if (skip & 4) {
    for (int i = 0; i < 5; ++i) word[i] = word[i + 1];
  }
  if (skip & 2) {
    for (int i = 0; i < 4; ++i) word[i] = word[i] >> 16 | word[i + 1] << 16;
  }
  return make_uint4(word[0], word[1], word[2], word[3]);
}

// Elements [i, i + N) of a row of n; N elements are 16 bytes. Elements past the row's end are `other`.
template <int N, class T, class S>
__device__ __forceinline__ void load_chunk(T (&v)[N], const S* row, int64_t i, int64_t n, T other) {
  const bool aligned = is_aligned(row + i);
  if (aligned && i + N <= n) {
    vector_load(v, row + i);
  } else if (!aligned && i >= N && i + 2 * N <= n) {  // the bytes read around the chunk are inside the row
    alignas(16) S held[N];
    *reinterpret_cast<uint4*>(held) = load_unaligned(row + i);
    for (int j = 0; j < N; ++j) v[j] = load<T>(held + j);
  } else {
    for (int j = 0; j < N; ++j) v[j] = i + j < n ? load<T>(row + i + j) : other;
  }
}

// ---- loops over a row

// For sums and maxima: f(i) for the chunks of N elements at i = 0, N, … of [0, n). The assignment of chunks to threads
// does not depend on the row's address in memory, so the result's bits do not either.
template <class Group, int N, class F>
__device__ __forceinline__ void for_chunks(int64_t n, F f) {
  for (int64_t i = int64_t{Group::rank()} * N; i < n; i += Group::kThreadsPerRow * N) f(i);
}

// The number of elements of a row of n before the first index at which every operand is 16-byte aligned; n if there is
// no such index. N elements of `first` are 16 bytes. Null operands are ignored.
template <int N, class First, class... Rest>
__device__ __forceinline__ int64_t unaligned_head(int64_t n, const First* first, const Rest*... rest) {
  const int64_t head = static_cast<int64_t>((16 - reinterpret_cast<uintptr_t>(first) % 16) % 16 / sizeof(First));
  const bool together = is_aligned(first + head) && (... && (!rest || is_aligned(rest + head)));
  return together && head < n ? head : n;
}

// For elementwise computations: f(i, integral_constant<int, K>) for blocks [i, i + K) of a row of n; K is N where
// vector_load and vector_store can use vectorized 16-byte accesses, else 1.
template <class Group, int N, class F>
__device__ __forceinline__ void for_vectors(int64_t n, int64_t head, F f) {
  const int64_t end = head + (n - head) / N * N, singles = head + (n - end);
  for (int64_t i = head + int64_t{Group::rank()} * N; i < end; i += Group::kThreadsPerRow * N) {
    f(i, std::integral_constant<int, N>{});
  }
  for (int64_t i = Group::rank(); i < singles; i += Group::kThreadsPerRow) {
    f(i < head ? i : end + (i - head), std::integral_constant<int, 1>{});
  }
}

inline constexpr int kInFlight = 4;  // chunks that a thread loads before it uses them

// for_vectors for x as one of the operands: f(i, v) for v = elements [i, i + K) of the row x. Loads of x precede f's
// writes to the same elements.
template <class Group, class T, class S, class F>
__device__ __forceinline__ void for_loaded(const S* x, int64_t n, int64_t head, F f) {
  constexpr int N = kChunk<S>;
  constexpr int64_t step = Group::kThreadsPerRow * N;
  const int64_t end = head + (n - head) / N * N, singles = head + (n - end);
  int64_t i = head + int64_t{Group::rank()} * N;
  for (; i + (kInFlight - 1) * step < end; i += kInFlight * step) {
    alignas(16) S held[kInFlight][N];
    for (int k = 0; k < kInFlight; ++k) {
      *reinterpret_cast<uint4*>(held[k]) = *reinterpret_cast<const uint4*>(x + i + k * step);
    }
    for (int k = 0; k < kInFlight; ++k) {
      T v[N];
      for (int j = 0; j < N; ++j) v[j] = load<T>(held[k] + j);
      f(i + k * step, v);
    }
  }
  for (; i < end; i += step) {
    T v[N];
    vector_load(v, x + i);
    f(i, v);
  }
  for (int64_t k = Group::rank(); k < singles; k += Group::kThreadsPerRow) {
    const int64_t single = k < head ? k : end + (k - head);
    T v[1];
    vector_load(v, x + single);
    f(single, v);
  }
}

// ---- log-sum-exp

// A product that is rounded separately: otherwise nvcc may fuse it with an addition in one kernel and not in another.
__device__ __forceinline__ float rounded_product(float a, float b) { return __fmul_rn(a, b); }
__device__ __forceinline__ double rounded_product(double a, double b) { return __dmul_rn(a, b); }

// log p(i) = (x[i] - max) - log_sum: the maximum is subtracted first, so that large logits lose no precision.
template <class T>
struct RowStats {
  T max, log_sum;
  T sum;           // Σ e^(x - max); NaN if all x are -inf
  T mean_shifted;  // Σ p·(x - max), if requested; the entropy is log_sum minus this
  __device__ __forceinline__ T log_prob(T x) const { return (x - max) - log_sum; }
};

// The statistics [R, 2] that a forward pass keeps for the backward pass: max and Σ e^(x - max) of each row. They give
// p(i) = e^(x[i] - max) / sum. They are not stored as one value, max + log_sum, because large logits would then lose
// precision.
template <class T>
struct KeptStats {
  T* data;
  __device__ __forceinline__ T& max(int64_t row) const { return data[2 * row]; }
  __device__ __forceinline__ T& sum(int64_t row) const { return data[2 * row + 1]; }
  __device__ __forceinline__ void keep(int64_t row, T top, T total) const {
    max(row) = top;
    sum(row) = total;
  }
};

// A thread's running statistics of the elements it has processed.
template <bool kEntropy, class T>
struct RunningSums {
  T top = std::numeric_limits<T>::lowest();  // and not -inf, because e^(-inf + inf) would be NaN
  T sum = 0;                                 // Σ e^(x - top)
  T dot = 0;                                 // Σ e^(x - top)·(x - top)

  // Rescales the sums to a larger maximum.
  __device__ __forceinline__ void raise(T next) {
    if (sum != 0) {  // also for NaN
      const T scale = ::exp(top - next);
      if constexpr (kEntropy) dot = scale == 0 ? T(0) : (dot + sum * (top - next)) * scale;
      sum = rounded_product(sum, scale);
    }
    top = next;
  }
};

// e^x of a difference x from the largest element of a row that is stored as S. For bf16 it is 2^(x·log2 e), with a
// relative error below 2^-21 + |x|·2^-24; the elements themselves have errors of 2^-9.
template <class S, class T>
__device__ __forceinline__ T exp_of(T x) {
  if constexpr (sizeof(S) == 2) {
    return ex2(x * T(1.44269504088896340736));
  } else {
    return ::exp(x);
  }
}

// One pass over the row: Milakov and Gimelshein, "Online normalizer calculation for softmax" (2018, arXiv:1805.02867).
// A thread takes kInFlight chunks at a time; which elements these are depends on n only. The maximum leaves NaN out:
// the sum is then NaN, and with it every result.
template <class Group, bool kEntropy, class T, class S>
__device__ __forceinline__ RowStats<T> row_stats(const S* x, int64_t n) {
  constexpr int N = kChunk<S>;
  constexpr int64_t step = Group::kThreadsPerRow * N;
  constexpr T past_end = -std::numeric_limits<T>::infinity();
  RunningSums<kEntropy, T> seen;
  const auto add = [&]<int M>(const T(&v)[M][N]) {
    T top = seen.top;
    for (int k = 0; k < M; ++k) {
      for (int j = 0; j < N; ++j) top = ::fmax(top, v[k][j]);
    }
    if (top != seen.top) seen.raise(top);
    for (int k = 0; k < M; ++k) {
      for (int j = 0; j < N; ++j) {
        const T shifted = v[k][j] - top, e = exp_of<S>(shifted);
        seen.sum += e;
        if constexpr (kEntropy) seen.dot += e == 0 ? T(0) : e * shifted;  // p = 0 contributes 0
      }
    }
  };
  int64_t i = int64_t{Group::rank()} * N;
  const auto groups = [&](auto load) {
    for (; i + (kInFlight - 1) * step + N <= n; i += kInFlight * step) {
      T v[kInFlight][N];
      for (int k = 0; k < kInFlight; ++k) load(v[k], i + k * step);
      add(v);
    }
  };
  if (is_aligned(x)) {
    groups([&](T(&v)[N], int64_t at) { vector_load(v, x + at); });
  } else {
    groups([&](T(&v)[N], int64_t at) { load_chunk(v, x, at, n, past_end); });
  }
  for (; i < n; i += step) {
    T v[1][N];
    load_chunk(v[0], x, i, n, past_end);
    add(v);
  }
  T max = Group::reduce(seen.top, [](T a, T b) { return ::fmax(a, b); });
  seen.raise(max);
  T sum = Group::sum(seen.sum);
  if (sum == 0) {  // every element is -inf
    max = -std::numeric_limits<T>::infinity();
    sum = std::numeric_limits<T>::quiet_NaN();
  }
  const T log_sum = ::log(sum);
  T mean_shifted = 0;
  if constexpr (kEntropy) mean_shifted = Group::sum(seen.dot) / sum;
  return {max, log_sum, sum, mean_shifted};
}

}  // namespace pg::cuda
