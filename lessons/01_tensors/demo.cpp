// The demonstration of lesson 1.
#include <algorithm>
#include <cmath>

#include "lessons/01_tensors/lesson.h"
#include "lessons/kit/plot.h"
#include "tensor/base/clock.h"
#include "tensor/base/parallel.h"
#include "tensor/cpu/simd/fma_probe.h"
#include "tensor/kernels.h"

namespace pg::lesson01 {
namespace {

// The peak speed of one core; the best of a few runs.
double peak_gflops() {
  constexpr int64_t rounds = 1 << 19;
  double best = 0;
  float seed = 0;
  for (int repeat = 0; repeat < 7; ++repeat) {
    const double start = thread_seconds();
    seed = 1e-9f * cpu::fma_rounds(rounds, seed);
    best = std::max(best, 1e-9 * cpu::fma_flops(rounds) / (thread_seconds() - start));
  }
  return seed < 1 ? best : 0;  // the result is used, so the loop is not optimised away
}

// GFLOP/s of an n × n product, the best of several runs; `now` is a clock in seconds.
template <class F>
double speed(F&& multiply, int64_t n, double (*now)()) {
  double best = INFINITY, spent = 0;
  for (int repeat = 0; repeat < 20 && (repeat == 0 || spent < 0.5); ++repeat) {
    const double start = now();
    multiply();
    const double seconds = now() - start;
    spent += seconds;
    best = std::min(best, seconds);
  }
  return 2e-9 * static_cast<double>(n) * n * n / best;
}

constexpr double kAllowed = 1e-3;  // between sums of up to 1,024 numbers below 1, in f32

// Infinite where an element is NaN.
double largest_difference(const Tensor& x, const Tensor& y) {
  double largest = 0;
  for (int64_t i = 0; i < x.numel(); ++i) {
    const double difference = std::abs(double(x.data<const float>()[i]) - double(y.data<const float>()[i]));
    largest = std::max(largest, std::isnan(difference) ? INFINITY : difference);
  }
  return largest;
}

std::string grid(const Tensor& x) {
  const std::vector<double> values = x.to_vector();
  std::string text;
  for (int64_t i = 0; i < x.numel(); ++i) {
    text += fmt::format("{:>4}", values[i]);
    if ((i + 1) % x.size(-1) == 0) text += "\n";
  }
  return text;
}

void show_views(kit::Demo& demo, const Impl& impl) {
  demo.heading("A tensor is storage, shape and strides");
  const Tensor x = Tensor::arange(12).view_reshape({3, 4});
  const Tensor t = impl.view_transpose(x, 0, 1);
  demo.say(
      "Twelve numbers lie in a row in memory: 0 1 2 ... 11. Shape [3, 4] with strides {} reads them as x; its "
      "transpose reads the same memory with strides {}.",
      x.strides(), t.strides());
  demo.show(grid(x));
  demo.gap();
  demo.show(grid(t));
  demo.gap();
  x.data<float>()[6] = 60;
  const double seen = t.view_select(0, 2).view_select(0, 1).item();
  demo.say("Now x[1, 2] = 60. The transpose was made before, and yet t[2, 1] is {}: nothing was ever copied.", seen);

  const Tensor big = Tensor::zeros({4096, 4096});
  const double start = wall_seconds();
  constexpr int kTimes = 1000;
  int64_t rows = 0;
  for (int i = 0; i < kTimes; ++i) rows += impl.view_transpose(big, 0, 1).size(0);
  const double view = (wall_seconds() - start) / kTimes;
  const double copy_start = wall_seconds();
  const Tensor copied = big.view_transpose(0, 1).contiguous_copy();
  const double copy = wall_seconds() - copy_start;
  demo.line("transposing {} x {} numbers: {:.0f} ns as a view, {:.0f} ms as a copy", rows / kTimes, copied.size(1),
            view * 1e9, copy * 1e3);
#ifdef __EMSCRIPTEN__
  constexpr double kTimesAtLeast = 100;  // a piece in JavaScript takes a tenth of a millisecond, in C++ some 50 ns
#else
  constexpr double kTimesAtLeast = 1000;
#endif
  demo.claim("copy / view, time of a 4096 x 4096 transpose", copy / view, "x", kit::at_least(kTimesAtLeast));
  demo.claim("t[2, 1] after x[1, 2] = 60", seen, "", kit::equals(60));
}

void show_broadcasting(kit::Demo& demo, const Impl& impl) {
  demo.heading("Small tensors stretch");
  const Tensor column = Tensor::arange(3).view_reshape({3, 1}), row = Tensor::arange(4);
  const Shape shape = impl.broadcast_shapes(column.shape(), row.shape(), "add");
  const Tensor tall = column.view_expand(shape), wide = row.view_expand(shape);
  demo.say(
      "A column {} and a row {} add up to {}. Stretching costs no memory: the repeated dimension gets stride 0, "
      "strides {} and {}.",
      column.shape(), row.shape(), shape, tall.strides(), wide.strides());
  const Tensor sum = Tensor::zeros(shape);
  const View a = tall.view(), b = wide.view();
  for (int64_t n = 0; n < sum.numel(); ++n) {
    sum.data<float>()[n] =
        a.as<float>()[impl.offset_of(n, shape, a.strides)] + b.as<float>()[impl.offset_of(n, shape, b.strides)];
  }
  demo.show(grid(sum));
  demo.gap();
  double wrong = 0;
  for (int64_t i = 0; i < 3; ++i) {
    for (int64_t j = 0; j < 4; ++j) wrong += sum.data<float>()[i * 4 + j] != static_cast<float>(i + j);
  }
  demo.claim("sums that are not i + j", wrong, "of 12", kit::equals(0));
}

void show_race(kit::Demo& demo, const Impl& impl) {
  demo.heading("The matmul race");
  const int64_t n = demo.full() ? 1024 : 512;
  Generator random(1);
  const Tensor a = Tensor::uniform({n, n}, -1, 1, random), b = Tensor::uniform({n, n}, -1, 1, random);
  const Tensor c = Tensor::zeros({n, n}), first = Tensor::zeros({n, n});
  demo.say(
      "{0} x {0} times {0} x {0}: {1:.2f} billion multiplications and as many additions, four ways. 100 % is what "
      "one core can do at best, measured before and after with nothing but fused multiply-adds in registers.",
      n, 1e-9 * static_cast<double>(n) * n * n);
  demo.status("measuring the peak ...");
  const double peak_before = peak_gflops();
  const int threads = num_threads();
  set_num_threads(1);
  const auto engine = [&] { cpu_kernels().matmul(c, a, b, {}); };

  demo.status("naive ...");
  const double naive = speed([&] { matmul_naive(first, a, b); }, n, thread_seconds);
  // The speed of a product, and how far it is from the naive one: c is full of NaN before.
  struct Result {
    double gflops, difference;
  };
  const auto race = [&](auto&& multiply) {
    c.fill(NAN);
    const double gflops = speed(multiply, n, thread_seconds);
    return Result{gflops, largest_difference(c, first)};
  };
  demo.status("blocked ...");
  const Result blocked = race([&] { impl.matmul(c, a, b); }), packed = race([&] { matmul_packed(c, a, b); });
  demo.status("vector ...");
  const Result vector = race(engine);
  // The clock of a processor changes while it works, so the peak is measured on both sides. A speed that was reached
  // is possible, if the result is right.
  demo.status("measuring the peak again ...");
  double peak = std::max({peak_before, peak_gflops(), naive});
  for (const Result& result : {blocked, packed, vector}) {
    if (result.difference <= kAllowed) peak = std::max(peak, result.gflops);
  }
  set_num_threads(threads);

  const auto text = [&](double gflops) {
    return fmt::format("{:6.1f} GFLOP/s  {:5.1f} %", gflops, 100 * gflops / peak);
  };
  demo.show(kit::bars({{"naive", naive, text(naive)},
                       {"blocked", std::min(blocked.gflops, peak), text(blocked.gflops)},
                       {"packed", packed.gflops, text(packed.gflops)},
                       {"vector (the engine)", vector.gflops, text(vector.gflops)},
                       {"peak of one core", peak, text(peak)}},
                      peak, 36));
  demo.gap();
  if (threads > 1) {
    demo.line("the engine on {} threads, by the clock on the wall: {:.1f} GFLOP/s", threads,
              speed(engine, n, wall_seconds));
  }
  demo.claim("blocked / naive", blocked.gflops / naive, "x", kit::at_least(1.5));
  demo.claim("vector / naive", vector.gflops / naive, "x", kit::at_least(5));
  demo.claim("vector, share of one core's peak", 100 * vector.gflops / peak, "%", kit::at_least(25));
  demo.claim("largest difference between naive and blocked", blocked.difference, "", kit::at_most(kAllowed));
  demo.claim("largest difference between naive and vector", vector.difference, "", kit::at_most(kAllowed));
}

}  // namespace

void demo(kit::Demo& demo, const Impl& impl) {
  show_views(demo, impl);
  show_broadcasting(demo, impl);
  show_race(demo, impl);
}

}  // namespace pg::lesson01

int main(int argc, char** argv) {
  using namespace pg::lesson01;
  return pg::kit::run_lesson<Impl>({"1", "lessons/01_tensors", "tensors", reference(), {}, checks(), demo}, argc, argv);
}
