#pragma once
// What the engine asks of CUDA, in plain C++: device memory, copies, waiting, and the kernel table. A build without
// CUDA answers from none.cpp.
#include <cstddef>
#include <memory>
#include <string>

#include "tensor/device.h"
#include "tensor/kernels.h"

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
