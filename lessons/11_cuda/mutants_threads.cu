// Answers to 11.1 and 11.5, wrong ones and right but unusual ones. For mutants.cu's table.
#include <cmath>

#include "lessons/11_cuda/harness.h"
#include "lessons/kit/mutants.h"

namespace pg::lesson11 {
namespace {

// ---- 11.1: the right answer, of which each answer below replaces one function

struct Grid {
  static unsigned blocks_for(int64_t n) { return within_limits((n + kThreads - 1) / kThreads); }
  static unsigned within_limits(int64_t blocks) { return static_cast<unsigned>(std::clamp<int64_t>(blocks, 1, 4096)); }
  static __device__ int64_t first_index() { return int64_t{blockIdx.x} * blockDim.x + threadIdx.x; }
  static __device__ int64_t index_step() { return int64_t{gridDim.x} * blockDim.x; }
};

template <class Answer>
void grid(Impl& m) {
  m.blocks_for = Answer::blocks_for;
  m.visits = visits<Answer>;
}

struct OneBlockPerElement : Grid {  // without parentheses, kThreads - 1 is divided, and not the sum
  static unsigned blocks_for(int64_t n) { return within_limits(n + (kThreads - 1) / kThreads); }
};
struct OneBlockPerWarp : Grid {
  static unsigned blocks_for(int64_t n) { return within_limits((n + kWarp - 1) / kWarp); }
};
struct BlocksOf1024 : Grid {
  static unsigned blocks_for(int64_t n) { return within_limits((n + 1023) / 1024); }
};
struct RoundToNearest : Grid {
  static unsigned blocks_for(int64_t n) { return within_limits((n + kThreads / 2) / kThreads); }
};
struct CastBeforeLimit : Grid {
  static unsigned blocks_for(int64_t n) {
    return std::clamp<unsigned>(static_cast<unsigned>((n + kThreads - 1) / kThreads), 1, 4096);
  }
};
struct LowerLimit : Grid {
  static unsigned blocks_for(int64_t n) { return std::min(1024u, Grid::blocks_for(n)); }
};
struct LimitOf4095 : Grid {
  static unsigned blocks_for(int64_t n) { return std::min(4095u, Grid::blocks_for(n)); }
};
struct NoneForZero : Grid {
  static unsigned blocks_for(int64_t n) { return n == 0 ? 0 : Grid::blocks_for(n); }
};
struct CeilingOfInteger : Grid {  // n / kThreads has been rounded down already
  static unsigned blocks_for(int64_t n) { return within_limits(static_cast<int64_t>(std::ceil(n / kThreads))); }
};

struct TimesBlocks : Grid {
  static __device__ int64_t first_index() { return int64_t{blockIdx.x} * gridDim.x + threadIdx.x; }
};
struct TimesWarp : Grid {
  static __device__ int64_t first_index() { return int64_t{blockIdx.x} * kWarp + threadIdx.x; }
};
struct BeginsAtOne : Grid {
  static __device__ int64_t first_index() { return Grid::first_index() + 1; }
};
struct LaneOnly : Grid {
  static __device__ int64_t first_index() { return int64_t{blockIdx.x} * blockDim.x + threadIdx.x % kWarp; }
};
struct LaneTimesWarps : Grid {  // each element once, but neighbouring threads are 8 elements apart
  static __device__ int64_t first_index() {
    return int64_t{blockIdx.x} * blockDim.x + threadIdx.x % kWarp * (kThreads / kWarp) + threadIdx.x / kWarp;
  }
};
struct BlocksByGrid : Grid {
  static __device__ int64_t first_index() { return int64_t{gridDim.x} * blockDim.x + threadIdx.x; }
};

struct StepOfOne : Grid {
  static __device__ int64_t index_step() { return 1; }
};
struct StepOfZero : Grid {
  static __device__ int64_t index_step() { return 0; }
};
struct StepToTheLast : Grid {
  static __device__ int64_t index_step() { return int64_t{gridDim.x} * blockDim.x - 1; }
};
struct StepOfOtherBlocks : Grid {
  static __device__ int64_t index_step() { return int64_t{gridDim.x - 1} * blockDim.x; }
};
struct StepOfOneBlockMore : Grid {
  static __device__ int64_t index_step() { return int64_t{gridDim.x + 1} * blockDim.x; }
};
struct StepOfFirst : Grid {
  static __device__ int64_t index_step() { return Grid::first_index(); }
};
struct StepOfLargestGrid : Grid {
  static __device__ int64_t index_step() { return int64_t{4096} * kThreads; }
};
struct StepOfBlockNumber : Grid {
  static __device__ int64_t index_step() { return int64_t{blockIdx.x + 1} * blockDim.x; }
};
struct StepOfWarps : Grid {
  static __device__ int64_t index_step() { return int64_t{gridDim.x} * kWarp; }
};

// Right.
struct BlocksWithoutRounding : Grid {
  static unsigned blocks_for(int64_t n) { return within_limits((n - 1) / kThreads + 1); }
};
struct BlocksByCeiling : Grid {
  static unsigned blocks_for(int64_t n) {
    return static_cast<unsigned>(std::clamp(std::ceil(static_cast<double>(n) / kThreads), 1.0, 4096.0));
  }
};
struct LastBlockFirst : Grid {
  static __device__ int64_t first_index() { return int64_t{gridDim.x - 1 - blockIdx.x} * kThreads + threadIdx.x; }
};
struct LastThreadFirst : Grid {
  static __device__ int64_t first_index() { return int64_t{blockIdx.x} * blockDim.x + (blockDim.x - 1 - threadIdx.x); }
};

// ---- 11.5

template <class Answer>
void slot(Impl& m) {
  m.transpose = transpose<Answer>;
}

struct ColumnsFirst {
  static __device__ int slot(int row, int column) { return column * kSquare + row; }
};
struct BeginsAtWordTwo {
  static __device__ int slot(int row, int column) { return row * (kSquare + 1) + column + 2; }
};
struct PairsOfRows {
  static __device__ int slot(int row, int column) { return row * kSquare + (column ^ row / 2); }
};
struct Wraps {
  static __device__ int slot(int row, int column) { return (row * (kSquare + 1) + column) % (kSquare * kSquare); }
};
struct EndsEarly {
  static __device__ int slot(int row, int column) {
    const int s = row * (kSquare + 1) + column;
    return s < kSquare * kSquare ? s : kSquare * kSquare - 1;
  }
};
struct PadOfEightRows {
  static __device__ int slot(int row, int column) { return row * kSquare + column + row / 8; }
};
struct OwnLane {
  static __device__ int slot(int row, int) { return row * (kSquare + 1) + static_cast<int>(threadIdx.x) % kWarp; }
};
struct Diagonal {
  static __device__ int slot(int row, int column) { return row + column; }
};
struct Exclusive {
  static __device__ int slot(int row, int column) { return row ^ column; }
};
struct RotatedByTwo {
  static __device__ int slot(int row, int column) { return row * kSquare + (column + 2 * row) % kSquare; }
};
struct Below {
  static __device__ int slot(int row, int column) { return column - row * (kSquare + 1); }
};
struct OnlyRotated {
  static __device__ int slot(int row, int column) { return row * kSquare + column % kSquare + row; }
};
struct WordsOfFloats {
  static __device__ int slot(int row, int column) { return (row * (kSquare + 1) + column) * 4; }
};

// Right.
struct Exchanged {
  static __device__ int slot(int row, int column) { return row * kSquare + (column ^ row); }
};
struct Rotated {
  static __device__ int slot(int row, int column) { return row * kSquare + (column + row) % kSquare; }
};
struct ColumnsOf33 {
  static __device__ int slot(int row, int column) { return column * (kSquare + 1) + row; }
};
struct FromTheEnd {
  static __device__ int slot(int row, int column) { return kSlots - 1 - row * (kSquare + 1) - column; }
};
struct RotatedByOdd {
  static __device__ int slot(int row, int column) { return row * kSquare + (column + 5 * row) % kSquare; }
};

const kit::Mutants<Impl> mutants_of_threads = {
    {"grid_one_block_per_element", "11.1", "these are threads; a block has 256 of them", grid<OneBlockPerElement>},
    {"grid_one_block_per_warp", "11.1", "256 threads, not 32", grid<OneBlockPerWarp>},
    {"grid_blocks_of_1024", "11.1", "256 threads, not 1024", grid<BlocksOf1024>},
    {"grid_round_to_nearest", "11.1", "the last, half-full block is missing", grid<RoundToNearest>},
    {"grid_cast_before_limit", "11.1", "does not fit in an int", grid<CastBeforeLimit>},
    {"grid_lower_limit", "11.1", "fewer blocks than n needs", grid<LowerLimit>},
    {"grid_limit_of_4095", "11.1", "fewer blocks than n needs", grid<LimitOf4095>},
    {"grid_none_for_zero", "11.1", "at least 1 block", grid<NoneForZero>},
    {"grid_ceiling_of_integer", "11.1", "the last, half-full block is missing", grid<CeilingOfInteger>},
    {"grid_times_blocks", "11.1", "several times and others never", grid<TimesBlocks>},
    {"grid_times_warp", "11.1", "several times and others never", grid<TimesWarp>},
    {"grid_begins_at_one", "11.1", "thread 0 of block 0 begins with element 0", grid<BeginsAtOne>},
    {"grid_lane_only", "11.1", "two threads of a block come to the same element", grid<LaneOnly>, "", "simulator"},
    {"grid_lane_times_warps", "11.1", "the 32 lanes of a warp are far apart", grid<LaneTimesWarps>, "", "simulator"},
    {"grid_blocks_by_grid", "11.1", "no element is visited", grid<BlocksByGrid>},
    {"grid_step_of_one", "11.1", "two threads of a block come to the same element", grid<StepOfOne>, "", "simulator"},
    {"grid_step_of_zero", "11.1", "step over the whole grid", grid<StepOfZero>},
    {"grid_step_to_the_last", "11.1", "step over the whole grid", grid<StepToTheLast>},
    {"grid_step_of_other_blocks", "11.1", "step over the whole grid", grid<StepOfOtherBlocks>},
    {"grid_step_of_one_block_more", "11.1", "by the number of threads of this grid", grid<StepOfOneBlockMore>},
    {"grid_step_of_first", "11.1", "two threads of a block come to the same element", grid<StepOfFirst>, "",
     "simulator"},
    {"grid_step_of_largest_grid", "11.1", "by the number of threads of this grid", grid<StepOfLargestGrid>},
    {"grid_step_of_block_number", "11.1", "step over the whole grid", grid<StepOfBlockNumber>},
    {"grid_step_of_warps", "11.1", "two threads of a block come to the same element", grid<StepOfWarps>, "",
     "simulator"},
    {"grid_blocks_without_rounding", "11.1", "ok", grid<BlocksWithoutRounding>},
    {"grid_blocks_by_ceiling", "11.1", "ok", grid<BlocksByCeiling>},
    {"grid_last_block_first", "11.1", "ok", grid<LastBlockFirst>},
    {"grid_last_thread_first", "11.1", "ok", grid<LastThreadFirst>},
    {"slot_columns_first", "11.5", "32 lanes want words of one bank", slot<ColumnsFirst>, "", "simulator"},
    {"slot_begins_at_word_two", "11.5", "a slot outside of the tile", slot<BeginsAtWordTwo>, "", "simulator"},
    {"slot_pairs_of_rows", "11.5", "2 lanes want words of one bank", slot<PairsOfRows>, "", "simulator"},
    {"slot_wraps", "11.5", "the same slot", slot<Wraps>, "", "simulator"},
    {"slot_ends_early", "11.5", "the same slot", slot<EndsEarly>, "", "simulator"},
    {"slot_pad_of_eight_rows", "11.5", "8 lanes want words of one bank", slot<PadOfEightRows>, "", "simulator"},
    {"slot_own_lane", "11.5", "a slot to which nothing was written", slot<OwnLane>, "", "simulator"},
    {"slot_diagonal", "11.5", "the same slot", slot<Diagonal>, "", "simulator"},
    {"slot_exclusive", "11.5", "the same slot", slot<Exclusive>, "", "simulator"},
    {"slot_rotated_by_two", "11.5", "2 lanes want words of one bank", slot<RotatedByTwo>, "", "simulator"},
    {"slot_below", "11.5", "a slot outside of the tile", slot<Below>, "", "simulator"},
    {"slot_words_of_floats", "11.5", "a slot outside of the tile", slot<WordsOfFloats>, "", "simulator"},
    {"slot_exchanged", "11.5", "ok", slot<Exchanged>},
    {"slot_rotated", "11.5", "ok", slot<Rotated>},
    {"slot_columns_of_33", "11.5", "ok", slot<ColumnsOf33>},
    {"slot_from_the_end", "11.5", "ok", slot<FromTheEnd>},
    {"slot_only_rotated", "11.5", "ok", slot<OnlyRotated>},
    {"slot_rotated_by_odd", "11.5", "ok", slot<RotatedByOdd>},
};

}  // namespace
}  // namespace pg::lesson11
