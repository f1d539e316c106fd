// Attention, softmax(q kᵀ / √D) v, step by step: first as three kernels with the scores in memory, then as one kernel.
#include "lessons/11_cuda/harness.h"
#include "lessons/11_cuda/versions.h"

namespace pg::lesson11 {
namespace {

constexpr float kScale = 0.17677669529663687f;  // 1/√32

// A thread's index, split into (slow, fast) with `fast` below `count`: neighbouring threads differ in `fast`.
struct Place {
  int slow, fast;
};
__device__ Place place(int count) {
  const int64_t t = cuda::first_index();
  return {static_cast<int>(t / count), static_cast<int>(t % count)};
}

// scores [H, T, T]. One thread per score; neighbouring threads compute neighbouring queries.
__global__ void scores_thread_kernel(float* scores, const float* q, const float* k, int heads, int length) {
  const Place at = place(length);
  const int h = at.slow / length, key = at.slow % length;
  if (h >= heads) return;
  const float* from = q + (int64_t{h} * length + at.fast) * kHead;
  float sum = 0;
  for (int d = 0; d < kHead; ++d) sum += from[d] * k[(int64_t{h} * length + key) * kHead + d];
  scores[(int64_t{h} * length + at.fast) * length + key] = sum * kScale;
}
// One warp per query. The lanes multiply the kHead elements, and each lane keeps the score of one of 32 keys.
__global__ void scores_warp_kernel(float* scores, const float* q, const float* k, int64_t rows, int length) {
  static_assert(kHead == kWarp);
  for (int64_t r = Team::first_row(); r < rows; r += Team::row_step()) {
    const float query = q[r * kHead + Team::rank()] * kScale;
    const float* keys = k + r / length * length * kHead;
    for (int first = 0; first < length; first += kWarp) {
      float mine = 0;
      for (int j = 0; j < kWarp && first + j < length; ++j) {
        const float score = Team::reduce(query * keys[(first + j) * kHead + Team::rank()], Plus{});
        if (Team::rank() == j) mine = score;
      }
      if (first + Team::rank() < length) scores[r * length + first + Team::rank()] = mine;
    }
  }
}

// out [H, T, D], one thread per element. kAlongHead: neighbouring threads compute neighbouring dimensions of a head.
template <bool kAlongHead>
__global__ void values_kernel(float* out, const float* p, const float* v, int heads, int length) {
  const Place at = place(kAlongHead ? kHead : length);
  const int h = at.slow / (kAlongHead ? length : kHead), other = at.slow % (kAlongHead ? length : kHead);
  if (h >= heads) return;
  const int query = kAlongHead ? other : at.fast, d = kAlongHead ? at.fast : other;
  const float* weights = p + (int64_t{h} * length + query) * length;
  float sum = 0;
  for (int key = 0; key < length; ++key) sum += weights[key] * v[(int64_t{h} * length + key) * kHead + d];
  out[(int64_t{h} * length + query) * kHead + d] = sum;
}

// One thread per row [n].
__global__ void softmax_thread_kernel(float* p, int rows, int n) {
  const int r = static_cast<int>(cuda::first_index());
  if (r >= rows) return;
  float* row = p + int64_t{r} * n;
  float top = kLowest, sum = 0;
  for (int i = 0; i < n; ++i) top = Max{}(top, row[i]);
  for (int i = 0; i < n; ++i) sum += ::expf(row[i] - top);
  for (int i = 0; i < n; ++i) row[i] = ::expf(row[i] - top) / sum;
}
// One warp per row.
__global__ void softmax_warp_kernel(float* p, int64_t rows, int n) {
  for (int64_t r = Team::first_row(); r < rows; r += Team::row_step()) {
    float *row = p + r * n, top = kLowest, sum = 0;
    for (int i = Team::rank(); i < n; i += kWarp) top = Max{}(top, row[i]);
    top = Team::reduce(top, Max{});
    for (int i = Team::rank(); i < n; i += kWarp) sum += ::expf(row[i] - top);
    sum = Team::reduce(sum, Plus{});
    for (int i = Team::rank(); i < n; i += kWarp) row[i] = ::expf(row[i] - top) / sum;
  }
}

constexpr int kKeys = kWarp;  // keys per tile: one per lane

// to[r][d] = from[r·kHead + d] for r < rows, else 0.
template <bool kVector, int kRow>
__device__ void copy_tile(float (&to)[kKeys][kRow], const float* from, int rows) {
  constexpr int kWide = kVector ? 4 : 1;
  for (int i = static_cast<int>(threadIdx.x) * kWide; i < kKeys * kHead; i += kThreads * kWide) {
    const int r = i / kHead, d = i % kHead;
    if constexpr (kVector) {
      *reinterpret_cast<float4*>(&to[r][d]) =
          r < rows ? *reinterpret_cast<const float4*>(from + i) : make_float4(0, 0, 0, 0);
    } else {
      to[r][d] = r < rows ? from[i] : 0.0f;
    }
  }
}

// scores[i] = query i · key. Each lane holds one element of every query.
template <bool kVector, int kQueries>
__device__ void scores_of(float (&scores)[kQueries], const float (&queries)[kQueries], const float* key) {
#pragma unroll
  for (int d = 0; d < kHead; d += kVector ? 4 : 1) {
    float x[4];
    if constexpr (kVector) {
      const float4 four = *reinterpret_cast<const float4*>(key + d);
      x[0] = four.x, x[1] = four.y, x[2] = four.z, x[3] = four.w;
    } else {
      x[0] = key[d];
    }
    for (int j = 0; j < (kVector ? 4 : 1); ++j) {
      for (int i = 0; i < kQueries; ++i) scores[i] += __shfl_sync(0xffffffffu, queries[i], d + j) * x[j];
    }
  }
}

// One warp computes kQueries queries. For the scores each lane handles one key, for the output each lane handles one
// dimension of the head. The whole block loads tiles of keys and values into shared memory. The softmax is computed
// online, as in 11.4. Rows of keys are padded, because the lanes read a column of them.
template <int kQueries, bool kVector>
__global__ void online_kernel(float* out, const float* q, const float* k, const float* v, int length) {
  __shared__ __align__(16) float keys[kKeys][kHead + (kVector ? 4 : 1)];
  __shared__ __align__(16) float values[kKeys][kHead];
  const int lane = Team::rank(), first = static_cast<int>(Team::first_row()) * kQueries;
  const int64_t head = int64_t{blockIdx.y} * length * kHead;
  float query[kQueries], top[kQueries], sum[kQueries], o[kQueries];
  for (int i = 0; i < kQueries; ++i) {
    query[i] = first + i < length ? q[head + (first + i) * kHead + lane] * kScale : 0.0f;
    top[i] = kLowest;
    sum[i] = o[i] = 0;
  }
  for (int key = 0; key < length; key += kKeys) {
    copy_tile<kVector>(keys, k + head + key * kHead, length - key);
    copy_tile<kVector>(values, v + head + key * kHead, length - key);
    __syncthreads();
    float p[kQueries] = {};
    scores_of<kVector>(p, query, keys[lane]);
    for (int i = 0; i < kQueries; ++i) {
      if (key + lane >= length) p[i] = kLowest;
      const float next = Max{}(top[i], Team::reduce(p[i], Max{})), alpha = ::expf(top[i] - next);
      p[i] = ::expf(p[i] - next);
      sum[i] = sum[i] * alpha + p[i];  // over this lane's keys
      o[i] *= alpha;
      top[i] = next;
    }
    for (int j = 0; j < kKeys; ++j) {
      const float x = values[j][lane];
      for (int i = 0; i < kQueries; ++i) o[i] += __shfl_sync(0xffffffffu, p[i], j) * x;
    }
    __syncthreads();
  }
  for (int i = 0; i < kQueries; ++i) {
    const float total = Team::reduce(sum[i], Plus{});
    if (first + i < length) out[head + (first + i) * kHead + lane] = o[i] / total;
  }
}

struct Device {
  OnDevice q, k, v, out;
  explicit Device(const Heads& x) : q(x.q), k(x.k), v(x.v), out(static_cast<int64_t>(x.q.size())) {}
};

template <bool kCoalesced>
Numbers by_scores(const Heads& x) {
  const Device on(x);
  const int64_t rows = x.heads * x.length;
  const OnDevice p(rows * x.length);
  start([&] {
    if (kCoalesced) {
      cuda::launch(scores_warp_kernel, Team::blocks(rows), kThreads, 0, nullptr, p, on.q, on.k, rows, x.length);
      cuda::launch(softmax_warp_kernel, Team::blocks(rows), kThreads, 0, nullptr, p, rows, x.length);
    } else {
      cuda::launch(scores_thread_kernel, blocks_of(rows * x.length, kThreads), kThreads, 0, nullptr, p, on.q, on.k,
                   x.heads, x.length);
      cuda::launch(softmax_thread_kernel, blocks_of(rows, kThreads), kThreads, 0, nullptr, p, rows, x.length);
    }
    cuda::launch(values_kernel<kCoalesced>, blocks_of(rows * kHead, kThreads), kThreads, 0, nullptr, on.out, p, on.v,
                 x.heads, x.length);
  });
  return on.out.numbers();
}

template <int kQueries, bool kVector>
Numbers online(const Heads& x) {
  const Device on(x);
  const dim3 grid(blocks_of(x.length, kThreads / kWarp * kQueries), static_cast<unsigned>(x.heads));
  run(online_kernel<kQueries, kVector>, grid, on.out, on.q, on.k, on.v, x.length);
  return on.out.numbers();
}

}  // namespace

Numbers attention_naive(const Heads& x) { return by_scores<false>(x); }
Numbers attention_coalesced(const Heads& x) { return by_scores<true>(x); }
Numbers attention_shared(const Heads& x) { return online<1, false>(x); }
Numbers attention_vectorised(const Heads& x) { return online<4, true>(x); }

}  // namespace pg::lesson11
