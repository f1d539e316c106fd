// Checks each access of a kernel: bounds, initialisation, races.
#include "tensor/sim/checker.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tensor/base/error.h"
#include "tensor/sim/symbols.h"

namespace pg::sim {

namespace {

const char* verb(uint8_t kind) {
  return kind == Touch::read ? "reads" : kind == Touch::write ? "writes" : "atomically changes";
}

// stop() with the text that f returns. All else that f allocates is free before: no destructors run after stop().
template <class F>
[[noreturn]] void stop_with(const void* pc, F f) {
  stop(pc, f());
}

// Memory that the system zeroes on first access, so that tables for the largest shared memory cost nothing if less is
// used.
template <class T>
T* zeroed(size_t count) {
  void* memory = std::calloc(count, sizeof(T));
  check(memory != nullptr, "CUDA simulator: no memory for its tables ({} bytes)", count * sizeof(T));
  return static_cast<T*>(memory);
}

}  // namespace

Checker::Checker(const SharedMemory& shared)
    : shared_(shared),
      image_begin_(reinterpret_cast<uintptr_t>(program_image().begin)),
      image_size_(program_image().size),
      shared_words_(zeroed<SharedWord>(shared.positions() / 4 + 1)),
      global_words_(zeroed<GlobalWord>(size_t{1} << kGlobalBits)) {
  for (Recent& recent : recent_) forget(recent);
}

void Checker::begin_launch(const Kernel& kernel) {
  arguments_ = reinterpret_cast<uintptr_t>(kernel.arguments.get());
  argument_bytes_ = kernel.signature->bytes;
  dynamic_bytes_ = kernel.shared_bytes;
  device_ = kernel.device;
}

void Checker::forget(Recent& recent) {
  for (const Use& use : {recent.read, recent.written}) {
    if (use.begin < use.end) add_use(&uses_, recent.allocation.number, use);
  }
  recent = {{}, {UINTPTR_MAX, 0, false}, {UINTPTR_MAX, 0, true}};
}

void Checker::end_launch() {
  for (Recent& recent : recent_) forget(recent);
  add_uses_of_running_work(uses_);
  uses_.clear();
}

void Checker::begin_block(int threads) {
  ++block_;
  ++epoch_;
  unwritten_.reset();
  clocks_.begin_block((threads + 31) / 32);
}

Space Checker::locate(const Access& access, size_t* shared_position) {
  for (Recent& recent : recent_) {
    if (!recent.allocation.contains(access.address, access.bytes)) continue;
    Use& use = access.kind == Touch::read ? recent.read : recent.written;
    use.begin = std::min(use.begin, access.address);
    use.end = std::max(use.end, access.address + access.bytes);
    return Space::global;
  }
  switch (shared_.locate(access.address, access.bytes, dynamic_bytes_, shared_position)) {
    case SharedMemory::Where::inside:
      return Space::shared;
    case SharedMemory::Where::outside:
      out_of_shared(access, *shared_position);
    case SharedMemory::Where::host:
      return Space::none;
    case SharedMemory::Where::elsewhere:
      break;
  }
  if (access.address - image_begin_ < image_size_) return Space::none;
  if (access.address - arguments_ < argument_bytes_) return Space::none;
  const Allocation found = find_allocation(access.address);
  if (!found.contains(access.address, access.bytes)) out_of_bounds(access);
  if (found.kind == MemoryKind::device && found.device != device_) {
    stop(access.pc, fmt::format("memory of another device: {} {} bytes of an allocation on device {} from a kernel on "
                                "device {}; call cudaSetDevice before the allocation",
                                verb(access.kind), access.bytes, found.device, device_));
  }
  forget(recent_[oldest_]);
  recent_[oldest_].allocation = found;
  oldest_ = (oldest_ + 1) % static_cast<int>(recent_.size());
  return locate(access, shared_position);
}

Touch Checker::touch(const Access& access, uint8_t bytes) const {
  return {.line = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(access.pc) - image_begin_),
          .epoch = epoch_,
          .clock = clocks_.now(access.thread),
          .thread = static_cast<uint16_t>(access.thread),
          .bytes = bytes,
          .kind = access.kind};
}

// Calls f(word, mask of its bytes) for the words of 4 bytes that [begin, begin + bytes) touches.
template <class F>
static void for_words(uintptr_t begin, size_t bytes, F f) {
  const uintptr_t end = begin + bytes;
  for (uintptr_t word = begin / 4; word * 4 < end; ++word) {
    const uintptr_t from = std::max(begin, word * 4), to = std::min(end, word * 4 + 4);
    f(word, static_cast<uint8_t>(((1u << (to - from)) - 1) << (from - word * 4)));
  }
}

void Checker::check_shared(const Access& access, size_t position) {
  for_words(position, access.bytes, [&](uintptr_t index, uint8_t bytes) {
    SharedWord& word = shared_words_[index];
    if (word.block != block_) {
      word.block = block_;
      word.written = word.delayed = 0;
    }
    const bool uninitialised = access.kind != Touch::write && (bytes & ~word.written) != 0;
    if (const Touch* other = find_race(word.last, touch(access, bytes), clocks_))
      race(access, *other, shared_.describe(index * 4, dynamic_bytes_));
    if (bytes & word.delayed) {
      stop_with(access.pc, [&] {
        return fmt::format(
            "cp.async not complete: {} {}, which an asynchronous copy may not have written yet; the "
            "thread that started the copy must wait for its group (cp.async.wait_group), and other "
            "threads then for a barrier (__syncthreads())",
            verb(access.kind), shared_.describe(index * 4, dynamic_bytes_));
      });
    }
    if (uninitialised && !unwritten_) {
      const std::string location = shared_.describe(std::max(position, index * 4), dynamic_bytes_);
      unwritten_ = Fault{access.pc, access.thread,
                         fmt::format("uninitialised shared memory: {} {}, which no thread of the block has written; "
                                     "shared memory has no defined content when a block starts",
                                     verb(access.kind), location)};
    }
    if (access.kind != Touch::read) word.written |= bytes;
  });
}

void Checker::delay(const Access& write, size_t position) {
  for_words(position, write.bytes, [&](uintptr_t index, uint8_t bytes) { shared_words_[index].delayed |= bytes; });
}

void Checker::arrive(const Access& write, size_t position) {
  for_words(position, write.bytes, [&](uintptr_t index, uint8_t bytes) { shared_words_[index].delayed &= ~bytes; });
  check_shared(write, position);
}

void Checker::check_global(const Access& access) {
  for_words(access.address, access.bytes, [&](uintptr_t index, uint8_t bytes) {
    GlobalWord& word = global_words_[(index ^ index >> 20) & ((1 << kGlobalBits) - 1)];
    if (word.word != index) {
      word.word = index;
      for (Touch& last : word.last) last.epoch = 0;
    }
    if (const Touch* other = find_race(word.last, touch(access, bytes), clocks_)) {
      const Allocation found = find_allocation(access.address);
      race(access, *other,
           fmt::format("byte {} of a device allocation of {} bytes", index * 4 - found.begin, found.size));
    }
  });
}

void Checker::misaligned(const Access& access, size_t alignment) const {
  stop_with(access.pc, [&] {
    size_t position = 0;
    const auto shared = shared_.locate(access.address, access.bytes, dynamic_bytes_, &position);
    const Allocation found = find_allocation(access.address);
    std::string location = fmt::format("address {:#x}", access.address);
    if (found.size)
      location = fmt::format("byte {} of a device allocation of {} bytes", access.address - found.begin, found.size);
    if (shared == SharedMemory::Where::inside) location = shared_.describe(position, dynamic_bytes_);
    return fmt::format(
        "misaligned address: {} {} bytes at {}, {} bytes past a multiple of {}; a GPU accesses a type of {} bytes only "
        "at multiples of {}",
        verb(access.kind), access.bytes, location, access.address % alignment, alignment, access.bytes, alignment);
  });
}

void Checker::out_of_bounds(const Access& access) {
  const Allocation found = find_allocation(access.address);
  stop_with(access.pc, [&] {
    if (found.size) {
      return fmt::format("out of bounds: {} {} bytes at byte {} of a device allocation of {} bytes", verb(access.kind),
                         access.bytes, access.address - found.begin, found.size);
    }
    return fmt::format("out of bounds: {} {} bytes at {}; compare the index with the size before the access",
                       verb(access.kind), access.bytes, describe_address(access.address));
  });
}

void Checker::out_of_shared(const Access& access, size_t position) {
  stop_with(access.pc, [&] {
    return fmt::format("out of bounds: {} {} bytes at {}", verb(access.kind), access.bytes,
                       shared_.describe(position, dynamic_bytes_));
  });
}

void Checker::race(const Access& access, const Touch& other, std::string location) {
  stop_with(access.pc, [&] {
    const std::string place = std::move(location);
    const void* pc = reinterpret_cast<const void*>(image_begin_ + other.line);
    const bool one_warp = access.thread / 32 == other.thread / 32;
    return fmt::format(
        "race: {} {}, which thread {} {} ({}), and the two accesses are not ordered; put {} between them",
        verb(access.kind), place, other.thread,
        other.kind == Touch::read    ? "reads"
        : other.kind == Touch::write ? "writes"
                                     : "atomically changes",
        to_string(source_lines({pc})[0], pc), one_warp ? "__syncwarp() or __syncthreads()" : "__syncthreads()");
  });
}

}  // namespace pg::sim
