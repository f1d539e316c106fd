// The mistakes that 11.1 and 11.5 avoid: the results are right, but the traffic is many times larger.
#include "lessons/11_cuda/harness.h"
#include "lessons/11_cuda/versions.h"

namespace pg::lesson11 {
namespace {

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

Numbers visits_far_apart(unsigned blocks, int64_t n) { return visits<FarApart>(blocks, n); }
Matrix transpose_one_bank(const Matrix& x) { return transpose<OneBank>(x); }

}  // namespace pg::lesson11
