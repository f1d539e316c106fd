#pragma once
// Kernels with one planted mistake each. With `fault` false, they run without the mistake. The line of the mistake ends
// with the comment "FAULT: name".
#include "tensor/cuda/runtime/launch.h"

namespace pg::testing {

void copy_past_the_end(const float* x, float* y, int n, bool fault);    // grid larger than the array
void copy_from(const float* x, float* y, int n);                        // correct if x is device memory
void write_before(float* y, bool fault);                                // y[-1]
void vector_past_the_end(const float* x, float* y, int n, bool fault);  // last float4 half outside
void shared_past_the_end(float* y, bool fault);                         // past the end of one of two shared arrays
void shared_of_another(float* y, bool fault);                           // one row too far, into the next array
void dynamic_past_the_end(float* y, bool fault);                        // one element past the requested size
void uninitialised(float* y, int written);                              // reads 64, of which `written` are written
void uninitialised_half(unsigned short* y, bool fault);                 // one 16-bit half of a 32-bit word is unwritten
void left_by_another_block(float* y, bool fault);                       // block 1 reads what block 0 wrote
void missing_barrier(const float* x, float* y, bool fault);             // reads a neighbour's value too early
void write_after_read(const float* x, float* y, bool fault);            // overwrites while others still read
void two_writers(int* y, bool fault);                                   // all threads write one shared word
void atomic_and_plain(int* y, bool fault);                              // a plain read next to atomics
void missing_syncwarp(const float* x, float* y, bool fault);            // lanes of one warp
void shuffle_is_no_syncwarp(const float* x, float* y, bool fault);      // a shuffle does not order memory
void half_mask_syncwarp(const float* x, float* y, bool fault);          // __syncwarp of the wrong lanes
void bytes_of_one_word(unsigned char* y);                               // neighbours, not a race
void global_race(float* y, bool fault);                                 // reads a neighbour's result, no barrier
void barrier_in_branch(float* y, bool fault);                           // half of the block returns before it
void two_barriers(float* y, bool fault);                                // halves wait at different barriers
void early_exit_of_warp_lane(float* y, bool fault);                     // a shuffle names lanes that have left
void wrong_mask(float* y, bool fault);                                  // the calling lane is not in the mask
void shuffle_from_outside(float* y, bool fault);                        // reads a lane that is not in the mask
void barrier_and_shuffle(float* y, bool fault);                         // some lanes at a barrier, others at a shuffle
void trap(int* y, bool fault);
void deep_recursion(int* y, int depth);
void address_of_local(int* y, bool fault);  // reads a local variable of another thread

}  // namespace pg::testing
