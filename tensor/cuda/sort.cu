// Radix sort from the lowest digit up, eight bits at a time (Satish, Harris and Garland 2009, "Designing Efficient
// Sorting Algorithms for Manycore GPUs"). In each pass, every tile of 256 keys counts its digits, and one block per
// digit sums the counts of the preceding tiles. The output position of a key is then the number of keys with smaller
// digits, plus those with an equal digit in earlier tiles, plus those with an equal digit before it in its own tile.
#include <utility>

#include "tensor/cuda/base/array.h"
#include "tensor/cuda/runtime/runtime.h"
#include "tensor/cuda/sort.h"

namespace pg::cuda {
namespace {

constexpr int kBits = 8, kDigits = 1 << kBits, kWarps = kThreads / 32;
static_assert(kDigits == kThreads);  // thread d of a block also handles digit d

__global__ void keys_kernel(int32_t* keys, int32_t* order, const int32_t* ids, int64_t n, int32_t below) {
  for (int64_t i = first_index(); i < n; i += index_step()) {
    keys[i] = ids[i] >= 0 && ids[i] < below ? ids[i] : below;
    order[i] = static_cast<int32_t>(i);
  }
}

// The number of keys with an equal digit in earlier lanes of the warp; `count` [kWarps, kDigits] receives the digit
// counts of each warp. All threads of the block must call it; has_key is false for a thread without a key.
__device__ int rank_in_warp(int32_t (*count)[kDigits], int digit, bool has_key) {
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  for (int w = 0; w < kWarps; ++w) count[w][threadIdx.x] = 0;
  __syncthreads();
  unsigned equal = __ballot_sync(0xffffffffu, has_key);
  for (int bit = 0; bit < kBits; ++bit) {
    const bool one = digit >> bit & 1;
    const unsigned ones = __ballot_sync(0xffffffffu, one);
    equal &= one ? ones : ~ones;
  }
  const int rank = __popc(equal & ((1u << lane) - 1));
  if (has_key && rank == 0) count[warp][digit] = __popc(equal);
  __syncthreads();
  return rank;
}

// counts [kDigits, tiles]
__global__ void count_kernel(int32_t* counts, const int32_t* keys, int64_t n, int shift) {
  __shared__ int32_t count[kWarps][kDigits];
  const int64_t i = first_index();
  const bool has_key = i < n;
  rank_in_warp(count, has_key ? keys[i] >> shift & (kDigits - 1) : 0, has_key);
  int32_t sum = 0;
  for (int w = 0; w < kWarps; ++w) sum += count[w][threadIdx.x];
  counts[int64_t{threadIdx.x} * gridDim.x + blockIdx.x] = sum;
}

// Inclusive prefix sum over the threads of a block; `sums` [kThreads] is shared.
__device__ int32_t inclusive_scan(int32_t* sums, int32_t value) {
  const int t = static_cast<int>(threadIdx.x);
  for (int distance = 1; distance < kThreads; distance *= 2) {
    sums[t] = value;
    __syncthreads();
    if (t >= distance) value += sums[t - distance];
    __syncthreads();
  }
  return value;
}

// Block d replaces the counts of digit d by their sums over earlier tiles; total[d] is the sum over all tiles.
__global__ void scan_kernel(int32_t* counts, int32_t* total, int64_t tiles) {
  __shared__ int32_t sums[kThreads];
  __shared__ int32_t chunk;
  int32_t* row = counts + blockIdx.x * tiles;
  int32_t before = 0;
  for (int64_t first = 0; first < tiles; first += kThreads) {
    const int64_t i = first + threadIdx.x;
    const int32_t value = i < tiles ? row[i] : 0, sum = inclusive_scan(sums, value);
    if (i < tiles) row[i] = before + sum - value;
    if (threadIdx.x == kThreads - 1) chunk = sum;
    __syncthreads();
    before += chunk;
    __syncthreads();
  }
  if (threadIdx.x == 0) total[blockIdx.x] = before;
}

__global__ void place_kernel(int32_t* keys_out, int32_t* order_out, const int32_t* keys, const int32_t* order,
                             const int32_t* counts, const int32_t* total, int64_t n, int shift) {
  __shared__ int32_t count[kWarps][kDigits];
  __shared__ int32_t sums[kThreads], start[kDigits];
  const int32_t of_digit = total[threadIdx.x];
  start[threadIdx.x] = inclusive_scan(sums, of_digit) - of_digit;
  const int64_t i = first_index();
  const bool has_key = i < n;
  const int32_t key = has_key ? keys[i] : 0;
  const int digit = key >> shift & (kDigits - 1);
  const int rank = rank_in_warp(count, digit, has_key);
  if (!has_key) return;
  int32_t to = start[digit] + counts[int64_t{digit} * gridDim.x + blockIdx.x] + rank;
  for (int w = 0; w < static_cast<int>(threadIdx.x) / 32; ++w) to += count[w][digit];
  keys_out[to] = key;
  order_out[to] = order[i];
}

}  // namespace

void sort_ids(int32_t* keys, int32_t* order, const int32_t* ids, int64_t n, int32_t below) {
  const int64_t tiles = (n + kThreads - 1) / kThreads;
  const Scratch<int32_t> other_keys(n), other_order(n), counts(kDigits * tiles), total(kDigits);
  int32_t *k = keys, *o = order, *k2 = other_keys.data(), *o2 = other_order.data();
  int passes = 1;
  while (passes * kBits < 32 && below >> passes * kBits > 0) ++passes;
  if (passes % 2) std::swap(k, k2), std::swap(o, o2);  // every pass swaps: the result must be in keys and order
  launch(keys_kernel, blocks_for(n), kThreads, 0, stream(), k, o, ids, n, below);
  for (int shift = 0; passes > 0; --passes, shift += kBits) {
    launch(count_kernel, static_cast<unsigned>(tiles), kThreads, 0, stream(), counts.data(), k, n, shift);
    launch(scan_kernel, kDigits, kThreads, 0, stream(), counts.data(), total.data(), tiles);
    launch(place_kernel, static_cast<unsigned>(tiles), kThreads, 0, stream(), k2, o2, k, o, counts.data(), total.data(),
           n, shift);
    std::swap(k, k2), std::swap(o, o2);
  }
}

}  // namespace pg::cuda
