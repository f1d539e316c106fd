// Answers to 11.4: the loop over the row. For mutants.cu's table.
#include "lessons/11_cuda/mutants_stats.h"

namespace pg::lesson11 {
namespace {

// ---- other loops

struct BeginsWithOwn {  // lane 7 of a row of 5 reads x[7]
  static __device__ RowStats row_stats(const float* x, int64_t n) {
    Seen seen{x[Team::rank()], 1};
    for (int64_t i = Team::rank() + kWarp; i < n; i += kWarp) seen.add(x[i]);
    return seen.together();
  }
};
template <int kExponent>  // top begins with -10^kExponent, so that no -inf needs care
struct BeginsWithLow {
  static __device__ RowStats row_stats(const float* x, int64_t n) {
    Seen seen{kExponent == 9 ? -1e9f : kExponent == 30 ? -1e30f : -std::numeric_limits<float>::max(), 0};
    for (int64_t i = Team::rank(); i < n; i += kWarp) {
      const float top = Max{}(seen.top, x[i]);
      seen.sum = seen.sum * ::expf(seen.top - top) + ::expf(x[i] - top);
      seen.top = top;
    }
    return seen.together();
  }
};
struct ByThread {  // threadIdx.x counts the block's 256 threads, not the row's 32
  static __device__ RowStats row_stats(const float* x, int64_t n) {
    Seen seen;
    for (int64_t i = threadIdx.x; i < n; i += kWarp) seen.add(x[i]);
    return seen.together();
  }
};
struct StepOfBlock {
  static __device__ RowStats row_stats(const float* x, int64_t n) {
    Seen seen;
    for (int64_t i = Team::rank(); i < n; i += kThreads) seen.add(x[i]);
    return seen.together();
  }
};
template <bool kReduced>  // each lane takes the whole row
struct EachLaneAll {
  static __device__ RowStats row_stats(const float* x, int64_t n) {
    Seen seen;
    for (int64_t i = 0; i < n; ++i) seen.add(x[i]);
    if constexpr (kReduced) return seen.together();
    return {seen.top, seen.top == kLowest ? std::numeric_limits<float>::quiet_NaN() : seen.sum};
  }
};
struct LaneZeroAll {
  static __device__ RowStats row_stats(const float* x, int64_t n) {
    Seen seen;
    for (int64_t i = 0; i < n && Team::rank() == 0; ++i) seen.add(x[i]);
    return seen.together();
  }
};
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
struct ReturnsEarly {
  static __device__ RowStats row_stats(const float* x, int64_t n) {
    if (Team::rank() >= n) return {kLowest, 0};
    Seen seen;
    for (int64_t i = Team::rank(); i < n; i += kWarp) seen.add(x[i]);
    return seen.together();
  }
};
struct WholeRounds {  // n / 32 numbers per lane, the rest is left out
  static __device__ RowStats row_stats(const float* x, int64_t n) {
    Seen seen;
    for (int64_t j = 0; j < n / kWarp; ++j) seen.add(x[j * kWarp + Team::rank()]);
    return seen.together();
  }
};
struct ReadsAnyway {
  static __device__ RowStats row_stats(const float* x, int64_t n) {
    Seen seen;
    for (int64_t j = 0; j < n; j += kWarp) {
      const volatile float v = x[j + Team::rank()];
      if (j + Team::rank() < n) seen.add(v);
    }
    return seen.together();
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
struct InShared {  // one row of shared memory for the block's eight warps
  static __device__ RowStats row_stats(const float* x, int64_t n) {
    __shared__ float row[2048];
    float max = kLowest, sum = 0;
    for (int64_t i = Team::rank(); i < n; i += kWarp) {
      row[i] = x[i];
      max = Max{}(max, row[i]);
    }
    max = Team::reduce(max, Max{});
    for (int64_t i = Team::rank(); i < n; i += kWarp) sum += ::expf(row[i] - max);
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
    return {top, top == kLowest ? std::numeric_limits<float>::quiet_NaN() : sum};
  }
};
struct BeginsWithFirst {  // x[0] is read by all lanes, and again by lane 0
  static __device__ RowStats row_stats(const float* x, int64_t n) {
    Seen seen{n > 0 ? x[0] : kLowest, 0};
    for (int64_t i = Team::rank(); i < n; i += kWarp) seen.add(x[i]);
    return seen.together();
  }
};
struct BackToFront {
  static __device__ RowStats row_stats(const float* x, int64_t n) {
    Seen seen;
    for (int64_t i = n - 1 - Team::rank(); i >= 0; i -= kWarp) seen.add(x[i]);
    return seen.together();
  }
};

const kit::Mutants<Impl> mutants_of_rows = {
    {"stats_begins_with_first", "11.4", "ok", stats<BeginsWithFirst>},
    {"stats_begins_with_own", "11.4", "an index outside of its memory", stats<BeginsWithOwn>, "", "simulator"},
    {"stats_begins_with_low_9", "11.4", "the maximum begins with -1e+09", stats<BeginsWithLow<9>>},
    {"stats_begins_with_low_30", "11.4", "a row of -inf only has the maximum -inf", stats<BeginsWithLow<30>>},
    {"stats_begins_with_low_38", "11.4", "a row of -inf only has the maximum -inf", stats<BeginsWithLow<38>>},
    {"stats_by_thread", "11.4", "Team::rank() counts the 32 lanes", stats<ByThread>},
    {"stats_step_of_block", "11.4", "only 32 numbers of each 256", stats<StepOfBlock>},
    {"stats_each_lane_all", "11.4", "an access of a warp reads one number only", stats<EachLaneAll<false>>, "",
     "simulator"},
    {"stats_each_lane_all_reduced", "11.4", "each lane takes the whole row", stats<EachLaneAll<true>>},
    {"stats_lane_zero_all", "11.4", "an access of a warp reads one number only", stats<LaneZeroAll>, "", "simulator"},
    {"stats_reduce_in_loop", "11.4", "all 32 lanes must come to Team::reduce", stats<ReduceInLoop>, "", "simulator"},
    {"stats_returns_early", "11.4", "all 32 lanes must come to Team::reduce", stats<ReturnsEarly>, "", "simulator"},
    {"stats_whole_rounds", "11.4", "the last n % 32 numbers are missing", stats<WholeRounds>},
    {"stats_reads_anyway", "11.4", "an index outside of its memory", stats<ReadsAnyway>, "", "simulator"},
    {"stats_in_registers_8", "11.4", "only the first 256 numbers count", stats<InRegisters<8>>},
    {"stats_in_registers_32", "11.4", "only the first 1024 numbers count", stats<InRegisters<32>>},
    {"stats_in_shared", "11.4", "several warps write to the same shared memory", stats<InShared>, "", "simulator"},
    {"stats_by_four", "11.4", "only where the address is a multiple of 16", stats<ByFour>, "", "simulator"},
    {"stats_halves", "11.4", "the lanes are far apart", stats<Halves>, "", "simulator"},
    {"stats_in_double", "11.4", "ok", stats<InDouble>},
    {"stats_round_by_round", "11.4", "ok", stats<RoundByRound>},
    {"stats_back_to_front", "11.4", "ok", stats<BackToFront>},
};

}  // namespace
}  // namespace pg::lesson11
