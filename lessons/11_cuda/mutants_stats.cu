// Answers to 11.4: one number more, and the lanes together. For mutants.cu's table.
#include "lessons/11_cuda/mutants_stats.h"

namespace pg::lesson11 {
namespace {

// The right loop, with Step's way of taking in a number.
template <class Step>
struct OfStep {
  static __device__ RowStats row_stats(const float* x, int64_t n) {
    Seen seen;
    for (int64_t i = Team::rank(); i < n; i += kWarp) Step::add(seen, x[i]);
    return seen.together();
  }
};
template <class Step>
void step_by(Impl& m) {
  stats<OfStep<Step>>(m);
}
// The right loop, with End's way of combining the lanes.
template <class End>
struct OfEnd {
  static __device__ RowStats row_stats(const float* x, int64_t n) {
    Seen seen;
    for (int64_t i = Team::rank(); i < n; i += kWarp) seen.add(x[i]);
    return End::together(seen);
  }
};
template <class End>
void end_by(Impl& m) {
  stats<OfEnd<End>>(m);
}

// ---- one number more

struct MaximumFirst {  // the factor is computed with the new maximum only: e^0
  static __device__ void add(Seen& s, float v) {
    if (v == kLowest) return;
    s.top = Max{}(s.top, v);
    s.sum = s.sum * ::expf(s.top - s.top) + ::expf(v - s.top);
  }
};
struct AlwaysRescaled {  // also where v is not larger
  static __device__ void add(Seen& s, float v) {
    if (v == kLowest) return;
    s.sum = s.sum == 0 ? 1 : s.sum * ::expf(s.top - v) + 1;
    s.top = Max{}(s.top, v);
  }
};
struct MinusReversed {
  static __device__ void add(Seen& s, float v) {
    if (v == kLowest) return;
    if (v > s.top) {
      s.sum *= ::expf(s.top - v);
      s.top = v;
    }
    s.sum += ::expf(s.top - v);
  }
};
struct MaskedFirst {  // right, unless a lane begins with -inf
  static __device__ void add(Seen& s, float v) {
    if (v > s.top) {
      s.sum = s.sum * ::expf(s.top - v) + 1;
      s.top = v;
    } else {
      s.sum += ::expf(v - s.top);
    }
  }
};
struct MaskedIsBelow {  // takes every number below -1e9 for a mask
  static __device__ void add(Seen& s, float v) {
    if (v > -1e9f) s.add(v);
  }
};
struct MaskedIsLargeNumber {  // skips what is no mask, and a mask is not skipped
  static __device__ void add(Seen& s, float v) {
    if (v == -std::numeric_limits<float>::max()) return;
    MaskedFirst::add(s, v);
  }
};
struct MaskedCountsOne {
  static __device__ void add(Seen& s, float v) {
    if (v == kLowest) {
      s.sum += 1;
      return;
    }
    s.add(v);
  }
};
struct EqualForgets {  // an equal number counts as a new maximum and replaces the sum
  static __device__ void add(Seen& s, float v) {
    if (v == kLowest) return;
    if (v >= s.top) {
      s.sum = v == s.top ? 1 : s.sum * ::expf(s.top - v) + 1;
      s.top = v;
    } else {
      s.sum += ::expf(v - s.top);
    }
  }
};
struct NewMaximumForgets {
  static __device__ void add(Seen& s, float v) {
    if (v == kLowest) return;
    if (v > s.top) {
      s.sum = 1;
      s.top = v;
    } else {
      s.sum += ::expf(v - s.top);
    }
  }
};
struct NewMaximumLeftOut {
  static __device__ void add(Seen& s, float v) {
    if (v == kLowest) return;
    if (v > s.top) {
      s.sum *= ::expf(s.top - v);
      s.top = v;
    } else {
      s.sum += ::expf(v - s.top);
    }
  }
};

// ---- the lanes together

struct NanSpreads {  // a lane of masks has the sum NaN, though its row has probabilities
  static __device__ RowStats together(Seen s) {
    const float max = Team::reduce(s.top, Max{});
    s.sum = s.top == kLowest ? std::numeric_limits<float>::quiet_NaN() : s.sum * ::expf(s.top - max);
    return {max, Team::reduce(s.sum, Plus{})};
  }
};
struct NanIsZero {  // hides that a row has no probabilities
  static __device__ RowStats together(Seen s) {
    const float max = Team::reduce(s.top, Max{});
    s.sum *= ::expf(s.top - max);
    return {max, Team::reduce(std::isnan(s.sum) ? 0.0f : s.sum, Plus{})};
  }
};
struct MaximumNan {
  static __device__ RowStats together(Seen s) {
    const RowStats all = s.together();
    return {std::isnan(all.sum) ? all.sum : all.max, all.sum};
  }
};
struct MaximumNotReduced {
  static __device__ RowStats together(Seen s) { return {s.top, s.together().sum}; }
};
struct SumNotReduced {
  static __device__ RowStats together(Seen s) {
    const float max = Team::reduce(s.top, Max{});
    return {max, s.sum * ::expf(s.top - max)};
  }
};
struct SumFirst {  // added before it is rescaled; then each lane has a factor of its own
  static __device__ RowStats together(Seen s) {
    const float sum = Team::reduce(s.sum, Plus{});
    const float max = Team::reduce(s.top, Max{});
    return {max, sum * ::expf(s.top - max)};
  }
};
struct LogOfSum {
  static __device__ RowStats together(Seen s) {
    const RowStats all = s.together();
    return {all.max, std::log(all.sum)};
  }
};
struct InverseToWarp {
  static __device__ RowStats together(Seen s) {
    const float max = Team::reduce(s.top, Max{});
    return {max, Team::reduce(s.sum == 0 ? 0.0f : s.sum * ::expf(max - s.top), Plus{})};
  }
};

// Right.
struct ByPairs {  // (max, sum) of two lanes are combined like two numbers
  static __device__ RowStats together(Seen s) {
    for (int step = kWarp / 2; step > 0; step /= 2) {
      const float top = __shfl_xor_sync(0xffffffffu, s.top, step), sum = __shfl_xor_sync(0xffffffffu, s.sum, step);
      const float max = Max{}(s.top, top);
      if (max != kLowest) s.sum = s.sum * ::expf(s.top - max) + sum * ::expf(top - max);
      s.top = max;
    }
    return {s.top, s.top == kLowest ? std::numeric_limits<float>::quiet_NaN() : s.sum};
  }
};

const kit::Mutants<Impl> mutants_of_stats = {
    {"stats_maximum_first", "11.4", "not rescaled when the maximum grows", step_by<MaximumFirst>},
    {"stats_always_rescaled", "11.4", "is rescaled to each x", step_by<AlwaysRescaled>},
    {"stats_minus_reversed", "11.4", "e^(max - x) is added", step_by<MinusReversed>},
    {"stats_masked_first", "11.4", "-inf - -inf is NaN", step_by<MaskedFirst>},
    {"stats_masked_is_below", "11.4", "only -inf is a mask", step_by<MaskedIsBelow>},
    {"stats_masked_is_large_number", "11.4", "-inf - -inf is NaN", step_by<MaskedIsLargeNumber>},
    {"stats_masked_counts_one", "11.4", "a masked number counts as 1", step_by<MaskedCountsOne>},
    {"stats_equal_forgets", "11.4", "a number equal to the maximum throws the sum away", step_by<EqualForgets>},
    {"stats_new_maximum_forgets", "11.4", "a new maximum throws the sum of the numbers before it away",
     step_by<NewMaximumForgets>},
    {"stats_new_maximum_left_out", "11.4", "a new maximum is not counted itself", step_by<NewMaximumLeftOut>},
    {"stats_nan_spreads", "11.4", "-inf - -inf is NaN", end_by<NanSpreads>},
    {"stats_nan_is_zero", "11.4", "a row of -inf only has no probabilities", end_by<NanIsZero>},
    {"stats_maximum_nan", "11.4", "a row of -inf only has the maximum -inf", end_by<MaximumNan>},
    {"stats_maximum_not_reduced", "11.4", "the result of one lane", end_by<MaximumNotReduced>},
    {"stats_sum_not_reduced", "11.4", "the sum of one lane", end_by<SumNotReduced>},
    {"stats_sum_first", "11.4", "added before each is rescaled", end_by<SumFirst>},
    {"stats_log_of_sum", "11.4", "this is the logarithm of the sum", end_by<LogOfSum>},
    {"stats_inverse_to_warp", "11.4", "by the inverse to the warp's maximum", end_by<InverseToWarp>},
    {"stats_by_pairs", "11.4", "ok", end_by<ByPairs>},
};

}  // namespace
}  // namespace pg::lesson11
