// The kernels of harness.h with the engine's device functions, and with two slow ones for comparison.
#include "lessons/11_cuda/harness.h"
#include "lessons/11_cuda/versions.h"
#include "tensor/cuda/base/row.h"
#include "tensor/cuda/gemm/tile.h"

namespace pg::lesson11 {
namespace {

struct Engine {
  static unsigned blocks_for(int64_t n) { return cuda::blocks_for(n); }
  static __device__ int64_t first_index() { return cuda::first_index(); }
  static __device__ int64_t index_step() { return cuda::index_step(); }
  template <int kSize, class T, class F>
  static __device__ T reduce(T x, F f) {
    return cuda::ThreadGroup<kSize>::reduce(x, f);
  }
  // The loop of matmul_kernel in tensor/cuda/gemm/matmul.cu.
  static __device__ void add_product(float (&sums)[kN][kN], Slice& left, Slice& right, Operand a, Operand b,
                                     int64_t k) {
    for (int64_t d = 0; d < k; d += kDepth) {
      cuda::stage<kTile>(left, a.data + d * a.depth_step, a.row_step, a.depth_step, a.rows, k - d);
      cuda::stage<kTile>(right, b.data + d * b.depth_step, b.row_step, b.depth_step, b.rows, k - d);
      __syncthreads();
      cuda::multiply<kTile>(sums, left, right);
      __syncthreads();
    }
  }
  static __device__ RowStats row_stats(const float* x, int64_t n) {
    const auto stats = cuda::row_stats<Team, false, float>(x, n);
    return {stats.max, stats.sum};
  }
  // Like Slice of tensor/cuda/gemm/tile.h: rows in memory are longer than the tile is wide.
  static __device__ int slot(int row, int column) { return row * (kSquare + 1) + column; }
};

// The mistakes that 11.1 and 11.5 avoid: the results are right, but the traffic is many times larger.

// The elements of neighbouring threads are as far apart as the grid has blocks.
struct FarApart {
  static __device__ int64_t first_index() { return int64_t{threadIdx.x} * gridDim.x + blockIdx.x; }
  static __device__ int64_t index_step() { return int64_t{gridDim.x} * blockDim.x; }
};
// All elements of a column of the tile are in the same bank.
struct OneBank {
  static __device__ int slot(int row, int column) { return row * kSquare + column; }
};

}  // namespace

Impl reference() { return impl_of<Engine>(); }

Numbers visits_far_apart(unsigned blocks, int64_t n) { return visits<FarApart>(blocks, n); }
Matrix transpose_one_bank(const Matrix& x) { return transpose<OneBank>(x); }

}  // namespace pg::lesson11
