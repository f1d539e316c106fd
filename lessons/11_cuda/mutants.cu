// Wrong answers to lesson 11. The checks must call each WRONG and say why; everything else must stay ok.
#include "lessons/11_cuda/answers.h"
#include "lessons/kit/mutants.h"

namespace pg::lesson11 {
namespace {

// The device functions of answers.h, each with one mistake: the mutant of that name.

// ---- 11.1

enum GridMistake {
  grid_far_apart,
  grid_int,
  grid_no_block,
  grid_no_limit,
  grid_no_loop,
  grid_no_thread,
  grid_no_times,
  grid_one_too_many,
  grid_other_limit,
  grid_round_down,
  grid_same_elements,
  grid_step_of_a_block,
  grid_step_of_blocks,
};

template <GridMistake mistake>
struct WrongGrid {
  static unsigned blocks_for(int64_t n) {
    if constexpr (mistake == grid_int)
      return static_cast<unsigned>(std::clamp((int(n) + kThreads - 1) / kThreads, 1, 4096));
    const int64_t full = n / kThreads, rounded_up = (n + kThreads - 1) / kThreads;
    const int64_t blocks = mistake == grid_round_down ? full : mistake == grid_one_too_many ? full + 1 : rounded_up;
    const int64_t least = mistake == grid_no_block ? 0 : 1;
    const int64_t most = mistake == grid_no_limit      ? std::numeric_limits<int64_t>::max()
                         : mistake == grid_other_limit ? 65535
                                                       : 4096;
    return static_cast<unsigned>(std::clamp(blocks, least, most));
  }
  static __device__ int64_t first_index() {
    if constexpr (mistake == grid_far_apart) {
      return int64_t{threadIdx.x} * gridDim.x + blockIdx.x;
    } else if constexpr (mistake == grid_same_elements) {
      return threadIdx.x;
    } else if constexpr (mistake == grid_no_thread) {
      return int64_t{blockIdx.x} * blockDim.x;
    } else if constexpr (mistake == grid_no_times) {
      return int64_t{blockIdx.x} + threadIdx.x;
    } else {
      return int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    }
  }
  static __device__ int64_t index_step() {
    if constexpr (mistake == grid_no_loop) {
      return int64_t{1} << 40;
    } else if constexpr (mistake == grid_step_of_a_block) {
      return blockDim.x;
    } else if constexpr (mistake == grid_step_of_blocks) {
      return gridDim.x;
    } else {
      return int64_t{gridDim.x} * blockDim.x;
    }
  }
};

template <GridMistake mistake>
void wrong_grid(Impl& m) {
  m.blocks_for = WrongGrid<mistake>::blocks_for;
  m.visits = visits<WrongGrid<mistake>>;
}

// ---- 11.2

enum ReduceMistake {
  reduce_always_a_block,
  reduce_half_warp,
  reduce_leader_only,
  reduce_mask,
  reduce_no_first_barrier,
  reduce_no_last_step,
  reduce_no_second_barrier,
  reduce_own_twice,
  reduce_own_warp,
  reduce_parts_of_zero,
  reduce_return_before_barrier,
  reduce_shuffle_in_branch,
  reduce_step_of_32,
};

template <ReduceMistake mistake>
struct WrongReduce {
  template <int kSize, class T, class F>
  static __device__ T reduce(T x, F f) {
    constexpr unsigned kMask = mistake == reduce_mask ? 0xffffu : 0xffffffffu;
    constexpr int kFirst = mistake == reduce_half_warp ? kWarp / 4 : mistake == reduce_step_of_32 ? kWarp : kWarp / 2;
    constexpr int kLast = mistake == reduce_no_last_step ? 2 : 1;
    for (int step = kFirst; step >= kLast; step /= 2) {
      if constexpr (mistake == reduce_leader_only) {
        x = f(x, __shfl_down_sync(kMask, x, step));
      } else if constexpr (mistake == reduce_shuffle_in_branch) {
        if (threadIdx.x % kWarp < 2u * step) x = f(x, __shfl_xor_sync(kMask, x, step));
      } else {
        x = f(x, __shfl_xor_sync(kMask, x, step));
      }
    }
    if constexpr ((kSize > kWarp || mistake == reduce_always_a_block) && mistake != reduce_own_warp) {
      __shared__ T parts[kSize / kWarp];
      if (threadIdx.x % kWarp == 0) parts[threadIdx.x / kWarp] = x;
      if constexpr (mistake == reduce_return_before_barrier) {
        if (threadIdx.x >= kWarp) return x;
      }
      if constexpr (mistake != reduce_no_first_barrier) __syncthreads();
      if constexpr (mistake == reduce_parts_of_zero) {  // the lanes fold the parts, those beyond them have 0
        const unsigned lane = threadIdx.x % kWarp;
        x = lane < kSize / kWarp ? parts[lane] : T(0);
        for (int step = kWarp / 2; step > 0; step /= 2) x = f(x, __shfl_xor_sync(kMask, x, step));
      } else {
        if constexpr (mistake != reduce_own_twice) x = parts[0];
        for (int i = mistake == reduce_own_twice ? 0 : 1; i < kSize / kWarp; ++i) x = f(x, parts[i]);
      }
      if constexpr (mistake != reduce_no_second_barrier) __syncthreads();
    }
    return x;
  }
};

template <ReduceMistake mistake>
void wrong_reduce(Impl& m) {
  m.reduce = reduced<WrongReduce<mistake>>;
  m.layer_norm = layer_norm<WrongReduce<mistake>>;
}

// ---- 11.3

enum ProductMistake {
  product_a_transposed,
  product_b_transposed,
  product_exchanged,
  product_far_apart,
  product_first_slice,
  product_last_slice,
  product_last_slice_missing,
  product_no_depth_bound,
  product_no_first_barrier,
  product_no_row_bound,
  product_no_second_barrier,
  product_no_zeros,
  product_one_number_each,
  product_tile_transposed,
  product_twice,
};

template <ProductMistake mistake>
struct WrongProduct {
  static __device__ void add_product(float (&sums)[kN][kN], Slice& left, Slice& right, Operand a, Operand b,
                                     int64_t k) {
    const auto stage = [&](Slice& to, const Operand& from, int64_t first, bool is_a) {
      constexpr int kEnd = mistake == product_one_number_each ? kThreads : kTile * kDepth;
      for (int i = static_cast<int>(threadIdx.x); i < kEnd; i += kThreads) {
        const bool along_depth = from.depth_step == 1 && mistake != product_far_apart;
        const int r = along_depth ? i / kDepth : i % kTile, d = along_depth ? i % kDepth : i / kTile;
        const bool row_exists = mistake == product_no_row_bound || r < from.rows;
        const bool depth_exists = mistake == product_no_depth_bound || first + d < k;
        const bool transposed = mistake == product_tile_transposed || (mistake == product_a_transposed && is_a) ||
                                (mistake == product_b_transposed && !is_a);
        const int64_t row_step = transposed ? from.depth_step : from.row_step;
        const int64_t depth_step = transposed ? from.row_step : from.depth_step;
        if (mistake == product_no_zeros && !(row_exists && depth_exists)) continue;
        to[d][r] = row_exists && depth_exists ? from.data[r * row_step + (first + d) * depth_step] : 0.0f;
      }
    };
    const int64_t end = mistake == product_last_slice_missing ? k / kDepth * kDepth
                        : mistake == product_first_slice      ? (k < kDepth ? k : kDepth)
                                                              : k;
    for (int64_t first = 0; first < end; first += kDepth) {
      if constexpr (mistake == product_last_slice) {
        for (auto& row : sums) {
          for (float& sum : row) sum = 0;
        }
      }
      stage(left, a, first, true);
      stage(right, b, first, false);
      if constexpr (mistake != product_no_first_barrier) __syncthreads();
      if constexpr (mistake == product_exchanged) {
        cuda::multiply<kTile>(sums, right, left);
      } else {
        cuda::multiply<kTile>(sums, left, right);
      }
      if constexpr (mistake == product_twice) cuda::multiply<kTile>(sums, left, right);
      if constexpr (mistake != product_no_second_barrier) __syncthreads();
    }
  }
};

template <ProductMistake mistake>
void wrong_product(Impl& m) {
  m.matmul = matmul<WrongProduct<mistake>>;
  m.add_matmul = add_matmul<WrongProduct<mistake>>;
}

// ---- 11.4

enum StatsMistake {
  stats_far_apart,
  stats_inverted,
  stats_lane_0,
  stats_largest_sum,
  stats_leader_only,
  stats_masked_zero,
  stats_nan,
  stats_never_rescaled,
  stats_new_twice,
  stats_no_maximum,
  stats_not_rescaled,
  stats_own_maximum,
  stats_top_of_zero,
  stats_two_passes,
};

template <StatsMistake mistake>
struct WrongStats {
  static __device__ RowStats row_stats(const float* x, int64_t n) {
    float top = mistake == stats_top_of_zero ? 0 : kLowest, sum = 0;
    if constexpr (mistake == stats_two_passes) {
      for (int64_t i = Team::rank(); i < n; i += kWarp) top = Max{}(top, x[i]);
      top = Team::reduce(top, Max{});
      for (int64_t i = Team::rank(); i < n; i += kWarp) sum += ::expf(x[i] - top);
      return {top, Team::reduce(sum, Plus{})};
    } else if constexpr (mistake == stats_no_maximum) {
      for (int64_t i = Team::rank(); i < n; i += kWarp) {
        top = Max{}(top, x[i]);
        sum += ::expf(x[i]);
      }
      return {Team::reduce(top, Max{}), Team::reduce(sum, Plus{})};
    } else {
      constexpr bool kFarApart = mistake == stats_far_apart;
      constexpr bool kNeverRescaled = mistake == stats_never_rescaled;
      const int64_t each = kFarApart ? (n + kWarp - 1) / kWarp : 1, begin = Team::rank() * each;
      const int64_t end = kFarApart && begin + each < n ? begin + each : n, step = kFarApart ? 1 : kWarp;
      for (int64_t i = begin; i < end; i += step) {
        if (mistake != stats_nan && x[i] == kLowest) continue;
        if (x[i] > top) {
          if (mistake == stats_inverted && sum != 0) {
            sum *= ::expf(x[i] - top);
          } else if (!kNeverRescaled && mistake != stats_not_rescaled) {
            sum *= ::expf(top - x[i]);
          }
          if (mistake == stats_new_twice) sum += 1;
          top = x[i];
        }
        sum += ::expf(x[i] - top);
      }
      if constexpr (mistake == stats_lane_0) return {top, sum};
      const float max = Team::reduce(top, Max{});
      if (!kNeverRescaled && mistake != stats_own_maximum) sum *= ::expf(top - max);
      const float total = mistake == stats_largest_sum ? Team::reduce(sum, Max{}) : Team::reduce(sum, Plus{});
      if (mistake == stats_masked_zero && max == kLowest) return {max, 0};
      if (mistake == stats_leader_only && Team::rank() != 0) return {top, sum};
      return {max, total};
    }
  }
};

template <StatsMistake mistake>
void wrong_stats(Impl& m) {
  m.row_stats = row_stats<WrongStats<mistake>>;
  m.softmax = softmax<WrongStats<mistake>>;
}

// ---- 11.5

// The value is the number of words by which a row of the tile in shared memory is longer than kSquare.
enum SlotMistake { slot_no_pad = 0, slot_overlap = -1, slot_two_words = 2, slot_no_row = -kSquare };

template <SlotMistake mistake>
struct WrongSlot {
  static __device__ int slot(int row, int column) { return row * (kSquare + mistake) + column; }
};

// Columns are exchanged among eight only, so four rows share a bank.
struct SlotOfEight {
  static __device__ int slot(int row, int column) { return row * kSquare + (column ^ (row & 7)); }
};

template <SlotMistake mistake>
void wrong_slot(Impl& m) {
  m.transpose = transpose<WrongSlot<mistake>>;
}

}  // namespace

const kit::Mutants<Impl> mutants = {
    {"grid_far_apart", "11.1", "the 32 lanes of a warp are far apart", wrong_grid<grid_far_apart>, "", "simulator"},
    {"grid_int", "11.1", "does not fit in an int", wrong_grid<grid_int>},
    {"grid_no_block", "11.1", "at least 1 block", wrong_grid<grid_no_block>},
    {"grid_no_limit", "11.1", "at most 4096 blocks", wrong_grid<grid_no_limit>},
    {"grid_no_loop", "11.1", "a thread must go on", wrong_grid<grid_no_loop>},
    {"grid_no_thread", "11.1", "two threads of a block come to the same element", wrong_grid<grid_no_thread>, "",
     "simulator"},
    {"grid_no_times", "11.1", "several times and others never", wrong_grid<grid_no_times>},
    {"grid_one_too_many", "11.1", "one block too many", wrong_grid<grid_one_too_many>},
    {"grid_other_limit", "11.1", "at most 4096 blocks", wrong_grid<grid_other_limit>},
    {"grid_round_down", "11.1", "the last, half-full block is missing", wrong_grid<grid_round_down>},
    {"grid_same_elements", "11.1", "the block's number is missing", wrong_grid<grid_same_elements>},
    {"grid_step_of_a_block", "11.1", "step over the whole grid", wrong_grid<grid_step_of_a_block>},
    {"grid_step_of_blocks", "11.1", "step over the whole grid", wrong_grid<grid_step_of_blocks>},
    {"product_a_transposed", "11.3", "a's tile is loaded transposed", wrong_product<product_a_transposed>},
    {"product_b_transposed", "11.3", "b's tile is loaded transposed", wrong_product<product_b_transposed>},
    {"product_exchanged", "11.3", "the tiles are exchanged", wrong_product<product_exchanged>},
    {"product_far_apart", "11.3", "read addresses far apart", wrong_product<product_far_apart>, "", "simulator"},
    {"product_first_slice", "11.3", "only the first slice of k counts", wrong_product<product_first_slice>},
    {"product_last_slice", "11.3", "only the last slice of k counts", wrong_product<product_last_slice>},
    {"product_last_slice_missing", "11.3", "the last slice of k, which is not full, is missing",
     wrong_product<product_last_slice_missing>},
    {"product_no_depth_bound", "11.3", "an index outside of its memory", wrong_product<product_no_depth_bound>, "",
     "simulator"},
    {"product_no_first_barrier", "11.3", "between writing and reading", wrong_product<product_no_first_barrier>, "",
     "simulator"},
    {"product_no_row_bound", "11.3", "an index outside of its memory", wrong_product<product_no_row_bound>, "",
     "simulator"},
    {"product_no_second_barrier", "11.3", "before writing again", wrong_product<product_no_second_barrier>, "",
     "simulator"},
    {"product_no_zeros", "11.3", "before any thread has written it", wrong_product<product_no_zeros>, "", "simulator"},
    {"product_one_number_each", "11.3", "before any thread has written it", wrong_product<product_one_number_each>, "",
     "simulator"},
    {"product_tile_transposed", "11.3", "both tiles are loaded transposed", wrong_product<product_tile_transposed>, "",
     "simulator"},
    {"product_twice", "11.3", "2 x expected", wrong_product<product_twice>},
    {"reduce_always_a_block", "11.2", "what only a block needs belongs in if constexpr",
     wrong_reduce<reduce_always_a_block>, "", "simulator"},
    {"reduce_half_warp", "11.2", "only 16 lanes take part", wrong_reduce<reduce_half_warp>},
    {"reduce_leader_only", "11.2", "only the team's first thread has the result", wrong_reduce<reduce_leader_only>},
    {"reduce_mask", "11.2", "the mask names the lanes that come", wrong_reduce<reduce_mask>, "", "simulator"},
    {"reduce_no_first_barrier", "11.2", "between writing and reading", wrong_reduce<reduce_no_first_barrier>, "",
     "simulator"},
    {"reduce_no_last_step", "11.2", "the last exchange is missing", wrong_reduce<reduce_no_last_step>},
    {"reduce_no_second_barrier", "11.2", "before writing again", wrong_reduce<reduce_no_second_barrier>, "",
     "simulator"},
    {"reduce_own_twice", "11.2", "own part is counted twice", wrong_reduce<reduce_own_twice>},
    {"reduce_own_warp", "11.2", "each warp has its own result", wrong_reduce<reduce_own_warp>},
    {"reduce_parts_of_zero", "11.2", "take part with 0", wrong_reduce<reduce_parts_of_zero>},
    {"reduce_return_before_barrier", "11.2", "not every thread of the block reaches",
     wrong_reduce<reduce_return_before_barrier>, "", "simulator"},
    {"reduce_shuffle_in_branch", "11.2", "every lane that the mask names must come",
     wrong_reduce<reduce_shuffle_in_branch>, "", "simulator"},
    {"reduce_step_of_32", "11.2", "a shuffle stays within its warp", wrong_reduce<reduce_step_of_32>},
    {"slot_no_pad", "11.5", "lanes want words of one bank", wrong_slot<slot_no_pad>, "", "simulator"},
    {"slot_no_row", "11.5", "the same slot", wrong_slot<slot_no_row>, "", "simulator"},
    {"slot_of_eight", "11.5", "4 lanes want words of one bank", [](Impl& m) { m.transpose = transpose<SlotOfEight>; },
     "", "simulator"},
    {"slot_overlap", "11.5", "the same slot", wrong_slot<slot_overlap>, "", "simulator"},
    {"slot_two_words", "11.5", "a slot outside of the tile", wrong_slot<slot_two_words>, "", "simulator"},
    {"stats_far_apart", "11.4", "the lanes are far apart", wrong_stats<stats_far_apart>, "", "simulator"},
    {"stats_inverted", "11.4", "rescaled by the inverse", wrong_stats<stats_inverted>},
    {"stats_lane_0", "11.4", "the result of one lane", wrong_stats<stats_lane_0>},
    {"stats_largest_sum", "11.4", "the largest of the lanes' sums", wrong_stats<stats_largest_sum>},
    {"stats_leader_only", "11.4", "only lane 0 has the result", wrong_stats<stats_leader_only>},
    {"stats_masked_zero", "11.4", "a row of -inf only has no probabilities", wrong_stats<stats_masked_zero>},
    {"stats_nan", "11.4", "-inf - -inf is NaN", wrong_stats<stats_nan>},
    {"stats_never_rescaled", "11.4", "no sum is rescaled", wrong_stats<stats_never_rescaled>},
    {"stats_new_twice", "11.4", "each new maximum is counted twice", wrong_stats<stats_new_twice>},
    {"stats_no_maximum", "11.4", "subtract the maximum", wrong_stats<stats_no_maximum>},
    {"stats_not_rescaled", "11.4", "not rescaled when the maximum grows", wrong_stats<stats_not_rescaled>},
    {"stats_own_maximum", "11.4", "relative to its own maximum", wrong_stats<stats_own_maximum>},
    {"stats_top_of_zero", "11.4", "the maximum begins with 0", wrong_stats<stats_top_of_zero>},
    {"stats_two_passes", "11.4", "read more than once", wrong_stats<stats_two_passes>, "", "simulator"},
};

}  // namespace pg::lesson11
