#pragma once
// What this machine can do at best, measured: every benchmark is shown as a share of it.
#include <cstdint>
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

// Probes of memory-bound work: the same bytes with the least arithmetic.
void read_modify_write(float* p, const float* g, float* m, float* v, int64_t begin, int64_t end);  // p, m, v += g
// y[i] = rows[i] · x for i in [begin, end), rows of n elements, n a multiple of 32.
void dot_rows(float* y, const float* rows, const float* x, int64_t begin, int64_t end, int64_t n);

}  // namespace pg::tools
