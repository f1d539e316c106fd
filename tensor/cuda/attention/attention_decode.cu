// Attention of few queries over many keys, as in generation with a KV cache. It is bound by the reading of keys and
// values, so each of them is read once, 16 bytes per lane, with many reads in flight.
//
// A row is one query of one head. The rows that share a head of keys and values are divided into sets of kRows. A block
// has one set and a split of kSplit keys, of which each warp takes kPart. Lanes that share a key hold kHeld elements
// of it each. The warps run an online softmax (attention.cu) and leave in shared memory the largest score m, the sum l
// = Σ e^(score - m) and the output Σ e^(score - m)·v; these parts are combined in the order of the keys. If the keys in
// use fill several splits, each block stores its result, and the block that finishes last combines them, again in the
// order of the keys. So a row's bits depend on the keys that it sees, not on the capacity of the cache, on other rows
// or on which block is last.
#include <cstring>
#include <mutex>

#include "tensor/cuda/attention/attention.h"
#include "tensor/cuda/attention/attention_tile.h"
#include "tensor/cuda/kernels_cuda.h"
#include "tensor/cuda/runtime/runtime.h"

namespace pg::cuda {
namespace {

constexpr int kWarp = 32;
constexpr int kPart = 64;                     // keys per warp
constexpr int kMostWarps = kThreads / kWarp;  // per block
constexpr int kSplit = kPart * kMostWarps;    // keys per block
constexpr int kHeld = 8;                      // elements of a row that a lane holds
template <class T>
constexpr int kMostRows = sizeof(T) == 8 ? 1 : 4;  // maximum rows of a set, limited by registers

// For each set of rows, the number of its blocks that have stored their result; 0 before and after each kernel, because
// the last block resets it. The kernels of a device run one after the other, so they share the counters.
class Tickets {
 public:
  explicit Tickets(int) {}

  // At least n counters. The memory of earlier calls is kept, because graphs may have recorded its address.
  unsigned* get(int64_t n) {
    const std::lock_guard lock(mutex_);
    if (n <= count_) return data_;
    const int64_t count = std::max(n, 2 * count_);
    const size_t bytes = static_cast<size_t>(count) * sizeof(unsigned);
    check(cudaMalloc(&data_, bytes), "cudaMalloc");
    cudaStream_t own;  // the stream of the kernels may be recording a graph
    check(cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking), "cudaStreamCreate");
    check(cudaMemsetAsync(data_, 0, bytes, own), "cudaMemsetAsync");
    check(cudaStreamSynchronize(own), "cudaStreamSynchronize");
    check(cudaStreamDestroy(own), "cudaStreamDestroy");
    count_ = count;
    return data_;
  }

 private:
  std::mutex mutex_;
  unsigned* data_ = nullptr;
  int64_t count_ = 0;
};

// How the work is divided, in 32 bits, because a division of 64 bits costs as much as several keys; and the results of
// the splits of a set, if there are several.
template <class T>
struct Splits {
  T* out;             // [sets, count, kRows, D]
  T* m;               // [sets, count, kRows], in units of log 2, as all scores here
  T* l;               // [sets, count, kRows]
  unsigned* tickets;  // [sets]
  unsigned count;     // of splits, for the capacity of the cache
  unsigned sharing;   // rows that share a head of keys
  unsigned sets;      // into which they are divided
};

// New keys and values that the kernel stores in the cache at positions starts[b], starts[b] + 1, …, the last ones that
// the queries see. starts is null if there are none.
template <class S>
struct NewKeys {
  Heads<const S> k, v;
  const int32_t* starts;
};

// A lane's elements of a row, as stored. The elements past the row's end are 0.
template <class S>
struct alignas(16) Held {
  static constexpr int kWords = kHeld * sizeof(S) / 16;
  uint4 words[kWords];

  // Reads the row elements at p, of which `count` exist; nothing if `there` is false. kWhole: p is a multiple of 16
  // bytes, and count is 0 or at least kHeld.
  template <bool kWhole>
  static __device__ __forceinline__ Held read(const S* p, int count, bool there) {
    Held x;
    if constexpr (kWhole) {
#pragma unroll
      for (int i = 0; i < kWords; ++i) {
        x.words[i] = there && count > 0 ? reinterpret_cast<const uint4*>(p)[i] : make_uint4(0, 0, 0, 0);
      }
    } else {
      S elements[kHeld];
#pragma unroll
      for (int i = 0; i < kHeld; ++i) {
        elements[i] = S(0.0f);
        if (there && i < count) elements[i] = p[i];
      }
      std::memcpy(static_cast<void*>(x.words), elements, sizeof(elements));
    }
    return x;
  }
  template <bool kWhole>
  __device__ __forceinline__ void write(S* p, int count) const {
    if constexpr (kWhole) {
#pragma unroll
      for (int i = 0; i < kWords; ++i) {
        if (count > 0) reinterpret_cast<uint4*>(p)[i] = words[i];
      }
    } else {
      S elements[kHeld];
      std::memcpy(elements, words, sizeof(elements));
#pragma unroll
      for (int i = 0; i < kHeld; ++i) {
        if (i < count) p[i] = elements[i];
      }
    }
  }
  template <class T>
  __device__ __forceinline__ void get(T (&x)[kHeld]) const {
    S elements[kHeld];
    std::memcpy(elements, words, sizeof(elements));
#pragma unroll
    for (int i = 0; i < kHeld; ++i) x[i] = load<T>(elements + i);
  }
};

// m, l and one element of the output of a row.
template <class T>
struct Partial {
  T m, l, out;
};

// Combines `count` partial results in their order; part(i) returns one of them.
template <class T, class Part>
__device__ __forceinline__ Partial<T> combine(int64_t count, Part part) {
  Partial<T> all{-std::numeric_limits<T>::infinity(), 0, 0};
  for (int64_t i = 0; i < count; ++i) all.m = std::max(all.m, part(i).m);
  for (int64_t i = 0; i < count; ++i) {
    const Partial<T> x = part(i);
    const T factor = x.m == all.m ? T(1) : ::exp2(x.m - all.m);
    all.l += factor * x.l;
    all.out += factor * x.out;
  }
  return all;
}

// The value that is subtracted from scores with maximum m: m, but 0 if there is no score, because -inf + inf is NaN.
template <class T>
__device__ __forceinline__ T reference(T m) {
  return m == -std::numeric_limits<T>::infinity() ? T(0) : m;
}

template <int kSize, int kRows, bool kWhole, class S, class T>
__global__ void __launch_bounds__(kThreads, kRows == 1 ? 2 : 1)
    decode_kernel(AttentionSizes<T> s, Splits<T> splits, Heads<S> out, T* lse, Heads<const S> q, Heads<S> k, Heads<S> v,
                  NewKeys<S> fresh) {
  constexpr T inf = std::numeric_limits<T>::infinity();
  constexpr int kLanes = kSize / kHeld;   // that share a key
  constexpr int kKeys = kWarp / kLanes;   // that a warp reads at once
  constexpr int kReads = 16 / sizeof(S);  // of keys in flight, and as many of values
  constexpr int kStep = kKeys * kReads;
  static_assert(kPart % kStep == 0);
  __shared__ __align__(16) T part_out[kMostWarps][kRows][kSize];
  __shared__ T part_m[kMostWarps][kRows], part_l[kMostWarps][kRows];
  __shared__ bool last;
  const int thread = static_cast<int>(threadIdx.x), warp = thread / kWarp, lane = thread % kWarp;
  const int key_of_lane = lane / kLanes, begin = lane % kLanes * kHeld, held = s.size - begin;

  const unsigned split = blockIdx.x % splits.count, set = blockIdx.x / splits.count;
  const unsigned head = set / splits.sets, kv_heads = static_cast<unsigned>(s.kv_heads);
  const unsigned first_row = set % splits.sets * kRows, queries = static_cast<unsigned>(s.queries);
  const int64_t kv = head % kv_heads, b = head / kv_heads;
  const int rows = static_cast<int>(std::min<unsigned>(kRows, splits.sharing - first_row));
  const int64_t first_head = kv * (splits.sharing / queries);
  const auto head_of = [&](int r) { return first_head + (first_row + static_cast<unsigned>(r)) / queries; };
  const auto query_of = [&](int r) { return int64_t{(first_row + static_cast<unsigned>(r)) % queries}; };

  const int64_t length = s.length(b);
  int64_t horizon[kRows], end = 0;  // the keys that a row sees, and that any of them sees
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    horizon[r] = r < rows ? s.visible(query_of(r), length) : 0;
    end = std::max(end, horizon[r]);
  }
  const unsigned in_use = std::max(1u, (static_cast<unsigned>(end) + kSplit - 1) / kSplit);  // splits
  if (split >= in_use) return;

  const int64_t first = int64_t{split} * kSplit + warp * kPart;  // key
  const int count = static_cast<int>(std::clamp<int64_t>(end - first, 0, kPart));
  int seen[kRows];
  T query[kRows][kHeld], m[kRows], l[kRows], sums[kRows][kHeld];
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    seen[r] = static_cast<int>(std::clamp<int64_t>(horizon[r] - first, 0, kPart));
    const bool there = r < rows && count > 0;
    Held<S>::template read<kWhole>(q.at(b, there ? head_of(r) : 0, there ? query_of(r) : 0) + begin, held, there)
        .get(query[r]);
    m[r] = -inf;
    l[r] = 0;
#pragma unroll
    for (int i = 0; i < kHeld; ++i) {
      query[r][i] *= s.scale * T(1.4426950408889634);  // log2(e): e^x is computed as 2^(x·log2(e))
      sums[r][i] = 0;
    }
  }
  const int64_t start = fresh.starts ? fresh.starts[b] : std::numeric_limits<int64_t>::max();
  // The new keys are stored by the set of the last query of the first head, which sees all of them.
  const bool stores = first_row == (queries - 1) / kRows * kRows;

  for (int from = 0; from < count; from += kStep) {
    Held<S> keys[kReads], values[kReads];
    bool there[kReads];
#pragma unroll
    for (int u = 0; u < kReads; ++u) {
      const int j = from + u * kKeys + key_of_lane;
      const int64_t key = first + j;
      there[u] = j < count && s.attends(b, key);
      const S *row_k = k.at(b, kv, key), *row_v = v.at(b, kv, key);
      if (key >= start) row_k = fresh.k.at(b, kv, key - start), row_v = fresh.v.at(b, kv, key - start);
      keys[u] = Held<S>::template read<kWhole>(row_k + begin, held, there[u]);
      values[u] = Held<S>::template read<kWhole>(row_v + begin, held, there[u]);
    }
    T p[kRows][kReads];  // scores, then weights
#pragma unroll
    for (int u = 0; u < kReads; ++u) {
      T x[kHeld];
      keys[u].get(x);
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        T score = 0;
#pragma unroll
        for (int i = 0; i < kHeld; ++i) score = fma(Scalar<T>(query[r][i]), Scalar<T>(x[i]), Scalar<T>(score)).v;
#pragma unroll
        for (int step = kLanes / 2; step > 0; step /= 2) score += __shfl_xor_sync(0xffffffffu, score, step);
        p[r][u] = there[u] && from + u * kKeys + key_of_lane < seen[r] ? score : -inf;
      }
    }
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const T before = m[r];
#pragma unroll
      for (int u = 0; u < kReads; ++u) m[r] = std::max(m[r], p[r][u]);
      const T top = reference(m[r]), alpha = ::exp2(before - top);
      l[r] *= alpha;
#pragma unroll
      for (int i = 0; i < kHeld; ++i) sums[r][i] *= alpha;
#pragma unroll
      for (int u = 0; u < kReads; ++u) {
        p[r][u] = ::exp2(p[r][u] - top);
        l[r] += p[r][u];
      }
    }
#pragma unroll
    for (int u = 0; u < kReads; ++u) {
      T x[kHeld];
      values[u].get(x);
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        // A value that the row does not see, whatever it is, must not reach it; values that no row sees were read as 0.
        if (kRows > 1 && from + u * kKeys + key_of_lane >= seen[r]) continue;
#pragma unroll
        for (int i = 0; i < kHeld; ++i) sums[r][i] = fma(Scalar<T>(p[r][u]), Scalar<T>(x[i]), Scalar<T>(sums[r][i])).v;
      }
    }
    if (stores && first + count > start) {
#pragma unroll
      for (int u = 0; u < kReads; ++u) {
        const int j = from + u * kKeys + key_of_lane;
        if (j >= count || first + j < start) continue;
        keys[u].template write<kWhole>(k.at(b, kv, first + j) + begin, held);
        values[u].template write<kWhole>(v.at(b, kv, first + j) + begin, held);
      }
    }
  }

  // The lanes that hold the same elements combine their results; all get the same bits.
#pragma unroll
  for (int step = kLanes; step < kWarp; step *= 2) {
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const T other = __shfl_xor_sync(0xffffffffu, m[r], step), top = reference(std::max(m[r], other));
      const T mine = ::exp2(m[r] - top), theirs = ::exp2(other - top);
      m[r] = std::max(m[r], other);
      l[r] = l[r] * mine + __shfl_xor_sync(0xffffffffu, l[r], step) * theirs;
#pragma unroll
      for (int i = 0; i < kHeld; ++i) {
        sums[r][i] = sums[r][i] * mine + __shfl_xor_sync(0xffffffffu, sums[r][i], step) * theirs;
      }
    }
  }
  if (lane < kLanes) {
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
#pragma unroll
      for (int i = 0; i < kHeld; ++i) part_out[warp][r][begin + i] = sums[r][i];
      if (lane == 0) part_m[warp][r] = m[r], part_l[warp][r] = l[r];
    }
  }
  __syncthreads();

  // f(row, element) for this thread's share of the set's results
  const auto for_results = [&](auto f) {
    for (int i = thread; i < rows * s.size; i += static_cast<int>(blockDim.x)) f(i / s.size, i % s.size);
  };
  const auto finish = [&](int r, int d, const Partial<T>& x) {
    const int64_t h = head_of(r), t = query_of(r);
    store(out.at(b, h, t) + d, x.l == 0 ? T(0) : x.out / x.l);  // a row that saw no key: output 0, lse -inf
    if (d == 0) lse[(b * s.heads + h) * s.queries + t] = x.m * T(0.6931471805599453) + ::log(x.l);  // log(2)
  };
  const int64_t parts = (std::clamp<int64_t>(end - int64_t{split} * kSplit, 0, kSplit) + kPart - 1) / kPart;
  for_results([&](int r, int d) {
    const Partial<T> x = combine<T>(parts, [&](int64_t i) {
      return Partial<T>{part_m[i][r], part_l[i][r], part_out[i][r][d]};
    });
    if (in_use == 1) return finish(r, d, x);
    const int64_t at = int64_t{blockIdx.x} * kRows + r;
    splits.out[at * s.size + d] = x.out;
    if (d == 0) splits.m[at] = x.m, splits.l[at] = x.l;
  });
  if (in_use == 1) return;

  __threadfence();  // the results before the ticket
  __syncthreads();
  if (thread == 0) last = atomicAdd(splits.tickets + set, 1u) == in_use - 1;
  __syncthreads();
  if (!last) return;
  __threadfence();
  if (thread == 0) splits.tickets[set] = 0;
  for_results([&](int r, int d) {
    finish(r, d, combine<T>(in_use, [&](int64_t i) {
             const int64_t at = (int64_t{set} * splits.count + i) * kRows + r;
             return Partial<T>{__ldcg(splits.m + at), __ldcg(splits.l + at), __ldcg(splits.out + at * s.size + d)};
           }));
  });
}

// Whether all rows begin at multiples of 16 bytes and consist of whole lanes.
bool is_whole(const View& x) {
  const auto bytes = static_cast<int64_t>(size_of(x.dtype));
  bool whole = reinterpret_cast<uintptr_t>(x.data) % 16 == 0 && x.shape[3] % kHeld == 0;
  for (int d = 0; d < 3; ++d) whole = whole && (x.shape[d] == 1 || x.strides[d] * bytes % 16 == 0);
  return whole;
}

template <int kSize, int kRows, bool kWhole, class S, class T>
void launch_decode(const AttentionSizes<T>& s, const View& out, const View& lse, const View& q, const View& k,
                   const View& v, const NewKeys<S>& fresh) {
  const int64_t sharing = s.group() * s.queries, sets = (sharing + kRows - 1) / kRows;
  const int64_t all_sets = s.batch * s.kv_heads * sets, count = std::max<int64_t>(1, (s.keys + kSplit - 1) / kSplit);
  const int64_t stored = count > 1 ? all_sets * count : 0;
  const Scratch<T> space(stored * kRows * (s.size + 2));
  T* const m = space.data() + stored * kRows * s.size;
  const Splits<T> splits{.out = space.data(),
                         .m = m,
                         .l = m + stored * kRows,
                         .tickets = count > 1 ? of_current_device<Tickets>().get(all_sets) : nullptr,
                         .count = static_cast<unsigned>(count),
                         .sharing = static_cast<unsigned>(sharing),
                         .sets = static_cast<unsigned>(sets)};
  const int64_t warps = std::clamp<int64_t>((s.keys + kPart - 1) / kPart, 1, kMostWarps);
  launch(decode_kernel<kSize, kRows, kWhole, S, T>, static_cast<unsigned>(all_sets * count),
         static_cast<unsigned>(warps * kWarp), 0, stream(), s, splits, Heads<S>(out), lse.as<T>(), Heads<const S>(q),
         Heads<S>(k), Heads<S>(v), fresh);
}

}  // namespace

void attention_decode(const View& out, const View& lse, const View& q, const View& k, const View& v, const View& new_k,
                      const View& new_v, const View& starts, const AttentionArgs& args) {
  visit_heads(q, "attention",
              [&]<class S, class T, int kSmallest>(std::type_identity<S>, std::type_identity<T>,
                                                   std::integral_constant<int, kSmallest>) {
                constexpr int kSize = std::max(kSmallest, 64), kMost = kMostRows<T>;
                const AttentionSizes<T> s(q, k, args);
                const bool appends = starts.data != nullptr;
                const NewKeys<S> fresh{Heads<const S>(appends ? new_k : k), Heads<const S>(appends ? new_v : v),
                                       starts.as<const int32_t>()};
                const bool whole =
                    is_whole(q) && is_whole(k) && is_whole(v) && (!appends || (is_whole(new_k) && is_whole(new_v)));
                if (!whole) return launch_decode<kSize, 1, false, S>(s, out, lse, q, k, v, fresh);
                if constexpr (kMost > 1) {
                  if (s.group() * s.queries > 1) {
                    return launch_decode<kSize, kMost, true, S>(s, out, lse, q, k, v, fresh);
                  }
                }
                launch_decode<kSize, 1, true, S>(s, out, lse, q, k, v, fresh);
              });
}

}  // namespace pg::cuda
