#pragma once
// Tensor core instructions and the loads for them: one function for each PTX instruction (PTX ISA, "Matrix
// multiply-accumulate instructions" and "cp.async"). All 32 lanes of a warp must call mma and ldmatrix together.
// Requires compute capability 8.0 or higher; for older devices the kernels are compiled empty.
#include <cstdint>

#include "tensor/cuda/runtime/launch.h"

#if !defined(__CUDACC__)
#include "tensor/sim/mma.h"
#endif

namespace pg::cuda {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
inline constexpr bool kTensorCores = false;
#else
inline constexpr bool kTensorCores = true;
#endif

#if defined(__CUDACC__)

using shared_address = uint32_t;
__device__ __forceinline__ shared_address address_in_shared(const void* pointer) {
  return static_cast<shared_address>(__cvta_generic_to_shared(pointer));
}

// mma.sync m16n8k16: c += a·b, of bf16 into f32, for a [16, 16], b [16, 8] and c [16, 8]. A register of a and b holds
// two values, the first in its lower half. Lane 4g + t (g < 8, t < 4) has
//   a[0], a[1]: row g, g + 8      columns 2t, 2t + 1            b0: rows 2t, 2t + 1      column g
//   a[2], a[3]: row g, g + 8      columns 2t + 8, 2t + 9        b1: rows 2t + 8, 2t + 9  column g
//   c[0], c[1]: row g, columns 2t, 2t + 1      c[2], c[3]: row g + 8, columns 2t, 2t + 1
// NVIDIA specifies neither the order in which the 16 products are summed nor the rounding of that sum.
__device__ __forceinline__ void mma_m16n8k16(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// ldmatrix: four 8 x 8 matrices of 2-byte elements. Lanes 8i … 8i + 7 pass the addresses of the rows of matrix i, 16
// bytes each and aligned to 16. Lane 4g + t gets in to[i] the elements 2t and 2t + 1 of row g of matrix i; with .trans
// those of column g.
__device__ __forceinline__ void ldmatrix_x4(uint32_t (&to)[4], shared_address row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(row)
               : "memory");
}
__device__ __forceinline__ void ldmatrix_x4_trans(uint32_t (&to)[4], shared_address row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(row)
               : "memory");
}

// cp.async: copies 16 bytes from device to shared memory, both aligned to 16. If `there` is false, it writes zeros and
// reads nothing. The bytes are visible to the thread that started the copy after cp_async_wait, to other threads after
// a barrier that follows it.
__device__ __forceinline__ void cp_async_16(shared_address to, const void* from, bool there) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(__cvta_generic_to_global(from)),
               "r"(there ? 16 : 0)
               : "memory");
}
// Puts the copies that this thread started since the last commit into one group.
__device__ __forceinline__ void cp_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Waits for all groups of this thread except the latest kPending.
template <int kPending>
__device__ __forceinline__ void cp_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

// 2^x with an error of up to 2 units in the last place; 0 if the result is below 2^-126.
__device__ __forceinline__ float ex2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

#else

using sim::address_in_shared;
using sim::cp_async_16;
using sim::cp_async_commit;
using sim::cp_async_wait;
using sim::ex2;
using sim::ldmatrix_x4;
using sim::ldmatrix_x4_trans;
using sim::mma_m16n8k16;
using sim::shared_address;

#endif

}  // namespace pg::cuda
