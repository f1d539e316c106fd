// Kernels whose memory traffic is known.
#include "tests/sim/kernels.h"

namespace pg::testing {

namespace {

__global__ void strided_copy_kernel(const float* x, float* y, int n, int stride, int offset) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i * stride + offset];  // LINE: strided_copy reads
  y[i] = v;                                // LINE: strided_copy writes
}

__global__ void vector_copy_kernel(const float4* x, float4* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float4 v = x[i];  // LINE: vector_copy reads
  y[i] = v;               // LINE: vector_copy writes
}

__global__ void broadcast_kernel(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[0];  // LINE: broadcast reads
  y[i] = v;
}

__global__ void byte_copy_kernel(const unsigned char* x, unsigned char* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const unsigned char v = x[i];  // LINE: byte_copy reads
  y[i] = v;
}

__global__ void column_of_tile_kernel(float* y, int pitch) {
  __shared__ float tile[32 * 33];
  for (int row = 0; row < 32; ++row) tile[row * pitch + threadIdx.x] = 1;  // LINE: column_of_tile writes
  __syncwarp();
  const float v = tile[threadIdx.x * pitch];  // LINE: column_of_tile reads
  y[threadIdx.x] = v;
}

__global__ void shared_vectors_kernel(float4* y) {
  __shared__ float4 buffer[32];
  buffer[threadIdx.x] = make_float4(1, 2, 3, 4);  // LINE: shared_vectors writes
  __syncwarp();
  const float4 v = buffer[31 - threadIdx.x];  // LINE: shared_vectors reads
  y[threadIdx.x] = v;
}

__global__ void rows_of_doubles_kernel(double* y) {
  __shared__ double buffer[32];
  buffer[threadIdx.x] = threadIdx.x;
  __syncwarp();
  const double v = buffer[threadIdx.x ^ 1];  // LINE: rows_of_doubles reads
  y[threadIdx.x] = v;
}

__global__ void divergent_loop_kernel(const float* x, float* y) {
  float sum = 0;
  for (unsigned k = 0; k < threadIdx.x; ++k) {
    sum += x[32 * k + threadIdx.x];  // LINE: divergent_loop reads
  }
  y[threadIdx.x] = sum;
}

__global__ void two_barrier_kernel_kernel(float* y) {
  __shared__ float value;
  if (threadIdx.x == 0) value = 1;
  __syncthreads();
  const float v = value;
  __syncthreads();
  y[blockIdx.x * blockDim.x + threadIdx.x] = v;
}

}  // namespace

using cuda::launch;

void strided_copy(const float* x, float* y, int n, int stride, int offset) {
  launch(strided_copy_kernel, (n + 127) / 128, 128, 0, nullptr, x, y, n, stride, offset);
}
void vector_copy(const float* x, float* y, int n) {
  launch(vector_copy_kernel, (n / 4 + 127) / 128, 128, 0, nullptr, reinterpret_cast<const float4*>(x),
         reinterpret_cast<float4*>(y), n / 4);
}
void broadcast(const float* x, float* y, int n) { launch(broadcast_kernel, (n + 127) / 128, 128, 0, nullptr, x, y, n); }
void byte_copy(const unsigned char* x, unsigned char* y, int n) {
  launch(byte_copy_kernel, (n + 127) / 128, 128, 0, nullptr, x, y, n);
}
void column_of_tile(float* y, int pitch) { launch(column_of_tile_kernel, 1, 32, 0, nullptr, y, pitch); }
void shared_vectors(float* y) { launch(shared_vectors_kernel, 1, 32, 0, nullptr, reinterpret_cast<float4*>(y)); }
void rows_of_doubles(double* y) { launch(rows_of_doubles_kernel, 1, 32, 0, nullptr, y); }
void divergent_loop(const float* x, float* y) { launch(divergent_loop_kernel, 1, 32, 0, nullptr, x, y); }
void two_barrier_kernel(float* y, int blocks) { launch(two_barrier_kernel_kernel, blocks, 64, 0, nullptr, y); }

}  // namespace pg::testing
