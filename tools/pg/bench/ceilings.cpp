// The machine's peak arithmetic and memory rates.
#include "tools/pg/bench/ceilings.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tensor/base/clock.h"
#include "tensor/base/parallel.h"
#include "tensor/cpu/simd/fma_probe.h"

namespace pg::tools {

namespace {

using simd::Vec;

// Prevents the compiler from removing a computation whose result is unused.
volatile float sink;

constexpr int64_t kRounds = 20000;
void multiply_add() { sink = cpu::fma_rounds(kRounds, 0 * sink); }
void multiply_add_pairs() { sink = cpu::dot_rounds(kRounds, 0 * sink); }

float sum_of(const float* p, int64_t n) {
  Vec<float> x[8];
  for (auto& v : x) v = Vec<float>(0.0f);
  for (int64_t i = 0; i + 8 * Vec<float>::size <= n; i += 8 * Vec<float>::size) {
    for (int c = 0; c < 8; ++c) x[c] += simd::load(p + i + c * Vec<float>::size);
  }
  for (int c = 1; c < 8; ++c) x[0] += x[c];
  return x[0][0];
}

}  // namespace

Timing timing_of(std::vector<double> samples) {
  if (samples.empty()) return {};
  std::sort(samples.begin(), samples.end());
  return {(samples[(samples.size() - 1) / 2] + samples[samples.size() / 2]) / 2, samples[0]};
}

Timing time_of(const std::function<void()>& f, int repeat) {
  constexpr double long_enough = 0.01;
  std::vector<double> samples;
  int64_t calls = 1;
  f();
  while (static_cast<int>(samples.size()) < repeat) {
    const Timer timer;
    for (int64_t i = 0; i < calls; ++i) f();
    const double seconds = timer.seconds();
    const double one = seconds / static_cast<double>(calls);
    if (seconds < long_enough / 2) {
      calls = std::max(calls + 1, static_cast<int64_t>(long_enough / one));  // too short to be a sample
    } else {
      samples.push_back(one);
    }
  }
  return timing_of(samples);
}

void read_modify_write(float* p, const float* g, float* m, float* v, int64_t begin, int64_t end) {
  for (int64_t i = begin; i + Vec<float>::size <= end; i += Vec<float>::size) {
    const Vec<float> x = simd::load(g + i);
    for (float* to : {p, m, v}) store(to + i, simd::load(to + i) + x);
  }
}

template <class S>
void dot_rows(float* y, const S* rows, const float* x, int64_t begin, int64_t end, int64_t n) {
  constexpr int size = Vec<float>::size, chains = 4;
  for (int64_t i = begin; i < end; ++i) {
    Vec<float> sum[chains];
    for (auto& s : sum) s = Vec<float>(0.0f);
    for (int64_t k = 0; k + chains * size <= n; k += chains * size) {
      for (int c = 0; c < chains; ++c) {
        sum[c] = fma(simd::load(rows + i * n + k + c * size), simd::load(x + k + c * size), sum[c]);
      }
    }
    y[i] = horizontal_sum(sum[0] + sum[1] + sum[2] + sum[3]);
  }
}
template void dot_rows(float* y, const float* rows, const float* x, int64_t begin, int64_t end, int64_t n);
template void dot_rows(float* y, const BFloat16* rows, const float* x, int64_t begin, int64_t end, int64_t n);

Ceilings measure_ceilings(DType dtype, int repeat) {
  repeat = std::max(repeat, 20);  // a new thread may share its core with another thread for a while
  Ceilings result;
  const bool pairs = dtype == bf16 && simd::kHasDot;
  const auto compute = pairs ? multiply_add_pairs : multiply_add;
  const double flops = cpu::fma_flops(kRounds) * (pairs ? 2 : 1);
  const int threads = num_threads();
  result.flops_one_thread = flops / time_of(compute, repeat).fastest;
  // Several chunks per thread, so that a thread that starts late does not determine the time.
  const int64_t pieces = 8 * threads;
  const double seconds =
      time_of([&] { parallel_for(pieces, 1, [&](int64_t, int64_t) { compute(); }); }, repeat).fastest;
  result.flops = static_cast<double>(pieces) * flops / seconds;

  const std::vector<float> memory(size_t{64} << 20, 1.0f);  // 256 MiB, much larger than the caches
  const auto n = static_cast<int64_t>(memory.size());
  result.bytes = 4.0 * static_cast<double>(n) /
                 time_of(
                     [&] {
                       parallel_for(n, n / (8 * threads) + 1, [&](int64_t begin, int64_t end) {
                         sink = sum_of(memory.data() + begin, end - begin);
                       });
                     },
                     repeat)
                     .fastest;
  return result;
}

}  // namespace pg::tools
