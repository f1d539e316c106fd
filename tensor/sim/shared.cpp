// Shared memory of blocks.
#include "tensor/sim/shared.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "tensor/base/error.h"
#include "tensor/sim/symbols.h"

namespace pg::sim {

namespace {

// device.h puts a variable of this name before each shared one.
bool guard(const ThreadLocal& v) { return v.name.rfind("pg_sim_guard_", 0) == 0; }

}  // namespace

SharedMemory::SharedMemory() {
  void* memory = mmap(nullptr, kDynamicLimit + kMargin, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  check(memory != MAP_FAILED, "CUDA simulator: no memory for dynamic shared memory ({} bytes)", kDynamicLimit);
  dynamic_.reset(static_cast<char*>(memory));
  dynamic_begin_ = reinterpret_cast<uintptr_t>(memory);

  const Bytes block = thread_local_block();
  static_begin_ = reinterpret_cast<uintptr_t>(block.begin);
  static_size_ = (block.size + 15) / 16 * 16;
  // A function that has a guard has shared variables and no other thread_local ones. The memory between them is
  // padding, and an access to it is an error; all other variables are the host's.
  const auto locals = thread_locals();
  std::set<std::string> scopes;
  for (const auto& v : locals) {
    if (guard(v)) scopes.insert(v.scope);
  }
  owner_.assign(static_size_ / 4, scopes.empty() ? kOther : kGap);
  for (const auto& v : locals) {
    if (guard(v)) continue;
    const bool shared = scopes.count(v.scope) > 0;
    const auto id = shared ? static_cast<uint16_t>(variables_.size()) : kOther;
    if (shared) variables_.push_back({v.name, v.offset, v.offset + v.size});
    const size_t end = std::min((v.offset + v.size + 3) / 4, owner_.size());
    for (size_t word = v.offset / 4; word < end; ++word) owner_[word] = id;
  }
}

void SharedMemory::Free::operator()(char* memory) const { munmap(memory, kDynamicLimit + kMargin); }

void SharedMemory::poison() {
  for (const auto& v : variables_) {
    std::memset(reinterpret_cast<char*>(static_begin_) + v.begin, 0xff, v.end - v.begin);
  }
  std::memset(dynamic_.get(), 0xff, kDynamicLimit);
}

std::string SharedMemory::describe(size_t position, size_t dynamic_bytes) const {
  if (position >= static_size_) {
    return fmt::format("byte {} of dynamic shared memory ({} bytes)", position - static_size_, dynamic_bytes);
  }
  const Variable* nearest = nullptr;  // the last one that begins before
  for (const auto& v : variables_) {
    if (v.begin <= position && (!nearest || v.begin > nearest->begin)) nearest = &v;
  }
  if (!nearest) return "a byte before the first shared variable";
  return fmt::format("byte {} of shared variable {} ({} bytes)", position - nearest->begin, nearest->name,
                     nearest->end - nearest->begin);
}

}  // namespace pg::sim
