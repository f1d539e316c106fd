#pragma once
// Kernels for the simulator's tests. Each function launches one kernel; array arguments are device memory.
#include <cstdint>

#include "tensor/cuda/runtime/launch.h"

namespace pg::testing {

// features.cu
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

// bf16.cu
void bf16_round_trip(const float* x, float* widened, uint16_t* bits, int n);
void bf16_arithmetic(const uint16_t* a, const uint16_t* b, const uint16_t* c, uint16_t* out, int n);  // out: [n, 5]

}  // namespace pg::testing
