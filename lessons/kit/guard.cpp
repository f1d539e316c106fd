// The record of the pieces called by the demonstration, in memory shared by parent and child processes.
#include "lessons/kit/guard.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>

#include "lessons/kit/milestone.h"
#include "tensor/base/error.h"

namespace pg::kit {
namespace {

constexpr size_t kCounted = 64;  // pieces at most

struct Record {
  char name[128];
  bool threw, ended;
  std::atomic<int64_t> calls[kCounted];  // of counted[i]
};
std::vector<std::string> counted;

std::mutex mutex;  // a demonstration may call pieces from several threads

Record& record() {
  static Record* const shared = [] {
    void* memory = mmap(nullptr, sizeof(Record), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    check(memory != MAP_FAILED, "mine: mmap: {}", std::strerror(errno));
    return static_cast<Record*>(memory);
  }();
  return *shared;
}

void set_name(const std::string& name) {
  Record& r = record();
  const size_t length = std::min(name.size(), sizeof r.name - 1);
  std::memcpy(r.name, name.data(), length);
  r.name[length] = 0;
}

}  // namespace

LastPiece last_piece() {
  const std::lock_guard lock(mutex);
  return {record().name, record().threw, record().ended};
}
void begin_pieces() {
  const std::lock_guard lock(mutex);
  record().name[0] = 0;
  record().threw = record().ended = false;
}
void enter_piece(const std::string& name) {
  const std::lock_guard lock(mutex);
  if (!record().threw) set_name(name);
  const auto found = std::find(counted.begin(), counted.end(), name);
  if (found != counted.end()) ++record().calls[found - counted.begin()];
}
void count_piece(const std::string& name) {
  const std::lock_guard lock(mutex);
  if (std::find(counted.begin(), counted.end(), name) != counted.end()) return;
  check(counted.size() < kCounted, "milestone: more than {} pieces", kCounted);
  counted.push_back(name);
  record();  // made before a child process is
}
std::vector<std::pair<std::string, int64_t>> piece_calls() {
  const std::lock_guard lock(mutex);
  std::vector<std::pair<std::string, int64_t>> calls;
  for (size_t i = 0; i < counted.size(); ++i) calls.emplace_back(counted[i], record().calls[i]);
  return calls;
}
void piece_threw(const std::string& name) {
  const std::lock_guard lock(mutex);
  if (record().threw) return;
  set_name(name);
  record().threw = true;
}
void demonstration_ended() {
  const std::lock_guard lock(mutex);
  record().ended = true;
}

}  // namespace pg::kit
