// The caching memory pool.
#include "tensor/storage.h"

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

#include "tensor/backend.h"
#include "tensor/base/error.h"
#include "tensor/reclaim.h"

#ifndef __has_feature  // clang only
#define __has_feature(feature) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#endif

namespace pg {
namespace {

constexpr size_t kGrain = 512;  // small classes: multiples of this
// Small classes end at 2^13 bytes. Above, there are eight classes per octave: finer classes would keep separate blocks
// for every length of rollout.
constexpr int kSmallOctave = 13;
constexpr size_t kSmall = size_t{1} << kSmallOctave;
constexpr size_t kSmallClasses = kSmall / kGrain + 1;

struct SizeClass {
  size_t index, bytes;
};

SizeClass size_class(size_t bytes) {
  if (bytes <= kSmall) {
    const size_t n = bytes == 0 ? 1 : (bytes + kGrain - 1) / kGrain;
    return {n, n * kGrain};
  }
  const int octave = std::bit_width(bytes - 1) - 1;  // 2^octave < bytes <= 2^(octave+1)
  const size_t step = size_t{1} << (octave - 3);
  const size_t eighth = (bytes - (size_t{1} << octave) + step - 1) / step;
  return {kSmallClasses + static_cast<size_t>(octave - kSmallOctave) * 8 + eighth,
          (size_t{1} << octave) + eighth * step};
}

}  // namespace

// The free blocks of one thread on one device. A block goes back to the pool that it came from: directly on the pool's
// own thread, otherwise through `returned`, which the owner empties before it requests more from the system. A pool
// whose thread has ended keeps no blocks: it releases each block that still comes back, and destroys itself with the
// last one, as a private pool does whose owner is gone. A block of device memory may be reused while kernels still use
// it, because all kernels of a device run in one stream, in order; events order the collectives in another stream with
// it.
struct Pool {
  Pool(Device device, Pool* home) : device(device), home(home ? home : this) {
    if (!home) return;
    const std::lock_guard lock(home->mutex);
    home->private_pools.push_back(this);
  }
  const Device device;
  Pool* const home;        // the thread's usual pool (this, unless private); it counts memory from the system
  bool abandoned = false;  // the private pool's owner is gone: destroyed when all blocks have come back
  bool ran_out = false;    // a request has failed
  size_t live = 0;         // blocks held by tensors
  std::array<std::vector<Storage*>, kSmallClasses + 8 * (64 - kSmallOctave)> free;
  MemoryStats stats;

  // Used in home pools only: the members that other threads may access. Once the owner's thread has ended (`orphaned`),
  // other threads may also access everything above.
  std::mutex mutex;
  std::vector<Storage*> returned;
  std::vector<Pool*> private_pools;  // whose home this is
  std::atomic<bool> any_returned{false};
  bool orphaned = false;

  Storage* take(size_t bytes) {
    const SizeClass c = size_class(bytes);
    auto& list = free[c.index];
    if (list.empty() && home->any_returned.load(std::memory_order_acquire)) home->collect_returned();
    Storage* block = nullptr;
    if (!list.empty()) {
      block = list.back();
      list.pop_back();
    } else {
      void* const data = from_system(c.bytes);  // may throw
      block = new Storage;
      block->data = data;
      block->bytes = c.bytes;
      block->device = device;
      block->pool = this;
    }
    ++live;
    stats.in_use += c.bytes;
    stats.peak = stats.peak < stats.in_use ? stats.in_use : stats.peak;
    if (on_cpu()) ASAN_UNPOISON_MEMORY_REGION(block->data, bytes);
    return block;
  }

  bool on_cpu() const { return device.on_host(); }

  MemoryStats& system_stats() { return home->stats; }

  void* from_system(size_t bytes) {
    void* data = try_system(bytes);
    if (!data && !recording()) {
      home->release_idle();
      data = try_system(bytes);
    }
    if (!data && !recording()) {
      call_reclaimers(device);  // last, because what they free takes time to make again
      home->release_idle();
      data = try_system(bytes);
    }
    if (!data) {
      ran_out = true;
      fail_full(bytes);
    }
    system_stats().reserved += bytes;
    ++system_stats().system_calls;
    if (on_cpu()) ASAN_POISON_MEMORY_REGION(data, bytes);
    return data;
  }
  void* try_system(size_t bytes) const { return backend(device).allocate(bytes, device.index); }

  // Called on the pool's own thread.
  void give_back(Storage* block) {
    leave(block);
    if (!abandoned || recording()) return free[size_class(block->bytes).index].push_back(block);
    to_system(block);
    if (live > 0) return;
    const std::lock_guard lock(home->mutex);
    destroy();
  }

  // Called on any other thread, or after the pool's own thread has ended.
  void give_back_elsewhere(Storage* block) {
    Pool& h = *home;
    std::unique_lock lock(h.mutex);
    if (!h.orphaned) {
      h.returned.push_back(block);
      h.any_returned.store(true, std::memory_order_release);
      return;
    }
    leave(block);
    to_system(block);
    if (this != &h && abandoned && live == 0) destroy();
    h.destroy_orphan(std::move(lock));
  }

  // For a home pool, called on its own thread.
  void collect_returned() {
    std::vector<Storage*> blocks;
    {
      const std::lock_guard lock(mutex);
      blocks.swap(returned);
      any_returned.store(false, std::memory_order_relaxed);
    }
    for (Storage* block : blocks) block->pool->give_back(block);
  }

  // For a home pool, called when its thread ends.
  void orphan() {
    collect_returned();
    std::unique_lock lock(mutex);
    for (Storage* block : returned) {  // blocks that came back before the lock was taken
      block->pool->leave(block);
      block->pool->to_system(block);
    }
    returned.clear();
    release_unused();
    orphaned = true;
    destroy_orphan(std::move(lock));
  }

  // For a private pool, called when its owner is destroyed.
  void abandon() {
    Pool& h = *home;
    const bool own = is_own_thread();
    if (own) h.collect_returned();
    std::unique_lock lock(h.mutex);
    abandoned = true;
    if (own && recording()) return;
    if (own) release_unused();
    if (live == 0) destroy();
    if (h.orphaned) h.destroy_orphan(std::move(lock));
  }

  void release_unused() {
    for (auto& list : free) {
      for (Storage* block : list) to_system(block);
      list.clear();
    }
  }

  // For a home pool, called on its own thread: returns to the system what no tensor and no graph needs. The free blocks
  // of a private pool that has an owner are not idle: a graph that is replayed writes to them.
  void release_idle() {
    collect_returned();
    release_unused();
    release_abandoned();
  }
  // For a home pool, called on its own thread.
  void release_abandoned() {
    const std::lock_guard lock(mutex);
    for (size_t i = private_pools.size(); i-- > 0;) {
      Pool* p = private_pools[i];
      if (!p->abandoned) continue;
      p->release_unused();
      if (p->live == 0) p->destroy();
    }
  }

  bool is_own_thread() const;
  // Whether this thread allocates from a private pool of this pool's device now, which it does while it records a
  // graph. The device must not be waited for then, and to return memory to the system waits for it.
  bool recording() const;

 private:
  void leave(Storage* block) {
    --live;
    stats.in_use -= block->bytes;
    ++block->version;
    if (on_cpu()) ASAN_POISON_MEMORY_REGION(block->data, block->bytes);
  }
  void to_system(Storage* block) {
    system_stats().reserved -= block->bytes;
    if (on_cpu()) {
      ASAN_UNPOISON_MEMORY_REGION(block->data, block->bytes);
    }
    backend(device).release(block->data, device.index);
    delete block;
  }
  void destroy() {  // called for a private pool whose blocks have all come back
    release_unused();
    std::erase(home->private_pools, this);
    delete this;
  }
  size_t unused_bytes() const {
    size_t bytes = 0;
    for (const auto& list : free) {
      for (const Storage* block : list) bytes += block->bytes;
    }
    return bytes;
  }
  [[noreturn]] void fail_full(size_t bytes) const {
    const DeviceMemory memory = backend(device).memory(device.index);
    size_t used = home->stats.in_use, kept = 0;
    const std::lock_guard lock(home->mutex);
    for (const Pool* p : home->private_pools) {
      used += p->stats.in_use;
      if (!p->abandoned) kept += p->unused_bytes();
    }
    const char* when = this == home ? "" : " while a graph is recorded";
    fail(
        "out of memory on {}{}: {} bytes requested, {} of {} are free; this thread's pools hold {}: {} in tensors, {} "
        "that graphs write to; a smaller batch or context needs less",
        to_string(device), when, bytes, memory.free, memory.total, home->stats.reserved, used, kept);
  }
  void destroy_orphan(std::unique_lock<std::mutex> lock) {
    if (live > 0 || !private_pools.empty()) return;
    lock.unlock();
    delete this;
  }
};

namespace {

struct Usual {  // the pools of one thread on one device
  explicit Usual(Device device) : pool(new Pool(device, nullptr)), current(pool) {}
  Pool* const pool;
  Pool* current;
};

// Plain pointers, so that a tensor with static lifetime can still be released after the thread's destructors have run.
constinit thread_local Usual *cpu_usual = nullptr, *plain_usual = nullptr;
constinit thread_local std::array<Usual*, 256> cuda_usual{};  // by the device's index

Usual*& slot(Device device) {
  if (device.kind == Device::Kind::plain) return plain_usual;
  return device.on_host() ? cpu_usual : cuda_usual[device.index];
}

void end_usual(Usual*& u) {
  if (!u) return;
  u->pool->orphan();
  delete std::exchange(u, nullptr);
}

// Returns the memory of a thread when the thread ends.
struct AtThreadEnd {
  ~AtThreadEnd() {
    end_usual(cpu_usual);
    end_usual(plain_usual);
    for (Usual*& u : cuda_usual) end_usual(u);
  }
};

Usual* make_usual(Device device) {
  static thread_local AtThreadEnd at_end;
  return new Usual(device);
}

inline Usual& usual(Device device) {
  Usual*& u = slot(device);
  if (!u) [[unlikely]]
    u = make_usual(device);
  return *u;
}

// The pool of this thread with its statistics up to date.
Pool& settled(Device device) {
  Pool& pool = *usual(device).pool;
  pool.collect_returned();
  return pool;
}

}  // namespace

bool Pool::is_own_thread() const {
  const Usual* u = slot(device);
  return u && u->pool == home;
}
bool Pool::recording() const { return slot(device)->current != home; }

PrivatePool::PrivatePool(Device device) : pool_(new Pool(device, usual(device).pool)) {}
PrivatePool::~PrivatePool() { pool_->abandon(); }
bool PrivatePool::ran_out() const { return pool_->ran_out; }

PrivatePool::Use::Use(PrivatePool& pool) : current_(usual(pool.pool_->device).current), before_(current_) {
  current_ = pool.pool_;
}
PrivatePool::Use::~Use() {
  current_ = before_;
  if (before_ == before_->home) before_->release_abandoned();
}

void Storage::release(Storage* block) {
  if (!block->pool) return block->free(block);
  Pool& pool = *block->pool;
  if (pool.is_own_thread()) [[likely]]
    pool.give_back(block);
  else
    pool.give_back_elsewhere(block);
}

namespace {
std::atomic<bool> poisons{false};
[[gnu::cold, gnu::noinline]] void poison(const Storage& block, Device device, size_t bytes) {
  if (device.on_host()) std::memset(block.data, 0xff, bytes);
}
}  // namespace
void poison_new_memory(bool on) { poisons = on; }

Ref<Storage> allocate(size_t bytes, Device device) {
  Storage* const block = usual(device).current->take(bytes);
  if (poisons.load(std::memory_order_relaxed)) [[unlikely]]
    poison(*block, device, bytes);
  return Ref<Storage>(block);
}

MemoryStats memory_stats(Device device) { return settled(device).stats; }
void reset_peak_memory(Device device) {
  MemoryStats& stats = settled(device).stats;
  stats.peak = stats.in_use;
}
void empty_cache(Device device) { settled(device).release_idle(); }
void release_idle_memory(Device device) {
  call_reclaimers(device);
  empty_cache(device);
}

}  // namespace pg
