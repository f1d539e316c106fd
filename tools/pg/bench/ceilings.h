#pragma once
// The measured peak rates of this machine, with which every benchmark is compared, and the timing of calls.
#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "tensor/device.h"
#include "tensor/dtype.h"
#include "tensor/tensor.h"

namespace pg::tools {

// Seconds per call.
struct Timing {
  double median = 1e30, fastest = 1e30;
};
Timing timing_of(std::vector<double> samples);
// Time of f from `repeat` samples after a warm-up, each sample long enough to be measured well.
Timing time_of(const std::function<void()>& f, int repeat);
// Time of single calls on a CUDA device, measured with CUDA events. Before each call a pass over other memory evicts
// the L2 cache. The host launches the call during that pass, so launch time is not included.
Timing time_cold(Device device, const std::function<void()>& f, int repeat);
// Time of whole steps: consecutive calls on a CUDA device, including the host's work in between. On the CPU it is
// time_of().
Timing time_steps(Device device, const std::function<void()>& f, int repeat);

struct Ceilings {
  double flops_one_thread = 0;  // multiplies and adds per second, of fused multiply-adds on registers; CPU only
  double flops = 0;             // the same rate with all threads; CUDA: that of a large matrix product
  double bytes = 0;             // per second, read from main memory with all threads; CUDA: of a copy, read and written
};
// For bf16 the arithmetic rates are those of the dot-product instruction if there is one, otherwise those of f32, in
// which bf16 is then computed. Uses the fastest samples.
Ceilings measure_ceilings(DType dtype, int repeat);
Ceilings measure_cuda_ceilings(Device device, DType dtype, int repeat);

// Probes of memory-bound work: they access the same bytes with minimal arithmetic.
void read_modify_write(float* p, const float* g, float* m, float* v, int64_t begin, int64_t end);  // p, m, v += g
// y[i] = rows[i] · x for i in [begin, end), rows of n elements, n a multiple of 32.
template <class S>
void dot_rows(float* y, const S* rows, const float* x, int64_t begin, int64_t end, int64_t n);
extern template void dot_rows(float* y, const float* rows, const float* x, int64_t begin, int64_t end, int64_t n);
extern template void dot_rows(float* y, const BFloat16* rows, const float* x, int64_t begin, int64_t end, int64_t n);

enum class GemmForm { nn, nt, tn, accumulate };  // t: that operand is stored transposed
inline constexpr std::array kGemmForms = {"a·b", "a·bᵀ", "aᵀ·b", "c + a·b"};

struct GemmShape {
  int64_t m, n, k;
  double flops() const { return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k); }
};

inline std::vector<GemmShape> gemm_shapes() {
  struct Layer {
    int64_t k, n;
  };
  constexpr std::array<Layer, 5> layers = {{{768, 2304}, {768, 768}, {768, 3072}, {3072, 768}, {768, 50257}}};
  std::vector<GemmShape> shapes;
  for (int64_t m : {256, 1024, 4096}) {
    for (const Layer& layer : layers) shapes.push_back({m, layer.n, layer.k});
  }
  return shapes;
}

// A matrix [rows, columns]. If `transposed`, it is stored as [columns, rows].
inline Tensor gemm_operand(int64_t rows, int64_t columns, bool transposed, Generator& g, DType dtype = f32) {
  if (!transposed) return Tensor::normal({rows, columns}, 0, 1, g, dtype);
  return Tensor::normal({columns, rows}, 0, 1, g, dtype).view_transpose(0, 1);
}

}  // namespace pg::tools
