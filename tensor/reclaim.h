#pragma once
// Memory that is held only to save time later, such as that of decoders that nobody uses now. A device that is full
// gets it back.
#include <cstdint>
#include <functional>

#include "tensor/device.h"

namespace pg {

// While an object of this class exists, allocate() calls `release` when the thread that made the object finds too
// little memory on a device even without the unused blocks of its pool. `release` runs on that thread; it frees what is
// idle on that device, and does not throw. Memory that it allocates is not reclaimed in turn. It is never called while
// a graph of that device is being recorded.
class Reclaimer {
 public:
  explicit Reclaimer(std::function<void(Device)> release);
  ~Reclaimer();
  Reclaimer(const Reclaimer&) = delete;
  Reclaimer& operator=(const Reclaimer&) = delete;

 private:
  uint64_t number_;
};

// Calls the functions that this thread has registered, oldest first.
void call_reclaimers(Device device);

}  // namespace pg
