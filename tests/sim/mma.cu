// Kernels with tensor-core instructions and asynchronous copies.
#include <cuda_bf16.h>

#include "tensor/cuda/mma/mma.h"
#include "tests/sim/kernels.h"

namespace pg::testing {

using namespace cuda;

namespace {

__device__ uint32_t pair(const uint16_t* first, int step) {
  return first[0] | static_cast<uint32_t>(first[step]) << 16;
}

// Loads the operands by the formula of the PTX manual, without ldmatrix.
__global__ void mma_by_hand_kernel(const uint16_t* a, const uint16_t* b, float* c) {
  const int g = static_cast<int>(threadIdx.x) / 4, t = static_cast<int>(threadIdx.x) % 4 * 2;
  uint32_t left[4], right[2];
  for (int i = 0; i < 4; ++i) left[i] = pair(a + (g + i % 2 * 8) * 16 + t + i / 2 * 8, 1);
  for (int i = 0; i < 2; ++i) right[i] = pair(b + (t + i * 8) * 8 + g, 8);
  float sums[4];
  for (int i = 0; i < 4; ++i) sums[i] = c[(g + i / 2 * 8) * 8 + t + i % 2];
  mma_m16n8k16(sums, left, right[0], right[1]);
  for (int i = 0; i < 4; ++i) c[(g + i / 2 * 8) * 8 + t + i % 2] = sums[i];
}

__global__ void ldmatrix_kernel(const uint16_t* x, uint32_t* out, int pitch, bool transposed) {
  __shared__ __align__(16) uint16_t rows[32 * 64];
  for (int i = static_cast<int>(threadIdx.x); i < 32 * 8; i += 32) rows[i / 8 * pitch + i % 8] = x[i];
  __syncwarp();
  const shared_address mine = address_in_shared(rows) + threadIdx.x * static_cast<unsigned>(pitch) * 2;
  uint32_t got[4];
  if (transposed) {
    ldmatrix_x4_trans(got, mine);
  } else {
    ldmatrix_x4(got, mine);  // LINE: ldmatrix
  }
  for (unsigned i = 0; i < 4; ++i) out[i * 32 + threadIdx.x] = got[i];
}

__global__ void misaligned_row_kernel(uint32_t* out, bool fault) {
  __shared__ __align__(16) uint16_t rows[33 * 8];
  for (int i = static_cast<int>(threadIdx.x); i < 33 * 8; i += 32) rows[i] = 0;
  __syncwarp();
  const unsigned shift = fault && threadIdx.x == 5 ? 2 : 0;
  uint32_t got[4];
  ldmatrix_x4(got, address_in_shared(rows) + threadIdx.x * 16 + shift);  // FAULT: misaligned_row
  out[threadIdx.x] = got[0];
}

__global__ void half_a_warp_kernel(float* out) {
  float c[4] = {};
  const uint32_t a[4] = {};
  mma_m16n8k16(c, a, 0, 0);  // FAULT: half_a_warp
  out[threadIdx.x] = c[0];
}

__global__ void not_all_lanes_kernel(float* out, bool fault) {
  float c[4] = {};
  const uint32_t a[4] = {};
  if (!fault || threadIdx.x != 9) mma_m16n8k16(c, a, 0, 0);  // FAULT: not_all_lanes
  __syncthreads();
  out[threadIdx.x] = c[0];
}

// Thread i copies x[4i … 4i + 3] to its slot and reads its neighbour's slot.
__global__ void forgotten_wait_kernel(const float* x, float* y, bool fault) {
  __shared__ __align__(16) float buffer[64 * 4];
  cp_async_16(address_in_shared(buffer + threadIdx.x * 4), x + threadIdx.x * 4, true);
  cp_async_commit();
  if (!fault) cp_async_wait<0>();
  __syncthreads();
  y[threadIdx.x] = buffer[(threadIdx.x + 1) % 64 * 4];  // FAULT: forgotten_wait
}

__global__ void wait_without_barrier_kernel(const float* x, float* y, bool fault) {
  __shared__ __align__(16) float buffer[64 * 4];
  cp_async_16(address_in_shared(buffer + threadIdx.x * 4), x + threadIdx.x * 4, true);  // FAULT: wait_without_barrier
  cp_async_commit();
  cp_async_wait<0>();
  if (!fault) __syncthreads();
  y[threadIdx.x] = buffer[(threadIdx.x + 1) % 64 * 4];
}

// Two groups of asynchronous copies; the kernel only waits for the first.
__global__ void wait_for_the_older_kernel(const float* x, float* y, bool fault) {
  __shared__ __align__(16) float buffer[2][32 * 4];
  for (int i = 0; i < 2; ++i) {
    cp_async_16(address_in_shared(&buffer[i][threadIdx.x * 4]), x + 4 * threadIdx.x + 128 * i, true);
    cp_async_commit();
  }
  cp_async_wait<1>();
  __syncthreads();
  y[threadIdx.x] = buffer[fault][(threadIdx.x + 1) % 32 * 4];  // FAULT: wait_for_the_older
}

__global__ void copy_past_the_source_kernel(const float* x, float* y, int n, bool fault) {
  __shared__ __align__(16) float buffer[32 * 4];
  const int first = static_cast<int>(threadIdx.x) * 4;
  cp_async_16(address_in_shared(buffer + first), x + first, fault || first < n);  // FAULT: copy_past_the_source
  cp_async_commit();
  cp_async_wait<0>();
  for (int i = 0; i < 4; ++i) y[first + i] = buffer[first + i];
}

__global__ void misaligned_copy_kernel(const float* x, float* y, bool fault) {
  __shared__ __align__(16) float buffer[32 * 4];
  const float* from = x + threadIdx.x * 4 + fault;
  cp_async_16(address_in_shared(buffer + threadIdx.x * 4), from, true);  // FAULT: misaligned_copy
  cp_async_commit();
  cp_async_wait<0>();
  y[threadIdx.x] = buffer[threadIdx.x * 4];
}

__global__ void powers_of_two_kernel(const float* x, float* y) { y[threadIdx.x] = ex2(x[threadIdx.x]); }

}  // namespace

void mma_by_hand(const uint16_t* a, const uint16_t* b, float* c) {
  launch(mma_by_hand_kernel, 1, 32, 0, nullptr, a, b, c);
}
void ldmatrix(const uint16_t* x, uint32_t* out, int pitch, bool transposed) {
  launch(ldmatrix_kernel, 1, 32, 0, nullptr, x, out, pitch, transposed);
}
void misaligned_row(uint32_t* out, bool fault) { launch(misaligned_row_kernel, 1, 32, 0, nullptr, out, fault); }
void half_a_warp(float* out, bool fault) { launch(half_a_warp_kernel, 1, fault ? 48 : 64, 0, nullptr, out); }
void not_all_lanes(float* out, bool fault) { launch(not_all_lanes_kernel, 1, 32, 0, nullptr, out, fault); }
void forgotten_wait(const float* x, float* y, bool fault) {
  launch(forgotten_wait_kernel, 1, 64, 0, nullptr, x, y, fault);
}
void wait_without_barrier(const float* x, float* y, bool fault) {
  launch(wait_without_barrier_kernel, 1, 64, 0, nullptr, x, y, fault);
}
void wait_for_the_older(const float* x, float* y, bool fault) {
  launch(wait_for_the_older_kernel, 1, 32, 0, nullptr, x, y, fault);
}
void copy_past_the_source(const float* x, float* y, int n, bool fault) {
  launch(copy_past_the_source_kernel, 1, 32, 0, nullptr, x, y, n, fault);
}
void misaligned_copy(const float* x, float* y, bool fault) {
  launch(misaligned_copy_kernel, 1, 32, 0, nullptr, x, y, fault);
}
void powers_of_two(const float* x, float* y) { launch(powers_of_two_kernel, 1, 32, 0, nullptr, x, y); }

}  // namespace pg::testing
