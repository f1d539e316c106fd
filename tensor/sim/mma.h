#pragma once
// The instructions of tensor/cuda/mma/mma.h for a host compiler; they are documented there.
#include <cmath>
#include <cstdint>

#include "tensor/sim/device.h"

namespace pg::sim {

using shared_address = uintptr_t;
PG_SIM_INLINE shared_address address_in_shared(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

PG_SIM_MEETING void mma_m16n8k16(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1);
PG_SIM_MEETING void ldmatrix_x4(uint32_t (&to)[4], shared_address row);
PG_SIM_MEETING void ldmatrix_x4_trans(uint32_t (&to)[4], shared_address row);

// The data are delivered at the wait, so that code without a wait reads stale data.
void cp_async_16(shared_address to, const void* from, bool there);
void cp_async_commit();
void wait_for_copies(unsigned pending_groups);
template <int kPending>
PG_SIM_INLINE void cp_async_wait() {
  wait_for_copies(kPending);
}

PG_SIM_INLINE float ex2(float x) { return x < -126 ? 0 : std::exp2(x); }

}  // namespace pg::sim
