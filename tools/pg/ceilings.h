#pragma once
// What this machine can do at best, measured: every benchmark is shown as a share of it.
#include <cstdint>
#include <functional>
#include <vector>

#include "tensor/dtype.h"

namespace pg::tools {

// Seconds of one call.
struct Timing {
  double median = 1e30, fastest = 1e30;
};
Timing timing_of(std::vector<double> samples);
// Of `repeat` samples of f after a warm-up, each long enough to be measured well.
Timing time_of(const std::function<void()>& f, int repeat);

struct Ceilings {
  double flops_one_thread = 0;  // multiplies and adds per second, fused multiply-adds on registers
  double flops = 0;             // the same with all threads
  double read_bytes = 0;        // bytes per second read from main memory with all threads
};
// For bf16: of the dot-product instruction if there is one, else of f32, in which bf16 is then computed. The fastest
// samples count.
Ceilings measure_ceilings(DType dtype, int repeat);

// Probes of memory-bound work: the same bytes with the least arithmetic.
void read_modify_write(float* p, const float* g, float* m, float* v, int64_t begin, int64_t end);  // p, m, v += g
// y[i] = rows[i] · x for i in [begin, end), rows of n elements, n a multiple of 32.
template <class S>
void dot_rows(float* y, const S* rows, const float* x, int64_t begin, int64_t end, int64_t n);
extern template void dot_rows(float* y, const float* rows, const float* x, int64_t begin, int64_t end, int64_t n);
extern template void dot_rows(float* y, const BFloat16* rows, const float* x, int64_t begin, int64_t end, int64_t n);

}  // namespace pg::tools
