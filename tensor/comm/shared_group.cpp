#include "tensor/comm/shared_group.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <thread>
#if defined(__linux__)
#include <linux/futex.h>
#include <sys/syscall.h>
#endif

#include "tensor/base/cores.h"
#include "tensor/base/error.h"
#include "tensor/comm/activity.h"
#include "tensor/comm/host_comm.h"
#include "tensor/comm/sockets.h"

namespace pg {
namespace {

// Polls of a word before a thread sleeps, some microseconds. None if there are more ranks than processors: the rank
// that is waited for would need this one.
int spins_for(int ranks) { return ranks <= usable_cores() ? 2000 : 0; }

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// Sleeps until `word` is no longer `value`, or for a short time.
void sleep_on(std::atomic<uint32_t>& word, uint32_t value) {
#if defined(__linux__)
  const timespec most{0, 20'000'000};
  syscall(SYS_futex, &word, FUTEX_WAIT, value, &most, nullptr, 0);
#else
  if (word.load(std::memory_order_acquire) == value) usleep(50);
#endif
}
void wake(std::atomic<uint32_t>& word) {
#if defined(__linux__)
  syscall(SYS_futex, &word, FUTEX_WAKE, kMostRanks, nullptr, nullptr, 0);
#else
  static_cast<void>(word);
#endif
}

// Cuts a text off where `to` ends.
template <size_t N>
void store_text(char (&to)[N], const std::string& text) {
  const size_t n = std::min(text.size(), N - 1);
  std::memcpy(to, text.data(), n);
  to[n] = 0;
}

size_t whole_pages(size_t n) { return (n + 4095) / 4096 * 4096; }

#if defined(__linux__)
// A file may be mapped only if no process can cut it: what lies behind its end cannot be read.
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
#endif

// A file in memory, without a name; it ends with the last process that has it.
int new_file(size_t bytes) {
#if defined(__linux__)
  Socket file(memfd_create("policygrad ranks", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  check(file.fd() >= 0 && ftruncate(file.fd(), static_cast<off_t>(bytes)) == 0 &&
            fcntl(file.fd(), F_ADD_SEALS, kSeals) == 0,
        "ranks: the system has no {} MB of shared memory: {}", bytes >> 20, std::strerror(errno));
  return file.release();
#else
  fail("ranks: ranks that another program has started cannot share {} MB of memory here; start them with --ranks N",
       bytes >> 20);
#endif
}

void* map(size_t bytes, int file) {
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, file < 0 ? MAP_SHARED | MAP_ANONYMOUS : MAP_SHARED, file, 0);
  check(at != MAP_FAILED, "ranks: the system has no {} MB of shared memory: {}", bytes >> 20, std::strerror(errno));
  return at;
}

}  // namespace

size_t SharedGroup::bytes(int ranks) {
  const auto n = static_cast<size_t>(ranks);
  return whole_pages(sizeof(SharedGroup)) + 2 * n * n * static_cast<size_t>(kPieceBytes);
}

SharedGroup::SharedGroup(int ranks, double timeout, double longest, bool forks)
    : ranks_(ranks), timeout_(timeout), longest_(longest), spins_(spins_for(ranks)), forks_(forks) {}

SharedGroup* SharedGroup::create(int ranks, double timeout, double longest, int* file) {
  check(ranks >= 1 && ranks <= kMostRanks, "ranks: expected 1 to {}, got {}", kMostRanks, ranks);
  check(timeout > 0 && longest > 0, "ranks: the timeouts must be above 0 s, got {} and {}", timeout, longest);
  Socket own(file ? new_file(bytes(ranks)) : -1);
  void* at = map(bytes(ranks), own.fd());
  if (file) *file = own.release();
  return new (at) SharedGroup(ranks, timeout, longest, !file);
}

SharedGroup* SharedGroup::attach(int pid, int file, int ranks) {
#if defined(__linux__)
  const std::string path = fmt::format("/proc/{}/fd/{}", pid, file);
  const Socket own(open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  check(own.fd() >= 0, "ranks: cannot open the memory of rank 0, {}: {}", path, std::strerror(errno));
  struct stat about {};
  const bool fits = ranks >= 1 && ranks <= kMostRanks && fstat(own.fd(), &about) == 0 &&
                    static_cast<size_t>(about.st_size) == bytes(ranks) && fcntl(own.fd(), F_GET_SEALS) == kSeals;
  check(fits, "ranks: {} of rank 0 is not the memory of {} ranks", path, ranks);
  auto* group = static_cast<SharedGroup*>(map(bytes(ranks), own.fd()));
  check(group->ranks_ == ranks, "ranks: {} of rank 0 is the memory of {} ranks, expected {}", path, group->ranks_,
        ranks);
  return group;
#else
  fail("ranks: process {}, file {}: on this system {} ranks cannot share it", pid, file, ranks);
#endif
}

void SharedGroup::destroy() { munmap(static_cast<void*>(this), bytes(ranks_)); }

char* SharedGroup::piece(int owner, int reader, int turn) const {
  const auto at = static_cast<size_t>((turn * ranks_ + owner) * ranks_ + reader) * static_cast<size_t>(kPieceBytes);
  return const_cast<char*>(reinterpret_cast<const char*>(this)) + whole_pages(sizeof(SharedGroup)) + at;
}

void SharedGroup::begin(int rank, const CollectiveCall& call) {
  Member& own = members_[rank];
  own.call[++own.calls % 2] = call;
  step(rank, call);
  const auto of = [&](int r) -> const CollectiveCall& { return members_[r].call[own.calls % 2]; };
  for (int r = 1; r < ranks_; ++r) {
    if (of(r) != of(0)) fail_different(of(0), r, of(r), own.calls);
  }
}

void SharedGroup::step(int rank, const CollectiveCall& call) {
  Member& own = members_[rank];
  const uint32_t steps = own.steps.load(std::memory_order_relaxed) + 1;
  own.steps.store(steps, std::memory_order_release);
  wake(own.steps);
  for (int other = 0; other < ranks_; ++other) {
    if (other == rank) continue;
    const std::string failure = wait_for(other, steps);
    check(failure.empty(), "{}: {}", name_of_call(rank, call, own.calls), failure);
  }
}

std::string SharedGroup::wait_for(int other, uint32_t steps) {
  Member& member = members_[other];
  // Counters wrap around, so their difference is compared.
  const auto there = [&] { return static_cast<int32_t>(member.steps.load(std::memory_order_acquire) - steps) >= 0; };
  for (int i = 0; i < spins_; ++i) {
    if (there()) return "";
    pause();
  }
  ActivityWatch watch(member.pid.load(std::memory_order_relaxed), std::min(0.2, timeout_ / 4));
  for (;;) {
    const uint32_t seen = member.steps.load(std::memory_order_acquire);
    const bool left = member.left.load(std::memory_order_acquire) || (!forks_ && watch.has_ended());
    if (there()) return "";
    if (gave_up()) return reason_;
    if (left) return give_up(fmt::format("rank {} has ended and does not take part", other));
    if (watch.idle_seconds() > timeout_) {
      return give_up(fmt::format("rank {} has not come and has done nothing for {:g} s", other, timeout_));
    }
    if (watch.watched_seconds() > longest_) {
      return give_up(fmt::format("rank {} did not come within {:g} s", other, longest_));
    }
    sleep_on(member.steps, seen);
  }
}

std::string SharedGroup::give_up(const std::string& reason) {
  uint32_t none = 0;
  if (failure_.compare_exchange_strong(none, 1)) {
    store_text(reason_, reason);
    failure_.store(2, std::memory_order_release);
  }
  for (int r = 0; r < ranks_; ++r) wake(members_[r].steps);
  return gave_up() ? reason_ : reason;  // another process may still be writing its reason
}

void SharedGroup::set_sentence(int rank, const std::string& sentence) { store_text(members_[rank].sentence, sentence); }

}  // namespace pg
