// The checks of lesson 11: the table, and what the checks share.
#include "lessons/11_cuda/checks.h"

#include "autograd/ops.h"

namespace pg::lesson11 {

Tensor tensor_of(const Matrix& x) {
  Tensor t = Tensor::zeros({x.rows, x.columns});
  std::copy(x.v.begin(), x.v.end(), t.data<float>().begin());
  return t;
}
Matrix random_matrix(int64_t rows, int64_t columns, Generator& random) {
  const Tensor t = Tensor::normal({rows, columns}, 0, 1, random);
  return {rows, columns, Numbers(t.data<float>().begin(), t.data<float>().end())};
}

std::string meaning(const std::string& message, const Meanings& here) {
  const auto has = [&](const char* words) { return message.find(words) != std::string::npos; };
  const auto says = [](const std::string& in_this_kernel, const char* everywhere) {
    return in_this_kernel.empty() ? everywhere : in_this_kernel;
  };
  if (has("race: writes") && has(" writes (")) {
    return says(here.both_write, "two threads write to the same memory: each needs a place of its own");
  }
  if (has("race:")) {
    return says(here.race,
                "two threads use the same memory and nothing orders them: between writing and reading, and before "
                "writing again, stands a __syncthreads() that every thread reaches, lanes of one warp too");
  }
  if (has("divergent barrier")) {
    return "a __syncthreads() that not every thread of the block reaches: none inside an if, no return before one";
  }
  if (has("does not name")) return "the mask names the lanes that come: 0xffffffff, all 32 of them";
  if (has("names lane")) {
    return says(here.shuffle, "every lane that the mask names must come to the shuffle: none inside an if");
  }
  if (has("out of bounds")) {
    return says(
        here.bounds,
        "an index outside of its memory: compare it with the size before reading; the last tile is seldom full");
  }
  if (has("uninitialised")) {
    return says(here.uninitialised, "shared memory is read before any thread has written it");
  }
  if (has("misaligned")) return "several numbers can be read at once only where the address is a multiple of 16";
  if (has("illegal memory access")) {
    return "an index outside of its memory: compare it with the size before reading";
  }
  return "";
}

std::string unless_counted(const std::string& note) {
  return counts_traffic() ? note : note + "; traffic, bounds and races are not judged in this build";
}

std::vector<kit::Check<Impl>> checks() {
  return {
      {.id = "11.1",
       .title = "threads and elements",
       .piece = kit::piece<&Impl::blocks_for, &Impl::visits>("first_index"),
       .section = "Which thread does what",
       .why =
           "Every kernel begins here. Elements left out or visited twice are silent bugs; a kernel whose neighbouring "
           "threads read far apart is eight times slower.",
       .hints = {"A block of 256 threads has number blockIdx.x. How many threads come before its first one?",
                 "blocks = ⌈n / 256⌉ within [1, 4096]; first = blockIdx.x · blockDim.x + threadIdx.x; step = gridDim.x "
                 "· blockDim.x.",
                 "blocks_for: (n + 255) / 256, clamped. first_index: the threads of all blocks before, plus my number "
                 "in the block; make it 64 bits wide before multiplying. index_step: how many threads the grid has."},
       .solution = {"tensor/cuda/base/array.h", "int64_t first_index("},
       .run = check_grid,
       .harmless = {{"first argument 1 of function 2", "every grid visits each element once"},
                    {"only positive of function 2", "a number of visits is never negative"},
                    {{"count above 2^24 of function 2", "count above 2^32 of function 2"},
                     "each of the n elements is visited here, so n is small; blocks_for has the large ones"}}},
      {.id = "11.2",
       .title = "reduction",
       .piece = kit::piece<&Impl::reduce, &Impl::layer_norm>("reduce"),
       .section = "One number from many threads",
       .why =
           "Softmax, norms and losses are sums over rows. Without a barrier the result is usually right on a GPU; the "
           "simulator always reports the race.",
       .hints = {"Lane 0 and lane 16 exchange and add. Which five exchanges bring every lane the sum of 32?",
                 "x = f(x, x of lane (mine ^ step)) for step = 16, 8, 4, 2, 1. A block: 8 warps, so 8 numbers meet in "
                 "shared memory.",
                 "Loop over the steps with __shfl_xor_sync. If kSize is more than 32: lane 0 of each warp writes its "
                 "part, barrier, every thread folds the parts in order, barrier (the next call writes them again)."},
       .solution = {"tensor/cuda/base/row.h", "T reduce(T x, F f)"},
       .run = check_reduce,
       .harmless = {{{"no elements", "a size of 1"}, "x fills whole blocks of 256 threads"},
                    {"no elements of function 2",
                     "a row without numbers has no mean, and a grid of no blocks is refused"}}},
      {.id = "11.3",
       .title = "tiled matrix product",
       .piece = kit::piece<&Impl::matmul, &Impl::add_matmul>("add_product"),
       .section = "Read once, use often",
       .why =
           "A model spends most of its time in this kernel. With tiles its limit is arithmetic; without them, memory.",
       .hints = {"A number of a is needed for all columns of c. Which threads of the block can share it, and in which "
                 "memory?",
                 "for each slice of 16: left[d][r] = a(r, first + d), right[d][r] = b(r, first + d), 64 x 16 numbers "
                 "each by 256 threads; sums += leftᵀ·right.",
                 "For i = threadIdx.x; i < 64·16; i += 256: d = i % 16, r = i / 16 where depth_step is 1, else r = i % "
                 "64, d = i / 64; copy, or write 0 outside. Both slices, barrier, cuda::multiply, barrier."},
       .solution = {"tensor/cuda/attention/attention_tile.h", "void scores_of("},
       .run = check_matmul},
      {.id = "11.4",
       .title = "online softmax",
       .piece = kit::piece<&Impl::row_stats, &Impl::softmax>("row_stats"),
       .section = "The sum before the maximum is known",
       .why = "Flash attention combines this with tiles: because the sum can be rescaled later, scores are never "
              "stored.",
       .hints = {"You have Σ e^(x - 3) and now meet x = 5. Which factor makes your sum relative to 5?",
                 "sum · e^(old - new), then + e^(x - new). At the end max = max over lanes, sum = Σ lanes sum · "
                 "e^(top - max).",
                 "Each lane takes elements rank, rank + 32, …: skip -inf; if x > top, rescale sum and set top; add. "
                 "Then reduce top with Max, rescale the sum to it, reduce the sum with Plus."},
       .solution = {"tensor/cuda/base/row.h", "RowStats<T> row_stats("},
       .run = check_row_stats,
       .harmless = {{"only positive of function 2", "probabilities are never negative"}}},
      {.id = "11.5",
       .title = "bank conflicts",
       .piece = kit::piece<&Impl::transpose>("slot"),
       .section = "Thirty-two banks",
       .why = "A tile of 32 x 32 read by columns is 32 times slower than one of 32 x 33. The result is the same, "
              "so only a profiler or this simulator shows the difference.",
       .hints =
           {"In a tile with rows of 32 words, in which banks do the words of one column lie?",
            "bank = slot mod 32. With rows of P words, column c lies in banks (r·P + c) mod 32 for r = 0 … 31: all "
            "different if P is odd.",
            "Give each row one word more than it needs: row · 33 + column."},
       .solution = {"tensor/cuda/gemm/tile.h", "void stage("},
       .run = check_slot,
       .harmless = {{"no elements", "a grid of no blocks is refused"}}},
  };
}

}  // namespace pg::lesson11
