// Kernels that use bf16 conversions, for the simulator's tests.
#include <cuda_bf16.h>

#include "tests/sim/kernels.h"

namespace pg::testing {

namespace {

__global__ void round_trip_kernel(const float* x, float* widened, uint16_t* bits, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const __nv_bfloat16 rounded = __float2bfloat16(x[i]);
  bits[i] = __bfloat16_as_ushort(rounded);
  // Also converts a pair: each half must return to its position.
  const __nv_bfloat162 pair = __floats2bfloat162_rn(-1.0f, __bfloat162float(rounded));
  widened[i] = __low2float(pair) == -1.0f ? __bfloat1622float2(pair).y : 0.0f;
}

__global__ void arithmetic_kernel(const uint16_t* a, const uint16_t* b, const uint16_t* c, uint16_t* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const __nv_bfloat16 x = __ushort_as_bfloat16(a[i]), y = __ushort_as_bfloat16(b[i]), z = __ushort_as_bfloat16(c[i]);
  const __nv_bfloat162 sums = __hadd2(__halves2bfloat162(x, x), __halves2bfloat162(y, z));
  out[5 * i] = __bfloat16_as_ushort(__low2bfloat16(sums));
  out[5 * i + 1] = __bfloat16_as_ushort(__hsub(x, y));
  out[5 * i + 2] = __bfloat16_as_ushort(__hmul(x, y));
  out[5 * i + 3] = __bfloat16_as_ushort(__hfma(x, y, z));
  out[5 * i + 4] = __bfloat16_as_ushort(__hmax(x, y));
}

}  // namespace

void bf16_round_trip(const float* x, float* widened, uint16_t* bits, int n) {
  cuda::launch(round_trip_kernel, (n + 255) / 256, 256, 0, nullptr, x, widened, bits, n);
}
void bf16_arithmetic(const uint16_t* a, const uint16_t* b, const uint16_t* c, uint16_t* out, int n) {
  cuda::launch(arithmetic_kernel, (n + 255) / 256, 256, 0, nullptr, a, b, c, out, n);
}

}  // namespace pg::testing
