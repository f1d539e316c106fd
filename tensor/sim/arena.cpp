// Device memory that host code cannot access.
#include "tensor/sim/arena.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <string>

#include "tensor/base/error.h"
#include "tensor/sim/memory.h"
#include "tensor/sim/sim.h"
#include "tensor/sim/symbols.h"

namespace pg::sim {

namespace {

constexpr size_t kReserved = size_t{1} << 40;  // addresses, not memory
constexpr size_t kAlignment = 256;

std::atomic<int> protecting{0};  // number of ProtectedMemory objects

void on_signal(int number, siginfo_t* info, void* context);

// A range of addresses, of which [begin, begin + used) has been handed out and is opened and closed as a whole.
struct Arena {
  std::mutex mutex;
  std::atomic<char*> begin = nullptr;
  size_t used = 0;
  std::map<size_t, size_t> free;   // sizes of the free ranges below `used`, by offset; no two are adjacent
  std::map<size_t, size_t> taken;  // sizes of the allocations, by offset
  int users = 0;                   // OpenArena objects
  struct sigaction before {};      // the handler that was there before ours

  void protect(int protection) {
    if (used == 0) return;
    check(mprotect(begin, used, protection) == 0, "CUDA simulator: mprotect of {} bytes: {}", used,
          std::strerror(errno));
  }
  // Test frameworks set handlers too, for each test.
  void set_handler() {
    struct sigaction now {};
    sigaction(SIGSEGV, nullptr, &now);
    if ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_signal) return;
    before = now;
    struct sigaction ours {};
    ours.sa_sigaction = on_signal;
    ours.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGSEGV, &ours, nullptr);
  }
};
Arena& arena() {
  static auto* the_one = new Arena;  // memory may be released at exit
  return *the_one;
}

const char* verb([[maybe_unused]] void* context) {
#if defined(__x86_64__)
  const auto error = static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR];
  return (error & 2) ? "wrote" : "read";
#else
  return "accessed";
#endif
}
const void* place([[maybe_unused]] void* context) {
#if defined(__x86_64__)
  return reinterpret_cast<const void*>(static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP] + 1);
#elif defined(__aarch64__)
  return reinterpret_cast<const void*>(static_cast<ucontext_t*>(context)->uc_mcontext.pc + 4);
#else
  return nullptr;
#endif
}

// Says what happened if it happened in the arena; then the handler that was there before decides, or the default, which
// ends the process. The access was not in the middle of an allocation of host memory, so this may allocate.
void on_signal(int number, siginfo_t* info, void* context) {
  const Arena& all = arena();
  if (in_arena(info->si_addr)) {
    const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
    const Allocation found = find_allocation(address);
    const std::string location =
        found.size ? fmt::format("byte {} of a device allocation of {} bytes", address - found.begin, found.size)
                   : describe_address(address);
    const void* pc = place(context);
    const SourceLine line = pc ? source_lines({pc})[0] : SourceLine{};
    const std::string where = line.file.empty() ? "" : fmt::format(" ({})", to_string(line, pc));
    const std::string text =
        fmt::format("CUDA simulator: the host {} device memory{}: address {}, {}; copy it to the host first\n",
                    verb(context), where, fmt::ptr(info->si_addr), location);
    [[maybe_unused]] const auto written = write(STDERR_FILENO, text.data(), text.size());
  }
  if ((all.before.sa_flags & SA_SIGINFO) && all.before.sa_sigaction) {
    all.before.sa_sigaction(number, info, context);
    return;
  }
  if (all.before.sa_handler != SIG_DFL && all.before.sa_handler != SIG_IGN) {
    all.before.sa_handler(number);
    return;
  }
  signal(number, SIG_DFL);  // the access is repeated, and ends the process
}

// Reserves the addresses.
void make(Arena& all) {
  if (all.begin) return;
  void* memory = mmap(nullptr, kReserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  check(memory != MAP_FAILED, "CUDA simulator: no room for {} bytes of addresses, which POLICYGRAD_SIM_PROTECT needs",
        kReserved);
  all.begin = static_cast<char*>(memory);
}

}  // namespace

ProtectedMemory::ProtectedMemory() { ++protecting; }
ProtectedMemory::~ProtectedMemory() { --protecting; }

bool protects_memory() {
  static const bool always = [] {
    const char* text = std::getenv("POLICYGRAD_SIM_PROTECT");
    return text && std::strcmp(text, "1") == 0;
  }();
  return always || protecting > 0;
}

bool in_arena(const void* memory) {
  const char* const begin = arena().begin;
  return begin && reinterpret_cast<uintptr_t>(memory) - reinterpret_cast<uintptr_t>(begin) < kReserved;
}

void* arena_allocate(size_t bytes) {
  Arena& all = arena();
  const std::lock_guard lock(all.mutex);
  make(all);
  const size_t size = std::max<size_t>((bytes + kAlignment - 1) / kAlignment, 1) * kAlignment;
  auto it = std::find_if(all.free.begin(), all.free.end(), [size](const auto& range) { return range.second >= size; });
  size_t offset = all.used;
  if (it != all.free.end()) {
    offset = it->first;
    const size_t rest = it->second - size;
    all.free.erase(it);
    if (rest > 0) all.free[offset + size] = rest;
  } else {
    if (size > kReserved - all.used) return nullptr;
    all.used += size;
    all.protect(all.users > 0 ? PROT_READ | PROT_WRITE : PROT_NONE);
  }
  all.taken[offset] = size;
  all.set_handler();
  return all.begin + offset;
}

void arena_release(void* memory) {
  Arena& all = arena();
  const std::lock_guard lock(all.mutex);
  const auto taken = all.taken.find(static_cast<size_t>(static_cast<char*>(memory) - all.begin.load()));
  size_t offset = taken->first, size = taken->second;
  all.taken.erase(taken);
  const auto next = all.free.lower_bound(offset);
  if (next != all.free.end() && next->first == offset + size) {
    size += next->second;
    all.free.erase(next);
  }
  const auto after = all.free.lower_bound(offset);
  if (after != all.free.begin() && std::prev(after)->first + std::prev(after)->second == offset) {
    offset = std::prev(after)->first;
    size += std::prev(after)->second;
  }
  all.free[offset] = size;
}

OpenArena::OpenArena() {
  Arena& all = arena();
  const std::lock_guard lock(all.mutex);
  if (all.users++ == 0) all.protect(PROT_READ | PROT_WRITE);
}

OpenArena::~OpenArena() {
  Arena& all = arena();
  const std::lock_guard lock(all.mutex);
  if (--all.users > 0 || all.used == 0) return;
  all.protect(PROT_NONE);
  all.set_handler();
}

}  // namespace pg::sim
