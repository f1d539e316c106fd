// The plain answers, and others to 11.1 and 11.5.
#include <cmath>

#include "lessons/11_cuda/answers.h"
#include "lessons/11_cuda/mistakes.h"
#include "lessons/kit/mutants.h"

namespace pg::lesson11 {
namespace {

unsigned within_limits(int64_t blocks, int64_t most = 4096) {
  return static_cast<unsigned>(std::clamp<int64_t>(blocks, 1, most));
}
template <uint64_t mistake>
unsigned wrong_blocks(int64_t n) {
  const int64_t right = (n + kThreads - 1) / kThreads;
  if (mistake == "int"_id) return within_limits((static_cast<int>(n) + kThreads - 1) / kThreads);
  if (mistake == "no_block"_id) return n == 0 ? 0 : within_limits(right);
  if (mistake == "no_limit"_id) return within_limits(right, std::numeric_limits<int64_t>::max());
  if (mistake == "other_limit"_id) return within_limits(right, 65535);
  if (mistake == "lower_limit"_id) return within_limits(right, 1024);
  if (mistake == "limit_of_4095"_id) return within_limits(right, 4095);
  if (mistake == "one_too_many"_id) return within_limits(n / kThreads + 1);
  if (mistake == "round_down"_id) return within_limits(n / kThreads);
  if (mistake == "round_to_nearest"_id) return within_limits((n + kThreads / 2) / kThreads);
  if (mistake == "one_block_per_element"_id) return within_limits(n + (kThreads - 1) / kThreads);
  if (mistake == "one_block_per_warp"_id) return within_limits((n + kWarp - 1) / kWarp);
  if (mistake == "blocks_of_1024"_id) return within_limits((n + 1023) / 1024);
  if (mistake == "cast_before_limit"_id) return within_limits(static_cast<unsigned>(right));
  if (mistake == "blocks_without_rounding"_id) return within_limits((n - 1) / kThreads + 1);
  if (mistake == "blocks_by_ceiling"_id)
    return within_limits(static_cast<int64_t>(std::ceil(static_cast<double>(n) / kThreads)));
  return within_limits(right);
}

template <uint64_t mistake>
struct WrongGrid {
  static __device__ int64_t first_index() {
    const int64_t right = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (mistake == "far_apart"_id) return int64_t{threadIdx.x} * gridDim.x + blockIdx.x;
    if (mistake == "same_elements"_id) return threadIdx.x;
    if (mistake == "no_thread"_id) return int64_t{blockIdx.x} * blockDim.x;
    if (mistake == "no_times"_id) return int64_t{blockIdx.x} + threadIdx.x;
    if (mistake == "times_blocks"_id) return int64_t{blockIdx.x} * gridDim.x + threadIdx.x;
    if (mistake == "times_warp"_id) return int64_t{blockIdx.x} * kWarp + threadIdx.x;
    if (mistake == "begins_at_one"_id) return right + 1;
    if (mistake == "lane_only"_id) return int64_t{blockIdx.x} * blockDim.x + threadIdx.x % kWarp;
    if (mistake == "lane_times_warps"_id)
      return int64_t{blockIdx.x} * blockDim.x + threadIdx.x % kWarp * (kThreads / kWarp) + threadIdx.x / kWarp;
    if (mistake == "blocks_by_grid"_id) return int64_t{gridDim.x} * blockDim.x + threadIdx.x;
    if (mistake == "last_block_first"_id) return int64_t{gridDim.x - 1 - blockIdx.x} * kThreads + threadIdx.x;
    if (mistake == "last_thread_first"_id) return int64_t{blockIdx.x} * blockDim.x + (blockDim.x - 1 - threadIdx.x);
    return right;
  }
  static __device__ int64_t index_step() {
    if (mistake == "no_loop"_id) return int64_t{1} << 40;
    if (mistake == "step_of_a_block"_id) return blockDim.x;
    if (mistake == "step_of_blocks"_id) return gridDim.x;
    if (mistake == "step_of_one"_id) return 1;
    if (mistake == "step_of_zero"_id) return 0;
    if (mistake == "step_to_the_last"_id) return int64_t{gridDim.x} * blockDim.x - 1;
    if (mistake == "step_of_other_blocks"_id) return int64_t{gridDim.x - 1} * blockDim.x;
    if (mistake == "step_of_one_block_more"_id) return int64_t{gridDim.x + 1} * blockDim.x;
    if (mistake == "step_of_first"_id) return first_index();
    if (mistake == "step_of_largest_grid"_id) return int64_t{4096} * kThreads;
    if (mistake == "step_of_block_number"_id) return int64_t{blockIdx.x + 1} * blockDim.x;
    if (mistake == "step_of_warps"_id) return int64_t{gridDim.x} * kWarp;
    return int64_t{gridDim.x} * blockDim.x;
  }
};

template <uint64_t mistake>
constexpr auto wrong_visits = visits<WrongGrid<mistake>>;

template <uint64_t mistake>
struct WrongSlot {
  static __device__ int slot(int row, int column) {
    const int right = row * (kSquare + 1) + column;
    if (mistake == "no_pad"_id) return row * kSquare + column;
    if (mistake == "overlap"_id) return row * (kSquare - 1) + column;
    if (mistake == "two_words"_id) return row * (kSquare + 2) + column;
    if (mistake == "no_row"_id) return column;
    if (mistake == "of_eight"_id) return row * kSquare + (column ^ (row & 7));
    if (mistake == "columns_first"_id) return column * kSquare + row;
    if (mistake == "begins_at_word_two"_id) return right + 2;
    if (mistake == "pairs_of_rows"_id) return row * kSquare + (column ^ row / 2);
    if (mistake == "wraps"_id) return right % (kSquare * kSquare);
    if (mistake == "ends_early"_id) return right < kSquare * kSquare ? right : kSquare * kSquare - 1;
    if (mistake == "pad_of_eight_rows"_id) return row * kSquare + column + row / 8;
    if (mistake == "own_lane"_id) return row * (kSquare + 1) + static_cast<int>(threadIdx.x) % kWarp;
    if (mistake == "diagonal"_id) return row + column;
    if (mistake == "exclusive"_id) return row ^ column;
    if (mistake == "rotated_by_two"_id) return row * kSquare + (column + 2 * row) % kSquare;
    if (mistake == "below"_id) return column - row * (kSquare + 1);
    if (mistake == "words_of_floats"_id) return right * 4;
    if (mistake == "exchanged"_id) return row * kSquare + (column ^ row);
    if (mistake == "rotated"_id) return row * kSquare + (column + row) % kSquare;
    if (mistake == "columns_of_33"_id) return column * (kSquare + 1) + row;
    if (mistake == "from_the_end"_id) return kSlots - 1 - right;
    if (mistake == "only_rotated"_id) return row * kSquare + column % kSquare + row;
    if (mistake == "rotated_by_odd"_id) return row * kSquare + (column + 5 * row) % kSquare;
    return right;
  }
};
template <uint64_t mistake>
constexpr auto wrong_slot = transpose<WrongSlot<mistake>>;

const kit::Mutants<Impl> blocks = {
    &Impl::blocks_for,
    {
        {"grid_int", "11.1", "does not fit in an int", wrong_blocks<"int"_id>},
        {"grid_no_block", "11.1", "at least 1 block", wrong_blocks<"no_block"_id>},
        {"grid_no_limit", "11.1", "at most 4096 blocks", wrong_blocks<"no_limit"_id>},
        {"grid_other_limit", "11.1", "at most 4096 blocks", wrong_blocks<"other_limit"_id>},
        {"grid_lower_limit", "11.1", "fewer blocks than n needs", wrong_blocks<"lower_limit"_id>},
        {"grid_limit_of_4095", "11.1", "fewer blocks than n needs", wrong_blocks<"limit_of_4095"_id>},
        {"grid_one_too_many", "11.1", "one block too many", wrong_blocks<"one_too_many"_id>},
        {"grid_round_down", "11.1", "the last, half-full block is missing", wrong_blocks<"round_down"_id>},
        {"grid_round_to_nearest", "11.1", "the last, half-full block is missing", wrong_blocks<"round_to_nearest"_id>},
        {"grid_one_block_per_element", "11.1", "these are threads; a block has 256 of them",
         wrong_blocks<"one_block_per_element"_id>},
        {"grid_one_block_per_warp", "11.1", "256 threads, not 32", wrong_blocks<"one_block_per_warp"_id>},
        {"grid_blocks_of_1024", "11.1", "256 threads, not 1024", wrong_blocks<"blocks_of_1024"_id>},
        {"grid_cast_before_limit", "11.1", "does not fit in an int", wrong_blocks<"cast_before_limit"_id>},
        {"grid_blocks_without_rounding", "11.1", "ok", wrong_blocks<"blocks_without_rounding"_id>},
        {"grid_blocks_by_ceiling", "11.1", "ok", wrong_blocks<"blocks_by_ceiling"_id>},
    }};

const kit::Mutants<Impl> indices = {
    &Impl::visits,
    {
        {"grid_same_elements", "11.1", "the block's number is missing", wrong_visits<"same_elements"_id>},
        {"grid_no_times", "11.1", "several times and others never", wrong_visits<"no_times"_id>},
        {"grid_times_blocks", "11.1", "several times and others never", wrong_visits<"times_blocks"_id>},
        {"grid_times_warp", "11.1", "several times and others never", wrong_visits<"times_warp"_id>},
        {"grid_begins_at_one", "11.1", "thread 0 of block 0 begins with element 0", wrong_visits<"begins_at_one"_id>},
        {"grid_blocks_by_grid", "11.1", "no element is visited", wrong_visits<"blocks_by_grid"_id>},
        {"grid_last_block_first", "11.1", "ok", wrong_visits<"last_block_first"_id>},
        {"grid_last_thread_first", "11.1", "ok", wrong_visits<"last_thread_first"_id>},
        {"grid_no_loop", "11.1", "a thread must go on", wrong_visits<"no_loop"_id>},
        {"grid_step_of_a_block", "11.1", "step over the whole grid", wrong_visits<"step_of_a_block"_id>},
        {"grid_step_of_blocks", "11.1", "step over the whole grid", wrong_visits<"step_of_blocks"_id>},
        {"grid_step_of_zero", "11.1", "step over the whole grid", wrong_visits<"step_of_zero"_id>},
        {"grid_step_to_the_last", "11.1", "step over the whole grid", wrong_visits<"step_to_the_last"_id>},
        {"grid_step_of_other_blocks", "11.1", "step over the whole grid", wrong_visits<"step_of_other_blocks"_id>},
        {"grid_step_of_one_block_more", "11.1", "by the number of threads of this grid",
         wrong_visits<"step_of_one_block_more"_id>},
        {"grid_step_of_largest_grid", "11.1", "by the number of threads of this grid",
         wrong_visits<"step_of_largest_grid"_id>},
        {"grid_step_of_block_number", "11.1", "step over the whole grid", wrong_visits<"step_of_block_number"_id>},
    }};

const kit::Mutants<Impl> simulated_indices = {
    &Impl::visits,
    {},
    {
        {"grid_far_apart", "11.1", "the 32 lanes of a warp are far apart", wrong_visits<"far_apart"_id>},
        {"grid_no_thread", "11.1", "two threads of a block come to the same element", wrong_visits<"no_thread"_id>},
        {"grid_lane_only", "11.1", "two threads of a block come to the same element", wrong_visits<"lane_only"_id>},
        {"grid_lane_times_warps", "11.1", "the 32 lanes of a warp are far apart", wrong_visits<"lane_times_warps"_id>},
        {"grid_step_of_one", "11.1", "two threads of a block come to the same element", wrong_visits<"step_of_one"_id>},
        {"grid_step_of_first", "11.1", "two threads of a block come to the same element",
         wrong_visits<"step_of_first"_id>},
        {"grid_step_of_warps", "11.1", "two threads of a block come to the same element",
         wrong_visits<"step_of_warps"_id>},
    },
    "simulator"};

const kit::Mutants<Impl> slots = {&Impl::transpose,
                                  {
                                      {"slot_exchanged", "11.5", "ok", wrong_slot<"exchanged"_id>},
                                      {"slot_rotated", "11.5", "ok", wrong_slot<"rotated"_id>},
                                      {"slot_columns_of_33", "11.5", "ok", wrong_slot<"columns_of_33"_id>},
                                      {"slot_from_the_end", "11.5", "ok", wrong_slot<"from_the_end"_id>},
                                      {"slot_only_rotated", "11.5", "ok", wrong_slot<"only_rotated"_id>},
                                      {"slot_rotated_by_odd", "11.5", "ok", wrong_slot<"rotated_by_odd"_id>},
                                  }};

const kit::Mutants<Impl> simulated_slots = {
    &Impl::transpose,
    {},
    {
        {"slot_no_pad", "11.5", "lanes want words of one bank", wrong_slot<"no_pad"_id>},
        {"slot_overlap", "11.5", "the same slot", wrong_slot<"overlap"_id>},
        {"slot_two_words", "11.5", "a slot outside of the tile", wrong_slot<"two_words"_id>},
        {"slot_no_row", "11.5", "the same slot", wrong_slot<"no_row"_id>},
        {"slot_of_eight", "11.5", "4 lanes want words of one bank", wrong_slot<"of_eight"_id>},
        {"slot_columns_first", "11.5", "32 lanes want words of one bank", wrong_slot<"columns_first"_id>},
        {"slot_begins_at_word_two", "11.5", "a slot outside of the tile", wrong_slot<"begins_at_word_two"_id>},
        {"slot_pairs_of_rows", "11.5", "2 lanes want words of one bank", wrong_slot<"pairs_of_rows"_id>},
        {"slot_wraps", "11.5", "the same slot", wrong_slot<"wraps"_id>},
        {"slot_ends_early", "11.5", "the same slot", wrong_slot<"ends_early"_id>},
        {"slot_pad_of_eight_rows", "11.5", "8 lanes want words of one bank", wrong_slot<"pad_of_eight_rows"_id>},
        {"slot_own_lane", "11.5", "a slot to which nothing was written", wrong_slot<"own_lane"_id>},
        {"slot_diagonal", "11.5", "the same slot", wrong_slot<"diagonal"_id>},
        {"slot_exclusive", "11.5", "the same slot", wrong_slot<"exclusive"_id>},
        {"slot_rotated_by_two", "11.5", "2 lanes want words of one bank", wrong_slot<"rotated_by_two"_id>},
        {"slot_below", "11.5", "a slot outside of the tile", wrong_slot<"below"_id>},
        {"slot_words_of_floats", "11.5", "a slot outside of the tile", wrong_slot<"words_of_floats"_id>},
    },
    "simulator"};

}  // namespace
}  // namespace pg::lesson11
