// Answers to 11.2. Those that a check names by running them are in mistakes.cu.
#include "lessons/11_cuda/wrong_reduce.h"
#include "lessons/kit/mutants.h"

namespace pg::lesson11 {
namespace {

// ---- other ways for the warps of a block to meet

// The right reduction over a warp, then Block's way.
template <class Block>
struct OfBlock {
  template <int kSize, class T, class F>
  static __device__ T reduce(T x, F f) {
    x = over_warp<kNoMistake, kSize>(x, f);
    if constexpr (kSize > kWarp) x = Block::template meet<T>(x, f);
    return x;
  }
};
template <class Block>
constexpr auto block = reduced<OfBlock<Block>>;

// Thread 0 writes the total to parts[0], which the next call may overwrite before all have read it.
struct TotalReadLate {
  template <class T, class F>
  static __device__ T meet(T x, F f) {
    __shared__ T parts[kWarps];
    share<kNoMistake>(parts, x);
    if (threadIdx.x == 0) parts[0] = all_of<kNoMistake>(parts, x, f);
    __syncthreads();
    return parts[0];
  }
};
// Thread 0 replaces parts[0] while the others may still read the parts.
struct TotalWrittenEarly {
  template <class T, class F>
  static __device__ T meet(T x, F f) {
    __shared__ T parts[kWarps];
    share<kNoMistake>(parts, x);
    for (int i = 0; i < kWarps; ++i) {
      if (i != warp()) x = f(x, parts[i]);
    }
    share<kNoMistake>(parts, x);
    return x;
  }
};
// In step: as written for GPUs whose warps ran so, without a barrier once the threads of one warp are left.
template <bool kInStep>
struct Tree {
  template <class T, class F>
  static __device__ T meet(T x, F f) {
    const int thread = static_cast<int>(threadIdx.x);
    constexpr int kParts = kInStep ? kThreads : kWarps;
    __shared__ T parts[kParts];
    if (kInStep || lane() == 0) parts[kInStep ? thread : warp()] = x;
    __syncthreads();
    for (int half = kParts / 2; half > 0; half /= 2) {
      if (thread < half) parts[thread] = f(parts[thread], parts[thread + half]);
      if (half > kWarp || !kInStep) __syncthreads();
    }
    __syncthreads();
    x = parts[0];
    __syncthreads();
    return x;
  }
};
struct SharedInWarp {  // the eight warps of a block write to the same 32 numbers
  template <int kSize, class T, class F>
  static __device__ T reduce(T x, F f) {
    __shared__ T all[kSize];
    all[threadIdx.x % kSize] = x;
    __syncthreads();
    x = all[0];
    for (int i = 1; i < kSize; ++i) x = f(x, all[i]);
    __syncthreads();
    return x;
  }
};
template <unsigned kMask>  // 0xff is right
struct EightLanes {
  template <class T, class F>
  static __device__ T meet(T x, F f) {
    __shared__ T parts[kWarps];
    __shared__ T total;
    share<kNoMistake>(parts, x);
    if (threadIdx.x < kWarps) {
      x = parts[threadIdx.x];
      for (int step = kWarps / 2; step > 0; step /= 2) x = f(x, __shfl_xor_sync(kMask, x, step));
      if (threadIdx.x == 0) total = x;
    }
    __syncthreads();
    return total;
  }
};
struct ThreeSteps {  // right
  template <class T, class F>
  static __device__ T meet(T x, F f) {
    __shared__ T parts[kWarps];
    if (lane() == kWarp - 1) parts[warp()] = x;
    __syncthreads();
    x = parts[lane() % kWarps];
    __syncthreads();
    for (int step = kWarps / 2; step > 0; step /= 2) x = f(x, __shfl_xor_sync(kAll, x, step));
    return x;
  }
};

template <class Answer>
void right(Impl& m) {
  m.reduce = reduced<Answer>;
  m.layer_norm = layer_norm<Answer>;
}

const kit::Mutants<Impl> right_reductions = {
    {"reduce_steps_up_to_16", "11.2", "ok", right<WrongReduce<"steps_up_to_16"_id>>},
    {"reduce_barrier_first", "11.2", "ok", right<WrongReduce<"barrier_first"_id>>},
    {"reduce_three_steps", "11.2", "ok", right<OfBlock<ThreeSteps>>},
    {"reduce_eight_lanes", "11.2", "ok", right<OfBlock<EightLanes<0xff>>>},
    {"reduce_tree", "11.2", "ok", right<OfBlock<Tree<false>>>},
};

const kit::Mutants<Impl> wrong_reductions = {
    &Impl::reduce,
    reduce_mistakes(),
    {
        {"reduce_steps_up_to_8", "11.2", "only 16 lanes take part", wrong_reduce<"steps_up_to_8"_id>},
        {"reduce_leader_only", "11.2", "only the team's first thread has the result", wrong_reduce<"leader_only"_id>},
        {"reduce_total_of_zero", "11.2", "threads without a number take part with 0", wrong_reduce<"total_of_zero"_id>},
        {"reduce_parts_of_zero", "11.2", "take part with 0", wrong_reduce<"parts_of_zero"_id>},
        {"reduce_thread_zero_only", "11.2", "only the team's first thread has the result",
         wrong_reduce<"thread_zero_only"_id>},
        {"reduce_warp_zero_only", "11.2", "only the block's first warp has the result",
         wrong_reduce<"warp_zero_only"_id>},
    }};

const kit::Mutants<Impl> simulated_reductions = {
    &Impl::reduce,
    {},
    {
        {"reduce_always_a_block", "11.2", "what only a block needs belongs in if constexpr",
         wrong_reduce<"always_a_block"_id>},
        {"reduce_mask", "11.2", "the mask names the lanes that come", wrong_reduce<"mask"_id>},
        {"reduce_names_one_lane", "11.2", "the mask names the lanes that come", wrong_reduce<"names_one_lane"_id>},
        {"reduce_upper_lanes_leave", "11.2", "every lane that the mask names must come",
         wrong_reduce<"upper_lanes_leave"_id>},
        {"reduce_shuffle_in_branch", "11.2", "every lane that the mask names must come",
         wrong_reduce<"shuffle_in_branch"_id>},
        {"reduce_shuffle_of_eight_names_all", "11.2", "every lane that the mask names must come",
         block<EightLanes<kAll>>},
        {"reduce_no_first_barrier", "11.2", "between writing and reading", wrong_reduce<"no_first_barrier"_id>},
        {"reduce_no_second_barrier", "11.2", "before writing again", wrong_reduce<"no_second_barrier"_id>},
        {"reduce_barrier_of_warp", "11.2", "between writing and reading", wrong_reduce<"barrier_of_warp"_id>},
        {"reduce_barrier_in_if", "11.2", "between writing and reading", wrong_reduce<"barrier_in_if"_id>},
        {"reduce_barrier_before_write_only", "11.2", "between writing and reading",
         wrong_reduce<"barrier_before_write_only"_id>},
        {"reduce_return_before_barrier", "11.2", "not every thread of the block reaches",
         wrong_reduce<"return_before_barrier"_id>},
        {"reduce_total_read_late", "11.2", "between writing and reading", block<TotalReadLate>},
        {"reduce_total_written_early", "11.2", "between writing and reading", block<TotalWrittenEarly>},
        {"reduce_tree_in_step", "11.2", "between writing and reading", block<Tree<true>>},
        {"reduce_shared_in_warp", "11.2", "one lane of each warp writes, to its own part", reduced<SharedInWarp>},
        {"reduce_all_lanes_write", "11.2", "one lane of each warp writes, to its own part",
         wrong_reduce<"all_lanes_write"_id>},
        {"reduce_part_of_lane", "11.2", "parts has kSize / kWarp = 8 numbers", wrong_reduce<"part_of_lane"_id>},
        {"reduce_part_of_block", "11.2", "parts has kSize / kWarp = 8 numbers", wrong_reduce<"part_of_block"_id>},
        {"reduce_parts_of_threads", "11.2", "parts has kSize / kWarp = 8 numbers", wrong_reduce<"parts_of_threads"_id>},
    },
    "simulator"};

}  // namespace
}  // namespace pg::lesson11
