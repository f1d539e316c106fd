#pragma once
// The cost of kernels: counted by the simulator, or measured on a GPU.
#include <cstdint>
#include <string>

namespace pg::lesson11 {

struct Traffic {
  // Only with a simulator that sees accesses. An access is one instruction of one warp.
  uint64_t accesses = 0, sectors = 0, ideal_sectors = 0;  // global memory, in sectors of 32 bytes
  uint64_t shared_accesses = 0, passes = 0;               // shared memory
  uint64_t busiest_warp = 0;                              // most global accesses of one warp
  int ways = 0;                                           // most passes for one access
  uint64_t barriers = 0;
  // Only on a GPU.
  double seconds = 0;

  double used() const { return sectors ? static_cast<double>(ideal_sectors) / static_cast<double>(sectors) : 0; }
  double bytes_moved() const { return 32 * static_cast<double>(sectors); }
};

// Whether kernels run on a GPU, not in the simulator.
bool on_gpu();
// Whether Traffic's counts are filled in.
bool counts_traffic();
// Why kernels cannot run here, as a sentence; "" if they can.
std::string why_unavailable();
// The GPU's name, and its speed when it only copies, in bytes per second.
std::string gpu_name();
double copy_bytes_per_second();

// While a Meter exists, kernels are counted or timed. At most one may exist at a time.
class Meter {
 public:
  Meter();
  ~Meter();
  Meter(const Meter&) = delete;
  Meter& operator=(const Meter&) = delete;
  Traffic traffic() const;

 private:
  struct Data;
  Data* data_;
};
template <class F>
Traffic traffic_of(F call) {
  const Meter meter;
  call();
  return meter.traffic();
}

namespace detail {
// Seconds that launches have taken so far; nullptr if no Meter times them.
double* timed_seconds();
}  // namespace detail

}  // namespace pg::lesson11
