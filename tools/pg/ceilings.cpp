#include "tools/pg/ceilings.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

#include "tensor/cpu/fma_probe.h"
#include "tensor/parallel.h"

namespace pg::tools {

namespace {

using simd::Vec;

// Keeps the compiler from dropping a computation whose result nobody needs.
volatile float sink;

constexpr int64_t kRounds = 20000;
void multiply_add() { sink = cpu::fma_rounds(kRounds, 0 * sink); }

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

double time_of(const std::function<void()>& f, int repeat) {
  using Clock = std::chrono::steady_clock;
  constexpr double long_enough = 0.01;
  double best = 1e30;
  int64_t calls = 1;
  for (int sample = 0; sample < repeat;) {
    const auto start = Clock::now();
    for (int64_t i = 0; i < calls; ++i) f();
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    best = std::min(best, seconds / static_cast<double>(calls));
    if (seconds < long_enough / 2)
      calls = std::max(calls + 1, static_cast<int64_t>(long_enough / best));  // too short to count
    else
      ++sample;
  }
  return best;
}

void read_modify_write(float* p, const float* g, float* m, float* v, int64_t begin, int64_t end) {
  for (int64_t i = begin; i + Vec<float>::size <= end; i += Vec<float>::size) {
    const Vec<float> x = simd::load(g + i);
    for (float* to : {p, m, v}) store(to + i, simd::load(to + i) + x);
  }
}

void dot_rows(float* y, const float* rows, const float* x, int64_t begin, int64_t end, int64_t n) {
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

Ceilings measure_ceilings(int repeat) {
  repeat = std::max(repeat, 20);  // a new thread may share its core with another for a while
  Ceilings result;
  const double flops = cpu::fma_flops(kRounds);
  const int threads = num_threads();
  result.flops_one_thread = flops / time_of(multiply_add, repeat);
  // Several pieces for each thread, so that one that starts late does not decide.
  const int64_t pieces = 8 * threads;
  const double seconds = time_of([&] { parallel_for(pieces, 1, [](int64_t, int64_t) { multiply_add(); }); }, repeat);
  result.flops = static_cast<double>(pieces) * flops / seconds;

  const std::vector<float> memory(size_t{64} << 20, 1.0f);  // 256 MiB, far beyond the caches
  const auto n = static_cast<int64_t>(memory.size());
  result.read_bytes = 4.0 * static_cast<double>(n) /
                      time_of(
                          [&] {
                            parallel_for(n, n / (8 * threads) + 1, [&](int64_t begin, int64_t end) {
                              sink = sum_of(memory.data() + begin, end - begin);
                            });
                          },
                          repeat);
  return result;
}

}  // namespace pg::tools
