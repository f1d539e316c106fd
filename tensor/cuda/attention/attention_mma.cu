// bf16 attention on tensor cores, forward. A block has a tile of queries, and each warp works on its own rows of the
// tile. Keys and values are loaded tile by tile; the next tile is loaded while the current one is multiplied. The
// softmax runs online, as in attention.cu, with powers of two.
//
// A row's bits depend only on its query and the keys that it sees: key tiles begin at key 0, rows never mix, and a tile
// without keys for a row multiplies its sums by 1 and adds zeros. However, an infinity or NaN in the values reaches all
// rows of a tile if one of its rows sees it: 0·inf is NaN.
#include "tensor/cuda/attention/attention_mma_tile.h"

namespace pg::cuda {
namespace {

using bf16_t = __nv_bfloat16;

template <int kSize>
constexpr int kKeys = kSize == 64 ? 64 : 32;  // keys per tile
constexpr int kM = 2;  // a warp has 16·kM queries: with fewer, shared memory would be too slow for the tensor cores
constexpr int kQueries = kWarps * 16 * kM;

template <int kSize>
struct ForwardShared {
  alignas(256) bf16_t q[kQueries][kSize];
  bf16_t k[2][kKeys<kSize>][kSize];
  bf16_t v[2][kKeys<kSize>][kSize];
};

// Online softmax step for one tile of scores: p becomes the weights 2^(scale·(score - m)), and m, l and o are updated.
// Each lane has its part of the sum l.
template <int kN, int kD>
__device__ __forceinline__ void soften(Sums<kM, kN>& p, float (&m)[kM][2], float (&l)[kM][2], Sums<kM, kD>& o,
                                       float scale) {
  constexpr float inf = std::numeric_limits<float>::infinity();
#pragma unroll
  for (int i = 0; i < kM; ++i) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float largest = m[i][half];
#pragma unroll
      for (int n = 0; n < kN; ++n) largest = fmaxf(largest, fmaxf(p[i][n][2 * half], p[i][n][2 * half + 1]));
      largest = row_max(largest);
      const float top = largest == -inf ? 0 : largest * scale;  // no key so far: every weight becomes 2^-inf = 0
      const float alpha = ex2(m[i][half] * scale - top);        // not fused: exactly 1 if the maximum does not change
      m[i][half] = largest;
      l[i][half] *= alpha;
#pragma unroll
      for (int n = 0; n < kN; ++n) {
#pragma unroll
        for (int j = 2 * half; j < 2 * half + 2; ++j) {
          p[i][n][j] = ex2(fmaf(p[i][n][j], scale, -top));
          l[i][half] += p[i][n][j];
        }
      }
#pragma unroll
      for (int d = 0; d < kD; ++d) {
        o[i][d][2 * half] *= alpha;
        o[i][d][2 * half + 1] *= alpha;
      }
    }
  }
}

template <int kSize>
__global__ void __launch_bounds__(kMmaThreads, 2)
    attention_mma_kernel(AttentionSizes<float> s, Heads<bf16_t> out, float* lse, Heads<const bf16_t> q,
                         Heads<const bf16_t> k, Heads<const bf16_t> v) {
  if constexpr (kTensorCores) {
    constexpr int kTileBytes = kKeys<kSize> * kSize * 2;
    auto& shared = *dynamic_shared<ForwardShared<kSize>>();
    // The longest tiles first: with a causal mask, later query tiles see more keys.
    const auto queries = static_cast<unsigned>(s.queries), heads = static_cast<unsigned>(s.heads);
    const unsigned tiles = (queries + kQueries - 1) / kQueries;
    const int t0 = static_cast<int>((tiles - 1 - blockIdx.x % tiles) * kQueries);
    const unsigned h = blockIdx.x / tiles % heads, b = blockIdx.x / tiles / heads;
    const unsigned kv = h / (heads / static_cast<unsigned>(s.kv_heads));
    const Horizon horizon(s, b);
    const int end = horizon.end(min(t0 + kQueries, static_cast<int>(queries)) - 1);
    const int mine = t0 + warp_index() * 16 * kM;  // this warp's first row

    const MmaTile<kSize> q_tile(shared.q), k_tiles(shared.k), v_tiles(shared.v);
    const Matrix keys(k, b, kv), values(v, b, kv);
    const auto fetch = [&](int key) {
      const int bytes = key / kKeys<kSize> % 2 * kTileBytes;
      fetch_rows<kKeys<kSize>>(k_tiles.behind(bytes), keys, key, end);
      fetch_rows<kKeys<kSize>>(v_tiles.behind(bytes), values, key, end);
    };
    fetch_rows<kQueries>(q_tile, Matrix(q, b, h), t0, static_cast<int>(queries));
    if (end > 0) fetch(0);
    cp_async_commit();
    LeftRows<kM, kSize, kSize == 64> rows(q_tile, warp_index() * 16 * kM);
    cp_async_wait<0>();
    __syncthreads();
    rows.begin();

    constexpr float inf = std::numeric_limits<float>::infinity();
    const float scale = s.scale * kLog2E;
    float m[kM][2], l[kM][2];
    Sums<kM, kSize / 8> o;
    clear(o);
#pragma unroll
    for (int i = 0; i < 2 * kM; ++i) m[i / 2][i % 2] = -inf, l[i / 2][i % 2] = 0;
#pragma unroll 1
    for (int key = 0; key < end; key += kKeys<kSize>) {
      if (key + kKeys<kSize> < end) fetch(key + kKeys<kSize>);
      cp_async_commit();
      if (key < horizon.end(mine + 16 * kM - 1)) {
        const int bytes = key / kKeys<kSize> % 2 * kTileBytes;
        Sums<kM, kKeys<kSize> / 8> p;
        multiply_rows(p, rows, k_tiles.behind(bytes));
        if (key + kKeys < kSize >> horizon.end(mine)) hide_keys(p, horizon, mine, key);
        soften(p, m, l, o, scale);
        add_weighted(o, p, v_tiles.behind(bytes));
      }
      cp_async_wait<0>();
      __syncthreads();
    }

#pragma unroll
    for (int i = 0; i < kM; ++i) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int t = mine + 16 * i + 8 * half + sum_row();
        const float sum = row_sum(l[i][half]);
        if (t >= static_cast<int>(queries)) continue;
        const float inverse = sum == 0 ? 0 : 1 / sum;  // a row that saw no key: output 0, lse -inf
        if (sum_column() == 0) lse[(int64_t{b} * heads + h) * queries + t] = m[i][half] * s.scale + logf(sum);
        bf16_t* y = out.at(b, h, t) + sum_column();
#pragma unroll
        for (int d = 0; d < kSize / 8; ++d) {
          *reinterpret_cast<__nv_bfloat162*>(y + 8 * d) =
              __floats2bfloat162_rn(o[i][d][2 * half] * inverse, o[i][d][2 * half + 1] * inverse);
        }
      }
    }
  }
}

bool rows_aligned(const View& x) {
  bool aligned = reinterpret_cast<uintptr_t>(x.data) % 16 == 0 && x.strides[2] <= std::numeric_limits<int>::max();
  for (int i = 0; i < 3; ++i) {
    if (x.shape[i] > 1) aligned &= x.strides[i] * static_cast<int64_t>(size_of(x.dtype)) % 16 == 0;
  }
  return aligned;
}

}  // namespace

bool takes_mma(std::initializer_list<View> operands, const AttentionArgs& args) {
  const View& q = *operands.begin();
  if (q.dtype != bf16 || (q.shape[3] != 64 && q.shape[3] != 128) || !(args.scale > 0) || args.key_mask) return false;
  return std::all_of(operands.begin(), operands.end(), rows_aligned) && limits().major >= 8;
}

void attention_mma(const View& out, const View& lse, const View& q, const View& k, const View& v,
                   const AttentionArgs& args) {
  visit_mma_size(q, [&]<int kSize>(std::integral_constant<int, kSize>) {
    const AttentionSizes<float> s(q, k, args);
    const int64_t blocks = (s.queries + kQueries - 1) / kQueries * s.heads * s.batch;
    launch_mma(attention_mma_kernel<kSize>, blocks, sizeof(ForwardShared<kSize>), s, Heads<bf16_t>(out),
               lse.as<float>(), Heads<const bf16_t>(q), Heads<const bf16_t>(k), Heads<const bf16_t>(v));
  });
}

}  // namespace pg::cuda
