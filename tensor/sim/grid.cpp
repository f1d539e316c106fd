// Launches of kernels: the shape is checked, the blocks are divided among the thread pool, and the first fault is
// thrown as pg::Error.
#include <fmt/format.h>

#include <atomic>
#include <cstring>
#include <map>
#include <mutex>

#include "tensor/base/error.h"
#include "tensor/base/parallel.h"
#include "tensor/sim/block.h"
#include "tensor/sim/kernel.h"
#include "tensor/sim/sim.h"
#include "tensor/sim/symbols.h"

namespace pg::sim {

namespace {

constexpr size_t kDefaultDynamicLimit = 48 << 10;

std::atomic<int> unchecked{0};

struct DynamicLimits {
  std::mutex mutex;
  std::map<const void*, size_t> bytes;
};
DynamicLimits& dynamic_limits() {
  static DynamicLimits limits;
  return limits;
}

void check_shape(const Kernel& kernel, const std::string& name) {
  const auto [gx, gy, gz] = uint3(kernel.grid);
  const auto [bx, by, bz] = uint3(kernel.block);
  const uint64_t threads = uint64_t{bx} * by * bz;
  check(threads >= 1 && threads <= kMaxThreads && bz <= 64,
        "launch of {}: expected a block of 1 to {} threads (at most 64 in z), got {} x {} x {}", name, kMaxThreads, bx,
        by, bz);
  check(gx >= 1 && gy >= 1 && gz >= 1 && gx <= 0x7fffffff && gy <= 65535 && gz <= 65535,
        "launch of {}: expected a grid of at least one block (at most 2147483647 x 65535 x 65535), got {} x {} x {}",
        name, gx, gy, gz);
  size_t limit = kDefaultDynamicLimit;
  {
    auto& limits = dynamic_limits();
    std::lock_guard lock(limits.mutex);
    if (const auto it = limits.bytes.find(kernel.function); it != limits.bytes.end()) limit = it->second;
  }
  check(kernel.shared_bytes <= limit,
        "launch of {}: expected at most {} bytes of dynamic shared memory, got {}; cudaFuncSetAttribute("
        "…, cudaFuncAttributeMaxDynamicSharedMemorySize, …) raises the limit to {}",
        name, limit, kernel.shared_bytes, SharedMemory::kDynamicLimit);
}

std::string text(uint3 i, dim3 size) {
  if (size.y == 1 && size.z == 1) return fmt::format("{}", i.x);
  return fmt::format("({}, {}, {})", i.x, i.y, i.z);
}

uint3 unflatten(uint64_t i, dim3 size) {
  return {static_cast<unsigned>(i % size.x), static_cast<unsigned>(i / size.x % size.y),
          static_cast<unsigned>(i / size.x / size.y)};
}

}  // namespace

Unchecked::Unchecked() { ++unchecked; }
Unchecked::~Unchecked() { --unchecked; }

void set_dynamic_shared_limit(const void* function, size_t bytes) {
  auto& limits = dynamic_limits();
  std::lock_guard lock(limits.mutex);
  limits.bytes[function] = bytes;
}

std::shared_ptr<const void> copy_of(const Signature& signature, const void* const* arguments) {
  using Unit = std::max_align_t;
  std::shared_ptr<Unit[]> copy(new Unit[signature.bytes / sizeof(Unit) + 1]);
  for (int i = 0; i < signature.count; ++i) {
    const Signature::Parameter& p = signature.parameters[i];
    std::memcpy(reinterpret_cast<char*>(copy.get()) + p.offset, arguments[i], p.bytes);
  }
  return copy;
}

void run(const Kernel& kernel) {
  const std::string name = function_name(kernel.function);
  check_shape(kernel, name);
  const int64_t blocks = int64_t{kernel.grid.x} * kernel.grid.y * kernel.grid.z;
  Report::Data* report = report_data();
  const bool check_accesses = unchecked == 0;

  // Blocks start in order, so all blocks below a faulty one run, and the first fault is the same for any number of
  // threads.
  std::atomic<int64_t> faulty{blocks};
  std::mutex mutex;
  Fault first;
  const int64_t grain = std::max<int64_t>(1, std::min<int64_t>(64, blocks / 64));
  parallel_for(blocks, grain, [&](int64_t begin, int64_t end) {
    Block& block = Block::of_this_host_thread();
    block.begin_launch(kernel, name, check_accesses, report);
    for (int64_t i = begin; i < end && i < faulty; ++i) {
      auto fault = block.run(unflatten(static_cast<uint64_t>(i), kernel.grid));
      if (!fault) continue;
      std::lock_guard lock(mutex);
      if (i < faulty) {
        faulty = i;
        first = std::move(*fault);
      }
      break;
    }
    block.end_launch();
  });
  if (report) {
    KernelStats& stats = report->kernels[name];
    stats.launches += 1;
    stats.blocks += static_cast<uint64_t>(blocks);
    stats.threads += static_cast<uint64_t>(blocks) * kernel.block.x * kernel.block.y * kernel.block.z;
  }
  if (faulty == blocks) return;
  if (first.thrown) std::rethrow_exception(first.thrown);
  const std::string where = first.pc ? fmt::format(" ({})", to_string(source_lines({first.pc})[0], first.pc)) : "";
  fail("{}{}, block {}, thread {}: {}", name, where,
       text(unflatten(static_cast<uint64_t>(faulty.load()), kernel.grid), kernel.grid),
       text(unflatten(static_cast<uint64_t>(first.thread), kernel.block), kernel.block), first.text);
}

}  // namespace pg::sim
