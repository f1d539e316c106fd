#include "tensor/reclaim.h"

#include <map>
#include <mutex>
#include <thread>
#include <utility>

namespace pg {
namespace {

struct Entry {
  std::thread::id thread;
  std::function<void(Device)> release;
};
struct Registry {
  std::recursive_mutex mutex;  // a release function may destroy a Reclaimer
  std::map<uint64_t, Entry> entries;
  uint64_t count = 0;
};
Registry& registry() {
  static auto* all = new Registry;  // never destroyed: a Reclaimer may be static
  return *all;
}

constinit thread_local bool reclaiming = false;

}  // namespace

Reclaimer::Reclaimer(std::function<void(Device)> release) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  number_ = ++all.count;
  all.entries[number_] = {std::this_thread::get_id(), std::move(release)};
}

Reclaimer::~Reclaimer() {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  all.entries.erase(number_);
}

void call_reclaimers(Device device) {
  if (reclaiming) return;
  reclaiming = true;
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  for (auto it = all.entries.begin(); it != all.entries.end();) {
    const uint64_t number = it->first;
    if (it->second.thread == std::this_thread::get_id()) {
      const auto release = it->second.release;  // a copy: the call may end its own registration
      release(device);
    }
    it = all.entries.upper_bound(number);
  }
  reclaiming = false;
}

}  // namespace pg
