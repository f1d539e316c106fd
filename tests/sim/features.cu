// Kernels that use each CUDA feature the simulator offers.
#include "tests/sim/kernels.h"

namespace pg::testing {

namespace {

__global__ void count_threads_kernel(int* seen) {
  const int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const int i = block * (blockDim.x * blockDim.y * blockDim.z) + thread;
  atomicAdd(&seen[i], i + 1);
}

template <class T>
__global__ void __launch_bounds__(256) block_sums_kernel(const T* __restrict__ x, T* __restrict__ sums, int n) {
  __shared__ T part[256];
  const int i = blockIdx.x * 256 + threadIdx.x;
  part[threadIdx.x] = i < n ? x[i] : T(0);
  for (unsigned half = 128; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
  }
  if (threadIdx.x == 0) sums[blockIdx.x] = part[0];
}

__global__ void transpose_kernel(const float* x, float* y, int n) {
  __shared__ float tile[32][33];
  for (int row = threadIdx.y; row < 32; row += blockDim.y) {
    tile[row][threadIdx.x] = x[(blockIdx.y * 32 + row) * n + blockIdx.x * 32 + threadIdx.x];
  }
  __syncthreads();
  for (int row = threadIdx.y; row < 32; row += blockDim.y) {
    y[(blockIdx.x * 32 + row) * n + blockIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][row];
  }
}

__global__ void reverse_blocks_kernel(const double* x, double* y) {
  double* block = cuda::dynamic_shared<double>();
  const int first = blockIdx.x * blockDim.x;
  block[threadIdx.x] = x[first + threadIdx.x];
  __syncthreads();
  y[first + threadIdx.x] = block[blockDim.x - 1 - threadIdx.x];
}

template <class T>
__global__ void shuffle_kernel(int kind, const T* x, T* out, int argument, int width) {
  const unsigned all = 0xffffffffu;
  const T mine = x[threadIdx.x];
  T got = mine;
  if (kind == 0) got = __shfl_sync(all, mine, argument, width);
  if (kind == 1) got = __shfl_up_sync(all, mine, argument, width);
  if (kind == 2) got = __shfl_down_sync(all, mine, argument, width);
  if (kind == 3) got = __shfl_xor_sync(all, mine, argument, width);
  out[threadIdx.x] = got;
}

__global__ void votes_kernel(unsigned mask, const int* predicate, unsigned* out) {
  const unsigned active = __activemask();
  if (!(mask >> threadIdx.x & 1)) return;
  const int mine = predicate[threadIdx.x];
  const unsigned ballot = __ballot_sync(mask, mine);
  const int any = __any_sync(mask, mine), all = __all_sync(mask, mine);
  if (static_cast<int>(threadIdx.x) == __ffs(mask) - 1) {
    out[0] = ballot;
    out[1] = any;
    out[2] = all;
    out[3] = active;
  }
}

__global__ void reductions_kernel(const int* x, int* out) {
  const unsigned all = 0xffffffffu;
  const int mine = x[threadIdx.x];
  const unsigned bits = mine;
  const int results[8] = {__reduce_add_sync(all, mine),
                          __reduce_min_sync(all, mine),
                          __reduce_max_sync(all, mine),
                          static_cast<int>(__reduce_min_sync(all, bits)),
                          static_cast<int>(__reduce_max_sync(all, bits)),
                          static_cast<int>(__reduce_and_sync(all, bits)),
                          static_cast<int>(__reduce_or_sync(all, bits)),
                          static_cast<int>(__reduce_xor_sync(all, bits))};
  // Every lane has all eight results. Lane i writes result i, so each result is checked on a different lane.
  if (threadIdx.x < 8) out[threadIdx.x] = results[threadIdx.x];
}

__global__ void barrier_votes_kernel(const int* predicate, int* out) {
  const int mine = predicate[threadIdx.x];
  const int count = __syncthreads_count(mine), all = __syncthreads_and(mine), any = __syncthreads_or(mine);
  if (threadIdx.x == blockDim.x - 1) {
    out[0] = count;
    out[1] = all != 0;
    out[2] = any != 0;
  }
}

__global__ void atomics_kernel(const int* x, int n, int* ints, unsigned long long* longs, float* floats) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const int v = x[i];
  atomicAdd(&ints[0], v);
  atomicSub(&ints[1], v);
  atomicMin(&ints[2], v);
  atomicMax(&ints[3], v);
  atomicAnd(&ints[4], v);
  atomicOr(&ints[5], v);
  atomicXor(&ints[6], v);
  atomicAdd(&longs[0], 1ull << 32);
  atomicMax(&longs[1], static_cast<unsigned long long>(v) << 20);
  atomicAdd(&floats[0], static_cast<float>(v));
  // Adds by compare-and-swap, as needed for types without atomicAdd.
  int old = 0, seen;
  do {
    seen = old;
    old = atomicCAS(&ints[7], seen, seen + v);
  } while (old != seen);
  if (i == 0) floats[1] = atomicExch(&floats[2], 5.0f);
}

__global__ void histogram_kernel(const int* x, int n, int* bins) {
  __shared__ int mine[64];
  if (threadIdx.x < 64) mine[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&mine[x[i] % 64], 1);
  __syncthreads();
  if (threadIdx.x < 64) atomicAdd(&bins[threadIdx.x], mine[threadIdx.x]);
}

__global__ void warp_sums_in_shared_kernel(const float* x, float* sums, int n) {
  __shared__ float part[4][32];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, i = blockIdx.x * blockDim.x + threadIdx.x;
  part[warp][lane] = i < n ? x[i] : 0;
  for (int half = 16; half > 0; half /= 2) {
    __syncwarp();
    if (lane < half) part[warp][lane] += part[warp][lane + half];
  }
  if (lane == 0 && i < n) sums[i / 32] = part[warp][0];
}

__global__ void half_warps_kernel(const int* x, int* out) {
  int sum = x[threadIdx.x];
  if (threadIdx.x < 16) {
    for (int offset = 8; offset > 0; offset /= 2) sum += __shfl_down_sync(0x0000ffffu, sum, offset, 16);
  } else {
    for (int offset = 8; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffff0000u, sum, offset, 16);
  }
  out[threadIdx.x] = sum;
}

__global__ void saxpy4_kernel(float a, const float4* x, float4* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float4 u = __ldg(&x[i]);
  float4 v = y[i];
  v.x = fmaf(a, u.x, v.x);
  v.y = fmaf(a, u.y, v.y);
  v.z = fmaf(a, u.z, v.z);
  v.w = fmaf(a, u.w, v.w);
  __stcs(&y[i], v);
}

__global__ void functions_kernel(int* ints, float* floats) {
  int i = 0, f = 0;
  ints[i++] = __popc(0xf0f01u);
  ints[i++] = __popcll(0xff00000000000001ull);
  ints[i++] = __clz(1 << 20);
  ints[i++] = __clz(0);
  ints[i++] = __clzll(1ll << 40);
  ints[i++] = __ffs(0x50);
  ints[i++] = __ffs(0);
  ints[i++] = static_cast<int>(__brev(0x80000001u) == 0x80000001u) + static_cast<int>(__brev(1u) >> 31);
  ints[i++] = static_cast<int>(__umulhi(0x80000000u, 6u));
  ints[i++] = __mulhi(-1, 2);
  ints[i++] = __float_as_int(1.0f);
  ints[i++] = __float2int_rn(2.5f);
  ints[i++] = __float2int_rz(-2.7f);
  ints[i++] = min(-3, 2) + max(7, 5);
  floats[f++] = __expf(1.0f);
  floats[f++] = __logf(2.0f);
  floats[f++] = __fdividef(1.0f, 3.0f);
  floats[f++] = rsqrtf(16.0f);
  floats[f++] = __frcp_rn(3.0f);
  floats[f++] = fmaf(2.0f, 3.0f, 4.0f);
  floats[f++] = __int_as_float(0x40490fdb);
  floats[f++] = __powf(2.0f, 10.0f);
  floats[f++] = __sinf(0.5f);
  floats[f++] = __cosf(0.5f);
  floats[f++] = __saturatef(1.5f) + __saturatef(-1.0f);
  floats[f++] = fmaxf(1.0f, 2.0f) + fminf(1.0f, 2.0f) + tanhf(0.25f) + erff(0.25f);
  floats[f++] = exp2f(3.0f) + __log2f(8.0f) + __exp10f(2.0f);
}

__constant__ float constants[8];

__global__ void add_constants_kernel(float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = constants[i % 8];
}

__global__ void matmul_tiled_kernel(const float* a, const float* b, float* c, int n) {
  __shared__ float a_tile[16][16];
  __shared__ float b_tile[16][16];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int row = blockIdx.y * 16 + ty, column = blockIdx.x * 16 + tx;
  float sum = 0;
  for (int k = 0; k < n; k += 16) {
    a_tile[ty][tx] = a[row * n + k + tx];
    b_tile[ty][tx] = b[(k + ty) * n + column];
    __syncthreads();
    for (int i = 0; i < 16; ++i) sum += a_tile[ty][i] * b_tile[i][tx];
    __syncthreads();
  }
  c[row * n + column] = sum;
}

__global__ void add_kernel(const float* x, float* y, int n, float times) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += times * x[i];
}

__global__ void affine_kernel(float* y, int n, float times, float plus) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = times * y[i] + plus;
}

int blocks(int n, int block) { return (n + block - 1) / block; }

}  // namespace

using cuda::launch;

void count_threads(int* seen, dim3 grid, dim3 block) { launch(count_threads_kernel, grid, block, 0, nullptr, seen); }

template <class T>
void block_sums(const T* x, T* sums, int n) {
  launch(block_sums_kernel<T>, blocks(n, 256), 256, 0, nullptr, x, sums, n);
}
template void block_sums(const float*, float*, int);
template void block_sums(const double*, double*, int);
template void block_sums(const int*, int*, int);

void transpose(const float* x, float* y, int n) {
  launch(transpose_kernel, dim3(n / 32, n / 32), dim3(32, 8), 0, nullptr, x, y, n);
}
void reverse_blocks(const double* x, double* y, int n, int block) {
  launch(reverse_blocks_kernel, n / block, block, block * sizeof(double), nullptr, x, y);
}

template <class T>
void shuffle(int kind, const T* x, T* out, int argument, int width) {
  launch(shuffle_kernel<T>, 1, 32, 0, nullptr, kind, x, out, argument, width);
}
template void shuffle(int, const float*, float*, int, int);
template void shuffle(int, const double*, double*, int, int);
template void shuffle(int, const int*, int*, int, int);
template void shuffle(int, const long long*, long long*, int, int);

void votes(unsigned mask, const int* predicate, unsigned* out) {
  launch(votes_kernel, 1, 32, 0, nullptr, mask, predicate, out);
}
void reductions(const int* x, int* out) { launch(reductions_kernel, 1, 32, 0, nullptr, x, out); }
void barrier_votes(const int* predicate, int* out, int threads) {
  launch(barrier_votes_kernel, 1, threads, 0, nullptr, predicate, out);
}
void atomics(const int* x, int n, int* ints, unsigned long long* longs, float* floats) {
  launch(atomics_kernel, blocks(n, 128), 128, 0, nullptr, x, n, ints, longs, floats);
}
void histogram(const int* x, int n, int* bins) { launch(histogram_kernel, 5, 128, 0, nullptr, x, n, bins); }
void warp_sums_in_shared(const float* x, float* sums, int n) {
  launch(warp_sums_in_shared_kernel, blocks(n, 128), 128, 0, nullptr, x, sums, n);
}
void half_warps(const int* x, int* out) { launch(half_warps_kernel, 1, 32, 0, nullptr, x, out); }
void saxpy4(float a, const float* x, float* y, int n) {
  launch(saxpy4_kernel, blocks(n / 4, 64), 64, 0, nullptr, a, reinterpret_cast<const float4*>(x),
         reinterpret_cast<float4*>(y), n / 4);
}
void functions(int* ints, float* floats) { launch(functions_kernel, 1, 1, 0, nullptr, ints, floats); }
void add_constants(const float* table, float* y, int n) {
  cuda::check(cudaMemcpyToSymbol(constants, table, 8 * sizeof(float)), "cudaMemcpyToSymbol");
  launch(add_constants_kernel, blocks(n, 64), 64, 0, nullptr, y, n);
}
void matmul_tiled(const float* a, const float* b, float* c, int n) {
  launch(matmul_tiled_kernel, dim3(n / 16, n / 16), dim3(16, 16), 0, nullptr, a, b, c, n);
}
void add(const float* x, float* y, int n, float times, cudaStream_t stream) {
  launch(add_kernel, blocks(n, 128), 128, 0, stream, x, y, n, times);
}
void affine(float* y, int n, float times, float plus, cudaStream_t stream) {
  launch(affine_kernel, blocks(n, 128), 128, 0, stream, y, n, times, plus);
}

}  // namespace pg::testing
