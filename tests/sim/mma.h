#pragma once
// Kernels of one or two warps that use the instructions of tensor/cuda/mma/mma.h; array arguments are device memory.
// With `fault`, a kernel contains a mistake, whose line ends with the comment "FAULT: name".
#include "tensor/cuda/runtime/launch.h"

namespace pg::testing {

void mma_by_hand(const uint16_t* a, const uint16_t* b, float* c);  // c [16, 8] += a [16, 16] · b [16, 8], bits of bf16
// Lane l passes the address of row l of x [32, 8], where rows are `pitch` elements apart. out is [4, 32]: what lane l
// receives in register i is stored at [i, l]. `transposed` loads the matrices transposed.
void ldmatrix(const uint16_t* x, uint32_t* out, int pitch, bool transposed);
void misaligned_row(uint32_t* out, bool fault);
void half_a_warp(float* out, bool fault);                                // mma.sync in a block of 48 threads
void not_all_lanes(float* out, bool fault);                              // lane 9 does not execute mma.sync
void forgotten_wait(const float* x, float* y, bool fault);               // no wait_group at all
void wait_without_barrier(const float* x, float* y, bool fault);         // reads another thread's copy
void wait_for_the_older(const float* x, float* y, bool fault);           // reads a group that may still be pending
void copy_past_the_source(const float* x, float* y, int n, bool fault);  // y [128]: x [n], then zeros
void misaligned_copy(const float* x, float* y, bool fault);
void powers_of_two(const float* x, float* y);  // [32]

}  // namespace pg::testing
