#pragma once
// Kernels for the simulator's tests. Each function launches one kernel; array arguments are device memory.
#include <cstdint>

#include "tensor/cuda/runtime/launch.h"

namespace pg::testing {

// ---- features.cu

void count_threads(int* seen, dim3 grid, dim3 block);  // += 1 + flat index of the thread, at that index
template <class T>
void block_sums(const T* x, T* sums, int n);                        // sums of blocks of 256 elements
void transpose(const float* x, float* y, int n);                    // [n, n], n a multiple of 32
void reverse_blocks(const double* x, double* y, int n, int block);  // within blocks, through dynamic shared memory
// out[lane] for one warp; kind 0: __shfl_sync, 1: up, 2: down, 3: xor
template <class T>
void shuffle(int kind, const T* x, T* out, int argument, int width);
void votes(unsigned mask, const int* predicate, unsigned* out);   // [4]: ballot, any, all, activemask
void reductions(const int* x, int* out);                          // [8] for one warp
void barrier_votes(const int* predicate, int* out, int threads);  // [3]: count, and, or
void atomics(const int* x, int n, int* ints, unsigned long long* longs, float* floats);
void histogram(const int* x, int n, int* bins);                // counts of x % 64 in 64 bins
void warp_sums_in_shared(const float* x, float* sums, int n);  // sums of 32 consecutive elements, by __syncwarp
void half_warps(const int* x, int* out);                       // each half warp sums with its own mask
void saxpy4(float a, const float* x, float* y, int n);         // y += a·x, four elements at a time
void functions(int* ints, float* floats);
void add_constants(const float* table, float* y, int n);             // y[i] = table[i % 8], through __constant__ memory
void matmul_tiled(const float* a, const float* b, float* c, int n);  // [n, n], n a multiple of 16
void add(const float* x, float* y, int n, float times, cudaStream_t stream);  // y += times · x
void affine(float* y, int n, float times, float plus, cudaStream_t stream);   // y = times·y + plus

// ---- bf16.cu

void bf16_round_trip(const float* x, float* widened, uint16_t* bits, int n);
void bf16_arithmetic(const uint16_t* a, const uint16_t* b, const uint16_t* c, uint16_t* out, int n);  // out: [n, 5]

// ---- faults.cu: kernels with one planted mistake each. With `fault` false, they run without the mistake. The line of
// the mistake ends with the comment "FAULT: name".

void copy_past_the_end(const float* x, float* y, int n, bool fault);    // grid larger than the array
void copy_from(const float* x, float* y, int n);                        // correct if x is device memory
void write_before(float* y, bool fault);                                // y[-1]
void vector_past_the_end(const float* x, float* y, int n, bool fault);  // last float4 half outside
void misaligned_vector(const float* x, float* y, int first);            // float4 at x[first]; y [32]
void misaligned_pair(float* y, int first);                              // float2 at y[first]
void misaligned_shared(int* y, int first);                              // int at byte `first` of a shared array
void misaligned_atomic(unsigned char* y, int first);                    // an atomic unsigned at byte `first`
void shared_past_the_end(float* y, bool fault);                         // past the end of one of two shared arrays
void shared_of_another(float* y, bool fault);                           // one row too far, into the next array
void dynamic_past_the_end(float* y, bool fault);                        // one element past the requested size
void early_access(const float* x, float* y, bool fault);
void early_end(float* y, bool fault);
void uninitialised(float* y, int written);                          // reads 64, of which `written` are written
void uninitialised_half(unsigned short* y, bool fault);             // one 16-bit half of a 32-bit word is unwritten
void left_by_another_block(float* y, bool fault);                   // block 1 reads what block 0 wrote
void missing_barrier(const float* x, float* y, bool fault);         // reads a neighbour's value too early
void write_after_read(const float* x, float* y, bool fault);        // overwrites while others still read
void two_writers(int* y, bool fault);                               // all threads write one shared word
void atomic_and_plain(int* y, bool fault);                          // a plain read next to atomics
void missing_syncwarp(const float* x, float* y, bool fault);        // lanes of one warp
void shuffle_is_no_syncwarp(const float* x, float* y, bool fault);  // a shuffle does not order memory
void half_mask_syncwarp(const float* x, float* y, bool fault);      // __syncwarp of the wrong lanes
void bytes_of_one_word(unsigned char* y);                           // neighbours, not a race
void global_race(float* y, bool fault);                             // reads a neighbour's result, no barrier
void barrier_in_branch(float* y, bool fault);                       // half of the block returns before it
void two_barriers(float* y, bool fault);                            // halves wait at different barriers
void early_exit_of_warp_lane(float* y, bool fault);                 // a shuffle names lanes that have left
void wrong_mask(float* y, bool fault);                              // the calling lane is not in the mask
void shuffle_from_outside(float* y, bool fault);                    // reads a lane that is not in the mask
void barrier_and_shuffle(float* y, bool fault);                     // some lanes at a barrier, others at a shuffle
void trap(int* y, bool fault);
void deep_recursion(int* y, int depth);
void address_of_local(int* y, bool fault);  // reads a local variable of another thread

// ---- mma.cu: kernels of one or two warps that use the instructions of tensor/cuda/mma/mma.h. With `fault`, a kernel
// contains a mistake, as in faults.cu.

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

// ---- traffic.cu: kernels whose use of memory can be counted by hand

// y[i] = x[i·stride + offset], n threads in blocks of 128.
void strided_copy(const float* x, float* y, int n, int stride, int offset);
void vector_copy(const float* x, float* y, int n);  // four at a time
void broadcast(const float* x, float* y, int n);    // y[i] = x[0]
void byte_copy(const unsigned char* x, unsigned char* y, int n);
void column_of_tile(float* y, int pitch);       // one warp reads a column; pitch 32 or 33
void shared_vectors(float* y);                  // float4 by each lane of a warp
void rows_of_doubles(double* y);                // a warp reads 32 doubles in a row
void divergent_loop(const float* x, float* y);  // lane i reads x[32·k + i] for k < i
void two_barrier_kernel(float* y, int blocks);

}  // namespace pg::testing
