// Kernels with one mistake each, for the simulator's tests.
#include <map>
#include <vector>

#include "tensor/cuda/runtime/early.h"
#include "tensor/sim/symbols.h"
#include "tests/sim/kernels.h"

// Containers that the simulator uses while it reports a fault. Here they are compiled with calls of the hooks, and the
// linker takes these functions for the whole program: the simulator must not observe itself.
template class std::map<const void*, pg::sim::SourceLine>;
template class std::map<uintptr_t, std::vector<size_t>>;
template class std::vector<pg::sim::SourceLine>;
template class std::vector<const void*>;

namespace pg::testing {

namespace {

__global__ void copy_past_the_end_kernel(const float* x, float* y, int n, bool fault) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (!fault && i >= n) return;
  const float v = x[i];  // FAULT: copy_past_the_end
  y[i] = v;
}

__global__ void copy_from_kernel(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];  // FAULT: copy_from
}

__global__ void write_before_kernel(float* y, bool fault) {
  y[static_cast<int>(threadIdx.x) - (fault ? 1 : 0)] = 1;  // FAULT: write_before
}

__global__ void vector_past_the_end_kernel(const float4* x, float4* y, int n, bool fault) {
  const int i = threadIdx.x;
  if (i < (fault ? (n + 3) / 4 : n / 4)) y[i] = x[i];  // FAULT: vector_past_the_end
}

__global__ void early_access_kernel(const float* x, float* y, bool fault) {
  if (!fault) cuda::wait_for_earlier_kernels();
  y[threadIdx.x] = x[threadIdx.x];  // FAULT: early_access
  cuda::wait_for_earlier_kernels();
}

__global__ void early_end_kernel(float* y, bool fault) {
  if (fault && threadIdx.x == 5) return;
  cuda::wait_for_earlier_kernels();
  y[threadIdx.x] = 1;
}

__global__ void shared_past_the_end_kernel(float* y, bool fault) {
  __shared__ float first[64];
  __shared__ float second[64];
  first[threadIdx.x] = 1;
  second[threadIdx.x] = 2;
  __syncthreads();
  y[threadIdx.x] = first[threadIdx.x + (fault ? 1 : 0)] + second[63 - threadIdx.x];  // FAULT: shared_past_the_end
}

__global__ void shared_of_another_kernel(float* y, bool fault) {
  __shared__ float table[4][16];
  __shared__ float other[4][16];
  for (int row = 0; row < 4; ++row) {
    table[row][threadIdx.x] = 1;
    other[row][threadIdx.x] = 2;
  }
  __syncthreads();
  float sum = 0;
  for (int row = 0; row < 4 + (fault ? 1 : 0); ++row) {
    sum += (&table[0][0])[row * 16 + threadIdx.x];  // FAULT: shared_of_another
  }
  y[threadIdx.x] = sum + other[3][threadIdx.x];
}

__global__ void dynamic_past_the_end_kernel(float* y, bool fault) {
  float* buffer = cuda::dynamic_shared<float>();
  buffer[threadIdx.x + (fault ? 1 : 0)] = 3;  // FAULT: dynamic_past_the_end
  y[threadIdx.x] = 3;
}

__global__ void uninitialised_kernel(float* y, int written) {
  __shared__ float buffer[64];
  if (static_cast<int>(threadIdx.x) < written) buffer[threadIdx.x] = 4;
  __syncthreads();
  y[threadIdx.x] = buffer[63 - threadIdx.x];  // FAULT: uninitialised
}

__global__ void uninitialised_half_kernel(unsigned short* y, bool fault) {
  __shared__ unsigned short buffer[32];
  if (!fault || threadIdx.x % 2 == 0) buffer[threadIdx.x] = 5;
  __syncthreads();
  y[threadIdx.x] = buffer[31 - threadIdx.x];  // FAULT: uninitialised_half
}

__global__ void left_by_another_block_kernel(float* y, bool fault) {
  __shared__ float value;
  if (threadIdx.x == 0 && (!fault || blockIdx.x == 0)) value = 6;
  __syncthreads();
  y[blockIdx.x * 32 + threadIdx.x] = value;  // FAULT: left_by_another_block
}

__global__ void missing_barrier_kernel(const float* x, float* y, bool fault) {
  __shared__ float buffer[64];
  buffer[threadIdx.x] = x[threadIdx.x];  // FAULT: missing_barrier
  if (!fault) __syncthreads();
  y[threadIdx.x] = buffer[threadIdx.x ^ 32];  // OTHER: missing_barrier
}

__global__ void write_after_read_kernel(const float* x, float* y, bool fault) {
  __shared__ float buffer[64];
  buffer[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  const float neighbour = buffer[(threadIdx.x + 1) % 64];  // OTHER: write_after_read
  if (!fault) __syncthreads();
  buffer[threadIdx.x] = neighbour;  // FAULT: write_after_read
  __syncthreads();
  y[threadIdx.x] = buffer[threadIdx.x];
}

__global__ void two_writers_kernel(int* y, bool fault) {
  __shared__ int last;
  if (fault || threadIdx.x == 0) last = threadIdx.x;  // FAULT: two_writers
  __syncthreads();
  y[threadIdx.x] = last;
}

__global__ void atomic_and_plain_kernel(int* y, bool fault) {
  __shared__ int count;
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  atomicAdd(&count, 1);  // FAULT: atomic_and_plain
  if (!fault) __syncthreads();
  y[threadIdx.x] = count;  // OTHER: atomic_and_plain
}

__global__ void missing_syncwarp_kernel(const float* x, float* y, bool fault) {
  __shared__ float buffer[32];
  buffer[threadIdx.x] = x[threadIdx.x];  // FAULT: missing_syncwarp
  if (!fault) __syncwarp();
  y[threadIdx.x] = buffer[31 - threadIdx.x];  // OTHER: missing_syncwarp
}

__global__ void shuffle_is_no_syncwarp_kernel(const float* x, float* y, bool fault) {
  __shared__ float buffer[32];
  buffer[threadIdx.x] = x[threadIdx.x];  // OTHER: shuffle_is_no_syncwarp
  const float other = __shfl_xor_sync(0xffffffffu, buffer[threadIdx.x], 1);
  if (!fault) __syncwarp();
  y[threadIdx.x] = other + buffer[threadIdx.x ^ 2];  // FAULT: shuffle_is_no_syncwarp
}

__global__ void half_mask_syncwarp_kernel(const float* x, float* y, bool fault) {
  __shared__ float buffer[32];
  buffer[threadIdx.x] = x[threadIdx.x];  // FAULT: half_mask_syncwarp
  const unsigned half = threadIdx.x < 16 ? 0x0000ffffu : 0xffff0000u;
  __syncwarp(half);
  y[threadIdx.x] = buffer[threadIdx.x ^ (fault ? 16 : 8)];  // OTHER: half_mask_syncwarp
}

__global__ void bytes_of_one_word_kernel(unsigned char* y) {
  __shared__ unsigned char buffer[64];
  buffer[threadIdx.x] = static_cast<unsigned char>(threadIdx.x);
  y[threadIdx.x] = buffer[threadIdx.x];
}

__global__ void global_race_kernel(float* y, bool fault) {
  y[threadIdx.x] = 7;  // FAULT: global_race
  if (!fault) __syncthreads();
  y[64 + threadIdx.x] = y[threadIdx.x ^ 32];  // OTHER: global_race
}

__global__ void barrier_in_branch_kernel(float* y, bool fault) {
  y[threadIdx.x] = 8;
  if (fault && threadIdx.x >= 40) return;
  __syncthreads();  // FAULT: barrier_in_branch
  y[threadIdx.x] = 9;
}

__global__ void two_barriers_kernel(float* y, bool fault) {
  if (!fault || threadIdx.x < 32) {
    y[threadIdx.x] = 1;
    __syncthreads();  // FAULT: two_barriers
  } else {
    y[threadIdx.x] = 2;
    __syncthreads();
  }
}

__global__ void early_exit_of_warp_lane_kernel(float* y, bool fault) {
  if (fault && threadIdx.x >= 24) return;
  y[threadIdx.x] = __shfl_down_sync(0xffffffffu, 1.0f, 1);  // FAULT: early_exit_of_warp_lane
}

__global__ void wrong_mask_kernel(float* y, bool fault) {
  if (!fault && threadIdx.x >= 8) return;
  y[threadIdx.x] = __shfl_xor_sync(0x000000ffu, 1.0f, 1);  // FAULT: wrong_mask
}

__global__ void shuffle_from_outside_kernel(float* y, bool fault) {
  if (threadIdx.x >= 16) return;
  y[threadIdx.x] = __shfl_xor_sync(0x0000ffffu, 1.0f, fault ? 16 : 8);  // FAULT: shuffle_from_outside
}

__global__ void barrier_and_shuffle_kernel(float* y, bool fault) {
  float v = 1;
  if (!fault || threadIdx.x < 16) v = __shfl_xor_sync(0xffffffffu, v, 1);  // FAULT: barrier_and_shuffle
  __syncthreads();
  y[threadIdx.x] = v;
}

__global__ void trap_kernel(int* y, bool fault) {
  y[threadIdx.x] = 1;
  if (fault && threadIdx.x == 3) __trap();  // FAULT: trap
}

__device__ __attribute__((noinline)) int recurse(int* y, int depth) {  // FAULT: deep_recursion
  int local[256];
  for (int i = 0; i < 256; ++i) local[i] = y[i % 32] + depth;
  if (depth > 0) local[depth % 256] += recurse(local, depth - 1);
  return local[depth % 256];
}

__global__ void deep_recursion_kernel(int* y, int depth) {
  int local[32];
  for (int i = 0; i < 32; ++i) local[i] = i;
  const int value = recurse(local, depth);
  y[threadIdx.x] = value;
}

__global__ void address_of_local_kernel(int* y, bool fault) {
  __shared__ int* pointers[32];
  volatile int mine = 10 + threadIdx.x;
  pointers[threadIdx.x] = const_cast<int*>(&mine);
  __syncthreads();
  const int* other = pointers[fault ? 31 - threadIdx.x : threadIdx.x];
  y[threadIdx.x] = *other;  // FAULT: address_of_local
  __syncthreads();
}

__global__ void misaligned_vector_kernel(const float* x, float* y, int first) {
  const float4 v = *reinterpret_cast<const float4*>(x + first + 4 * threadIdx.x);  // FAULT: misaligned_vector
  y[threadIdx.x] = v.x + v.y + v.z + v.w;
}

__global__ void misaligned_pair_kernel(float* y, int first) {
  *reinterpret_cast<float2*>(y + first + 2 * threadIdx.x) = make_float2(1, 2);  // FAULT: misaligned_pair
}

__global__ void misaligned_shared_kernel(int* y, int first) {
  __shared__ int words[40];
  for (int i = threadIdx.x; i < 40; i += 32) words[i] = 0;
  __syncthreads();
  const char* bytes = reinterpret_cast<const char*>(words);
  y[threadIdx.x] = *reinterpret_cast<const int*>(bytes + first + 4 * threadIdx.x);  // FAULT: misaligned_shared
}

__global__ void misaligned_atomic_kernel(unsigned char* y, int first) {
  atomicAdd(reinterpret_cast<unsigned*>(y + first), 1u);  // FAULT: misaligned_atomic
}

}  // namespace

using cuda::launch;

void copy_past_the_end(const float* x, float* y, int n, bool fault) {
  launch(copy_past_the_end_kernel, (n + 31) / 32, 32, 0, nullptr, x, y, n, fault);
}
void copy_from(const float* x, float* y, int n) { launch(copy_from_kernel, 1, 64, 0, nullptr, x, y, n); }
void write_before(float* y, bool fault) { launch(write_before_kernel, 1, 32, 0, nullptr, y, fault); }
void vector_past_the_end(const float* x, float* y, int n, bool fault) {
  launch(vector_past_the_end_kernel, 1, 32, 0, nullptr, reinterpret_cast<const float4*>(x),
         reinterpret_cast<float4*>(y), n, fault);
}
void misaligned_vector(const float* x, float* y, int first) {
  launch(misaligned_vector_kernel, 1, 32, 0, nullptr, x, y, first);
}
void misaligned_pair(float* y, int first) { launch(misaligned_pair_kernel, 1, 32, 0, nullptr, y, first); }
void misaligned_shared(int* y, int first) { launch(misaligned_shared_kernel, 1, 32, 0, nullptr, y, first); }
void misaligned_atomic(unsigned char* y, int first) { launch(misaligned_atomic_kernel, 1, 32, 0, nullptr, y, first); }
void shared_past_the_end(float* y, bool fault) { launch(shared_past_the_end_kernel, 1, 64, 0, nullptr, y, fault); }
void shared_of_another(float* y, bool fault) { launch(shared_of_another_kernel, 1, 16, 0, nullptr, y, fault); }
void dynamic_past_the_end(float* y, bool fault) {
  launch(dynamic_past_the_end_kernel, 1, 64, 64 * sizeof(float), nullptr, y, fault);
}
void early_access(const float* x, float* y, bool fault) {
  cuda::launch_early(early_access_kernel, 1, 64, 0, nullptr, x, y, fault);
}
void early_end(float* y, bool fault) { cuda::launch_early(early_end_kernel, 1, 64, 0, nullptr, y, fault); }
void uninitialised(float* y, int written) { launch(uninitialised_kernel, 1, 64, 0, nullptr, y, written); }
void uninitialised_half(unsigned short* y, bool fault) {
  launch(uninitialised_half_kernel, 1, 32, 0, nullptr, y, fault);
}
void left_by_another_block(float* y, bool fault) { launch(left_by_another_block_kernel, 2, 32, 0, nullptr, y, fault); }
void missing_barrier(const float* x, float* y, bool fault) {
  launch(missing_barrier_kernel, 1, 64, 0, nullptr, x, y, fault);
}
void write_after_read(const float* x, float* y, bool fault) {
  launch(write_after_read_kernel, 1, 64, 0, nullptr, x, y, fault);
}
void two_writers(int* y, bool fault) { launch(two_writers_kernel, 1, 64, 0, nullptr, y, fault); }
void atomic_and_plain(int* y, bool fault) { launch(atomic_and_plain_kernel, 1, 64, 0, nullptr, y, fault); }
void missing_syncwarp(const float* x, float* y, bool fault) {
  launch(missing_syncwarp_kernel, 1, 32, 0, nullptr, x, y, fault);
}
void shuffle_is_no_syncwarp(const float* x, float* y, bool fault) {
  launch(shuffle_is_no_syncwarp_kernel, 1, 32, 0, nullptr, x, y, fault);
}
void half_mask_syncwarp(const float* x, float* y, bool fault) {
  launch(half_mask_syncwarp_kernel, 1, 32, 0, nullptr, x, y, fault);
}
void bytes_of_one_word(unsigned char* y) { launch(bytes_of_one_word_kernel, 1, 64, 0, nullptr, y); }
void global_race(float* y, bool fault) { launch(global_race_kernel, 1, 64, 0, nullptr, y, fault); }
void barrier_in_branch(float* y, bool fault) { launch(barrier_in_branch_kernel, 1, 64, 0, nullptr, y, fault); }
void two_barriers(float* y, bool fault) { launch(two_barriers_kernel, 1, 64, 0, nullptr, y, fault); }
void early_exit_of_warp_lane(float* y, bool fault) {
  launch(early_exit_of_warp_lane_kernel, 1, 32, 0, nullptr, y, fault);
}
void wrong_mask(float* y, bool fault) { launch(wrong_mask_kernel, 1, 32, 0, nullptr, y, fault); }
void shuffle_from_outside(float* y, bool fault) { launch(shuffle_from_outside_kernel, 1, 32, 0, nullptr, y, fault); }
void barrier_and_shuffle(float* y, bool fault) { launch(barrier_and_shuffle_kernel, 1, 32, 0, nullptr, y, fault); }
void trap(int* y, bool fault) { launch(trap_kernel, 1, 32, 0, nullptr, y, fault); }
void deep_recursion(int* y, int depth) { launch(deep_recursion_kernel, 1, 32, 0, nullptr, y, depth); }
void address_of_local(int* y, bool fault) { launch(address_of_local_kernel, 1, 32, 0, nullptr, y, fault); }

}  // namespace pg::testing
