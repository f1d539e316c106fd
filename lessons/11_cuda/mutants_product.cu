// Answers to 11.3. Those that a check names by running them are in mistakes.cu.
#include "lessons/11_cuda/wrong_product.h"
#include "lessons/kit/mutants.h"

namespace pg::lesson11 {
namespace {

struct WithoutSlices {  // every number is read once for each of the 64 rows or columns of the tile
  static __device__ void add_product(float (&sums)[kN][kN], Slice&, Slice&, Operand a, Operand b, int64_t k) {
    for (int64_t d = 0; d < k; ++d) {
      for (int i = 0; i < kN; ++i) {
        for (int j = 0; j < kN; ++j) {
          const int64_t row = cuda::tile_row() * kN + i, column = cuda::tile_column() * kN + j;
          if (row < a.rows && column < b.rows) sums[i][j] += at(a, row, d) * at(b, column, d);
        }
      }
    }
  }
};
// Right: the next slice is read into registers while this one is multiplied.
struct Prefetch {
  static constexpr int kEach = kTile * kDepth / kThreads;
  struct Element {
    int r, d;
  };
  static __device__ Element element(int j, const Operand& x) {
    const int i = thread() + j * kThreads;
    if (x.depth_step == 1) return {i / kDepth, i % kDepth};
    return {i % kTile, i / kTile};
  }
  static __device__ void fetch(float (&v)[kEach], const Operand& x, int64_t first, int64_t k) {
    for (int j = 0; j < kEach; ++j) {
      const auto [r, d] = element(j, x);
      v[j] = r < x.rows && first + d < k ? at(x, r, first + d) : 0.0f;
    }
  }
  static __device__ void put(Slice& to, const float (&v)[kEach], const Operand& x) {
    for (int j = 0; j < kEach; ++j) {
      const auto [r, d] = element(j, x);
      to[d][r] = v[j];
    }
  }
  static __device__ void add_product(float (&sums)[kN][kN], Slice& left, Slice& right, Operand a, Operand b,
                                     int64_t k) {
    float of_a[kEach], of_b[kEach];
    fetch(of_a, a, 0, k);
    fetch(of_b, b, 0, k);
    for (int64_t first = 0; first < k; first += kDepth) {
      __syncthreads();
      put(left, of_a, a);
      put(right, of_b, b);
      __syncthreads();
      fetch(of_a, a, first + kDepth, k);
      fetch(of_b, b, first + kDepth, k);
      cuda::multiply<kTile>(sums, left, right);
    }
  }
};

// Both kernels, where the first has not shown the mistake already.
template <class Answer>
void both(Impl& m) {
  m.matmul = matmul<Answer>;
  m.add_matmul = add_matmul<Answer>;
}
template <uint64_t mistake>
constexpr auto both_by = both<WrongProduct<mistake>>;

const kit::Mutants<Impl> products = {
    {"product_from_zero", "11.3", "sums do not begin with 0", both_by<"from_zero"_id>},
    {"product_prefetch", "11.3", "ok", both<Prefetch>},
    {"product_own_loops", "11.3", "ok", both_by<"own_loops"_id>},
    {"product_own_loops_to_depth", "11.3", "ok", both_by<"own_loops_to_depth"_id>},
    {"product_by_row_step", "11.3", "ok", both_by<"by_row_step"_id>},
    {"product_last_barrier_missing", "11.3", "ok", both_by<"last_barrier_missing"_id>},
    {"product_last_slice_first", "11.3", "ok", both_by<"last_slice_first"_id>},
    {"product_one_slice_more", "11.3", "ok", both_by<"one_slice_more"_id>},
};

const kit::Mutants<Impl> wrong_products = {
    &Impl::matmul,
    matmul_mistakes(),
    {
        {"product_slices_of_tile", "11.3", "only the first slice of k counts", wrong_product<"slices_of_tile"_id>},
        {"product_multiply_after", "11.3", "only the last slice of k counts", wrong_product<"multiply_after"_id>},
        {"product_steps_of_a", "11.3", "which are b's own", wrong_product<"steps_of_a"_id>},
        {"product_offset_twice", "11.3", "begin with the block's tile already", wrong_product<"offset_twice"_id>},
        {"product_twice", "11.3", "2 x expected", wrong_product<"twice"_id>},
    }};

const kit::Mutants<Impl> simulated_products = {
    &Impl::matmul,
    {},
    {
        {"product_far_apart", "11.3", "read addresses far apart", wrong_product<"far_apart"_id>},
        {"product_along_depth", "11.3", "read addresses far apart", wrong_product<"along_depth"_id>},
        {"product_direction_of_a", "11.3", "read addresses far apart", wrong_product<"direction_of_a"_id>},
        {"product_four_neighbours", "11.3", "read addresses far apart", wrong_product<"four_neighbours"_id>},
        {"product_no_depth_bound", "11.3", "an index outside of its memory", wrong_product<"no_depth_bound"_id>},
        {"product_no_row_bound", "11.3", "an index outside of its memory", wrong_product<"no_row_bound"_id>},
        {"product_reads_anyway", "11.3", "counted over all slices, with k", wrong_product<"reads_anyway"_id>},
        {"product_times_zero", "11.3", "counted over all slices, with k", wrong_product<"times_zero"_id>},
        {"product_one_row_more", "11.3", "counted over all slices, with k", wrong_product<"one_row_more"_id>},
        {"product_one_deeper", "11.3", "counted over all slices, with k", wrong_product<"one_deeper"_id>},
        {"product_bound_of_slice", "11.3", "counted over all slices, with k", wrong_product<"bound_of_slice"_id>},
        {"product_wrong_indices", "11.3", "counted over all slices, with k", wrong_product<"wrong_indices"_id>},
        {"product_rows_of_a", "11.3", "counted over all slices, with k", wrong_product<"rows_of_a"_id>},
        {"product_no_zeros", "11.3", "before any thread has written it", wrong_product<"no_zeros"_id>},
        {"product_one_number_each", "11.3", "before any thread has written it", wrong_product<"one_number_each"_id>},
        {"product_rows_unwritten", "11.3", "0 where r >= rows or d >= k", wrong_product<"rows_unwritten"_id>},
        {"product_no_first_barrier", "11.3", "between writing and reading", wrong_product<"no_first_barrier"_id>},
        {"product_barrier_once", "11.3", "between writing and reading", wrong_product<"barrier_once"_id>},
        {"product_barrier_before", "11.3", "between writing and reading", wrong_product<"barrier_before"_id>},
        {"product_no_second_barrier", "11.3", "before writing again", wrong_product<"no_second_barrier"_id>},
        {"product_barrier_at_edge", "11.3", "not every thread of the block reaches",
         wrong_product<"barrier_at_edge"_id>},
        {"product_break_at_edge", "11.3", "not every thread of the block reaches", wrong_product<"break_at_edge"_id>},
        {"product_every_thread_all", "11.3", "each number is one thread's", wrong_product<"every_thread_all"_id>},
        {"product_one_thread_all", "11.3", "it reads more often than it must", wrong_product<"one_thread_all"_id>},
        {"product_half_of_the_threads", "11.3", "some warps copy and the others wait",
         wrong_product<"half_of_the_threads"_id>},
        {"product_without_slices", "11.3", "it reads more often than it must", matmul<WithoutSlices>},
        {"product_by_four", "11.3", "only where the address is a multiple of 16", wrong_product<"by_four"_id>},
    },
    "simulator"};

}  // namespace
}  // namespace pg::lesson11
