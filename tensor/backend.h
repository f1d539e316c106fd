#pragma once
// The interface of a device kind: kernels, memory, copies, recorded work. nn and rl use this interface and contain no
// CUDA code. The CPU's functions are in tensor/backend.cpp, CUDA's are in tensor/cuda/runtime.
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "tensor/device.h"
#include "tensor/storage.h"

namespace pg {

struct Kernels;  // tensor/kernels.h

struct DeviceInfo {
  std::string name;              // "NVIDIA H200"
  size_t memory = 0, cache = 0;  // bytes; cache is the L2 cache, which all multiprocessors share
  bool simulated = false;        // timings on a simulated device are meaningless
};

struct DeviceMemory {
  size_t free = 0, total = 0;  // bytes
};

// Work that a device has recorded.
class RecordedWork {
 public:
  virtual ~RecordedWork() = default;
  // Launches the work after everything launched before, with the addresses and scalar arguments of the recording.
  virtual void launch() = 0;
};

// An asynchronous copy from a device to the host: both continue to work during the copy.
class AsyncCopy {
 public:
  virtual ~AsyncCopy() = default;
  // Starts the copy, which runs after everything launched before.
  virtual void start(const void* from, size_t bytes) = 0;
  // Waits until the copy has arrived and returns the data on the host, valid until the next start().
  virtual const void* wait() const = 0;
};

// An event in a device's sequence of work, reached once everything launched before it is done.
class DeviceEvent {
 public:
  virtual ~DeviceEvent() = default;
  // Seconds from here to `later`, by the device's clock; waits for `later`, which must be of the same backend.
  virtual double seconds_until(const DeviceEvent& later) const = 0;
};

struct Backend {
  const Kernels& (*kernels)(int device);  // also makes it the device that this thread works with
  int (*device_count)();                  // devices that kernels can run on; 0 if the build or the machine has none
  std::string (*why_none)();  // why there is none, phrased as the end of a sentence: "this build has no CUDA; …"
  DeviceInfo (*device_info)(int device);
  DeviceMemory (*memory)(int device);

  // allocate() returns memory aligned to at least 64 bytes, or nullptr if there is not enough. release() waits for the
  // work that uses the memory; it does not throw: an error of that work is thrown by the thread's next call.
  void* (*allocate)(size_t bytes, int device);
  void (*release)(void* data, int device);
  // Copies bytes between two devices, either of which may be the host, after everything launched before. When copy()
  // returns, a copy to the host is complete; after a copy from the host, `from` may change.
  void (*copy)(void* to, Device to_device, const void* from, Device from_device, size_t bytes);
  void (*synchronize)();  // waits for everything launched

  // Exact mode: a row of a result has the same bits whatever other rows are computed together with it, so that the
  // log-probability of a token is the same in sampling and in training. The CPU is always exact. CUDA is not exact by
  // default, because exact mode is slower: it uses the engine's own matrix products instead of cuBLASLt's.
  bool (*exact)();
  void (*set_exact)(bool on);

  // How this thread's latest matrix product was computed on a CUDA device: by which algorithm of cuBLASLt and with
  // which of its epilogues, and what the timings were that selected it. For benchmarks; empty on the CPU.
  std::string (*last_matmul)();

  // Whether record() can be used: not on the CPU, and not under POLICYGRAD_CUDA_SYNC=1, where launches wait for their
  // kernels.
  bool (*records)();
  // These three throw Error on the CPU, where kernels run immediately. They and synchronize() mean the device
  // that this thread works with; what they return stays with that device.
  std::unique_ptr<RecordedWork> (*record)(const std::function<void()>& work);
  std::unique_ptr<AsyncCopy> (*async_copy)(size_t bytes);
  std::unique_ptr<DeviceEvent> (*record_event)();
};

const Backend& backend(Device::Kind kind);
const Backend& cuda_backend();  // in tensor/cuda/runtime; without CUDA, a backend that has no devices
inline const Backend& backend(Device device) { return backend(device.kind); }

// Recorded work that is launched as a whole, any number of times (a CUDA graph): a step then costs the host one call.
class Graph {
 public:
  // Runs `work` once. Its kernels and its copies between device memory are recorded instead of executed; everything
  // else it does is done now and not on replay. All of `work` must have run before, because matrix products choose
  // their algorithm on their first run. Memory allocated during the recording stays with the graph. If the device is
  // full, idle memory is released (release_idle_memory) and `work` runs once more from the beginning. Error if `work`
  // waits for the device or reads from it.
  Graph(Device device, const std::function<void()>& work);
  void replay() const { recorded_->launch(); }

 private:
  void record(Device device, const std::function<void()>& work);

  std::unique_ptr<PrivatePool> pool_;
  std::unique_ptr<RecordedWork> recorded_;
};
// The graphs that this process has recorded, on all devices.
int64_t graphs_recorded();

}  // namespace pg
