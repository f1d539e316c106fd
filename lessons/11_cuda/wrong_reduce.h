#pragma once
// 11.2 with each of its known mistakes.
#include "lessons/11_cuda/harness.h"
#include "lessons/11_cuda/mistakes.h"

namespace pg::lesson11 {

inline constexpr unsigned kAll = 0xffffffffu;
inline constexpr int kWarps = kThreads / kWarp;
inline __device__ int lane() { return static_cast<int>(threadIdx.x) % kWarp; }
inline __device__ int warp() { return static_cast<int>(threadIdx.x) / kWarp; }

// f over the 32 lanes.
template <uint64_t mistake, int kSize, class T, class F>
__device__ T over_warp(T x, F f) {
  if (mistake == "always_plus"_id) return over_warp<kNoMistake, kSize>(x, Plus{});
  if (mistake == "always_max"_id) return over_warp<kNoMistake, kSize>(x, Max{});
  if (mistake == "sum_over_lanes"_id) {  // begins with 0, and takes each lane's number in turn
    T all = 0;
    for (int step = 0; step < kWarp; ++step) all = f(all, __shfl_xor_sync(kAll, x, step));
    return all;
  }
  if (mistake == "every_step"_id) {
    for (int step = kWarp - 1; step > 0; --step) x = f(x, __shfl_xor_sync(kAll, x, step));
    return x;
  }
  if (mistake == "steps_up_to_8"_id || mistake == "steps_up_to_16"_id) {
    const int end = mistake == "steps_up_to_8"_id ? kWarp / 2 : kWarp;
    for (int step = 1; step < end; step *= 2) x = f(__shfl_xor_sync(kAll, x, step), x);
    return x;
  }
  const unsigned mask = mistake == "mask"_id ? 0xffffu : mistake == "names_one_lane"_id ? 1u << lane() : kAll;
  constexpr int kFirst = mistake == "half_warp"_id        ? kWarp / 4
                         : mistake == "quarter_warp"_id   ? kWarp / 8
                         : mistake == "step_of_32"_id     ? kWarp
                         : mistake == "steps_of_block"_id ? kSize / 2  // a shuffle cannot reach another warp
                                                          : kWarp / 2;
  constexpr int kLast = mistake == "no_last_step"_id   ? 2
                        : mistake == "one_exchange"_id ? kWarp / 2
                        : mistake == "own_only"_id     ? kWarp
                                                       : 1;
  for (int step = kFirst; step >= kLast; step /= 2) {
    if (mistake == "upper_lanes_leave"_id && lane() >= step) break;
    if (mistake == "shuffle_in_branch"_id && lane() >= 2 * step) continue;
    if (mistake == "leader_only"_id) {
      x = f(x, __shfl_down_sync(mask, x, step));
      continue;
    }
    // The third argument is the step, not the lane that it leads to.
    const T other = __shfl_xor_sync(mask, x, mistake == "lane_for_step"_id ? lane() ^ step : step);
    x = mistake == "not_combined"_id ? other : f(x, other);
  }
  return x;
}

// Writes the part of this thread's warp.
template <uint64_t mistake, class T, int kParts>
__device__ void share(T (&parts)[kParts], T x) {
  if (mistake == "barrier_before_write_only"_id || mistake == "barrier_first"_id) __syncthreads();
  // CUDA stores one of several equal numbers; but which thread writes should be said.
  if (lane() == 0 || mistake == "all_lanes_write"_id || mistake == "parts_of_threads"_id) {
    const unsigned part = mistake == "part_of_block"_id      ? blockIdx.x * kWarps + warp()
                          : mistake == "parts_of_threads"_id ? threadIdx.x
                                                             : warp();
    parts[part] = x;
    if (mistake == "barrier_in_if"_id) __syncthreads();
  }
  if (mistake == "barrier_of_warp"_id) {
    __syncwarp();
  } else if (mistake != "no_first_barrier"_id && mistake != "barrier_in_if"_id &&
             mistake != "barrier_before_write_only"_id) {
    __syncthreads();
  }
}

// f over the parts.
template <uint64_t mistake, class T, class F, int kParts>
__device__ T all_of(const T (&parts)[kParts], T x, F f) {
  if (mistake == "five_steps_over_parts"_id) return over_warp<kNoMistake, kThreads>(parts[lane() % kParts], f);
  if (mistake == "part_of_lane"_id) return over_warp<kNoMistake, kThreads>(parts[lane()], f);
  if (mistake == "parts_of_zero"_id)  // the lanes beyond the parts have 0
    return over_warp<kNoMistake, kThreads>(lane() < kParts ? parts[lane()] : T(0), f);
  if (mistake == "thread_zero_only"_id && threadIdx.x != 0) return x;
  if (mistake == "warp_zero_only"_id && warp() != 0) return x;
  constexpr int kFirst = mistake == "first_warp_missing"_id ? 1 : 0;
  constexpr bool kOther = mistake == "own_twice"_id || mistake == "total_of_zero"_id;
  if (mistake == "total_of_zero"_id) x = 0;
  if (!kOther) x = parts[kFirst];
  for (int i = kOther ? 0 : kFirst + 1; i < kParts - (mistake == "last_warp_missing"_id); ++i) x = f(x, parts[i]);
  return x;
}

template <uint64_t mistake>
struct WrongReduce {
  template <int kSize, class T, class F>
  static __device__ T reduce(T x, F f) {
    x = over_warp<mistake, kSize>(x, f);
    constexpr bool kOneWarp = mistake == "own_warp"_id || mistake == "steps_of_block"_id;
    if constexpr ((kSize > kWarp || mistake == "always_a_block"_id) && !kOneWarp) {
      __shared__ T parts[kSize / kWarp];
      if (mistake == "return_before_barrier"_id) {
        if (lane() == 0) parts[warp()] = x;
        if (threadIdx.x >= kWarp) return x;
        __syncthreads();
      } else {
        share<mistake>(parts, x);
      }
      x = all_of<mistake>(parts, x, f);
      if (mistake != "no_second_barrier"_id && mistake != "barrier_first"_id) __syncthreads();
    }
    return x;
  }
};
template <uint64_t mistake>
constexpr auto wrong_reduce = reduced<WrongReduce<mistake>>;

}  // namespace pg::lesson11
