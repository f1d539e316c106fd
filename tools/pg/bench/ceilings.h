#pragma once
// What this machine can do at best, measured: every benchmark is shown as a share of it. And how calls are timed.
#include <cstdint>
#include <functional>
#include <vector>

#include "tensor/device.h"
#include "tensor/dtype.h"

namespace pg::tools {

// Seconds of one call.
struct Timing {
  double median = 1e30, fastest = 1e30;
};
Timing timing_of(std::vector<double> samples);
// Of `repeat` samples of f after a warm-up, each long enough to be measured well.
Timing time_of(const std::function<void()>& f, int repeat);
// The same on a CUDA device, by its clock, of single calls. Before each a pass over other memory empties the
// second-level cache, and meanwhile the host launches the call: launching is not in the time.
Timing time_cold(Device device, const std::function<void()>& f, int repeat);
// Whole steps: of calls one behind the other, whatever the host does in between included. On the CPU as time_of.
Timing time_steps(Device device, const std::function<void()>& f, int repeat);

struct Ceilings {
  double flops_one_thread = 0;  // multiplies and adds per second, fused multiply-adds on registers; CPU only
  double flops = 0;             // the same with all threads; CUDA: of a large matrix product
  double bytes = 0;             // per second, read from main memory with all threads; CUDA: of a copy, read and written
};
// For bf16: of the dot-product instruction if there is one, else of f32, in which bf16 is then computed. The fastest
// samples count.
Ceilings measure_ceilings(DType dtype, int repeat);
Ceilings measure_cuda_ceilings(Device device, DType dtype, int repeat);

// Probes of memory-bound work: the same bytes with the least arithmetic.
void read_modify_write(float* p, const float* g, float* m, float* v, int64_t begin, int64_t end);  // p, m, v += g
// y[i] = rows[i] · x for i in [begin, end), rows of n elements, n a multiple of 32.
template <class S>
void dot_rows(float* y, const S* rows, const float* x, int64_t begin, int64_t end, int64_t n);
extern template void dot_rows(float* y, const float* rows, const float* x, int64_t begin, int64_t end, int64_t n);
extern template void dot_rows(float* y, const BFloat16* rows, const float* x, int64_t begin, int64_t end, int64_t n);

}  // namespace pg::tools
