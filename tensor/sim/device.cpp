// The device functions that kernels call and that are not defined in headers.
#include "tensor/sim/device.h"

#include "tensor/sim/block.h"

using pg::sim::Block;
using pg::sim::Meeting;

namespace {

Block& block() { return *pg::sim::running_block; }

int barrier(Meeting meeting, int predicate, const void* pc) {
  return static_cast<int>(block().meet(meeting, 0, predicate != 0, 0, pc));
}

// Reports one access by an atomic function that the .cu file calls at `pc`.
void see(void* address, size_t bytes, const void* pc) {
  if (pg::sim::observed_block)
    pg::sim::observed_block->on_access(reinterpret_cast<uintptr_t>(address), bytes, bytes, pg::sim::Touch::atomic, pc);
}

// *address = f(*address) in one atomic step, for any type of 4 or 8 bytes. Returns the old value.
template <class T, class F>
T change(T* address, F f) {
  T old, next;
  __atomic_load(address, &old, __ATOMIC_RELAXED);
  do next = f(old);
  while (!__atomic_compare_exchange(address, &old, &next, true, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
  return old;
}

}  // namespace

void __syncthreads() { barrier(Meeting::syncthreads, 1, __builtin_return_address(0)); }
int __syncthreads_count(int predicate) {
  return barrier(Meeting::syncthreads_count, predicate, __builtin_return_address(0));
}
int __syncthreads_and(int predicate) {
  return barrier(Meeting::syncthreads_and, predicate, __builtin_return_address(0));
}
int __syncthreads_or(int predicate) { return barrier(Meeting::syncthreads_or, predicate, __builtin_return_address(0)); }
void __trap() { block().stop(__builtin_return_address(0), "__trap()"); }

namespace pg::sim {

void stop(const void* pc, std::string text) { block().stop(pc, std::move(text)); }

uint64_t meet(Meeting meeting, unsigned mask, uint64_t value, int source) {
  return block().meet(meeting, mask, value, source, __builtin_return_address(0));
}
int lane() { return block().thread() % 32; }
unsigned active_lanes() { return block().active_lanes(); }
void* dynamic_shared() { return block().dynamic_shared(); }
void wait_for_earlier_kernels() { block().wait_for_earlier_kernels(); }

}  // namespace pg::sim

#define PG_ATOMIC(Name, expression)                                                      \
  template <class T>                                                                     \
  T Name(T* address, std::type_identity_t<T> value) {                                    \
    see(address, sizeof(T), __builtin_return_address(0));                                \
    return change(address, [value]([[maybe_unused]] T old) -> T { return expression; }); \
  }
PG_ATOMIC(atomicAdd, old + value)
PG_ATOMIC(atomicSub, old - value)
PG_ATOMIC(atomicExch, value)
PG_ATOMIC(atomicMin, value < old ? value : old)
PG_ATOMIC(atomicMax, old < value ? value : old)
PG_ATOMIC(atomicAnd, old& value)
PG_ATOMIC(atomicOr, old | value)
PG_ATOMIC(atomicXor, old ^ value)

template <class T>
T atomicCAS(T* address, std::type_identity_t<T> compare, std::type_identity_t<T> value) {
  see(address, sizeof(T), __builtin_return_address(0));
  __atomic_compare_exchange_n(address, &compare, value, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
  return compare;
}

void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

// The types for which CUDA has these functions.
template float atomicAdd(float*, float);
template double atomicAdd(double*, double);
template float atomicExch(float*, float);
#define PG_INTEGER(T)           \
  template T atomicAdd(T*, T);  \
  template T atomicSub(T*, T);  \
  template T atomicExch(T*, T); \
  template T atomicMin(T*, T);  \
  template T atomicMax(T*, T);  \
  template T atomicAnd(T*, T);  \
  template T atomicOr(T*, T);   \
  template T atomicXor(T*, T);  \
  template T atomicCAS(T*, T, T);
PG_INTEGER(int)
PG_INTEGER(unsigned)
PG_INTEGER(unsigned long long)
template long long atomicMin(long long*, long long);
template long long atomicMax(long long*, long long);
template unsigned short atomicCAS(unsigned short*, unsigned short, unsigned short);
