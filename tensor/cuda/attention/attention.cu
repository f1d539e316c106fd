// Attention, forward: out = softmax(scale·q·kᵀ) v without storing the T x S scores. A block has one tile of queries of
// one head and loops over tiles of keys. The softmax runs online: each row has the largest score so far m, the sum l =
// Σ e^(score - m) and the output Σ e^(score - m)·v, and rescales l and the output by e^(m - m') when the maximum grows
// to m'. Milakov and Gimelshein, arXiv:1805.02867; Dao et al., arXiv:2205.14135.
#include "tensor/cuda/attention/attention.h"
#include "tensor/cuda/attention/attention_tile.h"
#include "tensor/cuda/base/kernels_cuda.h"
#include "tensor/cuda/runtime/runtime.h"

namespace pg::cuda {
namespace {

// Reductions over the 16 threads that share a tile row.
template <class T>
__device__ T row_max(T x) {
  for (int step = kSide / 2; step > 0; step /= 2) x = std::max(x, __shfl_xor_sync(0xffffffffu, x, step, kSide));
  return x;
}
template <class T>
__device__ T row_sum(T x) {
  for (int step = kSide / 2; step > 0; step /= 2) x += __shfl_xor_sync(0xffffffffu, x, step, kSide);
  return x;
}

template <int kSize, class S, class T>
__global__ void __launch_bounds__(kThreads)
    attention_kernel(AttentionSizes<T> s, Heads<S> out, T* lse, Heads<const S> q, Heads<const S> k, Heads<const S> v) {
  constexpr int kTile = kTileOf<T, kSize>, kN = kTile / kSide;
  using Mine = Columns<kSize>;
  constexpr T inf = std::numeric_limits<T>::infinity();
  __shared__ Shared<T, kSize> shared;
  // The longest tiles first: with a causal mask, later query tiles see more keys.
  const int64_t tiles = (s.queries + kTile - 1) / kTile, t0 = (tiles - 1 - blockIdx.x % tiles) * kTile;
  const int64_t h = blockIdx.x / tiles % s.heads, b = blockIdx.x / tiles / s.heads, kv = h / s.group();
  const int64_t count = std::min(int64_t{kTile}, s.queries - t0), length = s.length(b);
  const int64_t end = s.visible(t0 + count - 1, length);  // end of the keys that any of these queries sees

  T m[kN], l[kN], o[kN][Mine::kCount] = {};
#pragma unroll
  for (int i = 0; i < kN; ++i) m[i] = -inf, l[i] = 0;
  for (int64_t first = 0; first < end; first += kTile) {
    const int keys = static_cast<int>(std::min(int64_t{kTile}, end - first));
    T p[kN][kN];
    scores_of<kSize>(p, shared, Rows<const S>{q.at(b, h, t0), q.row, count},
                     Rows<const S>{k.at(b, kv, first), k.row, keys}, s.size);
    int seen[kN];  // number of keys of this tile that the row sees
#pragma unroll
    for (int i = 0; i < kN; ++i) {
      const int64_t horizon = s.visible(t0 + tile_row() * kN + i, length) - first;
      seen[i] = static_cast<int>(std::min(std::max(horizon, int64_t{0}), int64_t{keys}));
      T largest = -inf;
#pragma unroll
      for (int j = 0; j < kN; ++j) {
        const int key = tile_column() * kN + j;
        p[i][j] = key < seen[i] && s.attends(b, first + key) ? p[i][j] * s.scale : -inf;
        largest = std::max(largest, p[i][j]);
      }
      const T before = m[i];
      m[i] = std::max(before, row_max(largest));
      const T alpha = before == m[i] ? T(1) : ::exp(before - m[i]);
      l[i] *= alpha;  // this thread's part of the sum
#pragma unroll
      for (int j = 0; j < kN; ++j) {
        p[i][j] = p[i][j] == -inf ? T(0) : ::exp(p[i][j] - m[i]);
        l[i] += p[i][j];
      }
#pragma unroll
      for (int c = 0; c < Mine::kCount; ++c) o[i][c] *= alpha;
    }
    keep_weights(shared, p);
    // First the keys that all rows see, then those that only some rows see: their values, whatever they are, must not
    // reach the other rows.
    const int64_t horizon = s.visible(t0, length) - first;
    const int common = static_cast<int>(std::min(std::max(horizon, int64_t{0}), int64_t{keys}));
    const Rows<const S> values{v.at(b, kv, first), v.row, keys};
    const auto keeps = [&](int j) { return s.attends(b, first + j); };
    add_values(
        o, shared, values, 0, common, s.size, [](int, int) { return true; }, keeps);
    add_values(
        o, shared, values, common, keys, s.size, [&](int i, int j) { return j < seen[i]; }, keeps);
  }

#pragma unroll
  for (int i = 0; i < kN; ++i) {
    const int64_t t = t0 + tile_row() * kN + i;
    const T sum = row_sum(l[i]);
    if (t >= s.queries) continue;
    const T inverse = sum == 0 ? T(0) : 1 / sum;  // a row that saw no key: output 0, lse -inf
    if (tile_column() == 0) lse[(b * s.heads + h) * s.queries + t] = m[i] + ::log(sum);
    S* y = out.at(b, h, t);
#pragma unroll
    for (int c = 0; c < Mine::kCount; ++c) {
      if (Mine::of(c) < s.size) store(y + Mine::of(c), o[i][c] * inverse);
    }
  }
}

}  // namespace

void attention(const View& out, const View& lse, const View& q, const View& k, const View& v,
               const AttentionArgs& args) {
  if (out.numel() == 0) return;
  if (q.shape[2] <= kDecodeQueries && !exact()) return attention_decode(out, lse, q, k, v, {}, {}, {}, args);
  if (takes_mma({q, k, v, out}, args)) return attention_mma(out, lse, q, k, v, args);
  visit_heads(q, "attention",
              [&]<class S, class T, int kSize>(std::type_identity<S>, std::type_identity<T>,
                                               std::integral_constant<int, kSize>) {
                constexpr int kTile = kTileOf<T, kSize>;
                const AttentionSizes<T> s(q, k, args);
                const int64_t blocks = (s.queries + kTile - 1) / kTile * s.heads * s.batch;
                launch(attention_kernel<kSize, S, T>, static_cast<unsigned>(blocks), kThreads, 0, stream(), s,
                       Heads<S>(out), lse.as<T>(), Heads<const S>(q), Heads<const S>(k), Heads<const S>(v));
              });
}

void attention_append(const View& out, const View& lse, const View& q, const View& k, const View& v, const View& new_k,
                      const View& new_v, const View& starts, const AttentionArgs& args) {
  if (out.numel() > 0 && q.shape[2] <= kDecodeQueries && !exact() && !args.key_mask) {
    return attention_decode(out, lse, q, k, v, new_k, new_v, starts, args);
  }
  kv_append(k, v, new_k, new_v, starts);
  attention(out, lse, q, k, v, args);
}

}  // namespace pg::cuda
