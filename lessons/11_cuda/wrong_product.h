#pragma once
// 11.3 with each of its known mistakes.
#include "lessons/11_cuda/harness.h"
#include "lessons/11_cuda/mistakes.h"

namespace pg::lesson11 {

inline __device__ int thread() { return static_cast<int>(threadIdx.x); }
inline __device__ const float& at(const Operand& x, int64_t r, int64_t d) {
  return x.data[r * x.row_step + d * x.depth_step];
}

template <uint64_t mistake>
struct WrongProduct {
  // 16 bytes at a time, which begin at a multiple of 16 bytes only in some matrices.
  static __device__ void copy_by_four(Slice& to, const Operand& x, int64_t first, int64_t k) {
    const int r = thread() / 4, d = thread() % 4 * 4;
    const int64_t left = r < x.rows ? k - first - d : 0;
    float4 v = {};
    if (left > 3) {
      v = *reinterpret_cast<const float4*>(&at(x, r, first + d));
    } else {
      if (left > 0) v.x = at(x, r, first + d);
      if (left > 1) v.y = at(x, r, first + d + 1);
      if (left > 2) v.z = at(x, r, first + d + 2);
    }
    to[d][r] = v.x, to[d + 1][r] = v.y, to[d + 2][r] = v.z, to[d + 3][r] = v.w;
  }

  // The slice of x that begins at depth `first`: along whichever of row and depth is adjacent in memory, in `like`.
  static __device__ void copy(Slice& to, const Operand& x, const Operand& like, int64_t first, int64_t k) {
    constexpr bool kAll = mistake == "every_thread_all"_id || mistake == "one_thread_all"_id,
                   kFour = mistake == "four_neighbours"_id;
    constexpr int kBusy = mistake == "half_of_the_threads"_id ? kThreads / 2
                          : mistake == "one_thread_all"_id    ? 1
                                                              : kThreads;
    if (thread() >= kBusy) return;
    const int begin = kAll ? 0 : kFour ? 4 * thread() : thread(), step = kAll || kFour ? 1 : kBusy;
    const int end = kFour ? begin + 4 : mistake == "one_number_each"_id ? kThreads : kTile * kDepth;
    if (mistake == "by_four"_id && x.depth_step == 1) return copy_by_four(to, x, first, k);
    for (int i = begin; i < end; i += step) {
      const bool along_depth = mistake == "along_depth"_id   ? true
                               : mistake == "far_apart"_id   ? false
                               : mistake == "by_row_step"_id ? like.row_step != 1  // right
                                                             : like.depth_step == 1;
      int r = along_depth ? i / kDepth : i % kTile, d = along_depth ? i % kDepth : i / kTile;
      // Rows counted by the depth, and depth by the rows.
      if (mistake == "wrong_indices"_id) r = i % kDepth, d = i / kDepth;
      const bool in_rows = mistake == "no_row_bound"_id || r < x.rows + (mistake == "one_row_more"_id);
      const bool in_depth = mistake == "no_depth_bound"_id ||
                            (mistake == "bound_of_slice"_id ? d : first + d) < k + (mistake == "one_deeper"_id);
      const bool there = in_rows && in_depth;
      // The sums of these rows are not stored, but left[d][r] shall be 0 there.
      if (mistake == "rows_unwritten"_id && !in_rows) continue;
      // What the previous slice left there is added once more.
      if (mistake == "depth_unwritten"_id && in_rows && !in_depth && first > 0) continue;
      if (mistake == "no_zeros"_id && !there) continue;
      if (mistake == "barrier_at_edge"_id) {
        to[d][r] = 0;
        if (!there) continue;
        __syncthreads();
      }
      const float& from = at(x, r, mistake == "same_slice"_id ? d : first + d);
      if (mistake == "times_zero"_id) {
        to[d][r] = from * static_cast<float>(there);
      } else if (mistake == "reads_anyway"_id) {  // the 0 comes too late: the address has been read
        const volatile float v = from;
        to[d][r] = there ? v : 0.0f;
      } else {
        to[d][r] = there ? from : 0.0f;
      }
    }
  }

  // The loops of cuda::multiply anew, to k or over the whole slice, or with a mistake.
  static __device__ void own_loops(float (&sums)[kN][kN], const Slice& left, const Slice& right, int64_t depth) {
    constexpr int kApart = mistake == "own_loops_interleaved"_id ? 16 : 1, kEach = kApart == 1 ? kN : 1;
    for (int i = 0; i < kN; ++i) {
      for (int j = 0; j < kN; ++j) {
        const int row = cuda::tile_row() * kEach + i * kApart, column = cuda::tile_column() * kEach + j * kApart;
        for (int d = 0; d < kDepth && (mistake != "own_loops_to_depth"_id || d < depth); ++d) {
          (mistake == "own_loops_transposed"_id ? sums[j][i] : sums[i][j]) += left[d][row] * right[d][column];
        }
      }
    }
  }
  static __device__ void multiply(float (&sums)[kN][kN], const Slice& left, const Slice& right, int64_t depth) {
    if (mistake == "own_loops"_id || mistake == "own_loops_to_depth"_id || mistake == "own_loops_interleaved"_id ||
        mistake == "own_loops_transposed"_id) {
      own_loops(sums, left, right, depth);
    } else if (mistake == "exchanged"_id) {
      cuda::multiply<kTile>(sums, right, left);
    } else {
      cuda::multiply<kTile>(sums, left, right);
    }
    if (mistake == "twice"_id) cuda::multiply<kTile>(sums, left, right);
  }
  static __device__ void clear(float (&sums)[kN][kN]) {
    for (auto& row : sums) {
      for (float& sum : row) sum = 0;
    }
  }

  static __device__ void add_product(float (&sums)[kN][kN], Slice& left, Slice& right, Operand a, Operand b,
                                     int64_t k) {
    if (mistake == "from_zero"_id) clear(sums);
    if (mistake == "offset_twice"_id) {  // a.data and b.data begin with the block's tile already
      const int64_t i0 = int64_t{blockIdx.y} * kTile, j0 = int64_t{blockIdx.x} * kTile;
      a = {a.data + i0 * a.row_step, a.row_step, a.depth_step, a.rows - i0};
      b = {b.data + j0 * b.row_step, b.row_step, b.depth_step, b.rows - j0};
    }
    if (mistake == "a_transposed"_id || mistake == "tile_transposed"_id) a = {a.data, a.depth_step, a.row_step, a.rows};
    if (mistake == "b_transposed"_id || mistake == "tile_transposed"_id) b = {b.data, b.depth_step, b.row_step, b.rows};
    if (mistake == "steps_of_a"_id) b = {b.data, a.row_step, a.depth_step, b.rows};
    if (mistake == "rows_of_a"_id) b.rows = a.rows;
    if (mistake == "a_twice"_id) b = a;
    if (mistake == "b_twice"_id) a = b;
    constexpr int kStep = mistake == "slices_overlap"_id ? kDepth / 2 : mistake == "slices_of_tile"_id ? kTile : kDepth;
    const int64_t end = mistake == "last_slice_missing"_id ? k / kDepth * kDepth
                        : mistake == "first_slice"_id      ? (k < kDepth ? k : kDepth)
                        : mistake == "one_slice_more"_id   ? k + kDepth  // right
                                                           : k;
    const int64_t last = (k + kDepth - 1) / kDepth * kDepth - kDepth;
    for (int64_t begin = 0; begin < end; begin += kStep) {
      const int64_t first = mistake == "last_slice_first"_id ? last - begin : begin;  // right
      if (mistake == "last_slice"_id) clear(sums);
      if (mistake == "barrier_before"_id) __syncthreads();
      copy(left, a, a, first, k);
      copy(right, b, mistake == "direction_of_a"_id ? a : b, first, k);
      if (mistake == "break_at_edge"_id && first + thread() % kDepth >= k) break;
      if (mistake != "barrier_before"_id && mistake != "no_first_barrier"_id &&
          (mistake != "barrier_once"_id || first == 0))
        __syncthreads();
      if (mistake != "multiply_after"_id) multiply(sums, left, right, k - first);
      if (mistake == "last_barrier_missing"_id && first + kDepth >= k) return;  // right
      if (mistake != "no_second_barrier"_id) __syncthreads();
    }
    if (mistake == "multiply_after"_id) multiply(sums, left, right, kDepth);
  }
};
template <uint64_t mistake>
constexpr auto wrong_product = matmul<WrongProduct<mistake>>;

}  // namespace pg::lesson11
