// bf16 attention on tensor cores, backward; the formulas are in attention_backward.cu. One kernel has tiles of queries
// (dq), the other tiles of keys (dk, dv). Scores and dout·vᵀ are computed twice, which makes seven products instead of
// five; in return every sum has a fixed order and no two blocks write to one sum. In the second kernel the rows of a
// product are keys, so that its results pᵀ and dsᵀ can be used directly from registers as left operands of the next
// product.
#include "tensor/cuda/attention/attention_mma_tile.h"
#include "tensor/cuda/runtime/runtime.h"

namespace pg::cuda {
namespace {

using bf16_t = __nv_bfloat16;

constexpr int kTile = 32;  // rows loaded into shared memory at a time: few, so that all sums stay in registers
template <int kSize>
constexpr int kM = kSize == 64 ? 2 : 1;  // a warp has 16·kM rows
template <int kSize>
constexpr int kOwn = kWarps * 16 * kM<kSize>;  // rows of a block

// Statistics of a query: log2 of its softmax sum, and delta = Σ_d dout·out. For a query that saw no key and for padding
// they are +inf and 0, which make all its weights and gradients 0.
using Row = float2;
constexpr int kRowPad = 128;  // rows of a head are padded to a multiple of this, which is a multiple of the tile sizes

struct Inputs {
  AttentionSizes<float> s;
  Heads<const bf16_t> q, k, v, dout;
  const Row* rows;  // [B, H, padded]
  int padded;

  __device__ const Row* rows_at(int64_t b, int64_t h) const { return rows + (b * s.heads + h) * padded; }
};

// Eight adjacent values as one memory access.
struct alignas(16) Eight {
  bf16_t v[8];
};

// kSize / 8 lanes per row.
template <int kSize>
inline constexpr int kRowsOfBlock = kThreads / (kSize / 8);
template <int kSize>
__global__ void rows_kernel(AttentionSizes<float> s, Row* rows, int padded, const float* lse, Heads<const bf16_t> dout,
                            Heads<const bf16_t> out) {
  constexpr int kLanes = kSize / 8;
  const unsigned blocks_of_head = static_cast<unsigned>(padded) / kRowsOfBlock<kSize>;
  const unsigned head = blockIdx.x / blocks_of_head;
  const unsigned t = blockIdx.x % blocks_of_head * kRowsOfBlock<kSize> + threadIdx.x / kLanes;
  const bool there = t < s.queries;
  float delta = 0;
  if (there) {
    const auto heads = static_cast<unsigned>(s.heads);
    const unsigned h = head % heads, b = head / heads, d = threadIdx.x % kLanes * 8;
    const Eight x = *reinterpret_cast<const Eight*>(out.at(b, h, t) + d);
    const Eight y = *reinterpret_cast<const Eight*>(dout.at(b, h, t) + d);
#pragma unroll
    for (int i = 0; i < 8; ++i) delta += load<float>(&x.v[i]) * load<float>(&y.v[i]);
  }
#pragma unroll
  for (int step = kLanes / 2; step > 0; step /= 2) delta += __shfl_xor_sync(0xffffffffu, delta, step);
  if (threadIdx.x % kLanes != 0) return;
  constexpr float inf = std::numeric_limits<float>::infinity();
  const float log_sum = there ? lse[head * s.queries + t] : -inf;
  rows[int64_t{head} * padded + t] = log_sum == -inf ? Row{inf, 0} : Row{log_sum * kLog2E, delta};
}

// grad = beta·grad + times·sums for a warp's rows `first`, first + 1, …, below `end`.
template <int kRows, int kN>
__device__ __forceinline__ void store_rows(const Gradient<bf16_t, float>& grad, const Sums<kRows, kN>& sums,
                                           float times, float beta, int64_t b, int64_t h, int first, int end) {
#pragma unroll
  for (int m = 0; m < kRows; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int t = first + 16 * m + 8 * half + sum_row();
      if (t >= end) continue;
#pragma unroll
      for (int n = 0; n < kN; ++n) {
        const int d = 8 * n + sum_column();
        const float2 sum{sums[m][n][2 * half] * times, sums[m][n][2 * half + 1] * times};
        if (grad.wide) {
          auto* to = reinterpret_cast<float2*>(grad.full.at(b, h, t) + d);
          const float2 before = beta == 0 ? float2{0, 0} : *to;
          *to = {beta * before.x + sum.x, beta * before.y + sum.y};
        } else {
          auto* to = reinterpret_cast<__nv_bfloat162*>(grad.narrow.at(b, h, t) + d);
          const float2 before = beta == 0 ? float2{0, 0} : __bfloat1622float2(*to);
          *to = __floats2bfloat162_rn(beta * before.x + sum.x, beta * before.y + sum.y);
        }
      }
    }
  }
}

template <int kSize>
struct QueryShared {
  alignas(256) bf16_t q[kOwn<kSize>][kSize];
  bf16_t dout[kOwn<kSize>][kSize];
  bf16_t k[2][kTile][kSize];
  bf16_t v[2][kTile][kSize];
};

template <int kSize>
__global__ void __launch_bounds__(kMmaThreads, 2) dq_mma_kernel(Inputs x, Gradient<bf16_t, float> dq, float beta) {
  if constexpr (kTensorCores) {
    constexpr int kRows = kOwn<kSize>, kWarpRows = 16 * kM<kSize>, kTileBytes = kTile * kSize * 2;
    auto& shared = *dynamic_shared<QueryShared<kSize>>();
    const AttentionSizes<float>& s = x.s;
    // The longest tiles first: with a causal mask, later query tiles see more keys.
    const auto queries = static_cast<unsigned>(s.queries), heads = static_cast<unsigned>(s.heads);
    const unsigned tiles = (queries + kRows - 1) / kRows;
    const int t0 = static_cast<int>((tiles - 1 - blockIdx.x % tiles) * kRows);
    const unsigned h = blockIdx.x / tiles % heads, b = blockIdx.x / tiles / heads;
    const unsigned kv = h / (heads / static_cast<unsigned>(s.kv_heads));
    const Horizon horizon(s, b);
    const int end = horizon.end(min(t0 + kRows, static_cast<int>(queries)) - 1);
    const int mine = t0 + warp_index() * kWarpRows;  // this warp's first row

    const MmaTile<kSize> q_tile(shared.q), dout_tile(shared.dout), k_tiles(shared.k), v_tiles(shared.v);
    const Matrix keys(x.k, b, kv), values(x.v, b, kv);
    const auto fetch = [&](int key) {
      const int bytes = key / kTile % 2 * kTileBytes;
      fetch_rows<kTile>(k_tiles.behind(bytes), keys, key, end);
      fetch_rows<kTile>(v_tiles.behind(bytes), values, key, end);
    };
    fetch_rows<kRows>(q_tile, Matrix(x.q, b, h), t0, static_cast<int>(queries));
    fetch_rows<kRows>(dout_tile, Matrix(x.dout, b, h), t0, static_cast<int>(queries));
    if (end > 0) fetch(0);
    cp_async_commit();
    LeftRows<kM<kSize>, kSize, true> q(q_tile, mine - t0);
    LeftRows<kM<kSize>, kSize, kSize == 128> dout(dout_tile, mine - t0);
    Row row[kM<kSize>][2];
#pragma unroll
    for (int i = 0; i < 2 * kM<kSize>; ++i) row[i / 2][i % 2] = x.rows_at(b, h)[mine + 8 * i + sum_row()];
    cp_async_wait<0>();
    __syncthreads();
    q.begin();
    dout.begin();

    const float scale = s.scale * kLog2E;
    Sums<kM<kSize>, kSize / 8> sums;
    clear(sums);
#pragma unroll 1
    for (int key = 0; key < end; key += kTile) {
      if (key + kTile < end) fetch(key + kTile);
      cp_async_commit();
      const int bytes = key / kTile % 2 * kTileBytes;
      if (key < horizon.end(mine + kWarpRows - 1)) {
        Sums<kM<kSize>, kTile / 8> p, dp;
        multiply_rows(p, q, k_tiles.behind(bytes));
        if (key + kTile > horizon.end(mine)) hide_keys(p, horizon, mine, key);
        multiply_rows(dp, dout, v_tiles.behind(bytes));
#pragma unroll
        for (int i = 0; i < kM<kSize>; ++i) {
#pragma unroll
          for (int n = 0; n < kTile / 8; ++n) {
#pragma unroll
            for (int j = 0; j < 4; ++j)
              dp[i][n][j] = ex2(fmaf(p[i][n][j], scale, -row[i][j / 2].x)) * (dp[i][n][j] - row[i][j / 2].y);
          }
        }
        add_weighted(sums, dp, k_tiles.behind(bytes));
      }
      cp_async_wait<0>();
      __syncthreads();
    }
    store_rows(dq, sums, s.scale, beta, b, h, mine, static_cast<int>(queries));
  }
}

template <int kSize>
struct KeyShared {
  alignas(256) bf16_t k[kOwn<kSize>][kSize];
  bf16_t v[kOwn<kSize>][kSize];
  bf16_t q[2][kTile][kSize];
  bf16_t dout[2][kTile][kSize];
  Row rows[2][kTile];
};

// One iteration of a key block over the queries: the head, the first query of the tile, its buffer in shared memory.
struct Step {
  int head, query, stage;
  __device__ Step next(int begin, int queries) const {
    const bool last = query + kTile >= queries;
    return {head + last, last ? begin : query + kTile, 1 - stage};
  }
};

template <int kSize>
__global__ void __launch_bounds__(kMmaThreads, 2)
    dkv_mma_kernel(Inputs x, Gradient<bf16_t, float> dk, Gradient<bf16_t, float> dv, float beta) {
  if constexpr (kTensorCores) {
    constexpr int kRows = kOwn<kSize>, kWarpRows = 16 * kM<kSize>, kTileBytes = kTile * kSize * 2;
    auto& shared = *dynamic_shared<KeyShared<kSize>>();
    const AttentionSizes<float>& s = x.s;
    const auto kv_heads = static_cast<unsigned>(s.kv_heads);
    const unsigned tiles = (static_cast<unsigned>(s.keys) + kRows - 1) / kRows;
    const int first = static_cast<int>(blockIdx.x % tiles * kRows);
    const unsigned kv = blockIdx.x / tiles % kv_heads, b = blockIdx.x / tiles / kv_heads;
    const int queries = static_cast<int>(s.queries), group = static_cast<int>(s.heads) / static_cast<int>(kv_heads);
    const Horizon horizon(s, b);
    // Tiles of queries, head after head; queries before `begin` see none of these keys.
    const int begin = min(max(0, horizon.first_query(first)), queries) / kTile * kTile;
    Step now{static_cast<int>(kv) * group, begin, 0};
    const int behind = begin < queries ? now.head + group : now.head;
    const int mine = first + warp_index() * kWarpRows;  // this warp's first key

    const MmaTile<kSize> k_tile(shared.k), v_tile(shared.v), q_tiles(shared.q), dout_tiles(shared.dout);
    const auto fetch = [&](const Step& step) {
      const int bytes = step.stage * kTileBytes;
      fetch_rows<kTile>(q_tiles.behind(bytes), Matrix(x.q, b, step.head), step.query, queries);
      fetch_rows<kTile>(dout_tiles.behind(bytes), Matrix(x.dout, b, step.head), step.query, queries);
      const int i = static_cast<int>(threadIdx.x) * 2;
      const Row* rows = x.rows_at(b, step.head) + step.query;
      if (i < kTile) cp_async_16(address_in_shared(&shared.rows[step.stage][i]), rows + i, true);
    };
    fetch_rows<kRows>(k_tile, Matrix(x.k, b, kv), first, horizon.length);
    fetch_rows<kRows>(v_tile, Matrix(x.v, b, kv), first, horizon.length);
    if (now.head < behind) fetch(now);
    cp_async_commit();
    const LeftRows<kM<kSize>, kSize, false> k(k_tile, mine - first), v(v_tile, mine - first);
    cp_async_wait<0>();
    __syncthreads();

    const float scale = s.scale * kLog2E;
    Sums<kM<kSize>, kSize / 8> sums_k, sums_v;
    clear(sums_k);
    clear(sums_v);
#pragma unroll 1
    while (now.head < behind) {
      const Step next = now.next(begin, queries);
      if (next.head < behind) fetch(next);
      cp_async_commit();
      const int bytes = now.stage * kTileBytes;
      if (mine < horizon.end(now.query + kTile - 1)) {
        Sums<kM<kSize>, kTile / 8> p, ds;
        multiply_rows(p, k, q_tiles.behind(bytes));
        if (mine + kWarpRows > horizon.end(now.query)) hide_keys_transposed(p, horizon, mine, now.query);
        multiply_rows(ds, v, dout_tiles.behind(bytes));
#pragma unroll
        for (int n = 0; n < kTile / 8; ++n) {
          const Row* row = &shared.rows[now.stage][8 * n + sum_column()];
          const Row of[2] = {row[0], row[1]};
#pragma unroll
          for (int i = 0; i < kM<kSize>; ++i) {
#pragma unroll
            for (int j = 0; j < 4; ++j) {
              p[i][n][j] = ex2(fmaf(p[i][n][j], scale, -of[j % 2].x));
              ds[i][n][j] = p[i][n][j] * (ds[i][n][j] - of[j % 2].y);
            }
          }
        }
        add_weighted(sums_v, p, dout_tiles.behind(bytes));
        add_weighted(sums_k, ds, q_tiles.behind(bytes));
      }
      now = next;
      cp_async_wait<0>();
      __syncthreads();
    }
    store_rows(dk, sums_k, s.scale, beta, b, kv, mine, static_cast<int>(s.keys));
    store_rows(dv, sums_v, 1, beta, b, kv, mine, static_cast<int>(s.keys));
  }
}

}  // namespace

void attention_backward_mma(const View& dq, const View& dk, const View& dv, const View& dout, const View& out,
                            const View& lse, const View& q, const View& k, const View& v, const AttentionArgs& args,
                            double beta) {
  visit_mma_size(q, [&]<int kSize>(std::integral_constant<int, kSize>) {
    const AttentionSizes<float> s(q, k, args);
    const auto tiles = [](int64_t n) { return (n + kOwn<kSize> - 1) / kOwn<kSize>; };
    const int64_t padded = (s.queries + kRowPad - 1) / kRowPad * kRowPad, rows = s.batch * s.heads * padded;
    const Scratch<Row> of_rows(rows);
    const Inputs x{s,
                   Heads<const bf16_t>(q),
                   Heads<const bf16_t>(k),
                   Heads<const bf16_t>(v),
                   Heads<const bf16_t>(dout),
                   of_rows.data(),
                   static_cast<int>(padded)};
    const auto into = [](const View& grad) { return Gradient<bf16_t, float>(grad); };
    if (rows > 0) {
      launch(rows_kernel<kSize>, static_cast<unsigned>(rows / kRowsOfBlock<kSize>), kThreads, 0, stream(), s,
             of_rows.data(), static_cast<int>(padded), lse.as<float>(), Heads<const bf16_t>(dout),
             Heads<const bf16_t>(out));
      launch_mma(dq_mma_kernel<kSize>, tiles(s.queries) * s.heads * s.batch, sizeof(QueryShared<kSize>), x, into(dq),
                 static_cast<float>(beta));
    }
    if (k.numel() == 0) return;
    launch_mma(dkv_mma_kernel<kSize>, tiles(s.keys) * s.kv_heads * s.batch, sizeof(KeyShared<kSize>), x, into(dk),
               into(dv), static_cast<float>(beta));
  });
}

}  // namespace pg::cuda
