// Answers to 11.2: the lanes of a warp. For mutants.cu's table.
#include "lessons/11_cuda/mutants_reduce.h"

namespace pg::lesson11 {
namespace {

// The right way, after another reduction over a warp.
struct Meet {
  template <class T, class F>
  static __device__ T meet(T x, F f) {
    __shared__ T parts[kWarps];
    share(parts, x);
    return all_of(parts, f);
  }
};
template <class Warp>
struct OfWarp {
  template <int kSize, class T, class F>
  static __device__ T reduce(T x, F f) {
    x = Warp::fold(x, f);
    if constexpr (kSize > kWarp) x = Meet::meet(x, f);
    return x;
  }
};
template <class Warp>
void warp_by(Impl& m) {
  reduce_by<OfWarp<Warp>>(m);
}

// ---- the lanes of a warp

struct NotCombined {
  template <class T, class F>
  static __device__ T fold(T x, F) {
    for (int step = kWarp / 2; step > 0; step /= 2) x = __shfl_xor_sync(kAll, x, step);
    return x;
  }
};
struct LaneForStep {  // the third argument is the step, not the lane that it leads to
  template <class T, class F>
  static __device__ T fold(T x, F f) {
    for (int step = kWarp / 2; step > 0; step /= 2) x = f(x, __shfl_xor_sync(kAll, x, lane() ^ step));
    return x;
  }
};
struct EveryStep {
  template <class T, class F>
  static __device__ T fold(T x, F f) {
    for (int step = kWarp - 1; step > 0; --step) x = f(x, __shfl_xor_sync(kAll, x, step));
    return x;
  }
};
struct StepsUpTo8 {
  template <class T, class F>
  static __device__ T fold(T x, F f) {
    for (int step = 1; step < kWarp / 2; step *= 2) x = f(x, __shfl_xor_sync(kAll, x, step));
    return x;
  }
};
struct OneExchange {
  template <class T, class F>
  static __device__ T fold(T x, F f) {
    return f(x, __shfl_xor_sync(kAll, x, kWarp / 2));
  }
};
struct OwnOnly {
  template <class T, class F>
  static __device__ T fold(T x, F) {
    return x;
  }
};
struct AlwaysPlus {
  template <class T, class F>
  static __device__ T fold(T x, F) {
    return over_warp(x, Plus{});
  }
};
struct AlwaysMax {
  template <class T, class F>
  static __device__ T fold(T x, F) {
    return over_warp(x, Max{});
  }
};
struct StepsOfBlock {  // a shuffle cannot reach another warp
  template <int kSize, class T, class F>
  static __device__ T reduce(T x, F f) {
    for (int step = kSize / 2; step > 0; step /= 2) x = f(x, __shfl_xor_sync(kAll, x, step));
    return x;
  }
};
struct SumOverLanes {  // begins with 0, and takes each lane's number in turn
  template <class T, class F>
  static __device__ T fold(T x, F f) {
    T all = 0;
    for (int step = 0; step < kWarp; ++step) all = f(all, __shfl_xor_sync(kAll, x, step));
    return all;
  }
};
struct NamesOneLane {
  template <class T, class F>
  static __device__ T fold(T x, F f) {
    for (int step = kWarp / 2; step > 0; step /= 2) x = f(x, __shfl_xor_sync(1u << lane(), x, step));
    return x;
  }
};
struct UpperLanesLeave {
  template <class T, class F>
  static __device__ T fold(T x, F f) {
    for (int step = kWarp / 2; step > 0; step /= 2) {
      if (lane() >= step) break;
      x = f(x, __shfl_xor_sync(kAll, x, step));
    }
    return x;
  }
};

// Right.
struct StepsUpTo16 {
  template <class T, class F>
  static __device__ T fold(T x, F f) {
    for (int step = 1; step < kWarp; step *= 2) x = f(__shfl_xor_sync(kAll, x, step), x);
    return x;
  }
};

const kit::Mutants<Impl> mutants_of_warp = {
    {"reduce_not_combined", "11.2", "takes the place of mine", warp_by<NotCombined>},
    {"reduce_lane_for_step", "11.2", "the third argument of __shfl_xor_sync is the step", warp_by<LaneForStep>},
    {"reduce_every_step", "11.2", "numbers are counted many times", warp_by<EveryStep>},
    {"reduce_steps_up_to_8", "11.2", "only 16 lanes take part", warp_by<StepsUpTo8>},
    {"reduce_one_exchange", "11.2", "only one exchange", warp_by<OneExchange>},
    {"reduce_own_only", "11.2", "nothing is exchanged", warp_by<OwnOnly>},
    {"reduce_always_plus", "11.2", "this is the sum", warp_by<AlwaysPlus>},
    {"reduce_always_max", "11.2", "this is the maximum", warp_by<AlwaysMax>},
    {"reduce_steps_of_block", "11.2", "a shuffle stays within its warp", reduce_by<StepsOfBlock>},
    {"reduce_sum_over_lanes", "11.2", "threads without a number take part with 0", warp_by<SumOverLanes>},
    {"reduce_names_one_lane", "11.2", "the mask names the lanes that come", warp_by<NamesOneLane>, "", "simulator"},
    {"reduce_upper_lanes_leave", "11.2", "every lane that the mask names must come", warp_by<UpperLanesLeave>, "",
     "simulator"},
    {"reduce_steps_up_to_16", "11.2", "ok", warp_by<StepsUpTo16>},
};

}  // namespace
}  // namespace pg::lesson11
