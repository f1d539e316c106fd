#pragma once
// The CUDA language for a host compiler: keywords, built-in variables, barriers, warp functions, atomics. Names and
// meanings are those of the CUDA C++ Programming Guide.
#include <cstdint>
#include <type_traits>

#include "tensor/sim/meeting.h"
#include "tensor/sim/vector_types.h"

#define __global__
#define __device__
#define __host__
#define __constant__
#define __grid_constant__
#define __launch_bounds__(...)
#define __forceinline__ inline __attribute__((always_inline))
#define __align__(n) __attribute__((aligned(n)))
#define PG_SIM_INLINE inline __attribute__((always_inline))
// The compiler must neither move nor merge calls of these functions.
#if defined(__clang__)
#define PG_SIM_MEETING __attribute__((convergent, nomerge))
#else
#define PG_SIM_MEETING  // g++ merges calls at -O2 only
#endif

// A block runs on one thread of the host, so its shared memory is that thread's. The guard before each variable catches
// accesses past the ends of its neighbours; its name must begin with the prefix that shared.cpp looks for.
#define PG_SIM_GUARD2(number) pg_sim_guard_##number
#define PG_SIM_GUARD1(number) PG_SIM_GUARD2(number)
#define __shared__                                                                         \
  __attribute__((used)) static thread_local unsigned char PG_SIM_GUARD1(__COUNTER__)[256]; \
  __attribute__((aligned(128))) static thread_local

// The indices of the running thread and the sizes of its launch. The simulator changes them when it switches threads
// (block.cpp), but for the code of one thread they are constants.
extern constinit thread_local const uint3 threadIdx, blockIdx, blockDim, gridDim;
constexpr int warpSize = 32;

// Barriers: every thread of the block must reach the same one.
PG_SIM_MEETING void __syncthreads();
PG_SIM_MEETING int __syncthreads_count(int predicate);
PG_SIM_MEETING int __syncthreads_and(int predicate);
PG_SIM_MEETING int __syncthreads_or(int predicate);

namespace pg::sim {

// Waits until all lanes of `mask` have arrived, and returns the result of `meeting`: the value of lane `source`, the
// ballot, the reduced value. Stops the kernel if one of them can no longer arrive.
PG_SIM_MEETING uint64_t meet(Meeting meeting, unsigned mask, uint64_t value, int source = 0);
// Number of the running thread in its warp.
int lane();
unsigned active_lanes();
void* dynamic_shared();
void wait_for_earlier_kernels();

template <class T>
PG_SIM_INLINE T shuffle(Meeting meeting, unsigned mask, T value, int source) {
  static_assert(sizeof(T) <= 8, "a shuffle moves at most 8 bytes");
  uint64_t bits = 0;
  __builtin_memcpy(&bits, &value, sizeof(T));
  bits = meet(meeting, mask, bits, source);
  __builtin_memcpy(&value, &bits, sizeof(T));
  return value;
}

}  // namespace pg::sim

PG_SIM_INLINE void __syncwarp(unsigned mask = 0xffffffffu) { pg::sim::meet(pg::sim::Meeting::syncwarp, mask, 0); }
PG_SIM_INLINE unsigned __activemask() { return pg::sim::active_lanes(); }
PG_SIM_INLINE unsigned __ballot_sync(unsigned mask, int predicate) {
  return static_cast<unsigned>(pg::sim::meet(pg::sim::Meeting::ballot, mask, predicate != 0));
}
PG_SIM_INLINE int __any_sync(unsigned mask, int predicate) {
  return pg::sim::meet(pg::sim::Meeting::any, mask, predicate != 0) != 0;
}
PG_SIM_INLINE int __all_sync(unsigned mask, int predicate) {
  return pg::sim::meet(pg::sim::Meeting::all, mask, predicate != 0) != 0;
}

// `width` (a power of two up to 32) divides the warp into segments, each of which shuffles among its lanes. A lane
// whose source is outside its segment gets its own value.
template <class T>
PG_SIM_INLINE T __shfl_sync(unsigned mask, T value, int source, int width = 32) {
  const int first = pg::sim::lane() & -width;
  return pg::sim::shuffle(pg::sim::Meeting::shfl, mask, value, first + (source & (width - 1)));
}
template <class T>
PG_SIM_INLINE T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  const int lane = pg::sim::lane(), source = lane - static_cast<int>(delta);
  return pg::sim::shuffle(pg::sim::Meeting::shfl_up, mask, value, source < (lane & -width) ? lane : source);
}
template <class T>
PG_SIM_INLINE T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  const int lane = pg::sim::lane(), source = lane + static_cast<int>(delta);
  return pg::sim::shuffle(pg::sim::Meeting::shfl_down, mask, value, source >= (lane & -width) + width ? lane : source);
}
template <class T>
PG_SIM_INLINE T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32) {
  const int lane = pg::sim::lane(), source = lane ^ lane_mask;
  return pg::sim::shuffle(pg::sim::Meeting::shfl_xor, mask, value, source >= (lane & -width) + width ? lane : source);
}

#define PG_SIM_REDUCE(Name, T, meeting)                                                                  \
  PG_SIM_INLINE T Name(unsigned mask, T value) {                                                         \
    return static_cast<T>(pg::sim::meet(pg::sim::Meeting::meeting, mask, static_cast<uint32_t>(value))); \
  }
PG_SIM_REDUCE(__reduce_add_sync, int, reduce_add)
PG_SIM_REDUCE(__reduce_add_sync, unsigned, reduce_add)
PG_SIM_REDUCE(__reduce_min_sync, int, reduce_min)
PG_SIM_REDUCE(__reduce_min_sync, unsigned, reduce_min_unsigned)
PG_SIM_REDUCE(__reduce_max_sync, int, reduce_max)
PG_SIM_REDUCE(__reduce_max_sync, unsigned, reduce_max_unsigned)
PG_SIM_REDUCE(__reduce_and_sync, unsigned, reduce_and)
PG_SIM_REDUCE(__reduce_or_sync, unsigned, reduce_or)
PG_SIM_REDUCE(__reduce_xor_sync, unsigned, reduce_xor)
#undef PG_SIM_REDUCE

// Atomics return the old value. They do not order other accesses, as on the GPU. device.cpp lists the types.
template <class T>
T atomicAdd(T* address, std::type_identity_t<T> value);
template <class T>
T atomicSub(T* address, std::type_identity_t<T> value);
template <class T>
T atomicExch(T* address, std::type_identity_t<T> value);
template <class T>
T atomicMin(T* address, std::type_identity_t<T> value);
template <class T>
T atomicMax(T* address, std::type_identity_t<T> value);
template <class T>
T atomicAnd(T* address, std::type_identity_t<T> value);
template <class T>
T atomicOr(T* address, std::type_identity_t<T> value);
template <class T>
T atomicXor(T* address, std::type_identity_t<T> value);
template <class T>
T atomicCAS(T* address, std::type_identity_t<T> compare, std::type_identity_t<T> value);

// Writes of a thread become visible in order anyway, because a block's threads take turns on one host thread and blocks
// synchronise through atomics.
PG_SIM_INLINE void __threadfence_block() { __atomic_signal_fence(__ATOMIC_SEQ_CST); }
void __threadfence();  // blocks run on several host threads
PG_SIM_INLINE void __threadfence_system() { __threadfence(); }

// Loads and stores with a cache hint; the simulator has no cache.
#define PG_SIM_LOAD(Name)                  \
  template <class T>                       \
  PG_SIM_INLINE T Name(const T* address) { \
    return *address;                       \
  }
#define PG_SIM_STORE(Name)                                             \
  template <class T>                                                   \
  PG_SIM_INLINE void Name(T* address, std::type_identity_t<T> value) { \
    *address = value;                                                  \
  }
PG_SIM_LOAD(__ldg)
PG_SIM_LOAD(__ldcs)
PG_SIM_LOAD(__ldcg)
PG_SIM_LOAD(__ldca)
PG_SIM_STORE(__stcs)
PG_SIM_STORE(__stcg)
PG_SIM_STORE(__stwt)
#undef PG_SIM_LOAD
#undef PG_SIM_STORE

// Ends the kernel with an error.
[[noreturn]] void __trap();
