#include "tensor/storage.h"

#include <sys/mman.h>

#include <array>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "tensor/cuda/runtime.h"
#include "tensor/error.h"

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
// Up to here; above, eight classes per octave: finer ones would keep blocks for every length that rollouts come in.
constexpr int kSmallOctave = 13;
constexpr size_t kSmall = size_t{1} << kSmallOctave;
constexpr size_t kHuge = size_t{2} << 20;  // from here on aligned for huge pages
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

// The free blocks of one thread on one device. The usual ones are never destroyed: tensors with static lifetime may
// come home late. A block of device memory may be taken again while kernels still use it: they all run in one stream,
// in order.
struct Pool {
  Pool(Device device, Pool* usual) : device(device), usual(usual) {}
  const Device device;
  Pool* const usual;       // of a private pool: the one that counts what is taken from the system
  bool abandoned = false;  // to be destroyed when all blocks have come home
  std::array<std::vector<Storage*>, kSmallClasses + 8 * (64 - kSmallOctave)> free;
  MemoryStats stats;

  Storage* take(size_t bytes) {
    const SizeClass c = size_class(bytes);
    auto& list = free[c.index];
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
      if (usual) block->pool = this;
    }
    stats.in_use += c.bytes;
    stats.peak = stats.peak < stats.in_use ? stats.in_use : stats.peak;
    if (on_cpu()) ASAN_UNPOISON_MEMORY_REGION(block->data, bytes);
    return block;
  }

  bool on_cpu() const { return device.kind == Device::Kind::cpu; }

  MemoryStats& system_stats() { return usual ? usual->stats : stats; }

  void* from_system(size_t bytes) {
    void* data = try_system(bytes);
    if (!data) {
      release_unused();
      data = try_system(bytes);
      check(data != nullptr,
            "out of memory on {}: {} bytes wanted, {} in use by tensors; a smaller batch or context needs less",
            to_string(device), bytes, system_stats().in_use);
    }
    system_stats().reserved += bytes;
    ++system_stats().system_calls;
    if (on_cpu()) ASAN_POISON_MEMORY_REGION(data, bytes);
    return data;
  }
  void* try_system(size_t bytes) const {
    if (!on_cpu()) return cuda::allocate(bytes, device.index);
    if (bytes < kHuge) return std::aligned_alloc(64, bytes);
    void* data = std::aligned_alloc(kHuge, (bytes + kHuge - 1) / kHuge * kHuge);
#ifdef MADV_HUGEPAGE
    if (data) madvise(data, bytes, MADV_HUGEPAGE);
#endif
    return data;
  }

  void give_back(Storage* block) {
    stats.in_use -= block->bytes;
    ++block->version;
    if (on_cpu()) ASAN_POISON_MEMORY_REGION(block->data, block->bytes);
    free[size_class(block->bytes).index].push_back(block);
    if (abandoned && stats.in_use == 0) destroy();
  }

  // Of a private pool, whose owner is gone.
  void abandon() {
    abandoned = true;
    if (stats.in_use == 0) destroy();
  }
  void destroy() {
    release_unused();
    delete this;
  }

  void release_unused() {
    for (auto& list : free) {
      for (Storage* block : list) {
        system_stats().reserved -= block->bytes;
        if (on_cpu()) {
          ASAN_UNPOISON_MEMORY_REGION(block->data, block->bytes);
          std::free(block->data);
        } else {
          cuda::release(block->data, device.index);
        }
        delete block;
      }
      list.clear();
    }
  }
};

namespace {

struct Usual {  // of one thread and device
  explicit Usual(Device device) : pool(device, nullptr) {}
  Pool pool;
  Pool* current = &pool;
};

constinit thread_local Usual* cpu_usual = nullptr;
constinit thread_local std::array<Usual*, 256> cuda_usual{};  // by the device's index

inline Usual& usual(Device device) {
  Usual*& p = device.kind == Device::Kind::cpu ? cpu_usual : cuda_usual[device.index];
  if (!p) [[unlikely]]
    p = new Usual(device);
  return *p;
}

}  // namespace

PrivatePool::PrivatePool(Device device) : pool_(new Pool(device, &usual(device).pool)) {}
PrivatePool::~PrivatePool() { pool_->abandon(); }

PrivatePool::Use::Use(PrivatePool& pool) : current_(usual(pool.pool_->device).current), before_(current_) {
  current_ = pool.pool_;
}
PrivatePool::Use::~Use() { current_ = before_; }

void Storage::release(Storage* block) { (block->pool ? *block->pool : usual(block->device).pool).give_back(block); }

Ref<Storage> allocate(size_t bytes, Device device) { return Ref<Storage>(usual(device).current->take(bytes)); }

MemoryStats memory_stats(Device device) { return usual(device).pool.stats; }
void reset_peak_memory(Device device) { usual(device).pool.stats.peak = usual(device).pool.stats.in_use; }
void empty_cache(Device device) { usual(device).pool.release_unused(); }

}  // namespace pg
