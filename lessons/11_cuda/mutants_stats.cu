// Answers to 11.4. Those that a check names by running them are in mistakes.cu.
#include "lessons/11_cuda/wrong_stats.h"
#include "lessons/kit/mutants.h"

namespace pg::lesson11 {
namespace {

// ---- other loops

using Seen = WrongStats<kNoMistake>::Seen;

struct ReduceInLoop {  // in the last round not every lane has an element
  static __device__ RowStats row_stats(const float* x, int64_t n) {
    float top = kLowest, sum = 0;
    for (int64_t i = Team::rank(); i < n; i += kWarp) {
      const float max = Max{}(top, Team::reduce(x[i], Max{}));
      if (max == kLowest) continue;
      sum = sum * ::expf(top - max) + ::expf(x[i] - max);
      top = max;
    }
    return {top, Team::reduce(sum, Plus{})};
  }
};
template <int kEach>  // reads once into kEach registers, then makes two passes over these
struct InRegisters {
  static __device__ RowStats row_stats(const float* x, int64_t n) {
    float v[kEach], max = kLowest, sum = 0;
    for (int j = 0; j < kEach; ++j) {
      const int64_t i = Team::rank() + int64_t{j} * kWarp;
      v[j] = i < n ? x[i] : kLowest;
      max = Max{}(max, v[j]);
    }
    max = Team::reduce(max, Max{});
    for (float one : v) sum += ::expf(one - max);
    return {max, Team::reduce(sum, Plus{})};
  }
};
// Reads the row again, or from shared memory; but the block's eight warps share that.
template <bool kShared>
struct TwoPasses {
  static __device__ RowStats row_stats(const float* x, int64_t n) {
    __shared__ float row[2048];
    float max = kLowest, sum = 0;
    for (int64_t i = Team::rank(); i < n; i += kWarp) {
      if (kShared) row[i] = x[i];
      max = Max{}(max, x[i]);
    }
    max = Team::reduce(max, Max{});
    for (int64_t i = Team::rank(); i < n; i += kWarp) sum += ::expf((kShared ? row[i] : x[i]) - max);
    return {max, Team::reduce(sum, Plus{})};
  }
};
struct ByFour {  // rows whose length is no multiple of 4 do not begin at a multiple of 16 bytes
  static __device__ RowStats row_stats(const float* x, int64_t n) {
    Seen seen;
    for (int64_t i = 4 * Team::rank(); i < n; i += 4 * kWarp) {
      if (i + 3 < n) {
        const float4 v = *reinterpret_cast<const float4*>(x + i);
        seen.add(v.x), seen.add(v.y), seen.add(v.z), seen.add(v.w);
      } else {
        for (int64_t j = i; j < n; ++j) seen.add(x[j]);
      }
    }
    return seen.together();
  }
};
struct Halves {  // lane i takes elements 2i and 2i + 1: each byte of a sector is used, but by two accesses
  static __device__ RowStats row_stats(const float* x, int64_t n) {
    Seen seen;
    for (int64_t i = 2 * Team::rank(); i < n; i += 2 * kWarp) {
      seen.add(x[i]);
      if (i + 1 < n) seen.add(x[i + 1]);
    }
    return seen.together();
  }
};

// ---- right

struct InDouble {
  static __device__ RowStats row_stats(const float* x, int64_t n) {
    float top = kLowest;
    double sum = 0;
    for (int64_t i = Team::rank(); i < n; i += kWarp) {
      const float v = x[i], max = Max{}(top, v);
      if (max == kLowest) continue;
      sum = sum * std::exp(static_cast<double>(top) - max) + std::exp(static_cast<double>(v) - max);
      top = max;
    }
    return Seen{top, static_cast<float>(sum)}.together();
  }
};
struct RoundByRound {  // all lanes keep one common maximum; those without a number have -inf
  static __device__ RowStats row_stats(const float* x, int64_t n) {
    float top = kLowest, sum = 0;
    for (int64_t first = 0; first < n; first += kWarp) {
      const float v = first + Team::rank() < n ? x[first + Team::rank()] : kLowest;
      const float max = Max{}(top, Team::reduce(v, Max{}));
      if (max == kLowest) continue;
      sum = sum * ::expf(top - max) + ::expf(v - max);
      top = max;
    }
    sum = Team::reduce(sum, Plus{});
    return {top, top == kLowest ? kNan : sum};
  }
};
struct ByPairs {  // (max, sum) of two lanes are combined like two numbers
  static __device__ RowStats row_stats(const float* x, int64_t n) {
    Seen s;
    for (int64_t i = Team::rank(); i < n; i += kWarp) s.add(x[i]);
    for (int step = kWarp / 2; step > 0; step /= 2) {
      const float top = __shfl_xor_sync(0xffffffffu, s.top, step), sum = __shfl_xor_sync(0xffffffffu, s.sum, step);
      const float max = Max{}(s.top, top);
      if (max != kLowest) s.sum = s.sum * ::expf(s.top - max) + sum * ::expf(top - max);
      s.top = max;
    }
    return {s.top, s.top == kLowest ? kNan : s.sum};
  }
};

// Both kernels, where the first does not show the mistake.
template <class Answer>
void both(Impl& m) {
  m.row_stats = row_stats<Answer>;
  m.softmax = softmax<Answer>;
}

const kit::Mutants<Impl> stats = {
    {"stats_leader_only", "11.4", "only lane 0 has the result", both<WrongStats<"leader_only"_id>>},
    {"stats_begins_with_first", "11.4", "ok", both<WrongStats<"begins_with_first"_id>>},
    {"stats_back_to_front", "11.4", "ok", both<WrongStats<"back_to_front"_id>>},
    {"stats_in_double", "11.4", "ok", both<InDouble>},
    {"stats_round_by_round", "11.4", "ok", both<RoundByRound>},
    {"stats_by_pairs", "11.4", "ok", both<ByPairs>},
};

const kit::Mutants<Impl> wrong_rows = {
    &Impl::row_stats,
    stats_mistakes(),
    {
        {"stats_top_of_zero", "11.4", "the maximum begins with 0", wrong_stats<"top_of_zero"_id>},
        {"stats_begins_with_low_9", "11.4", "the maximum begins with -1e+09", wrong_stats<"begins_with_low_9"_id>},
        {"stats_begins_with_low_30", "11.4", "the maximum begins with -1e+30", wrong_stats<"begins_with_low_30"_id>},
        {"stats_begins_with_low_38", "11.4", "a row of -inf only has the maximum -inf",
         wrong_stats<"begins_with_low_38"_id>},
        {"stats_masked_zero", "11.4", "a row of -inf only has no probabilities", wrong_stats<"masked_zero"_id>},
        {"stats_nan_is_zero", "11.4", "a row of -inf only has no probabilities", wrong_stats<"nan_is_zero"_id>},
        {"stats_maximum_nan", "11.4", "a row of -inf only has the maximum -inf", wrong_stats<"maximum_nan"_id>},
        {"stats_nan", "11.4", "-inf - -inf is NaN", wrong_stats<"nan"_id>},
        {"stats_nan_spreads", "11.4", "-inf - -inf is NaN", wrong_stats<"nan_spreads"_id>},
        {"stats_masked_is_large_number", "11.4", "-inf - -inf is NaN", wrong_stats<"masked_is_large_number"_id>},
        {"stats_masked_is_below", "11.4", "only -inf is a mask", wrong_stats<"masked_is_below"_id>},
        {"stats_masked_is_below_30", "11.4", "only -inf is a mask", wrong_stats<"masked_is_below_30"_id>},
        {"stats_maximum_not_reduced", "11.4", "the result of one lane", wrong_stats<"maximum_not_reduced"_id>},
        {"stats_in_registers_8", "11.4", "only the first 256 numbers count", row_stats<InRegisters<8>>},
        {"stats_in_registers_32", "11.4", "only the first 1024 numbers count", row_stats<InRegisters<32>>},
    }};

const kit::Mutants<Impl> simulated_rows = {
    &Impl::row_stats,
    {},
    {
        {"stats_far_apart", "11.4", "the lanes are far apart", wrong_stats<"far_apart"_id>},
        {"stats_halves", "11.4", "the lanes are far apart", row_stats<Halves>},
        {"stats_each_lane_all", "11.4", "an access of a warp reads one number only", wrong_stats<"each_lane_all"_id>},
        {"stats_lane_zero_all", "11.4", "an access of a warp reads one number only", wrong_stats<"lane_zero_all"_id>},
        {"stats_two_passes", "11.4", "read more than once", row_stats<TwoPasses<false>>},
        {"stats_in_shared", "11.4", "several warps write to the same shared memory", row_stats<TwoPasses<true>>},
        {"stats_reduce_in_loop", "11.4", "all 32 lanes must come to Team::reduce", row_stats<ReduceInLoop>},
        {"stats_returns_early", "11.4", "all 32 lanes must come to Team::reduce", wrong_stats<"returns_early"_id>},
        {"stats_begins_with_own", "11.4", "an index outside of its memory", wrong_stats<"begins_with_own"_id>},
        {"stats_reads_anyway", "11.4", "an index outside of its memory", wrong_stats<"reads_anyway"_id>},
        {"stats_by_four", "11.4", "only where the address is a multiple of 16", row_stats<ByFour>},
    },
    "simulator"};

}  // namespace
}  // namespace pg::lesson11
