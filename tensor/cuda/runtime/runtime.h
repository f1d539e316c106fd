#pragma once
// What the engine asks of CUDA, in plain C++: device memory, copies, waiting, and the kernel table. A build without
// CUDA answers from none.cpp.
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "tensor/device.h"
#include "tensor/kernels.h"
#include "tensor/storage.h"

namespace pg::cuda {

// Devices that kernels can run on; 0 where the build has no CUDA or the machine no card.
int device_count();
// Why there is none, as the end of a sentence: "this build has no CUDA; …".
std::string why_none();

struct DeviceInfo {
  std::string name;              // "NVIDIA H200"
  size_t memory = 0, cache = 0;  // bytes; the cache is the second level, which all multiprocessors share
  bool simulated = false;        // such a device says nothing about time
};
DeviceInfo device_info(int device);

// Device memory, aligned to at least 256 bytes; nullptr if there is not enough. release() waits for its users.
void* allocate(size_t bytes, int device);
void release(void* data, int device);

// Copies bytes between devices, either of which may be the CPU, behind everything that was launched before. A copy to
// the CPU has arrived on return; one from the CPU has left: `from` may change.
void copy(void* to, Device to_device, const void* from, Device from_device, size_t bytes);
// Waits for all that was launched.
void synchronize();

// Exact: a row of a result has the same bits whatever is computed beside it, so that the log-probability of a token is
// the same when it is sampled and when it is trained on; slower (the engine's own products instead of cuBLASLt's). Off
// at first. The CPU is always exact.
void set_exact(bool on);
bool exact();

// Work that is launched as a whole, again and again: what a step costs the host is then one call.
class Graph {
 public:
  // Runs `work`, whose kernels and copies between device memory are recorded instead of done; whatever else it does is
  // done now and not again. Everything must have run before (products choose their algorithm then). Memory allocated
  // meanwhile stays with the graph. Error where `work` waits for the device or reads from it.
  Graph(Device device, const std::function<void()>& work);
  ~Graph();
  // Launches the recorded work behind everything that was launched before; addresses and numbers are those of then.
  void replay() const;

 private:
  PrivatePool pool_;
  struct Recorded;
  std::unique_ptr<Recorded> recorded_;
};

// Bytes on their way from a device to the CPU while the device goes on.
class Readback {
 public:
  explicit Readback(size_t bytes);
  ~Readback();
  // Copies, behind everything that was launched before.
  void start(const void* from, size_t bytes);
  // Waits until the copy has arrived; valid until the next start().
  const void* wait() const;

 private:
  struct Arrival;
  std::unique_ptr<Arrival> arrival_;
};

// The kernels of a device (shapes and meaning in tensor/kernels.h); an operation without an entry says so.
const Kernels& table();

// A moment of the device's work: it has come once all that was launched before is done. Making one waits for nothing.
class Moment {
 public:
  Moment();
  // Seconds by the device's clock; waits for `to`.
  friend double seconds_between(const Moment& from, const Moment& to);

 private:
  std::shared_ptr<void> event_;
};

}  // namespace pg::cuda
