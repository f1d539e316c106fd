#pragma once
// 11.4 with each of its known mistakes.
#include <cmath>

#include "lessons/11_cuda/harness.h"
#include "lessons/11_cuda/mistakes.h"

namespace pg::lesson11 {

inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

template <uint64_t mistake>
struct WrongStats {
  // A lane's largest number, and its sum relative to that.
  struct Seen {
    float top = mistake == "top_of_zero"_id          ? 0
                : mistake == "begins_with_low_9"_id  ? -1e9f  // so that no -inf needs care
                : mistake == "begins_with_low_30"_id ? -1e30f
                : mistake == "begins_with_low_38"_id ? -std::numeric_limits<float>::max()
                                                     : kLowest;
    float sum = 0;
    __device__ void add(float v);
    __device__ RowStats together() const;
  };

  static __device__ RowStats row_stats(const float* x, int64_t n);
};

// One number more.
template <uint64_t mistake>
__device__ void WrongStats<mistake>::Seen::add(float v) {
  if (mistake == "masked_counts_one"_id && v == kLowest) sum += 1;
  if (mistake == "masked_is_below"_id && v <= -1e9f) return;
  if (mistake == "masked_is_below_30"_id && v < -1e30f) return;
  if (mistake == "masked_is_large_number"_id && v == -std::numeric_limits<float>::max()) return;
  constexpr bool kTakesMasked = mistake == "nan"_id || mistake == "masked_is_large_number"_id ||
                                mistake == "begins_with_low_9"_id || mistake == "begins_with_low_30"_id ||
                                mistake == "begins_with_low_38"_id;
  if (!kTakesMasked && v == kLowest) return;
  if (mistake == "always_rescaled"_id) {  // also where v is not larger
    sum = sum == 0 ? 1 : sum * ::expf(top - v) + 1;
    top = Max{}(top, v);
    return;
  }
  if (v > top || (mistake == "equal_forgets"_id && v == top)) {
    if (mistake == "new_maximum_forgets"_id || (mistake == "equal_forgets"_id && v == top)) {
      sum = 0;
    } else if (mistake == "inverted"_id && sum != 0) {
      sum *= ::expf(v - top);
    } else if (mistake != "not_rescaled"_id && mistake != "never_rescaled"_id && mistake != "no_maximum"_id) {
      sum *= ::expf(top - v);
    }
    if (mistake == "new_twice"_id) sum += 1;
    top = v;
    if (mistake == "new_maximum_left_out"_id) return;
  }
  sum += ::expf(mistake == "no_maximum"_id ? v : mistake == "minus_reversed"_id ? top - v : v - top);
}

// All lanes' sums relative to the largest number of all.
template <uint64_t mistake>
__device__ RowStats WrongStats<mistake>::Seen::together() const {
  if (mistake == "lane_0"_id) return {top, sum};
  if (mistake == "each_lane_all"_id) return {top, top == kLowest ? kNan : sum};
  const float max = Team::reduce(top, Max{}), factor = ::expf(top - max);
  constexpr bool kOwn = mistake == "own_maximum"_id || mistake == "never_rescaled"_id || mistake == "no_maximum"_id ||
                        mistake == "sum_first"_id;
  float part = kOwn ? sum : sum * factor;
  if (mistake == "inverse_to_warp"_id) part = sum == 0 ? 0 : sum * ::expf(max - top);
  if (mistake == "nan_spreads"_id && top == kLowest) part = kNan;  // a lane of masks, though its row has probabilities
  if (mistake == "nan_is_zero"_id && std::isnan(part)) part = 0;   // hides that a row has no probabilities
  float total = mistake == "largest_sum"_id ? Team::reduce(part, Max{}) : Team::reduce(part, Plus{});
  if (mistake == "sum_first"_id) total *= factor;  // then each lane has a factor of its own
  if (mistake == "masked_zero"_id && max == kLowest) return {max, 0};
  if (mistake == "leader_only"_id && Team::rank() != 0) return {top, part};
  if (mistake == "maximum_nan"_id && std::isnan(total)) return {total, total};
  return {mistake == "maximum_not_reduced"_id ? top : max, mistake == "sum_not_reduced"_id ? part
                                                           : mistake == "log_of_sum"_id    ? std::log(total)
                                                                                           : total};
}

// The loop over the row.
template <uint64_t mistake>
__device__ RowStats WrongStats<mistake>::row_stats(const float* x, int64_t n) {
  constexpr bool kEachAll = mistake == "each_lane_all"_id || mistake == "each_lane_all_reduced"_id;
  const int64_t rank = Team::rank(), each = (n + kWarp - 1) / kWarp;
  if (mistake == "returns_early"_id && rank >= n) return {kLowest, 0};
  int64_t begin = rank, step = kWarp, end = n;
  if (mistake == "far_apart"_id) begin = rank * each, step = 1, end = begin + each < n ? begin + each : n;
  if (mistake == "by_thread"_id) begin = threadIdx.x;  // counts the block's 256 threads, not the row's 32
  if (mistake == "step_of_block"_id) step = kThreads;
  if (mistake == "whole_rounds"_id) end = n / kWarp * kWarp;
  if (kEachAll || mistake == "lane_zero_all"_id) begin = 0, step = 1;
  if (mistake == "lane_zero_all"_id && rank != 0) end = 0;
  if (mistake == "reads_anyway"_id) end = each * kWarp;
  Seen seen;
  if (mistake == "begins_with_first"_id && n > 0)
    seen.top = x[0];                      // right: x[0] is read by all lanes, and again by lane 0
  if (mistake == "begins_with_own"_id) {  // lane 7 of a row of 5 reads x[7]
    seen.top = x[rank], seen.sum = 1;
    begin += kWarp;
  }
  for (int64_t i = begin; i < end; i += step) {
    const float& v = x[mistake == "back_to_front"_id ? n - 1 - i : i];  // back to front is right
    if (mistake == "reads_anyway"_id) [[maybe_unused]]
      const volatile float read = v;
    if (i < n) seen.add(v);
  }
  return seen.together();
}
template <uint64_t mistake>
constexpr auto wrong_stats = row_stats<WrongStats<mistake>>;

}  // namespace pg::lesson11
