// Attention of few queries over many keys. Several blocks share the keys of one query: each takes kSplit of them, at
// fixed positions, and stores the maximum score, and the sum of the exponentials and the output relative to it. A
// second kernel combines these partial results in order. A row's bits depend on the keys that it sees, not on the
// capacity of the cache.
#include "tensor/cuda/attention/attention.h"
#include "tensor/cuda/attention/attention_tile.h"
#include "tensor/cuda/runtime/runtime.h"

namespace pg::cuda {
namespace {

constexpr int kSplit = kThreads;            // keys per block
constexpr int kLanes = 8;                   // threads that compute one score together
constexpr int kGroups = kThreads / kLanes;  // scores computed at a time

// Partial results of a row after the keys of one split: output Σ e^(score - m)·v, m and l = Σ e^(score - m).
template <class T>
struct Partials {
  T* out;  // [rows, splits, D]
  T* m;    // [rows, splits]
  T* l;    // [rows, splits]
  int64_t splits;
};

// Reduces the x of all threads of a block with f; every thread gets the result. `space` holds one T per warp; it may be
// reused only after the next barrier.
template <class T, class F>
__device__ T over_block(T x, T* space, F f) {
  for (int step = 16; step > 0; step /= 2) x = f(x, __shfl_xor_sync(0xffffffffu, x, step));
  if (threadIdx.x % 32 == 0) space[threadIdx.x / 32] = x;
  __syncthreads();
  x = space[0];
  for (int warp = 1; warp < kThreads / 32; ++warp) x = f(x, space[warp]);
  return x;
}

// One block per row and split; rows are [B, H, T].
template <class S, class T>
__global__ void __launch_bounds__(kThreads)
    decode_kernel(AttentionSizes<T> s, Partials<T> parts, Heads<const S> q, Heads<const S> k, Heads<const S> v) {
  constexpr T inf = std::numeric_limits<T>::infinity();
  __shared__ T query[kMostSize];
  __shared__ T p[kSplit];
  __shared__ T sums[kThreads];
  __shared__ T space_max[kThreads / 32];
  __shared__ T space_sum[kThreads / 32];
  const int thread = static_cast<int>(threadIdx.x);
  const int64_t row = blockIdx.x / parts.splits, split = blockIdx.x % parts.splits, part = blockIdx.x;
  const int64_t t = row % s.queries, h = row / s.queries % s.heads, b = row / s.queries / s.heads, kv = h / s.group();
  const int64_t first = split * kSplit, end = s.visible(t, s.length(b));
  const int count = static_cast<int>(std::clamp<int64_t>(end - first, 0, kSplit));

  for (int d = thread; d < s.size; d += kThreads) query[d] = load<T>(q.at(b, h, t) + d);
  __syncthreads();
  // Scores: each key is shared by kLanes threads, which loop along the head dimension.
  for (int j0 = 0; j0 < count; j0 += kGroups) {
    const int j = j0 + thread / kLanes;
    T score = 0;
    if (j < count) {
      const S* key = k.at(b, kv, first + j);
      for (int d = thread % kLanes; d < s.size; d += kLanes) {
        score = fma(Scalar<T>(query[d]), Scalar<T>(load<T>(key + d)), Scalar<T>(score)).v;
      }
    }
    for (int step = kLanes / 2; step > 0; step /= 2) score += __shfl_xor_sync(0xffffffffu, score, step, kLanes);
    if (j < count && thread % kLanes == 0) p[j] = s.attends(b, first + j) ? score * s.scale : -inf;
  }
  __syncthreads();
  // Softmax relative to this split's maximum: one key per thread.
  const T score = thread < count ? p[thread] : -inf;
  const T m = over_block(score, space_max, [](T x, T y) { return std::max(x, y); });
  const T e = score == -inf ? T(0) : ::exp(score - m);
  if (thread < count) p[thread] = e;
  const T l = over_block(e, space_sum, [](T x, T y) { return x + y; });
  if (thread == 0) parts.m[part] = m, parts.l[part] = l;
  // Output: in a thread group, each thread has one element d; the groups take the keys in turn, with as many groups as
  // fit.
  const int groups = kThreads / s.size, group = thread / s.size, d = thread % s.size;
  T sum = 0;
  if (group < groups) {
    for (int j = group; j < count; j += groups) {
      if (!s.attends(b, first + j)) continue;
      sum = fma(Scalar<T>(p[j]), Scalar<T>(load<T>(v.at(b, kv, first + j) + d)), Scalar<T>(sum)).v;
    }
  }
  sums[thread] = sum;
  __syncthreads();
  if (thread >= s.size) return;
  for (int other = 1; other < groups; ++other) sum += sums[other * s.size + thread];
  parts.out[part * s.size + thread] = sum;
}

// One block per row: combines its partial results in order.
template <class S, class T>
__global__ void combine_kernel(AttentionSizes<T> s, Partials<T> parts, Heads<S> out, T* lse) {
  constexpr T inf = std::numeric_limits<T>::infinity();
  const int64_t row = blockIdx.x, first = row * parts.splits;
  const int64_t t = row % s.queries, h = row / s.queries % s.heads, b = row / s.queries / s.heads;
  T m = -inf, l = 0;
  for (int64_t i = first; i < first + parts.splits; ++i) m = std::max(m, parts.m[i]);
  const auto factor = [&](int64_t i) { return parts.m[i] == -inf ? T(0) : ::exp(parts.m[i] - m); };
  for (int64_t i = first; i < first + parts.splits; ++i) l += factor(i) * parts.l[i];
  if (threadIdx.x == 0) lse[row] = m + ::log(l);
  for (int d = static_cast<int>(threadIdx.x); d < s.size; d += static_cast<int>(blockDim.x)) {
    T sum = 0;
    for (int64_t i = first; i < first + parts.splits; ++i) sum += factor(i) * parts.out[i * s.size + d];
    store(out.at(b, h, t) + d, l == 0 ? T(0) : sum / l);  // a row that saw no key: output 0, lse -inf
  }
}

}  // namespace

void attention_decode(const View& out, const View& lse, const View& q, const View& k, const View& v,
                      const AttentionArgs& args) {
  if (q.shape[3] > kMostSize) fail_head_size("attention", q.shape[3], kMostSize);
  visit_stored(q.dtype, "attention", [&]<class Stored, class T>(std::type_identity<Stored>, std::type_identity<T>) {
    using S = stored_t<Stored>;
    const AttentionSizes<T> s(q, k, args);
    const int64_t rows = s.batch * s.heads * s.queries, splits = std::max<int64_t>(1, (s.keys + kSplit - 1) / kSplit);
    const Scratch<T> space(rows * splits * (s.size + 2));
    const Partials<T> parts{space.data(), space.data() + rows * splits * s.size,
                            space.data() + rows * splits * (s.size + 1), splits};
    launch(decode_kernel<S, T>, static_cast<unsigned>(rows * splits), kThreads, 0, stream(), s, parts,
           Heads<const S>(q), Heads<const S>(k), Heads<const S>(v));
    launch(combine_kernel<S, T>, static_cast<unsigned>(rows),
           static_cast<unsigned>(std::max(32, (s.size + 31) / 32 * 32)), 0, stream(), s, parts, Heads<S>(out),
           lse.as<T>());
  });
}

}  // namespace pg::cuda
