#pragma once
// What this machine can do at best, measured: every benchmark is shown as a share of it.
#include <functional>

namespace pg::tools {

// Seconds of one call of `f`: the fastest of `repeat` samples, each long enough to be measured well.
double time_of(const std::function<void()>& f, int repeat);

struct Ceilings {
  double flops_one_thread = 0;  // f32 multiplies and adds per second, fused multiply-adds on registers
  double flops = 0;             // the same with all threads
  double read_bytes = 0;        // bytes per second read from main memory with all threads
};
Ceilings measure_ceilings(int repeat);

}  // namespace pg::tools
