#pragma once
// Time and memory of the parts of a step.
#include <chrono>
#include <cstddef>

#include "tensor/storage.h"

namespace pg::rl {

class Timer {
 public:
  // Seconds since the last lap, or since the beginning.
  double lap() {
    const auto now = Clock::now();
    const double seconds = std::chrono::duration<double>(now - last_).count();
    last_ = now;
    return seconds;
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point last_ = Clock::now();
};

// It resets the peak of the device's memory_stats().
class PeakMemory {
 public:
  explicit PeakMemory(const Device& device) : device_(device), before_(memory_stats(device).in_use) {
    reset_peak_memory(device);
  }
  // The most bytes since the last lap, or since the beginning, above those in use at the beginning.
  size_t lap() {
    const size_t peak = memory_stats(device_).peak;
    reset_peak_memory(device_);
    return peak > before_ ? peak - before_ : 0;
  }

 private:
  const Device device_;
  const size_t before_;
};

}  // namespace pg::rl
