// Attention, backward. The probabilities are recomputed from the stored lse, tile by tile:
//   p  = e^(scale·q·kᵀ - lse)        dv = pᵀ·dout
//   dp = dout·vᵀ                     ds = scale·p·(dp - delta),   delta = Σ_d dout·out
//   dq = ds·k                        dk = dsᵀ·q
// Dao et al., arXiv:2205.14135, appendix B. For dq, a block owns a tile of queries and loops over the keys. For dk and
// dv, a block owns a tile of keys and loops over all queries of the heads that share them. So every sum has a fixed
// order, and no two blocks write to one sum.
#include "tensor/cuda/attention/attention.h"
#include "tensor/cuda/attention/attention_tile.h"
#include "tensor/cuda/base/kernels_cuda.h"
#include "tensor/cuda/runtime/runtime.h"

namespace pg::cuda {
namespace {

// The inputs of both kernels.
template <class S, class T>
struct Inputs {
  AttentionSizes<T> s;
  Heads<const S> q, k, v, dout;
  const T *lse, *delta;  // [B, H, T]

  __device__ Rows<const S> rows(const Heads<const S>& x, int64_t b, int64_t h, int64_t first, int64_t count) const {
    return {x.at(b, h, first), x.row, count};
  }
  // For a query and a key that it sees: the probability from q·k, and the gradient of q·k from p and dout·v.
  __device__ T probability(T score, int64_t query) const { return ::exp(score * s.scale - lse[query]); }
  __device__ T gradient(T p, T dp, int64_t query) const { return s.scale * p * (dp - delta[query]); }
};

// delta [B, H, T] = Σ_d dout·out: a warp per row.
template <class S, class T>
__global__ void delta_kernel(AttentionSizes<T> s, T* delta, Heads<const S> dout, Heads<const S> out) {
  const int64_t row = first_index() / 32, lane = threadIdx.x % 32;
  if (row >= s.batch * s.heads * s.queries) return;
  const int64_t t = row % s.queries, h = row / s.queries % s.heads, b = row / s.queries / s.heads;
  const S *y = out.at(b, h, t), *dy = dout.at(b, h, t);
  T sum = 0;
  for (int64_t d = lane; d < s.size; d += 32) sum += load<T>(y + d) * load<T>(dy + d);
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  if (lane == 0) delta[row] = sum;
}

template <int kSize, class S, class T>
__global__ void __launch_bounds__(kThreads) dq_kernel(Inputs<S, T> x, Gradient<S, T> dq, T beta) {
  constexpr int kTile = kTileOf<T, kSize>, kN = kTile / kSide;
  using Mine = Columns<kSize>;
  __shared__ Shared<T, kSize> shared;
  const AttentionSizes<T>& s = x.s;
  // The longest tiles first: with a causal mask, later query tiles see more keys.
  const int64_t tiles = (s.queries + kTile - 1) / kTile, t0 = (tiles - 1 - blockIdx.x % tiles) * kTile;
  const int64_t h = blockIdx.x / tiles % s.heads, b = blockIdx.x / tiles / s.heads, kv = h / s.group();
  const int64_t count = std::min(int64_t{kTile}, s.queries - t0), length = s.length(b);
  const int64_t end = s.visible(t0 + count - 1, length);  // end of the keys that any of these queries sees

  T sums[kN][Mine::kCount] = {};
  for (int64_t first = 0; first < end; first += kTile) {
    const int keys = static_cast<int>(std::min(int64_t{kTile}, end - first));
    T ds[kN][kN], dp[kN][kN];
    scores_of<kSize>(ds, shared, x.rows(x.q, b, h, t0, count), x.rows(x.k, b, kv, first, keys), s.size);
    scores_of<kSize>(dp, shared, x.rows(x.dout, b, h, t0, count), x.rows(x.v, b, kv, first, keys), s.size);
#pragma unroll
    for (int i = 0; i < kN; ++i) {
      const int64_t t = t0 + tile_row() * kN + i, query = (b * s.heads + h) * s.queries + t;
      const int64_t seen = t < s.queries ? std::min(s.visible(t, length) - first, int64_t{keys}) : 0;
#pragma unroll
      for (int j = 0; j < kN; ++j) {
        const int key = tile_column() * kN + j;
        const bool sees = key < seen && s.attends(b, first + key);
        ds[i][j] = sees ? x.gradient(x.probability(ds[i][j], query), dp[i][j], query) : T(0);
      }
    }
    keep_weights(shared, ds);
    add_values(
        sums, shared, x.rows(x.k, b, kv, first, keys), 0, keys, s.size, [](int, int) { return true; },
        [&](int j) { return s.attends(b, first + j); });
  }
#pragma unroll
  for (int i = 0; i < kN; ++i) {
    const int64_t t = t0 + tile_row() * kN + i;
    if (t >= s.queries) continue;
#pragma unroll
    for (int c = 0; c < Mine::kCount; ++c) {
      if (Mine::of(c) < s.size) dq.add(b, h, t, Mine::of(c), sums[i][c], beta);
    }
  }
}

// Here the rows of a tile are keys and its columns queries.
template <int kSize, class S, class T>
__global__ void __launch_bounds__(kThreads) dkv_kernel(Inputs<S, T> x, Gradient<S, T> dk, Gradient<S, T> dv, T beta) {
  constexpr int kTile = kTileOf<T, kSize>, kN = kTile / kSide;
  using Mine = Columns<kSize>;
  __shared__ Shared<T, kSize> shared;
  const AttentionSizes<T>& s = x.s;
  const int64_t tiles = (s.keys + kTile - 1) / kTile, first = blockIdx.x % tiles * kTile;
  const int64_t kv = blockIdx.x / tiles % s.kv_heads, b = blockIdx.x / tiles / s.kv_heads;
  const int64_t length = s.length(b), keys = std::min(int64_t{kTile}, length - first);
  // Queries before this one see none of these keys.
  const int64_t begin = s.causal ? std::max(int64_t{0}, first + s.queries - length) / kTile * kTile : 0;

  T sums_k[kN][Mine::kCount] = {}, sums_v[kN][Mine::kCount] = {};
  for (int64_t h = kv * s.group(); keys > 0 && h < (kv + 1) * s.group(); ++h) {
    for (int64_t t0 = begin; t0 < s.queries; t0 += kTile) {
      const int count = static_cast<int>(std::min(int64_t{kTile}, s.queries - t0));
      const Rows<const S> q = x.rows(x.q, b, h, t0, count), dout = x.rows(x.dout, b, h, t0, count);
      T p[kN][kN], ds[kN][kN];
      scores_of<kSize>(p, shared, x.rows(x.k, b, kv, first, keys), q, s.size);
      scores_of<kSize>(ds, shared, x.rows(x.v, b, kv, first, keys), dout, s.size);
#pragma unroll
      for (int j = 0; j < kN; ++j) {
        const int64_t t = t0 + tile_column() * kN + j, query = (b * s.heads + h) * s.queries + t;
        const int64_t seen = t < s.queries ? std::min(s.visible(t, length) - first, keys) : 0;
#pragma unroll
        for (int i = 0; i < kN; ++i) {
          const int key = tile_row() * kN + i;
          const bool sees = key < seen && s.attends(b, first + key);
          p[i][j] = sees ? x.probability(p[i][j], query) : T(0);
          ds[i][j] = sees ? x.gradient(p[i][j], ds[i][j], query) : T(0);
        }
      }
      const auto all = [](int, int) { return true; };
      const auto keep = [](int) { return true; };
      keep_weights(shared, p);
      add_values(sums_v, shared, dout, 0, count, s.size, all, keep);
      keep_weights(shared, ds);
      add_values(sums_k, shared, q, 0, count, s.size, all, keep);
    }
  }
#pragma unroll
  for (int i = 0; i < kN; ++i) {
    const int64_t key = first + tile_row() * kN + i;
    if (key >= s.keys) continue;
#pragma unroll
    for (int c = 0; c < Mine::kCount; ++c) {
      if (Mine::of(c) >= s.size) continue;
      dk.add(b, kv, key, Mine::of(c), sums_k[i][c], beta);
      dv.add(b, kv, key, Mine::of(c), sums_v[i][c], beta);
    }
  }
}

}  // namespace

void attention_backward(const View& dq, const View& dk, const View& dv, const View& dout, const View& out,
                        const View& lse, const View& q, const View& k, const View& v, const AttentionArgs& args,
                        double beta) {
  if (q.numel() == 0 && k.numel() == 0) return;  // also if the head dimension is 0
  if (takes_mma({q, k, v, out, dout, dq, dk, dv}, args))
    return attention_backward_mma(dq, dk, dv, dout, out, lse, q, k, v, args, beta);
  visit_heads(q, "attention_backward",
              [&]<class S, class T, int kSize>(std::type_identity<S>, std::type_identity<T>,
                                               std::integral_constant<int, kSize>) {
                constexpr int kTile = kTileOf<T, kSize>;
                const AttentionSizes<T> s(q, k, args);
                const int64_t rows = s.batch * s.heads * s.queries;
                const Scratch<T> delta(rows);
                const Inputs<S, T> x{
                    s,           Heads<const S>(q), Heads<const S>(k), Heads<const S>(v), Heads<const S>(dout),
                    lse.as<T>(), delta.data()};
                const auto blocks = [](int64_t n, int64_t heads) {
                  return static_cast<unsigned>((n + kTile - 1) / kTile * heads);
                };
                if (rows > 0) {
                  launch(delta_kernel<S, T>, static_cast<unsigned>((rows + 7) / 8), kThreads, 0, stream(), s,
                         delta.data(), Heads<const S>(dout), Heads<const S>(out));
                  launch(dq_kernel<kSize, S, T>, blocks(s.queries, s.batch * s.heads), kThreads, 0, stream(), x,
                         Gradient<S, T>(dq), static_cast<T>(beta));
                }
                if (k.numel() == 0) return;
                launch(dkv_kernel<kSize, S, T>, blocks(s.keys, s.batch * s.kv_heads), kThreads, 0, stream(), x,
                       Gradient<S, T>(dk), Gradient<S, T>(dv), static_cast<T>(beta));
              });
}

}  // namespace pg::cuda
