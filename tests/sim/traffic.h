#pragma once
// Kernels whose use of memory can be counted by hand.
#include "tensor/cuda/runtime/launch.h"

namespace pg::testing {

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
