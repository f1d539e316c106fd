#pragma once
#include <cstdint>

namespace pg::sim {

// The operations for which threads wait for each other. Up to `syncthreads_or` they are all threads of the block, else
// lanes of one warp.
enum class Meeting : uint8_t {
  syncthreads,
  syncthreads_count,
  syncthreads_and,
  syncthreads_or,
  syncwarp,
  shfl,
  shfl_up,
  shfl_down,
  shfl_xor,
  ballot,
  any,
  all,
  reduce_add,
  reduce_min,
  reduce_max,
  reduce_min_unsigned,
  reduce_max_unsigned,
  reduce_and,
  reduce_or,
  reduce_xor,
  // The value is the address of the lane's operands (mma.cpp).
  mma,
  ldmatrix,
  ldmatrix_trans,
};

const char* name_of(Meeting meeting);  // as in CUDA: "__shfl_sync()"

}  // namespace pg::sim
