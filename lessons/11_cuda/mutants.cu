// Wrong answers to lesson 11. The checks must call each WRONG and say why; everything else must stay ok.
#include "lessons/11_cuda/answers.h"
#include "lessons/kit/mutants.h"

namespace pg::lesson11 {
namespace {

// The device functions of answers.h, each with one mistake: the mutant of that name.

// ---- 11.1

enum GridMistake {
  grid_far_apart,
  grid_no_block,
  grid_no_limit,
  grid_no_loop,
  grid_one_too_many,
  grid_round_down,
  grid_same_elements,
  grid_step_of_a_block,
};

template <GridMistake mistake>
struct WrongGrid {
  static unsigned blocks_for(int64_t n) {
    const int64_t full = n / kThreads, rounded_up = (n + kThreads - 1) / kThreads;
    const int64_t blocks = mistake == grid_round_down ? full : mistake == grid_one_too_many ? full + 1 : rounded_up;
    const int64_t least = mistake == grid_no_block ? 0 : 1;
    const int64_t most = mistake == grid_no_limit ? std::numeric_limits<int64_t>::max() : 4096;
    return static_cast<unsigned>(std::clamp(blocks, least, most));
  }
  static __device__ int64_t first_index() {
    if constexpr (mistake == grid_far_apart) {
      return int64_t{threadIdx.x} * gridDim.x + blockIdx.x;
    } else if constexpr (mistake == grid_same_elements) {
      return threadIdx.x;
    } else {
      return int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    }
  }
  static __device__ int64_t index_step() {
    if constexpr (mistake == grid_no_loop) {
      return int64_t{1} << 40;
    } else if constexpr (mistake == grid_step_of_a_block) {
      return blockDim.x;
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
  reduce_half_warp,
  reduce_leader_only,
  reduce_mask,
  reduce_no_first_barrier,
  reduce_no_second_barrier,
  reduce_own_warp,
  reduce_return_before_barrier,
  reduce_shuffle_in_branch,
};

template <ReduceMistake mistake>
struct WrongReduce {
  template <int kSize, class T, class F>
  static __device__ T reduce(T x, F f) {
    constexpr unsigned kMask = mistake == reduce_mask ? 0xffffu : 0xffffffffu;
    for (int step = mistake == reduce_half_warp ? kWarp / 4 : kWarp / 2; step > 0; step /= 2) {
      if constexpr (mistake == reduce_leader_only) {
        x = f(x, __shfl_down_sync(kMask, x, step));
      } else if constexpr (mistake == reduce_shuffle_in_branch) {
        if (threadIdx.x % kWarp < 2u * step) x = f(x, __shfl_xor_sync(kMask, x, step));
      } else {
        x = f(x, __shfl_xor_sync(kMask, x, step));
      }
    }
    if constexpr (kSize > kWarp && mistake != reduce_own_warp) {
      __shared__ T parts[kSize / kWarp];
      if (threadIdx.x % kWarp == 0) parts[threadIdx.x / kWarp] = x;
      if constexpr (mistake == reduce_return_before_barrier) {
        if (threadIdx.x >= kWarp) return x;
      }
      if constexpr (mistake != reduce_no_first_barrier) __syncthreads();
      x = parts[0];
      for (int i = 1; i < kSize / kWarp; ++i) x = f(x, parts[i]);
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
  product_far_apart,
  product_last_slice,
  product_last_slice_missing,
  product_no_depth_bound,
  product_no_first_barrier,
  product_no_row_bound,
  product_no_second_barrier,
  product_tile_transposed,
};

template <ProductMistake mistake>
struct WrongProduct {
  static __device__ void add_product(float (&sums)[kN][kN], Slice& left, Slice& right, Operand a, Operand b,
                                     int64_t k) {
    const auto stage = [&](Slice& to, const Operand& from, int64_t first) {
      for (int i = static_cast<int>(threadIdx.x); i < kTile * kDepth; i += kThreads) {
        const bool along_depth = from.depth_step == 1 && mistake != product_far_apart;
        const int r = along_depth ? i / kDepth : i % kTile, d = along_depth ? i % kDepth : i / kTile;
        const bool row_exists = mistake == product_no_row_bound || r < from.rows;
        const bool depth_exists = mistake == product_no_depth_bound || first + d < k;
        constexpr bool kTransposed = mistake == product_tile_transposed;
        const int64_t row_step = kTransposed ? from.depth_step : from.row_step;
        const int64_t depth_step = kTransposed ? from.row_step : from.depth_step;
        to[d][r] = row_exists && depth_exists ? from.data[r * row_step + (first + d) * depth_step] : 0.0f;
      }
    };
    const int64_t end = mistake == product_last_slice_missing ? k / kDepth * kDepth : k;
    for (int64_t first = 0; first < end; first += kDepth) {
      if constexpr (mistake == product_last_slice) {
        for (auto& row : sums) {
          for (float& sum : row) sum = 0;
        }
      }
      stage(left, a, first);
      stage(right, b, first);
      if constexpr (mistake != product_no_first_barrier) __syncthreads();
      cuda::multiply<kTile>(sums, left, right);
      if constexpr (mistake != product_no_second_barrier) __syncthreads();
    }
  }
};

template <ProductMistake mistake>
void wrong_product(Impl& m) {
  m.matmul = matmul<WrongProduct<mistake>>;
}

// ---- 11.4

enum StatsMistake {
  stats_far_apart,
  stats_nan,
  stats_never_rescaled,
  stats_no_maximum,
  stats_not_rescaled,
  stats_own_maximum,
  stats_two_passes,
};

template <StatsMistake mistake>
struct WrongStats {
  static __device__ RowStats row_stats(const float* x, int64_t n) {
    float top = kLowest, sum = 0;
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
          if (!kNeverRescaled && mistake != stats_not_rescaled) sum *= ::expf(top - x[i]);
          top = x[i];
        }
        sum += ::expf(x[i] - top);
      }
      const float max = Team::reduce(top, Max{});
      if (!kNeverRescaled && mistake != stats_own_maximum) sum *= ::expf(top - max);
      return {max, Team::reduce(sum, Plus{})};
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
enum SlotMistake { slot_no_pad = 0, slot_overlap = -1, slot_two_words = 2 };

template <SlotMistake mistake>
struct WrongSlot {
  static __device__ int slot(int row, int column) { return row * (kSquare + mistake) + column; }
};

template <SlotMistake mistake>
void wrong_slot(Impl& m) {
  m.transpose = transpose<WrongSlot<mistake>>;
}

}  // namespace

const kit::Mutants<Impl> mutants = {
    {"grid_far_apart", "11.1", "the 32 lanes of a warp are far apart", wrong_grid<grid_far_apart>, "", "simulator"},
    {"grid_no_block", "11.1", "at least 1 block", wrong_grid<grid_no_block>},
    {"grid_no_limit", "11.1", "at most 4096 blocks", wrong_grid<grid_no_limit>},
    {"grid_no_loop", "11.1", "a thread must go on", wrong_grid<grid_no_loop>},
    {"grid_one_too_many", "11.1", "one block too many", wrong_grid<grid_one_too_many>},
    {"grid_round_down", "11.1", "the last, half-full block is missing", wrong_grid<grid_round_down>},
    {"grid_same_elements", "11.1", "the block's number is missing", wrong_grid<grid_same_elements>},
    {"grid_step_of_a_block", "11.1", "step over the whole grid", wrong_grid<grid_step_of_a_block>},
    {"product_far_apart", "11.3", "read addresses far apart", wrong_product<product_far_apart>, "", "simulator"},
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
    {"product_tile_transposed", "11.3", "both tiles are loaded transposed", wrong_product<product_tile_transposed>, "",
     "simulator"},
    {"reduce_half_warp", "11.2", "only 16 lanes take part", wrong_reduce<reduce_half_warp>},
    {"reduce_leader_only", "11.2", "only the team's first thread has the result", wrong_reduce<reduce_leader_only>},
    {"reduce_mask", "11.2", "the mask names the lanes that come", wrong_reduce<reduce_mask>, "", "simulator"},
    {"reduce_no_first_barrier", "11.2", "between writing and reading", wrong_reduce<reduce_no_first_barrier>, "",
     "simulator"},
    {"reduce_no_second_barrier", "11.2", "before writing again", wrong_reduce<reduce_no_second_barrier>, "",
     "simulator"},
    {"reduce_own_warp", "11.2", "each warp has its own result", wrong_reduce<reduce_own_warp>},
    {"reduce_return_before_barrier", "11.2", "not every thread of the block reaches",
     wrong_reduce<reduce_return_before_barrier>, "", "simulator"},
    {"reduce_shuffle_in_branch", "11.2", "every lane that the mask names must come",
     wrong_reduce<reduce_shuffle_in_branch>, "", "simulator"},
    {"slot_no_pad", "11.5", "lanes want words of one bank", wrong_slot<slot_no_pad>, "", "simulator"},
    {"slot_overlap", "11.5", "two threads use the same memory", wrong_slot<slot_overlap>, "", "simulator"},
    {"slot_two_words", "11.5", "an index outside of its memory", wrong_slot<slot_two_words>, "", "simulator"},
    {"stats_far_apart", "11.4", "the lanes are far apart", wrong_stats<stats_far_apart>, "", "simulator"},
    {"stats_nan", "11.4", "-inf - -inf is NaN", wrong_stats<stats_nan>},
    {"stats_never_rescaled", "11.4", "no sum is rescaled", wrong_stats<stats_never_rescaled>},
    {"stats_no_maximum", "11.4", "subtract the maximum", wrong_stats<stats_no_maximum>},
    {"stats_not_rescaled", "11.4", "not rescaled when the maximum grows", wrong_stats<stats_not_rescaled>},
    {"stats_own_maximum", "11.4", "relative to its own maximum", wrong_stats<stats_own_maximum>},
    {"stats_two_passes", "11.4", "read more than once", wrong_stats<stats_two_passes>, "", "simulator"},
};

}  // namespace pg::lesson11
