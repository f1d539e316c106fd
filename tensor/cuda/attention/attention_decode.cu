// Attention of few queries over many keys, as in generation with a KV cache. It is bound by the reading of keys and
// values, so each of them is read once, 16 bytes per lane, with many reads in flight.
//
// A row is one query of one head. The rows that share a head of keys and values are divided into sets of kRows. The
// keys are divided into splits of kSplit and these into parts of kPart. A block has one set and one or several splits;
// each of its warps takes one part after another. Lanes that share a key hold kHeld elements of it each. The warps run
// an online softmax (attention.cu) over a part and leave in shared memory the largest score m, the sum l = Σ e^(score -
// m) and the output Σ e^(score - m)·v; the parts of a split are combined in the order of the keys, and so are the
// splits. If the keys in use are those of several blocks, each block stores its results, and the block that finishes
// last combines them. So a row's bits depend on the keys that it sees, not on the capacity of the cache, on other rows,
// on the number of splits in a block or on which block is last.
#include <bit>
#include <mutex>

#include "tensor/cuda/attention/attention.h"
#include "tensor/cuda/attention/attention_decode_parts.h"
#include "tensor/cuda/base/kernels_cuda.h"
#include "tensor/cuda/runtime/early.h"
#include "tensor/cuda/runtime/runtime.h"

namespace pg::cuda {
namespace {

constexpr int kWarp = 32;
constexpr int kPart = 64;  // keys
constexpr int kParts = 8;  // per split
constexpr int kSplit = kPart * kParts;
constexpr int64_t kManySets = kBusyBlocks;  // enough blocks without dividing the keys
constexpr int64_t kWarpsAtOnce = 2112;      // on an H100, by the registers of kernels with one row per set
template <class T>
constexpr int kMostRows = sizeof(T) == 8 ? 1 : 4;  // maximum rows of a set, limited by registers
// Maximum splits of a block, whose parts take at most 32 KB of shared memory.
template <int kSize, int kRows, class T>
constexpr int kMostSplits = std::clamp(static_cast<int>((32 << 10) / (sizeof(T) * kRows * kSize * kParts)), 1, 4);
template <int kRows>
constexpr int kMostThreads = kRows == 1 ? 2 * kThreads : kThreads;  // of a block, limited by registers

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

template <int kSize, int kRows, bool kWhole, class S, class T>
__global__ void __launch_bounds__(kMostThreads<kRows>)
    decode_kernel(AttentionSizes<T> s, Splits<T> splits, Heads<S> out, T* lse, Heads<const S> q, Heads<S> k, Heads<S> v,
                  NewKeys<S> fresh) {
  constexpr T inf = std::numeric_limits<T>::infinity();
  constexpr int kLanes = kSize / kHeld;                    // that share a key
  constexpr int kKeys = kWarp / kLanes;                    // that a warp reads at once
  constexpr int kReads = std::max<int>(8 / sizeof(S), 1);  // of keys in flight for a step, and as many of values
  constexpr int kStep = kKeys * kReads;
  constexpr int kSplits = kMostSplits<kSize, kRows, T>;
  static_assert(kPart % kStep == 0);
  __shared__ __align__(16) T part_out[kSplits * kParts][kRows][kSize];
  __shared__ T part_m[kSplits * kParts][kRows], part_l[kSplits * kParts][kRows];
  __shared__ bool last;
  const int thread = static_cast<int>(threadIdx.x), warp = thread / kWarp, lane = thread % kWarp;
  const int warps = static_cast<int>(blockDim.x) / kWarp;
  const int key_of_lane = lane / kLanes, begin = lane % kLanes * kHeld, held = s.size - begin;

  const unsigned block = blockIdx.x % splits.blocks, set = blockIdx.x / splits.blocks;
  const unsigned head = set / splits.sets, kv_heads = static_cast<unsigned>(s.kv_heads);
  const unsigned first_row = set % splits.sets * kRows, queries = static_cast<unsigned>(s.queries);
  const int64_t kv = head % kv_heads, b = head / kv_heads;
  const int rows = static_cast<int>(std::min<unsigned>(kRows, splits.sharing - first_row));
  const int64_t first_head = kv * (splits.sharing / queries);
  const auto head_of = [&](int r) { return first_head + (first_row + static_cast<unsigned>(r)) / queries; };
  const auto query_of = [&](int r) { return int64_t{(first_row + static_cast<unsigned>(r)) % queries}; };

  let_next_kernel_start();
  if (splits.prefetches) {
    // The first keys and values of the warp.
    const int64_t first = int64_t{block} * splits.per_block * kSplit + int64_t{warp} * kPart;
    const int64_t length = s.kv_len ? likely(s.kv_len + b * s.kv_len_step, 0) : s.keys;
    const int64_t behind = std::min(std::min(length, s.keys), first + kPart);
    for (int64_t key = first + lane; key < behind; key += kWarp) {
      for (int d = 0; d < s.size; d += 128 / static_cast<int>(sizeof(S))) {
        prefetch(k.at(b, kv, key) + d);
        prefetch(v.at(b, kv, key) + d);
      }
    }
  }
  wait_for_earlier_kernels();
  Held<S> query_held[kRows];
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const bool there = r < rows;
    query_held[r] =
        Held<S>::template read<kWhole>(q.at(b, there ? head_of(r) : 0, there ? query_of(r) : 0) + begin, held, there);
  }
  const int length = static_cast<int>(s.length(b));
  const int start = fresh.starts ? fresh.starts[b] : std::numeric_limits<int>::max();
  int horizon[kRows], end = 0;  // the keys that a row sees, and that any of them sees
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    horizon[r] = r < rows ? static_cast<int>(s.visible(query_of(r), length)) : 0;
    end = std::max(end, horizon[r]);
  }
  const unsigned in_use = std::max(1u, (static_cast<unsigned>(end) + kSplit - 1) / kSplit);  // splits
  const unsigned first_split = block * splits.per_block;
  if (first_split >= in_use) return;
  const int own_splits = static_cast<int>(std::min(splits.per_block, in_use - first_split));

  // The new keys are stored by the set of the last query of the first head, which sees all of them.
  const bool stores = first_row == (queries - 1) / kRows * kRows;
  const int first_key = static_cast<int>(first_split) * kSplit;  // of the block
  const int own_keys = std::min(end - first_key, own_splits * kSplit);
  const S *const lane_k = k.at(b, kv, first_key) + begin, *const lane_v = v.at(b, kv, first_key) + begin;

  const auto read = [&](Step<S, kReads>& step, int from, int behind) {  // keys from, … of the block, below `behind`
    step.there = 0;
    const bool new_ones = first_key + from + kStep > start;
#pragma unroll
    for (int u = 0; u < kReads; ++u) {
      const int j = from + u * kKeys + key_of_lane, key = first_key + j;
      const bool there = j < behind && s.attends(b, key);
      step.there |= static_cast<unsigned>(there) << u;
      const S *row_k = lane_k + j * k.row, *row_v = lane_v + j * v.row;
      if (new_ones && key >= start) {
        row_k = fresh.k.at(b, kv, key - start) + begin;
        row_v = fresh.v.at(b, kv, key - start) + begin;
      }
      step.keys[u] = Held<S>::template read<kWhole>(row_k, held, there);
      step.values[u] = Held<S>::template read<kWhole>(row_v, held, there);
    }
  };

  T query[kRows][kHeld];
  for (int part = warp; part * kPart < own_keys; part += warps) {
    const int from_key = part * kPart, behind = std::min(own_keys, from_key + kPart);
    PartSums<T, kRows> sums;
    sums.clear();
    Step<S, kReads> now;
    read(now, from_key, behind);
    if (part == warp) {  // after the first loads, so that they do not wait for the queries
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        query_held[r].get(query[r]);
#pragma unroll
        for (int i = 0; i < kHeld; ++i) query[r][i] *= s.scale * T(1.4426950408889634);  // log2(e): e^x = 2^(x·log2(e))
      }
    }
#pragma unroll 1
    for (int from = from_key; from < behind; from += kStep) {
      T p[kRows][kReads];  // scores, then weights
#pragma unroll
      for (int u = 0; u < kReads; ++u) {
        const int key = first_key + from + u * kKeys + key_of_lane;
        T x[kHeld];
        now.keys[u].get(x);
#pragma unroll
        for (int r = 0; r < kRows; ++r) {
          T score = 0;
#pragma unroll
          for (int i = 0; i < kHeld; ++i) score = fma(Scalar<T>(query[r][i]), Scalar<T>(x[i]), Scalar<T>(score)).v;
#pragma unroll
          for (int step = kLanes / 2; step > 0; step /= 2) score += __shfl_xor_sync(0xffffffffu, score, step);
          p[r][u] = now.there >> u & 1 && key < horizon[r] ? score : -inf;
        }
      }
      sums.weigh(p);
#pragma unroll
      for (int u = 0; u < kReads; ++u) {
        T x[kHeld];
        now.values[u].get(x);
#pragma unroll
        for (int r = 0; r < kRows; ++r) {
          // A value that the row does not see, whatever it is, must not reach it; values that no row sees were read as
          // 0.
          if (kRows > 1 && first_key + from + u * kKeys + key_of_lane >= horizon[r]) continue;
#pragma unroll
          for (int i = 0; i < kHeld; ++i) {
            sums.out[r][i] = fma(Scalar<T>(p[r][u]), Scalar<T>(x[i]), Scalar<T>(sums.out[r][i])).v;
          }
        }
      }
      if (stores && first_key + behind > start) {
#pragma unroll
        for (int u = 0; u < kReads; ++u) {
          const int j = from + u * kKeys + key_of_lane;
          if (j >= behind || first_key + j < start) continue;
          now.keys[u].template write<kWhole>(k.at(b, kv, first_key + j) + begin, held);
          now.values[u].template write<kWhole>(v.at(b, kv, first_key + j) + begin, held);
        }
      }
      if (from + kStep < behind) read(now, from + kStep, behind);
    }
    sums.template combine_lanes<kLanes, kWarp>();
    if (lane < kLanes) {
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
#pragma unroll
        for (int i = 0; i < kHeld; ++i) part_out[part][r][begin + i] = sums.out[r][i];
        if (lane == 0) part_m[part][r] = sums.m[r], part_l[part][r] = sums.l[r];
      }
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
  const bool all = static_cast<unsigned>(own_splits) == in_use;
  for_results([&](int r, int d) {
    Partial<T> of_split[kSplits];
#pragma unroll
    for (int i = 0; i < kSplits; ++i) {
      of_split[i] = {-inf, 0, 0};
      if (i >= own_splits) continue;
      const int parts = (std::clamp(own_keys - i * kSplit, 0, int{kSplit}) + kPart - 1) / kPart;
      of_split[i] = combine<T>(parts, [&](int part) {
        const int at = i * kParts + part;
        return Partial<T>{part_m[at][r], part_l[at][r], part_out[at][r][d]};
      });
      if (all) continue;
      const int64_t at = ((int64_t{set} * splits.count + first_split + static_cast<unsigned>(i)) * kRows + r);
      splits.out[at * s.size + d] = of_split[i].out;
      if (d == 0) splits.m[at] = of_split[i].m, splits.l[at] = of_split[i].l;
    }
    if (all) finish(r, d, in_use == 1 ? of_split[0] : combine<T>(kSplits, [&](int i) { return of_split[i]; }));
  });
  if (all) return;

  __threadfence();  // the results before the ticket
  __syncthreads();
  const unsigned blocks_in_use = (in_use + splits.per_block - 1) / splits.per_block;
  if (thread == 0) last = atomicAdd(splits.tickets + set, 1u) == blocks_in_use - 1;
  __syncthreads();
  if (!last) return;
  __threadfence();
  if (thread == 0) splits.tickets[set] = 0;
  for_results([&](int r, int d) {
    finish(r, d, combine<T>(static_cast<int>(in_use), [&](int i) {
             const int64_t at = (int64_t{set} * splits.count + static_cast<unsigned>(i)) * kRows + r;
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
  // A block has several splits where the sets alone keep the device busy, and where there are only two: then no block
  // waits for the results of another one.
  constexpr int64_t kMost = kMostSplits<kSize, kRows, T>;
  const int64_t per_block = all_sets >= kManySets || count == 2 ? std::min(kMost, count) : 1;
  const int64_t blocks = (count + per_block - 1) / per_block;
  // As many warps as run at once, if all blocks do; at least two, so that few are idle at the end of a block.
  const int64_t at_once = static_cast<int64_t>(std::bit_floor(
      static_cast<uint64_t>(kWarpsAtOnce / (kRows == 1 ? 1 : 2) / std::max<int64_t>(all_sets * blocks, 1))));
  const int64_t parts = std::clamp<int64_t>((s.keys + kPart - 1) / kPart, 1, per_block * kParts);
  const int64_t warps = std::min(std::clamp<int64_t>(at_once, 2, kMostThreads<kRows> / kWarp), parts);
  const int64_t stored = blocks > 1 ? all_sets * count : 0;
  const Scratch<T> space(stored * kRows * (s.size + 2));
  T* const m = space.data() + stored * kRows * s.size;
  const Splits<T> splits{.out = space.data(),
                         .m = m,
                         .l = m + stored * kRows,
                         .tickets = blocks > 1 ? of_current_device<Tickets>().get(all_sets) : nullptr,
                         .count = static_cast<unsigned>(count),
                         .per_block = static_cast<unsigned>(per_block),
                         .blocks = static_cast<unsigned>(blocks),
                         .sharing = static_cast<unsigned>(sharing),
                         .sets = static_cast<unsigned>(sets),
                         .prefetches = all_sets < kManySets};
  launch_early(decode_kernel<kSize, kRows, kWhole, S, T>, static_cast<unsigned>(all_sets * blocks),
               static_cast<unsigned>(warps * kWarp), 0, stream(), s, splits, Heads<S>(out), lse.as<T>(),
               Heads<const S>(q), Heads<S>(k), Heads<S>(v), fresh);
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
