#pragma once
// What the engine keeps for each device. The current device is a property of a thread of the host: kernels(device) and
// copies set it, and the functions of tensor/cuda use it.
#include <array>
#include <memory>
#include <mutex>

#include "tensor/cuda/runtime/launch.h"

namespace pg::cuda {

inline constexpr int kMostDevices = 256;  // Device::index has 8 bits

// The current device of this thread. Before the first set_device() it is 0, as in CUDA.
int current_device();
void set_device(int device);
void return_to_device(int device) noexcept;  // set_device() for destructors: a failure is noted

// While an object of this class exists, `device` is the current device of this thread.
class OnDevice {
 public:
  explicit OnDevice(int device) : before_(current_device()) { set_device(device); }
  ~OnDevice() { return_to_device(before_); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  int before_;
};

// The T of the current device, which T(device) makes when it is first asked for. It is never destroyed, because CUDA
// may end before static objects do.
template <class T>
T& of_current_device() {
  struct Slot {
    std::once_flag once;
    std::unique_ptr<T> made;
  };
  static auto& slots = *new std::array<Slot, kMostDevices>;
  const int device = current_device();
  Slot& slot = slots[static_cast<size_t>(device)];
  std::call_once(slot.once, [&] { slot.made = std::make_unique<T>(device); });
  return *slot.made;
}

// The streams of a device. Kernels and copies run in `compute`, in order; collectives run in `comm` at the same time.
struct Context {
  explicit Context(int device);
  cudaStream_t compute, comm;
};

}  // namespace pg::cuda
