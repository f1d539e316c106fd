// What 11.1 and 11.5 avoid: right results, and many times the traffic.
#include "lessons/11_cuda/harness.h"
#include "lessons/11_cuda/versions.h"

namespace pg::lesson11 {
namespace {

// Neighbouring threads stand as far apart as the grid has blocks.
struct FarApart {
  static __device__ int64_t first_index() { return int64_t{threadIdx.x} * gridDim.x + blockIdx.x; }
  static __device__ int64_t index_step() { return int64_t{gridDim.x} * blockDim.x; }
};
// A column of the tile lies in one bank.
struct OneBank {
  static __device__ int slot(int row, int column) { return row * kSquare + column; }
};

}  // namespace

Numbers visits_far_apart(unsigned blocks, int64_t n) { return visits<FarApart>(blocks, n); }
Matrix transpose_one_bank(const Matrix& x) { return transpose<OneBank>(x); }

}  // namespace pg::lesson11
