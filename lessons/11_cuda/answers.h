// Lesson 11: the same kernels on a GPU. This is your file: replace each
// TODO(...), then: make lesson11 && ./lesson11 check
//
// Every function here but blocks_for is device code: each thread of a grid runs
// it. The kernels that call your functions are in harness.h. Without a GPU they
// run in the simulator, which names your mistakes by line.
//
// What you may use (pieces.h declares the types and the constants):
//   threadIdx.x, blockIdx.x     this thread's number in its block, and the
//                               block's number in the grid; from 0 on
//   blockDim.x, gridDim.x       how many threads a block has, and how many
//                               blocks the grid
//   __shfl_xor_sync(0xffffffffu, x, step)
//                               the x of lane (mine ^ step), for all 32 lanes
//   __shared__ T parts[8];      memory that all threads of a block see
//   __syncthreads();            waits until all threads of the block are here
//   ::expf(x), std::clamp(x, least, most)
//   Team::rank(), Team::reduce(x, f), Plus{}, Max{}, kLowest      for 11.4
//   cuda::multiply<kTile>(sums, left, right)                      for 11.3
//   kThreads = 256, kWarp = 32, kTile = 64, kDepth = 16, kN = 4
#include "lessons/11_cuda/pieces.h"

namespace pg::lesson11 {

// How many blocks of kThreads (256) threads to start for n elements: enough for
// one thread each, but at least 1 and at most 4096. This one runs on the CPU.
// std::clamp<int64_t>(x, least, most) helps.
unsigned blocks_for(int64_t n) {
  // [answer 11.1 blocks_for]
  return static_cast<unsigned>(std::clamp<int64_t>((n + kThreads - 1) / kThreads, 1, 4096));
  // [end]
}

// The loop of every kernel that works element by element is
//   for (int64_t i = first_index(); i < n; i += index_step()) …
// All threads of the grid together must visit each element once, and
// neighbouring threads must visit neighbouring elements.
__device__ int64_t first_index() {
  // [answer 11.1 first_index]
  return int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  // [end]
}
__device__ int64_t index_step() {
  // [answer 11.1 index_step]
  return int64_t{gridDim.x} * blockDim.x;
  // [end]
}

// f over the x of kSize neighbouring threads: a warp (32), or the whole block
// of kThreads. Every one of them gets the result, and all of them call this,
// several times in a row. f(a, b) is a sum or a maximum.
// __shfl_xor_sync(0xffffffffu, x, step) gives the x of lane (mine ^ step), and
// takes mine to it. A block needs more: one number per warp in shared memory,
// `__shared__ T parts[kSize / kWarp];`, each written by one lane, and
// __syncthreads(). What only a block needs belongs in
// `if constexpr (kSize > kWarp) { … }`.
template <int kSize, class T, class F>
__device__ T reduce(T x, F f) {
  // [answer 11.2 reduce]
  for (int step = kWarp / 2; step > 0; step /= 2) x = f(x, __shfl_xor_sync(0xffffffffu, x, step));
  if constexpr (kSize > kWarp) {
    __shared__ T parts[kSize / kWarp];
    if (threadIdx.x % kWarp == 0) parts[threadIdx.x / kWarp] = x;
    __syncthreads();
    x = parts[0];
    for (int i = 1; i < kSize / kWarp; ++i) x = f(x, parts[i]);
    __syncthreads();  // before the next call writes
  }
  return x;
  // [end]
}

// sums += a·b for the block's tile of kTile x kTile, of which this thread has
// kN x kN; sums need not be 0 before. Element d of row r of a lies at
// a.data[r * a.row_step + d * a.depth_step]; of b likewise, whose "rows" are
// the columns of the product. Row 0 is the first row of the block's tile.
// Take the k elements in slices of kDepth: all 256 threads copy left[d][r] and
// right[d][r] from memory (0 where r >= rows or d >= k), then
// cuda::multiply<kTile>(sums, left, right) adds what the slices give.
// Neighbouring threads must read neighbouring addresses: along d where
// depth_step is 1, along r otherwise.
__device__ void add_product(float (&sums)[kN][kN], Slice& left, Slice& right, Operand a, Operand b, int64_t k) {
  // [answer 11.3 add_product]
  const auto stage = [&](Slice& to, const Operand& from, int64_t first) {
    for (int i = static_cast<int>(threadIdx.x); i < kTile * kDepth; i += kThreads) {
      const bool along_depth = from.depth_step == 1;
      const int r = along_depth ? i / kDepth : i % kTile, d = along_depth ? i % kDepth : i / kTile;
      const bool there = r < from.rows && first + d < k;
      to[d][r] = there ? from.data[r * from.row_step + (first + d) * from.depth_step] : 0.0f;
    }
  };
  for (int64_t first = 0; first < k; first += kDepth) {
    stage(left, a, first);
    stage(right, b, first);
    __syncthreads();
    cuda::multiply<kTile>(sums, left, right);
    __syncthreads();
  }
  // [end]
}

// The largest of the n numbers at x, and Σ e^(x - max), in one pass: each is
// read once. The 32 lanes of a warp share the row, Team::rank() is this lane's
// number, and all of them get the result. Neighbouring lanes must read
// neighbouring numbers. Team::reduce(v, f) is 11.2, done: f(a, b) over all
// lanes, which all must call; Plus{} and Max{} are such f. ::expf(x) is e^x.
// Numbers of -inf (masked scores) add nothing to the sum; a finite number is no
// mask, however low it is. A row may have any length, also less than 32: a lane
// that has seen nothing has the maximum -inf, which is kLowest here (not the
// lowest finite float). Note that -inf - -inf is NaN. A row of -inf only has
// the maximum -inf and the sum NaN: it has no probabilities, and 0 would hide
// that.
__device__ RowStats row_stats(const float* x, int64_t n) {
  // [answer 11.4 row_stats]
  float top = kLowest, sum = 0;
  for (int64_t i = Team::rank(); i < n; i += kWarp) {
    if (x[i] == kLowest) continue;
    if (x[i] > top) {
      sum *= ::expf(top - x[i]);
      top = x[i];
    }
    sum += ::expf(x[i] - top);
  }
  const float max = Team::reduce(top, Max{});
  sum *= ::expf(top - max);
  return {max, Team::reduce(sum, Plus{})};
  // [end]
}

// Where element (row, column) of a tile of 32 x 32 lies in shared memory, which
// has room for kSlots = 32·33 floats, numbers 0 to kSlots - 1. Each element has
// a slot of its own. A warp writes rows of the tile and reads columns; word
// number s is in bank s % 32, and a bank gives one word at a time.
__device__ int slot(int row, int column) {
  // [answer 11.5 slot]
  return row * (kSquare + 1) + column;
  // [end]
}

}  // namespace pg::lesson11

#include "lessons/11_cuda/yours.h"  // the kernels that call what stands above
