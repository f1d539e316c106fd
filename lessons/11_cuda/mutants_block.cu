// Answers to 11.2: the warps of a block. For mutants.cu's table.
#include "lessons/11_cuda/mutants_reduce.h"

namespace pg::lesson11 {
namespace {

// The right reduction over a warp, then Block's way of combining the parts of the block's warps.
template <class Block>
struct OfBlock {
  template <int kSize, class T, class F>
  static __device__ T reduce(T x, F f) {
    x = over_warp(x, f);
    if constexpr (kSize > kWarp) x = Block::template meet<T>(x, f);
    return x;
  }
};
template <class Block>
void block_by(Impl& m) {
  reduce_by<OfBlock<Block>>(m);
}
// ---- the warps of a block

struct TotalOfZero {
  template <class T, class F>
  static __device__ T meet(T x, F f) {
    __shared__ T parts[kWarps];
    share(parts, x);
    T total = 0;
    for (int i = 0; i < kWarps; ++i) total = f(total, parts[i]);
    __syncthreads();
    return total;
  }
};
struct LastWarpMissing {
  template <class T, class F>
  static __device__ T meet(T x, F f) {
    __shared__ T parts[kWarps];
    share(parts, x);
    x = parts[0];
    for (int i = 1; i < kWarps - 1; ++i) x = f(x, parts[i]);
    __syncthreads();
    return x;
  }
};
struct FirstWarpMissing {
  template <class T, class F>
  static __device__ T meet(T x, F f) {
    __shared__ T parts[kWarps];
    share(parts, x);
    x = parts[1];
    for (int i = 2; i < kWarps; ++i) x = f(x, parts[i]);
    __syncthreads();
    return x;
  }
};
struct FiveStepsOverParts {  // 32 lanes have 8 parts four times
  template <class T, class F>
  static __device__ T meet(T x, F f) {
    __shared__ T parts[kWarps];
    share(parts, x);
    x = over_warp(parts[lane() % kWarps], f);
    __syncthreads();
    return x;
  }
};
struct PartOfLane {
  template <class T, class F>
  static __device__ T meet(T x, F f) {
    __shared__ T parts[kWarps];
    share(parts, x);
    x = over_warp(parts[lane()], f);
    __syncthreads();
    return x;
  }
};
struct PartOfBlock {
  template <class T, class F>
  static __device__ T meet(T x, F f) {
    __shared__ T parts[kWarps];
    if (lane() == 0) parts[blockIdx.x * kWarps + threadIdx.x / kWarp] = x;
    __syncthreads();
    return all_of(parts, f);
  }
};
struct PartsOfThreads {  // each thread writes, beyond the end from thread 8 on
  template <class T, class F>
  static __device__ T meet(T x, F f) {
    __shared__ T parts[kWarps];
    parts[threadIdx.x] = x;
    __syncthreads();
    return all_of(parts, f);
  }
};
struct AllLanesWrite {  // CUDA stores one of them, and they are equal; but which thread writes should be said
  template <class T, class F>
  static __device__ T meet(T x, F f) {
    __shared__ T parts[kWarps];
    parts[warp()] = x;
    __syncthreads();
    return all_of(parts, f);
  }
};
struct ThreadZeroOnly {
  template <class T, class F>
  static __device__ T meet(T x, F f) {
    __shared__ T parts[kWarps];
    share(parts, x);
    if (threadIdx.x == 0) {
      for (int i = 1; i < kWarps; ++i) x = f(x, parts[i]);
    }
    __syncthreads();
    return x;
  }
};
struct WarpZeroOnly {
  template <class T, class F>
  static __device__ T meet(T x, F f) {
    __shared__ T parts[kWarps];
    share(parts, x);
    if (warp() == 0) {
      for (int i = 1; i < kWarps; ++i) x = f(x, parts[i]);
    }
    __syncthreads();
    return x;
  }
};
struct BarrierOfWarp {
  template <class T, class F>
  static __device__ T meet(T x, F f) {
    __shared__ T parts[kWarps];
    if (lane() == 0) parts[warp()] = x;
    __syncwarp();
    return all_of(parts, f);
  }
};
struct BarrierInIf {
  template <class T, class F>
  static __device__ T meet(T x, F f) {
    __shared__ T parts[kWarps];
    if (lane() == 0) {
      parts[warp()] = x;
      __syncthreads();
    }
    return all_of(parts, f);
  }
};
struct BarrierBeforeWriteOnly {
  template <class T, class F>
  static __device__ T meet(T x, F f) {
    __shared__ T parts[kWarps];
    __syncthreads();
    if (lane() == 0) parts[warp()] = x;
    return all_of(parts, f);
  }
};
// Thread 0 writes the total to parts[0], which the next call may overwrite before all have read it.
struct TotalReadLate {
  template <class T, class F>
  static __device__ T meet(T x, F f) {
    __shared__ T parts[kWarps];
    share(parts, x);
    if (threadIdx.x == 0) {
      for (int i = 1; i < kWarps; ++i) parts[0] = f(parts[0], parts[i]);
    }
    __syncthreads();
    return parts[0];
  }
};
// Thread 0 replaces parts[0] while the others may still read the parts.
struct TotalWrittenEarly {
  template <class T, class F>
  static __device__ T meet(T x, F f) {
    __shared__ T parts[kWarps];
    share(parts, x);
    for (int i = 0; i < kWarps; ++i) {
      if (i != warp()) x = f(x, parts[i]);
    }
    share(parts, x);
    return x;
  }
};
// As written for GPUs whose warps ran in step: no barrier once the threads of one warp are left.
struct TreeInStep {
  template <class T, class F>
  static __device__ T meet(T x, F f) {
    __shared__ T parts[kThreads];
    parts[threadIdx.x] = x;
    __syncthreads();
    for (int half = kThreads / 2; half > 0; half /= 2) {
      if (static_cast<int>(threadIdx.x) < half) parts[threadIdx.x] = f(parts[threadIdx.x], parts[threadIdx.x + half]);
      if (half > kWarp) __syncthreads();
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
struct ShuffleOfEightNamesAll {
  template <class T, class F>
  static __device__ T meet(T x, F f) {
    __shared__ T parts[kWarps];
    share(parts, x);
    if (threadIdx.x < kWarps) {
      x = parts[threadIdx.x];
      for (int step = kWarps / 2; step > 0; step /= 2) x = f(x, __shfl_xor_sync(kAll, x, step));
      parts[threadIdx.x] = x;
    }
    __syncthreads();
    x = parts[0];
    __syncthreads();
    return x;
  }
};

// ---- right
struct BarrierFirst {
  template <class T, class F>
  static __device__ T meet(T x, F f) {
    __shared__ T parts[kWarps];
    __syncthreads();
    share(parts, x);
    x = parts[0];
    for (int i = 1; i < kWarps; ++i) x = f(x, parts[i]);
    return x;
  }
};
struct ThreeSteps {
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
struct EightLanes {
  template <class T, class F>
  static __device__ T meet(T x, F f) {
    __shared__ T parts[kWarps];
    __shared__ T total;
    share(parts, x);
    if (threadIdx.x < kWarps) {
      x = parts[threadIdx.x];
      for (int step = kWarps / 2; step > 0; step /= 2) x = f(x, __shfl_xor_sync(0xffu, x, step));
      if (threadIdx.x == 0) total = x;
    }
    __syncthreads();
    return total;
  }
};
struct Tree {
  template <class T, class F>
  static __device__ T meet(T x, F f) {
    __shared__ T parts[kWarps];
    share(parts, x);
    for (int half = kWarps / 2; half > 0; half /= 2) {
      if (static_cast<int>(threadIdx.x) < half) parts[threadIdx.x] = f(parts[threadIdx.x], parts[threadIdx.x + half]);
      __syncthreads();
    }
    x = parts[0];
    __syncthreads();
    return x;
  }
};

const kit::Mutants<Impl> mutants_of_block = {
    {"reduce_total_of_zero", "11.2", "threads without a number take part with 0", block_by<TotalOfZero>},
    {"reduce_last_warp_missing", "11.2", "the last warp's part is missing", block_by<LastWarpMissing>},
    {"reduce_first_warp_missing", "11.2", "the first warp's part is missing", block_by<FirstWarpMissing>},
    {"reduce_five_steps_over_parts", "11.2", "each part is counted four times", block_by<FiveStepsOverParts>},
    {"reduce_part_of_lane", "11.2", "parts has kSize / kWarp = 8 numbers", block_by<PartOfLane>, "", "simulator"},
    {"reduce_part_of_block", "11.2", "parts has kSize / kWarp = 8 numbers", block_by<PartOfBlock>, "", "simulator"},
    {"reduce_parts_of_threads", "11.2", "parts has kSize / kWarp = 8 numbers", block_by<PartsOfThreads>, "",
     "simulator"},
    {"reduce_all_lanes_write", "11.2", "one lane of each warp writes, to its own part", block_by<AllLanesWrite>, "",
     "simulator"},
    {"reduce_thread_zero_only", "11.2", "only the team's first thread has the result", block_by<ThreadZeroOnly>},
    {"reduce_warp_zero_only", "11.2", "only the block's first warp has the result", block_by<WarpZeroOnly>},
    {"reduce_barrier_of_warp", "11.2", "between writing and reading", block_by<BarrierOfWarp>, "", "simulator"},
    {"reduce_barrier_in_if", "11.2", "between writing and reading", block_by<BarrierInIf>, "", "simulator"},
    {"reduce_barrier_before_write_only", "11.2", "between writing and reading", block_by<BarrierBeforeWriteOnly>, "",
     "simulator"},
    {"reduce_total_read_late", "11.2", "between writing and reading", block_by<TotalReadLate>, "", "simulator"},
    {"reduce_total_written_early", "11.2", "between writing and reading", block_by<TotalWrittenEarly>, "", "simulator"},
    {"reduce_tree_in_step", "11.2", "between writing and reading", block_by<TreeInStep>, "", "simulator"},
    {"reduce_shared_in_warp", "11.2", "one lane of each warp writes, to its own part", reduce_by<SharedInWarp>, "",
     "simulator"},
    {"reduce_shuffle_of_eight_names_all", "11.2", "every lane that the mask names must come",
     block_by<ShuffleOfEightNamesAll>, "", "simulator"},
    {"reduce_barrier_first", "11.2", "ok", block_by<BarrierFirst>},
    {"reduce_three_steps", "11.2", "ok", block_by<ThreeSteps>},
    {"reduce_eight_lanes", "11.2", "ok", block_by<EightLanes>},
    {"reduce_tree", "11.2", "ok", block_by<Tree>},
};

}  // namespace
}  // namespace pg::lesson11
