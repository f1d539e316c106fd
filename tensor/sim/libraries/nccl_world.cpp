#include "tensor/sim/libraries/nccl_world.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <random>

#include "tensor/base/error.h"

namespace pg::sim {

size_t World::header_bytes() { return (sizeof(Shared) + 4095) / 4096 * 4096; }
size_t World::file_bytes() { return header_bytes() + 2 * kMostRanks * kMostBytes; }

std::string World::new_path() {
  std::random_device random;
  return (std::filesystem::temp_directory_path() / fmt::format("policygrad-nccl-{:08x}{:08x}", random(), random()))
      .string();
}

World::World(const std::string& path) : path_(path) {
  static_assert(std::atomic<uint64_t>::is_always_lock_free && std::atomic<int>::is_always_lock_free);
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  check(file >= 0, "simulated NCCL: cannot open {}: {}", path, std::strerror(errno));
  // Zeros are the state of a group that no one has joined. Only pages that are written take room.
  const bool sized = ftruncate(file, static_cast<off_t>(file_bytes())) == 0;
  void* at = sized ? mmap(nullptr, file_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : MAP_FAILED;
  const int error = errno;
  close(file);
  if (at == MAP_FAILED) unlink(path.c_str());
  check(at != MAP_FAILED, "simulated NCCL: cannot map {}: {}", path, std::strerror(error));
  shared_ = static_cast<Shared*>(at);
}

World::~World() {
  munmap(static_cast<void*>(shared_), file_bytes());
  unlink(path_.c_str());  // whoever is first; a group that has not begun by now never will
}

void World::join(int rank) { shared_->members[rank].joined.store(1, std::memory_order_release); }

bool World::complete(int ranks) {
  for (int r = 0; r < ranks; ++r) {
    if (shared_->members[r].joined.load(std::memory_order_acquire) == 0) return false;
  }
  unlink(path_.c_str());
  return true;
}

void World::abort() { shared_->aborted.store(1, std::memory_order_release); }
bool World::aborted() const { return shared_->aborted.load(std::memory_order_acquire) != 0; }

char* World::bytes_of(int rank, uint64_t round) const {
  const size_t area = static_cast<size_t>(rank) * 2 + round % 2;
  return reinterpret_cast<char*>(shared_) + header_bytes() + area * kMostBytes;
}

void World::post(int rank, uint64_t round, const std::vector<WorldCall>& calls,
                 const std::vector<std::vector<char>>& sent) {
  check(calls.size() <= kMostCalls, "simulated NCCL: {} calls in a group, expected at most {}", calls.size(),
        kMostCalls);
  Slot& slot = shared_->members[rank].slots[round % 2];
  size_t end = 0;
  for (size_t i = 0; i < calls.size(); ++i) {
    check(sent[i].size() <= kMostBytes - end, "simulated NCCL: a rank sends more than {} bytes at a time", kMostBytes);
    slot.call[i] = calls[i];
    slot.begin[i] = end;
    if (!sent[i].empty()) std::memcpy(bytes_of(rank, round) + end, sent[i].data(), sent[i].size());
    end += (sent[i].size() + 15) / 16 * 16;
    end = std::min(end, kMostBytes);
  }
  slot.calls = calls.size();
  slot.round.store(round, std::memory_order_release);
}

bool World::agreed(int ranks, uint64_t round) const {
  for (int r = 0; r < ranks; ++r) {
    if (slot(r, round).round.load(std::memory_order_acquire) != round) return false;
  }
  const Slot& first = slot(0, round);
  for (int r = 1; r < ranks; ++r) {
    const Slot& other = slot(r, round);
    if (other.calls != first.calls || !std::equal(first.call, first.call + first.calls, other.call)) return false;
  }
  return true;
}

const char* World::sent(int rank, uint64_t round, size_t call) const {
  return bytes_of(rank, round) + slot(rank, round).begin[call];
}

}  // namespace pg::sim
