#pragma once
// Shared code of the attention kernels: sizes, which keys a query sees, and the two products of flash attention (Dao et
// al., arXiv:2205.14135), for tiles of kTile queries by kTile keys.
#include "tensor/cuda/gemm/tile.h"
#include "tensor/kernels.h"

namespace pg::cuda {

inline constexpr int kMostSize = 256;  // maximum head dimension

template <class T>
struct AttentionSizes {
  AttentionSizes(const View& q, const View& k, const AttentionArgs& args)
      : batch(q.shape[0]),
        heads(q.shape[1]),
        kv_heads(k.shape[1]),
        queries(q.shape[2]),
        keys(k.shape[2]),
        size(static_cast<int>(q.shape[3])),
        causal(args.causal),
        scale(static_cast<T>(args.scale)),
        kv_len(args.kv_len.as<int32_t>()),
        kv_len_step(kv_len ? args.kv_len.strides[0] : 0),
        key_mask(args.key_mask.as<uint8_t>()),
        mask_batch(key_mask ? args.key_mask.strides[0] : 0),
        mask_step(key_mask ? args.key_mask.strides[1] : 0) {}

  __host__ __device__ int64_t group() const { return heads / kv_heads; }  // query heads that share a head of k and v
  // Number of keys in use in row b.
  __device__ int64_t length(int64_t b) const {
    if (!kv_len) return keys;
    const int64_t n = kv_len[b * kv_len_step];
    return n < 0 ? 0 : n > keys ? keys : n;
  }
  // Query t sees the keys [0, visible), except those that the key mask excludes.
  __device__ int64_t visible(int64_t t, int64_t length) const {
    if (!causal) return length;
    const int64_t n = length - queries + t + 1;
    return n < 0 ? 0 : n > length ? length : n;
  }
  __device__ bool attends(int64_t b, int64_t key) const {
    return !key_mask || key_mask[b * mask_batch + key * mask_step];
  }

  int64_t batch, heads, kv_heads, queries, keys;
  int size;
  bool causal;
  T scale;
  const int32_t* kv_len;  // may be null
  int64_t kv_len_step;
  const uint8_t* key_mask;  // may be null
  int64_t mask_batch, mask_step;
};

// A view [B, H, T, D] with D contiguous.
template <class E>
struct Heads {
  E* data;
  int64_t batch, head, row;  // strides
  explicit Heads(const View& x)
      : data(static_cast<E*>(x.data)), batch(x.strides[0]), head(x.strides[1]), row(x.strides[2]) {}
  __device__ E* at(int64_t b, int64_t h, int64_t t) const { return data + b * batch + h * head + t * row; }
};

// A gradient [B, H, T, D] with D contiguous, of type T or S.
template <class S, class T>
struct Gradient {
  explicit Gradient(const View& x) : wide(x.dtype == dtype_of<T>()), narrow(x), full(x) {}
  bool wide;
  Heads<S> narrow;
  Heads<T> full;

  // element d of a row = beta·element + sum
  __device__ void add(int64_t b, int64_t h, int64_t t, int d, T sum, T beta) const {
    if (wide) {
      add_to(full.at(b, h, t) + d, sum, beta);
    } else {
      add_to(narrow.at(b, h, t) + d, sum, beta);
    }
  }
  template <class E>
  static __device__ void add_to(E* to, T sum, T beta) {
    store(to, beta == 0 ? sum : beta * load<T>(to) + sum);
  }
};

// Number of query rows and of key rows in a tile, for head dimensions up to kSize. It also determines how many values
// each thread holds. A block's shared memory stays below 48 KB.
template <class T, int kSize>
inline constexpr int kTileOf = sizeof(T) == 8 || kSize > 128 ? 32 : 64;

// Calls f(identity<S>, identity<T>, integral_constant<kSize>), where kSize is the smallest of 32, 64, 128 and 256 that
// is at least the head dimension. Tiles have 32 or 64 rows.
template <class F>
void visit_heads(const View& q, const char* op, F&& f) {
  const int64_t size = q.shape[3];
  if (size > kMostSize) fail_head_size(op, size, kMostSize);
  visit_stored(q.dtype, op, [&]<class S, class T>(std::type_identity<S>, std::type_identity<T> t) {
    const std::type_identity<stored_t<S>> s;
    if (size <= 32) return f(s, t, std::integral_constant<int, 32>{});
    if (size <= 64) return f(s, t, std::integral_constant<int, 64>{});
    if (size <= 128) return f(s, t, std::integral_constant<int, 128>{});
    f(s, t, std::integral_constant<int, 256>{});
  });
}

// Rows of a head in device memory, `step` apart; rows from `count` on are read as 0.
template <class S>
struct Rows {
  const S* data;
  int64_t step;
  int64_t count;
};

// A block's shared memory.
template <class T, int kSize>
struct Shared {
  static constexpr int kTile = kTileOf<T, kSize>, kValues = 16 / (sizeof(T) / 4);
  alignas(16) Slice<T, kTile> left;
  alignas(16) Slice<T, kTile> right;
  alignas(16) T weights[kTile][kTile + 16 / sizeof(T)];  // transposed: [column][row]
  alignas(16) T values[kValues][kSize];
};

// The columns that a thread holds in each of its rows of a [kTile, kSize] tile: of(0), of(1), …
template <int kSize>
struct Columns {
  static constexpr int kCount = kSize / kSide, kVector = kCount < 4 ? kCount : 4;
  static __device__ int of(int c) { return c / kVector * kVector * kSide + tile_column() * kVector + c % kVector; }
};

// scores[i][j] = Σ_d x[row i][d]·y[column j][d].
template <int kSize, class T, class S, int N>
__device__ void scores_of(T (&scores)[N][N], Shared<T, kSize>& shared, Rows<S> x, Rows<S> y, int size) {
  constexpr int kTile = Shared<T, kSize>::kTile;
  for (auto& row : scores) {
    for (T& score : row) score = 0;
  }
  for (int d = 0; d < size; d += kDepth) {
    stage<kTile>(shared.left, x.data + d, x.step, 1, x.count, size - d);
    stage<kTile>(shared.right, y.data + d, y.step, 1, y.count, size - d);
    __syncthreads();
    multiply<kTile>(scores, shared.left, shared.right);
    __syncthreads();
  }
}

// Stores a thread's weights [row i][column j] in shared memory, where add_values() of all threads reads them.
template <int kSize, class T, int N>
__device__ void keep_weights(Shared<T, kSize>& shared, const T (&weights)[N][N]) {
#pragma unroll
  for (int j = 0; j < N; ++j) {
#pragma unroll
    for (int i = 0; i < N; ++i) shared.weights[tile_column() * N + j][tile_row() * N + i] = weights[i][j];
  }
}

// sums[row i] += Σ_j weights[row i][j]·values[j] for the columns j in [begin, end) for which uses(i, j) is true. Values
// for which keeps(j) is false count as 0, whatever they hold.
template <int kSize, class T, class S, int N, class Uses, class Keeps>
__device__ void add_values(T (&sums)[N][Columns<kSize>::kCount], Shared<T, kSize>& shared, Rows<S> values, int begin,
                           int end, int size, Uses uses, Keeps keeps) {
  using Mine = Columns<kSize>;
  constexpr int kValues = Shared<T, kSize>::kValues;
  for (int first = begin; first < end; first += kValues) {
    for (int i = static_cast<int>(threadIdx.x); i < kValues * kSize; i += kThreads) {
      const int j = first + i / kSize, d = i % kSize;
      const bool there = j < end && d < size && keeps(j);
      shared.values[i / kSize][d] = there ? load<T>(values.data + j * values.step + d) : T(0);
    }
    __syncthreads();
    const int last = std::min(end, first + kValues);
#pragma unroll 4
    for (int j = first; j < last; ++j) {
      T weight[N];
#pragma unroll
      for (int i = 0; i < N; ++i) weight[i] = shared.weights[j][tile_row() * N + i];
#pragma unroll
      for (int c = 0; c < Mine::kCount; ++c) {
        const T value = shared.values[j - first][Mine::of(c)];
#pragma unroll
        for (int i = 0; i < N; ++i) {
          if (uses(i, j)) sums[i][c] = fma(Scalar<T>(weight[i]), Scalar<T>(value), Scalar<T>(sums[i][c])).v;
        }
      }
    }
    __syncthreads();
  }
}

}  // namespace pg::cuda
