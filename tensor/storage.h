#pragma once
// Blocks of memory and the pool they come from. Training repeats its shapes, so from the second step on every request
// is served from a free list, and nothing is asked of the system.
#include <cstddef>

#include "tensor/device.h"
#include "tensor/ref.h"

namespace pg {

struct Storage : RefCounted {
  void* data = nullptr;
  size_t bytes = 0;      // capacity: the rounded size class
  uint64_t version = 0;  // raised by whoever rewrites a parameter; keys caches of packed weights
  Device device;
  static void release(Storage*);
};

// At least `bytes` bytes, 64-byte aligned, uninitialised.
Ref<Storage> allocate(size_t bytes, Device device);

struct MemoryStats {
  size_t in_use = 0;        // bytes held by live tensors
  size_t peak = 0;          // the largest in_use since reset_peak_memory
  size_t reserved = 0;      // bytes taken from the system
  size_t system_calls = 0;  // how often the system was asked
};
MemoryStats memory_stats(Device device = {});
void reset_peak_memory(Device device = {});
// Returns unused blocks to the system.
void empty_cache(Device device = {});

}  // namespace pg
