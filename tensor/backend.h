#pragma once
// What a kind of device brings: kernels, memory, copies, recorded work. nn and rl ask here and know no CUDA. The CPU's
// functions are in tensor/backend.cpp, those of CUDA in tensor/cuda/runtime.
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "tensor/device.h"
#include "tensor/kernels.h"
#include "tensor/storage.h"

namespace pg {

struct DeviceInfo {
  std::string name;              // "NVIDIA H200"
  size_t memory = 0, cache = 0;  // bytes; the cache is the second level, which all multiprocessors share
  bool simulated = false;        // such a device says nothing about time
};

// Work that a device has recorded.
class RecordedWork {
 public:
  virtual ~RecordedWork() = default;
  // Launches it behind everything that was launched before, with the addresses and numbers of the recording.
  virtual void launch() = 0;
};

// A copy from a device to the host, during which both go on.
class AsyncCopy {
 public:
  virtual ~AsyncCopy() = default;
  // Copies, behind everything that was launched before.
  virtual void start(const void* from, size_t bytes) = 0;
  // Waits until the copy has arrived; valid until the next start().
  virtual const void* wait() const = 0;
};

// A point in a device's work, reached once all that was launched before is done.
class DeviceEvent {
 public:
  virtual ~DeviceEvent() = default;
  // Seconds from here to `later`, by the device's clock; waits for `later`, which must be of the same backend.
  virtual double seconds_until(const DeviceEvent& later) const = 0;
};

struct Backend {
  const Kernels& (*kernels)();
  int (*device_count)();      // devices that kernels can run on; 0 where the build or the machine has none
  std::string (*why_none)();  // why there is none, as the end of a sentence: "this build has no CUDA; …"
  DeviceInfo (*device_info)(int device);

  // Memory aligned to at least 64 bytes; nullptr if there is not enough. release() waits for its users.
  void* (*allocate)(size_t bytes, int device);
  void (*release)(void* data, int device);
  // Copies bytes between two devices, either of which may be the host, behind everything that was launched before. A
  // copy to the host has arrived on return; one from the host has left: `from` may change.
  void (*copy)(void* to, Device to_device, const void* from, Device from_device, size_t bytes);
  void (*synchronize)();  // waits for all that was launched

  // Exact: a row of a result has the same bits whatever is computed beside it, so that the log-probability of a token
  // is the same when it is sampled and when it is trained on. The CPU is always exact. CUDA is not at first, because it
  // is slower so: it then uses the engine's own products instead of cuBLASLt's.
  bool (*exact)();
  void (*set_exact)(bool on);

  // Error on the CPU, where nothing is launched.
  std::unique_ptr<RecordedWork> (*record)(const std::function<void()>& work);
  std::unique_ptr<AsyncCopy> (*async_copy)(size_t bytes);
  std::unique_ptr<DeviceEvent> (*record_event)();
};

const Backend& backend(Device::Kind kind);
inline const Backend& backend(Device device) { return backend(device.kind); }

// Work that is launched as a whole, again and again: what a step costs the host is then one call (a CUDA graph).
class Graph {
 public:
  // Runs `work`, whose kernels and copies between device memory are recorded instead of done; whatever else it does is
  // done now and not again. Everything must have run before (products choose their algorithm then). Memory allocated
  // meanwhile stays with the graph. Error where `work` waits for the device or reads from it.
  Graph(Device device, const std::function<void()>& work);
  void replay() const { recorded_->launch(); }

 private:
  PrivatePool pool_;
  std::unique_ptr<RecordedWork> recorded_;
};

}  // namespace pg
