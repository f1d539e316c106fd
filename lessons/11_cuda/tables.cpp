// The tables of the demonstration: each kernel step by step, with its memory traffic and its roofline.
#include <cmath>

#include "autograd/ops.h"
#include "lessons/11_cuda/cards.h"
#include "lessons/11_cuda/lesson.h"
#include "lessons/11_cuda/versions.h"
#include "tensor/kernels.h"

namespace pg::lesson11 {
namespace {

struct Step {
  const char* name;
  const char* what;  // the difference from the previous step
  std::function<Numbers()> run;
};
struct Kernel {
  std::string title;
  double flops, least_bytes;  // for any implementation: every input read once, every result written once
  Tensor want;                // f64
  std::vector<Step> steps;
};

double error_of(const Numbers& got, const Tensor& want) {
  return kit::relative_error({want.shape(), std::vector<double>(got.begin(), got.end())}, want);
}

std::string duration(double seconds) {
  return seconds < 1e-6 ? fmt::format("{:.0f} ns", 1e9 * seconds) : fmt::format("{:.1f} us", 1e6 * seconds);
}

struct Shown {
  double worst_error = 0;
  Traffic first, last;
};

// Counted by the simulator: the memory traffic of each step, and the least time that it can take on kCard.
Shown show_counted(kit::Demo& demo, const Kernel& kernel) {
  Shown shown;
  const Bound least = bound_on(kCard, kernel.least_bytes, kernel.flops, 0);
  demo.line("at best: {:.1f} kB, {:.2g} FLOP per byte, {} on an {} (limit: {})", 1e-3 * kernel.least_bytes,
            kernel.flops / kernel.least_bytes, duration(least.seconds), kCard.name, least.limit);
  demo.gap();
  const auto header = [&](auto... words) {
    demo.line("{:10} {:>8} {:>7} {:>7} {:>6} {:>4} {:>6} {:>8} {:7}{:>6}", words...);
  };
  header("", "accesses", "sectors", "moved,", "shared", "bank", "FLOP", "", "", "");
  header("step", "of warps", "used", "x best", "passes", "ways", "/byte", "bound", "limit", "error");
  for (const Step& step : kernel.steps) {
    demo.status(fmt::format("{} ...", step.name));
    const Meter meter;
    const Numbers got = step.run();
    const Traffic t = meter.traffic();
    const double error = error_of(got, kernel.want);
    const Bound bound = bound_on(kCard, t.bytes_moved(), kernel.flops, static_cast<double>(t.passes));
    demo.line("{:10} {:8} {:5.0f} % {:7.1f} {:6} {:4} {:6.2g} {:>8} {:7}{:6.0e}", step.name, t.accesses, 100 * t.used(),
              t.bytes_moved() / kernel.least_bytes, t.passes, t.ways, kernel.flops / t.bytes_moved(),
              duration(bound.seconds), bound.limit, error);
    shown.worst_error = std::max(shown.worst_error, error);
    if (&step == kernel.steps.data()) shown.first = t;
    shown.last = t;
  }
  return shown;
}

// Measured on a GPU, relative to its speed when it only copies.
Shown show_measured(kit::Demo& demo, const Kernel& kernel, double copy) {
  Shown shown;
  demo.line("at best: {:.1f} MB moved, {} at the copy's speed", 1e-6 * kernel.least_bytes,
            duration(kernel.least_bytes / copy));
  demo.gap();
  demo.line("{:11} {:>10} {:>10} {:>10} {:>10} {:>8}", "step", "time", "GB/s", "of a copy", "TFLOP/s", "error");
  for (const Step& step : kernel.steps) {
    const Meter meter;
    const Numbers got = step.run();
    const double seconds = meter.traffic().seconds, error = error_of(got, kernel.want);
    const double speed = kernel.least_bytes / seconds;
    demo.line("{:11} {:>10} {:10.0f} {:8.0f} % {:10.2f} {:8.0e}", step.name, duration(seconds), 1e-9 * speed,
              100 * speed / copy, 1e-12 * kernel.flops / seconds, error);
    shown.worst_error = std::max(shown.worst_error, error);
  }
  return shown;
}

// Only shows the errors, for builds in which nothing is counted.
Shown show_errors(kit::Demo& demo, const Kernel& kernel) {
  Shown shown;
  for (const Step& step : kernel.steps) {
    const double error = error_of(step.run(), kernel.want);
    demo.line("{:11} error {:.0e}", step.name, error);
    shown.worst_error = std::max(shown.worst_error, error);
  }
  return shown;
}

// The problem size: large enough in the simulator for the difference between the steps to show, or large enough to fill
// a GPU.
int64_t scaled(int64_t simulated, int64_t on_a_gpu) { return on_gpu() ? on_a_gpu : simulated; }

Kernel softmax_kernel(const Impl& impl, Generator& random) {
  const int64_t rows = scaled(256, 65536), n = kMostInRegisters, count = rows * n;
  const Matrix x = random_matrix(rows, n, random);
  return {fmt::format("Softmax of [{}, {}]", rows, n),
          5.0 * count,
          8.0 * count,
          softmax(tensor_of(x).to(f64), -1),
          {{"naive", "one thread per row: neighbouring threads read 2 kB apart", [=] { return softmax_naive(x).v; }},
           {"coalesced", "one warp per row: 32 lanes read 32 neighbouring elements",
            [=] { return softmax_coalesced(x).v; }},
           {"online", "maximum and sum in one pass (11.4): x is read twice, not three times",
            [=] { return impl.softmax(x).v; }},
           {"vectorised", "float4, and the row stays in registers: x is read once",
            [=] { return softmax_vectorised(x).v; }}}};
}

Kernel layer_norm_kernel(const Impl& impl, Generator& random) {
  const int64_t rows = scaled(256, 65536), n = kMostInRegisters, count = rows * n;
  const Matrix x = random_matrix(rows, n, random);
  const Numbers w = random_matrix(1, n, random).v, b = random_matrix(1, n, random).v;
  const auto vector = [](const Numbers& v) {
    return tensor_of({1, static_cast<int64_t>(v.size()), v}).to(f64).view_reshape({static_cast<int64_t>(v.size())});
  };
  return {fmt::format("Layer norm of [{}, {}]", rows, n),
          7.0 * count,
          8.0 * count + 8.0 * n,
          layer_norm(tensor_of(x).to(f64), vector(w), vector(b), 1e-5),
          {{"naive", "one thread per row", [=] { return layer_norm_naive(x, w, b).v; }},
           {"coalesced", "one warp per row; x is read three times", [=] { return layer_norm_coalesced(x, w, b).v; }},
           {"shared", "one block per row, which it keeps in shared memory (11.2): x is read once",
            [=] { return impl.layer_norm(x, w, b).v; }},
           {"vectorised", "one warp per row, float4, the row in registers: no shared memory, no barrier",
            [=] { return layer_norm_vectorised(x, w, b).v; }}}};
}

Kernel matmul_kernel(const Impl& impl, Generator& random) {
  const int64_t n = scaled(128, 2048), count = n * n;
  const Matrix a = random_matrix(n, n, random), b = random_matrix(n, n, random);
  return {fmt::format("The product [{0}, {0}] · [{0}, {0}]", n),
          2.0 * count * n,
          12.0 * count,
          matmul(tensor_of(a).to(f64), tensor_of(b).to(f64)),
          {{"naive", "one thread per element of c; neighbouring threads compute neighbouring rows",
            [=] { return matmul_naive(a, b).v; }},
           {"coalesced", "neighbouring threads compute neighbouring columns", [=] { return matmul_coalesced(a, b).v; }},
           {"shared", "tiles of 16 x 16 in shared memory: each element that is read is used 16 times",
            [=] { return matmul_shared(a, b).v; }},
           {"registers", "tiles of 64 x 64, 4 x 4 elements per thread (11.3): used 64 times, 8 reads for 16 products",
            [=] { return impl.matmul(a, b, false, false).v; }},
           {"vectorised", "the same with float4: a quarter of the accesses, and fewer bank conflicts",
            [=] { return matmul_vectorised(a, b).v; }}}};
}

Kernel attention_kernel(Generator& random) {
  const int64_t heads = scaled(2, 96), length = scaled(128, 1024), count = heads * length * kHead;
  const auto numbers = [&] { return random_matrix(heads * length, kHead, random).v; };
  const Heads x{heads, length, numbers(), numbers(), numbers()};
  const auto tensor = [&](const Numbers& v) {
    return tensor_of({heads * length, kHead, v}).to(f64).view_reshape({1, heads, length, kHead});
  };
  AttentionOptions every_key;
  every_key.causal = false;
  return {fmt::format("Attention, {} heads of {}, {} positions", heads, kHead, length),
          4.0 * count * length + 5.0 * heads * length * length,
          16.0 * count,
          attention(tensor(x.q), tensor(x.k), tensor(x.v), every_key),
          {{"naive", "three kernels, T x T scores in memory; neighbouring threads have neighbouring queries",
            [=] { return attention_naive(x); }},
           {"coalesced", "one warp per query: for a score its 32 lanes read the 32 elements of a key",
            [=] { return attention_coalesced(x); }},
           {"shared", "one kernel: tiles of keys and values, online softmax; scores are not stored",
            [=] { return attention_shared(x); }},
           {"vectorised", "float4, and four queries per warp share each key that is read",
            [=] { return attention_vectorised(x); }}}};
}

}  // namespace

double show_kernels(kit::Demo& demo, const Impl& impl) {
  double worst = 0;
  Generator random(4);
  const double copy = on_gpu() ? copy_bytes_per_second() : 0;
  if (on_gpu()) demo.say("Copying 256 MB, this GPU moves {:.0f} GB/s.", 1e-9 * copy);
  const auto show = [&](const Kernel& kernel) {
    demo.heading(kernel.title);
    const Shown shown = on_gpu()           ? show_measured(demo, kernel, copy)
                        : counts_traffic() ? show_counted(demo, kernel)
                                           : show_errors(demo, kernel);
    demo.gap();
    for (const Step& step : kernel.steps) demo.item(fmt::format("{:11} ", step.name), step.what);
    demo.gap();
    worst = std::max(worst, shown.worst_error);
    return shown;
  };
  const Shown softmax = show(softmax_kernel(impl, random));
  const Shown norm = show(layer_norm_kernel(impl, random));
  const Shown product = show(matmul_kernel(impl, random));
  const Shown attention = show(attention_kernel(random));
  if (!counts_traffic()) return worst;
  const auto fewer = [](const Shown& s) { return s.first.bytes_moved() / s.last.bytes_moved(); };
  demo.claim("softmax, naive: sectors used", 100 * softmax.first.used(), "%", kit::at_most(13));
  demo.claim("layer norm, naive / vectorised: bytes moved", fewer(norm), "x", kit::at_least(8));
  demo.claim("product, naive / vectorised: bytes moved", fewer(product), "x", kit::at_least(50));
  demo.claim("attention, naive / vectorised: bytes moved", fewer(attention), "x", kit::at_least(50));
  return worst;
}

}  // namespace pg::lesson11
