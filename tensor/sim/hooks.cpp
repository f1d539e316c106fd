// The functions that -fsanitize=thread calls at each access.
#include <cstddef>
#include <cstdint>

#include "tensor/sim/block.h"
#include "tensor/sim/sim.h"

namespace pg::sim {

constinit thread_local Block* running_block = nullptr;
constinit thread_local Block* observed_block = nullptr;

bool sees_accesses() { return POLICYGRAD_SIM_HOOKS; }

}  // namespace pg::sim

#if POLICYGRAD_SIM_HOOKS

using pg::sim::observed_block;
using pg::sim::Touch;

// The alignment that the compiler guarantees for an access of this size. clang++ calls the same function for accesses
// of 16 bytes that are only promised to be aligned to 8.
#if defined(__clang__)
constexpr size_t alignment_of(size_t bytes) { return bytes < 8 ? bytes : 8; }
#else
constexpr size_t alignment_of(size_t bytes) { return bytes < 16 ? bytes : 16; }
#endif

// The return address is that of the access. Host code of a .cu file calls these functions too, and they return at once.
#define PG_HOOK(kind, bytes, alignment)                                                          \
  if (observed_block) [[unlikely]]                                                               \
  observed_block->on_access(reinterpret_cast<uintptr_t>(address), bytes, alignment, Touch::kind, \
                            __builtin_return_address(0))

extern "C" {

void __tsan_init() {}
void __tsan_func_entry(void* caller) {
  if (observed_block) [[unlikely]]
    observed_block->on_function_entry(reinterpret_cast<uintptr_t>(__builtin_frame_address(0)), caller);
}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}

#define PG_PLAIN(bytes)                                                                   \
  void __tsan_read##bytes(void* address) { PG_HOOK(read, bytes, alignment_of(bytes)); }   \
  void __tsan_write##bytes(void* address) { PG_HOOK(write, bytes, alignment_of(bytes)); } \
  void __tsan_unaligned_read##bytes(void* address) { PG_HOOK(read, bytes, 1); }           \
  void __tsan_unaligned_write##bytes(void* address) { PG_HOOK(write, bytes, 1); }
PG_PLAIN(1)
PG_PLAIN(2)
PG_PLAIN(4)
PG_PLAIN(8)
PG_PLAIN(16)

void __tsan_read_range(void* address, size_t bytes) { PG_HOOK(read, bytes, 1); }
void __tsan_write_range(void* address, size_t bytes) { PG_HOOK(write, bytes, 1); }

// Atomic operations of the language: the requested memory order is ignored, the strongest is used.
#define PG_RMW(T, bits, name)                                         \
  T __tsan_atomic##bits##_##name(volatile T* address, T value, int) { \
    PG_HOOK(atomic, sizeof(T), sizeof(T));                            \
    return __atomic_##name(address, value, __ATOMIC_SEQ_CST);         \
  }
#define PG_ATOMIC(T, bits)                                                                                   \
  T __tsan_atomic##bits##_load(const volatile T* address, int) {                                             \
    PG_HOOK(atomic, sizeof(T), sizeof(T));                                                                   \
    return __atomic_load_n(address, __ATOMIC_SEQ_CST);                                                       \
  }                                                                                                          \
  void __tsan_atomic##bits##_store(volatile T* address, T value, int) {                                      \
    PG_HOOK(atomic, sizeof(T), sizeof(T));                                                                   \
    __atomic_store_n(address, value, __ATOMIC_SEQ_CST);                                                      \
  }                                                                                                          \
  T __tsan_atomic##bits##_exchange(volatile T* address, T value, int) {                                      \
    PG_HOOK(atomic, sizeof(T), sizeof(T));                                                                   \
    return __atomic_exchange_n(address, value, __ATOMIC_SEQ_CST);                                            \
  }                                                                                                          \
  int __tsan_atomic##bits##_compare_exchange_strong(volatile T* address, T* expected, T value, int, int) {   \
    PG_HOOK(atomic, sizeof(T), sizeof(T));                                                                   \
    return __atomic_compare_exchange_n(address, expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
  }                                                                                                          \
  int __tsan_atomic##bits##_compare_exchange_weak(volatile T* address, T* expected, T value, int, int) {     \
    PG_HOOK(atomic, sizeof(T), sizeof(T));                                                                   \
    return __atomic_compare_exchange_n(address, expected, value, true, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);  \
  }                                                                                                          \
  T __tsan_atomic##bits##_compare_exchange_val(volatile T* address, T expected, T value, int, int) {         \
    PG_HOOK(atomic, sizeof(T), sizeof(T));                                                                   \
    __atomic_compare_exchange_n(address, &expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);       \
    return expected;                                                                                         \
  }                                                                                                          \
  PG_RMW(T, bits, fetch_add)                                                                                 \
  PG_RMW(T, bits, fetch_sub)                                                                                 \
  PG_RMW(T, bits, fetch_and)                                                                                 \
  PG_RMW(T, bits, fetch_or)                                                                                  \
  PG_RMW(T, bits, fetch_xor)                                                                                 \
  PG_RMW(T, bits, fetch_nand)
PG_ATOMIC(uint8_t, 8)
PG_ATOMIC(uint16_t, 16)
PG_ATOMIC(uint32_t, 32)
PG_ATOMIC(uint64_t, 64)

void __tsan_atomic_thread_fence(int) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
void __tsan_atomic_signal_fence(int) { __atomic_signal_fence(__ATOMIC_SEQ_CST); }

}  // extern "C"

#endif
