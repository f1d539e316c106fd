// Answers to 11.3, wrong ones and right but unusual ones. For mutants.cu's table.
#include "lessons/11_cuda/harness.h"
#include "lessons/kit/mutants.h"

namespace pg::lesson11 {
namespace {

// Row and depth of element i of a slice: along whichever of them is adjacent in memory.
struct Element {
  int r, d;
};
__device__ Element element_of(int i, const Operand& x) {
  if (x.depth_step == 1) return {i / kDepth, i % kDepth};
  return {i % kTile, i / kTile};
}
__device__ const float& at(const Operand& x, int64_t r, int64_t d) { return x.data[r * x.row_step + d * x.depth_step]; }
__device__ int thread() { return static_cast<int>(threadIdx.x); }

// The right copy of the slice that begins at depth `first`.
__device__ void stage(Slice& to, const Operand& x, int64_t first, int64_t k) {
  for (int i = thread(); i < kTile * kDepth; i += kThreads) {
    const auto [r, d] = element_of(i, x);
    to[d][r] = r < x.rows && first + d < k ? at(x, r, first + d) : 0.0f;
  }
}

template <class Answer>
void product(Impl& m) {
  m.matmul = matmul<Answer>;
  m.add_matmul = add_matmul<Answer>;
}

// The right loop over the slices, with Copy's way of copying one.
template <class Copy>
struct OfCopy {
  static __device__ void add_product(float (&sums)[kN][kN], Slice& left, Slice& right, Operand a, Operand b,
                                     int64_t k) {
    for (int64_t first = 0; first < k; first += kDepth) {
      Copy::copy(left, a, first, k);
      Copy::copy(right, b, first, k);
      __syncthreads();
      cuda::multiply<kTile>(sums, left, right);
      __syncthreads();
    }
  }
};
template <class Copy>
void copied_by(Impl& m) {
  product<OfCopy<Copy>>(m);
}

// The right elements in the right order, with Find's way of reading one.
template <class Find>
struct OfFind {
  static __device__ void copy(Slice& to, const Operand& x, int64_t first, int64_t k) {
    for (int i = thread(); i < kTile * kDepth; i += kThreads) {
      const auto [r, d] = element_of(i, x);
      to[d][r] = Find::find(x, r, d, first, k);
    }
  }
};
template <class Find>
void found_by(Impl& m) {
  copied_by<OfFind<Find>>(m);
}

// ---- the copy of a slice

struct ReadsAnyway {  // the 0 comes too late: the address has been read
  static __device__ float find(const Operand& x, int r, int d, int64_t first, int64_t k) {
    const volatile float v = at(x, r, first + d);
    return r < x.rows && first + d < k ? v : 0.0f;
  }
};
struct TimesZero {
  static __device__ float find(const Operand& x, int r, int d, int64_t first, int64_t k) {
    return at(x, r, first + d) * static_cast<float>(r < x.rows && first + d < k);
  }
};
struct OneRowMore {
  static __device__ float find(const Operand& x, int r, int d, int64_t first, int64_t k) {
    return r <= x.rows && first + d < k ? at(x, r, first + d) : 0.0f;
  }
};
struct OneDeeper {
  static __device__ float find(const Operand& x, int r, int d, int64_t first, int64_t k) {
    return r < x.rows && first + d <= k ? at(x, r, first + d) : 0.0f;
  }
};
struct BoundOfSlice {  // d counts within the slice, k over all slices
  static __device__ float find(const Operand& x, int r, int d, int64_t first, int64_t k) {
    return r < x.rows && d < k ? at(x, r, first + d) : 0.0f;
  }
};
struct SameSlice {  // the bound moves on, the address does not
  static __device__ float find(const Operand& x, int r, int d, int64_t first, int64_t k) {
    return r < x.rows && first + d < k ? at(x, r, d) : 0.0f;
  }
};
struct RowsUnwritten {  // the sums of these rows are not stored, but left[d][r] shall be 0 there
  static __device__ void copy(Slice& to, const Operand& x, int64_t first, int64_t k) {
    for (int i = thread(); i < kTile * kDepth; i += kThreads) {
      const auto [r, d] = element_of(i, x);
      if (r < x.rows) to[d][r] = first + d < k ? at(x, r, first + d) : 0.0f;
    }
  }
};
struct DepthUnwritten {  // what the previous slice left there is added once more
  static __device__ void copy(Slice& to, const Operand& x, int64_t first, int64_t k) {
    for (int i = thread(); i < kTile * kDepth; i += kThreads) {
      const auto [r, d] = element_of(i, x);
      if (r >= x.rows) to[d][r] = 0;
      if (r < x.rows && (first + d < k || first == 0)) to[d][r] = first + d < k ? at(x, r, first + d) : 0.0f;
    }
  }
};
template <bool kAlongDepth>
struct Along {
  static __device__ void copy(Slice& to, const Operand& x, int64_t first, int64_t k) {
    for (int i = thread(); i < kTile * kDepth; i += kThreads) {
      const int r = kAlongDepth ? i / kDepth : i % kTile, d = kAlongDepth ? i % kDepth : i / kTile;
      to[d][r] = r < x.rows && first + d < k ? at(x, r, first + d) : 0.0f;
    }
  }
};
struct FourNeighbours {  // a thread takes 4 neighbours, as on a CPU
  static __device__ void copy(Slice& to, const Operand& x, int64_t first, int64_t k) {
    for (int i = thread() * 4; i < thread() * 4 + 4; ++i) {
      const auto [r, d] = element_of(i, x);
      to[d][r] = r < x.rows && first + d < k ? at(x, r, first + d) : 0.0f;
    }
  }
};
struct EveryThreadAll {
  static __device__ void copy(Slice& to, const Operand& x, int64_t first, int64_t k) {
    for (int i = 0; i < kTile * kDepth; ++i) {
      const auto [r, d] = element_of(i, x);
      to[d][r] = r < x.rows && first + d < k ? at(x, r, first + d) : 0.0f;
    }
  }
};
struct OneThreadAll {
  static __device__ void copy(Slice& to, const Operand& x, int64_t first, int64_t k) {
    if (thread() == 0) EveryThreadAll::copy(to, x, first, k);
  }
};
struct ByFour {  // 16 bytes at a time, which begin at a multiple of 16 bytes only in some matrices
  static __device__ void copy(Slice& to, const Operand& x, int64_t first, int64_t k) {
    if (x.depth_step != 1) return stage(to, x, first, k);
    const int r = thread() / 4, d = thread() % 4 * 4;
    float4 v = {};
    if (r < x.rows && first + d + 3 < k) {
      v = *reinterpret_cast<const float4*>(&at(x, r, first + d));
    } else if (r < x.rows) {
      if (first + d < k) v.x = at(x, r, first + d);
      if (first + d + 1 < k) v.y = at(x, r, first + d + 1);
      if (first + d + 2 < k) v.z = at(x, r, first + d + 2);
    }
    to[d][r] = v.x, to[d + 1][r] = v.y, to[d + 2][r] = v.z, to[d + 3][r] = v.w;
  }
};
struct HalfOfTheThreads {
  static __device__ void copy(Slice& to, const Operand& x, int64_t first, int64_t k) {
    for (int i = thread(); i < kTile * kDepth && thread() < kThreads / 2; i += kThreads / 2) {
      const auto [r, d] = element_of(i, x);
      to[d][r] = r < x.rows && first + d < k ? at(x, r, first + d) : 0.0f;
    }
  }
};
struct WrongIndices {  // rows counted by the depth, and depth by the rows
  static __device__ void copy(Slice& to, const Operand& x, int64_t first, int64_t k) {
    for (int i = thread(); i < kTile * kDepth; i += kThreads) {
      const int r = i % kDepth, d = i / kDepth;
      to[d][r] = r < x.rows && first + d < k ? at(x, r, first + d) : 0.0f;
    }
  }
};
struct BarrierAtEdge {
  static __device__ void copy(Slice& to, const Operand& x, int64_t first, int64_t k) {
    for (int i = thread(); i < kTile * kDepth; i += kThreads) {
      const auto [r, d] = element_of(i, x);
      to[d][r] = 0;
      if (r >= x.rows || first + d >= k) continue;
      __syncthreads();
      to[d][r] = at(x, r, first + d);
    }
  }
};
// ---- the loop over the slices

enum Loop {
  loop_slices_overlap,
  loop_slices_of_tile,
  loop_multiply_after,
  loop_from_zero,
  loop_a_twice,
  loop_offset_twice,
  loop_steps_of_a,
  loop_rows_of_a,
  loop_direction_of_a,
  loop_barrier_once,
  loop_barrier_before,
  loop_break_at_edge,
  loop_assigned,
  // right
  loop_last_barrier_missing,
  loop_last_slice_first,
  loop_one_slice_more,
};

template <Loop loop>
struct OfLoop {
  static __device__ void add_product(float (&sums)[kN][kN], Slice& left, Slice& right, Operand a, Operand b,
                                     int64_t k) {
    if constexpr (loop == loop_from_zero) {
      for (auto& row : sums) {
        for (float& sum : row) sum = 0;
      }
    }
    const int64_t step = loop == loop_slices_overlap ? kDepth / 2 : loop == loop_slices_of_tile ? kTile : kDepth;
    const int64_t slices = (k + kDepth - 1) / kDepth;
    const int64_t end = loop == loop_one_slice_more ? k + kDepth : k;
    for (int64_t begin = 0; begin < end; begin += step) {
      const int64_t first = loop == loop_last_slice_first ? (slices - 1) * kDepth - begin : begin;
      if constexpr (loop == loop_barrier_before) __syncthreads();
      if constexpr (loop == loop_offset_twice) {  // a.data and b.data begin with the block's tile already
        const int64_t i0 = int64_t{blockIdx.y} * kTile, j0 = int64_t{blockIdx.x} * kTile;
        stage(left, {a.data + i0 * a.row_step, a.row_step, a.depth_step, a.rows - i0}, first, k);
        stage(right, {b.data + j0 * b.row_step, b.row_step, b.depth_step, b.rows - j0}, first, k);
      } else {
        stage(left, a, first, k);
      }
      if constexpr (loop == loop_a_twice) {
        stage(right, a, first, k);
      } else if constexpr (loop == loop_steps_of_a) {
        stage(right, {b.data, a.row_step, a.depth_step, b.rows}, first, k);
      } else if constexpr (loop == loop_rows_of_a) {
        stage(right, {b.data, b.row_step, b.depth_step, a.rows}, first, k);
      } else if constexpr (loop == loop_direction_of_a) {
        for (int i = thread(); i < kTile * kDepth; i += kThreads) {
          const auto [r, d] = element_of(i, a);
          right[d][r] = r < b.rows && first + d < k ? at(b, r, first + d) : 0.0f;
        }
      } else if constexpr (loop != loop_offset_twice) {
        stage(right, b, first, k);
      }
      if constexpr (loop == loop_break_at_edge) {
        if (first + thread() % kDepth >= k) break;
      }
      if constexpr (loop == loop_barrier_once) {
        if (first == 0) __syncthreads();
      } else if constexpr (loop != loop_barrier_before) {
        __syncthreads();
      }
      if constexpr (loop == loop_assigned) {
        float new_sums[kN][kN] = {};
        cuda::multiply<kTile>(new_sums, left, right);
        for (int i = 0; i < kN; ++i) {
          for (int j = 0; j < kN; ++j) sums[i][j] = new_sums[i][j];
        }
      } else if constexpr (loop != loop_multiply_after) {
        cuda::multiply<kTile>(sums, left, right);
      }
      if (loop == loop_last_barrier_missing && first + kDepth >= k) return;
      __syncthreads();
    }
    if constexpr (loop == loop_multiply_after) cuda::multiply<kTile>(sums, left, right);
  }
};
template <Loop loop>
void looped(Impl& m) {
  product<OfLoop<loop>>(m);
}

// ---- other ways

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
// Writes the loops of multiply anew, to k or over the whole slice. The wrong ones take rows and columns that are 16
// apart, or exchange sums[i][j].
enum Own { own_right, own_to_depth, own_interleaved, own_transposed };
template <Own own>
struct OwnLoops {
  static __device__ void add_product(float (&sums)[kN][kN], Slice& left, Slice& right, Operand a, Operand b,
                                     int64_t k) {
    for (int64_t first = 0; first < k; first += kDepth) {
      stage(left, a, first, k);
      stage(right, b, first, k);
      __syncthreads();
      for (int i = 0; i < kN; ++i) {
        for (int j = 0; j < kN; ++j) {
          const int row = own == own_interleaved ? cuda::tile_row() + 16 * i : cuda::tile_row() * kN + i;
          const int column = own == own_interleaved ? cuda::tile_column() + 16 * j : cuda::tile_column() * kN + j;
          for (int d = 0; d < kDepth && (own != own_to_depth || first + d < k); ++d) {
            (own == own_transposed ? sums[j][i] : sums[i][j]) += left[d][row] * right[d][column];
          }
        }
      }
      __syncthreads();
    }
  }
};
// Right: the next slice is read into registers while this one is multiplied.
struct Prefetch {
  static constexpr int kEach = kTile * kDepth / kThreads;
  static __device__ void fetch(float (&v)[kEach], const Operand& x, int64_t first, int64_t k) {
    for (int j = 0; j < kEach; ++j) {
      const auto [r, d] = element_of(thread() + j * kThreads, x);
      v[j] = r < x.rows && first + d < k ? at(x, r, first + d) : 0.0f;
    }
  }
  static __device__ void put(Slice& to, const float (&v)[kEach], const Operand& x) {
    for (int j = 0; j < kEach; ++j) {
      const auto [r, d] = element_of(thread() + j * kThreads, x);
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
// Right: along r where row_step is 1.
struct ByRowStep {
  static __device__ void copy(Slice& to, const Operand& x, int64_t first, int64_t k) {
    x.row_step == 1 ? Along<false>::copy(to, x, first, k) : Along<true>::copy(to, x, first, k);
  }
};

const kit::Mutants<Impl> mutants_of_product = {
    {"product_reads_anyway", "11.3", "counted over all slices, with k", found_by<ReadsAnyway>, "", "simulator"},
    {"product_times_zero", "11.3", "counted over all slices, with k", found_by<TimesZero>, "", "simulator"},
    {"product_one_row_more", "11.3", "counted over all slices, with k", found_by<OneRowMore>, "", "simulator"},
    {"product_one_deeper", "11.3", "counted over all slices, with k", found_by<OneDeeper>, "", "simulator"},
    {"product_bound_of_slice", "11.3", "counted over all slices, with k", found_by<BoundOfSlice>, "", "simulator"},
    {"product_same_slice", "11.3", "every slice holds the first 16 numbers", found_by<SameSlice>},
    {"product_rows_unwritten", "11.3", "0 where r >= rows or d >= k", copied_by<RowsUnwritten>, "", "simulator"},
    {"product_depth_unwritten", "11.3", "the last slice still holds numbers of the one before",
     copied_by<DepthUnwritten>},
    {"product_along_rows", "11.3", "read addresses far apart", copied_by<Along<false>>, "", "simulator"},
    {"product_along_depth", "11.3", "read addresses far apart", copied_by<Along<true>>, "", "simulator"},
    {"product_four_neighbours", "11.3", "read addresses far apart", copied_by<FourNeighbours>, "", "simulator"},
    {"product_every_thread_all", "11.3", "each number is one thread's", copied_by<EveryThreadAll>, "", "simulator"},
    {"product_one_thread_all", "11.3", "it reads more often than it must", copied_by<OneThreadAll>, "", "simulator"},
    {"product_by_four", "11.3", "only where the address is a multiple of 16", copied_by<ByFour>, "", "simulator"},
    {"product_half_of_the_threads", "11.3", "some warps copy and the others wait", copied_by<HalfOfTheThreads>, "",
     "simulator"},
    {"product_wrong_indices", "11.3", "counted over all slices, with k", copied_by<WrongIndices>, "", "simulator"},
    {"product_barrier_at_edge", "11.3", "not every thread of the block reaches", copied_by<BarrierAtEdge>, "",
     "simulator"},
    {"product_without_slices", "11.3", "it reads more often than it must", product<WithoutSlices>, "", "simulator"},
    {"product_own_loops", "11.3", "ok", product<OwnLoops<own_right>>},
    {"product_own_loops_to_depth", "11.3", "ok", product<OwnLoops<own_to_depth>>},
    {"product_own_loops_interleaved", "11.3", "these are 16 apart", product<OwnLoops<own_interleaved>>},
    {"product_own_loops_transposed", "11.3", "each thread's sums are transposed", product<OwnLoops<own_transposed>>},
    {"product_prefetch", "11.3", "ok", product<Prefetch>},
    {"product_by_row_step", "11.3", "ok", copied_by<ByRowStep>},
    {"product_slices_overlap", "11.3", "slices overlap", looped<loop_slices_overlap>},
    {"product_slices_of_tile", "11.3", "only the first slice of k counts", looped<loop_slices_of_tile>},
    {"product_multiply_after", "11.3", "only the last slice of k counts", looped<loop_multiply_after>},
    {"product_from_zero", "11.3", "sums do not begin with 0", looped<loop_from_zero>},
    {"product_offset_twice", "11.3", "begin with the block's tile already", looped<loop_offset_twice>},
    {"product_a_twice", "11.3", "both slices are copied from a", looped<loop_a_twice>},
    {"product_steps_of_a", "11.3", "which are b's own", looped<loop_steps_of_a>},
    {"product_rows_of_a", "11.3", "counted over all slices, with k", looped<loop_rows_of_a>, "", "simulator"},
    {"product_direction_of_a", "11.3", "read addresses far apart", looped<loop_direction_of_a>, "", "simulator"},
    {"product_barrier_once", "11.3", "between writing and reading", looped<loop_barrier_once>, "", "simulator"},
    {"product_barrier_before", "11.3", "between writing and reading", looped<loop_barrier_before>, "", "simulator"},
    {"product_break_at_edge", "11.3", "not every thread of the block reaches", looped<loop_break_at_edge>, "",
     "simulator"},
    {"product_assigned", "11.3", "only the last slice of k counts", looped<loop_assigned>},
    {"product_last_barrier_missing", "11.3", "ok", looped<loop_last_barrier_missing>},
    {"product_last_slice_first", "11.3", "ok", looped<loop_last_slice_first>},
    {"product_one_slice_more", "11.3", "ok", looped<loop_one_slice_more>},
};

}  // namespace
}  // namespace pg::lesson11
