#pragma once
// Blocks of memory and the pool they come from. Training repeats its shapes, so from the second step on every request
// is served from a free list, without a call to the system.
#include <cstddef>

#include "tensor/base/ref.h"
#include "tensor/device.h"

namespace pg {

struct Pool;

struct Storage : RefCounted {
  void* data = nullptr;
  size_t bytes = 0;      // capacity: the rounded size class
  uint64_t version = 0;  // counts replaced parameters: an optimizer's step or a loaded checkpoint
  uint64_t writes = 0;   // counts writes through a Tensor; the tape compares it before a backward reads saved memory
  Device device;
  Pool* pool = nullptr;              // the pool that the block came from and returns to
  void (*free)(Storage*) = nullptr;  // of a block that no pool has
  static void release(Storage*);
};

// At least `bytes` bytes, 64-byte aligned, uninitialised. If the device is full, unused blocks of this thread's pools
// return to the system, then what its reclaimers release (reclaim.h). An Error says what holds the memory if that is
// not enough.
Ref<Storage> allocate(size_t bytes, Device device);

// A pool separate from the thread's usual one. No other allocation takes its blocks, because the addresses in a
// captured graph must stay valid. The memory returns to the system when the pool is destroyed; what tensors still hold
// then, with each of them.
class PrivatePool {
 public:
  explicit PrivatePool(Device device);
  ~PrivatePool();
  PrivatePool(const PrivatePool&) = delete;

  // While a Use exists, this thread's allocations on that device come from the pool, and no memory of the device
  // returns to the system, because that waits for the device.
  class Use {
   public:
    explicit Use(PrivatePool& pool);
    ~Use();
    Use(const Use&) = delete;

   private:
    Pool*& current_;
    Pool* before_;
  };
  // Whether a request failed because the device is full.
  bool ran_out() const;

 private:
  Pool* pool_;
};

// Memory of one thread on one device: the blocks that the thread has allocated, on whichever thread they are released.
// Blocks in private pools are counted in `reserved` only. When a thread ends, its memory goes back to the system,
// except what tensors still hold.
struct MemoryStats {
  size_t in_use = 0;        // bytes held by live tensors
  size_t peak = 0;          // the largest in_use since reset_peak_memory
  size_t reserved = 0;      // bytes taken from the system
  size_t system_calls = 0;  // number of allocations from the system
};
MemoryStats memory_stats(Device device = {});
void reset_peak_memory(Device device = {});
// Returns unused blocks to the system.
void empty_cache(Device device = {});
// Has this thread's reclaimers (reclaim.h) release what they hold, and returns all unused blocks to the system.
void release_idle_memory(Device device);

// From now on every block that allocate() returns on the CPU is full of bytes 0xff: NaN in the floating dtypes, -1 in
// i32. So programs that check other code find memory that is read before it is written; without it a block may be
// zeros, or hold what was computed before.
void poison_new_memory(bool on);

}  // namespace pg
