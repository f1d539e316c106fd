// The accesses of elementwise kernels, counted by the simulator.
#include "tensor/sim/sim.h"
#include "tests/cuda/on_device.h"

using namespace pg;
using namespace pg::testing;

namespace {

// The sums over all kernels that f launches.
template <class F>
sim::KernelStats counted(F f) {
  const sim::Report report;
  f(kernels(device()));
  INFO(report.table());
  sim::KernelStats all;
  for (const auto& [name, stats] : report.kernels()) {
    all.launches += stats.launches;
    all.accesses += stats.accesses;
    all.narrow += stats.narrow;
    all.bytes_moved += stats.bytes_moved;
  }
  return all;
}

Tensor line(int64_t n, DType dtype, uint64_t seed) { return random({n}, dtype, seed).to(device()); }

}  // namespace

TEST_CASE("CUDA elementwise kernels access contiguous operands in packs of 16 bytes", "[cuda][elementwise]") {
  if (!sim::sees_accesses()) SKIP_TEST("this build has a sanitizer instead of the simulator's own checks");
  const int64_t n = 8192;
  for (DType dtype : {bf16, f32, f64}) {
    INFO(name_of(dtype));
    const Tensor x = line(n, dtype, 1), y = line(n, dtype, 2), z = line(n, dtype, 3);
    const auto size = static_cast<uint64_t>(n) * size_of(dtype);
    const auto check = [&](uint64_t operands, auto f) {
      const sim::KernelStats all = counted(f);
      CHECK(all.launches == 1);
      CHECK(all.narrow == 0);
      CHECK(all.accesses == operands * size / 512);  // a warp moves 32 · 16 bytes
      CHECK(all.bytes_moved == operands * size);
    };
    check(3, [&](const Kernels& k) { k.binary(Binary::add, z, x, y); });
    check(2, [&](const Kernels& k) { k.unary(Unary::gelu_tanh, z, x, {}); });
    check(2, [&](const Kernels& k) { k.copy(z, x); });
    check(1, [&](const Kernels& k) { k.fill(z, 1); });
    check(3, [&](const Kernels& k) { k.accumulate(z, x, 1); });
    check(3, [&](const Kernels& k) { k.unary_backward(Unary::gelu_tanh, z, x, y, {}, 0); });
    check(4, [&](const Kernels& k) { k.unary_backward(Unary::gelu_tanh, z, x, y, {}, 1); });
    check(2, [&](const Kernels& k) { k.copy(z.view_reshape({64, 128}), x.view_reshape({64, 128})); });
    check(1, [&](const Kernels& k) { k.fill(z.view_reshape({128, 64}).view_transpose(0, 1), 2); });
  }
}

TEST_CASE("CUDA elementwise kernels of bf16 and f32 move whole sectors", "[cuda][elementwise]") {
  if (!sim::sees_accesses()) SKIP_TEST("this build has a sanitizer instead of the simulator's own checks");
  const Tensor x = line(8192, bf16, 1), y = line(8192, f32, 2);
  const sim::KernelStats all = counted([&](const Kernels& k) { k.copy(y, x); });
  CHECK(all.bytes_moved == 8192 * (2 + 4));
  CHECK(all.narrow == all.accesses / 2);  // 8 bytes of bf16 for 16 of f32
}

TEST_CASE("CUDA elementwise kernels access the ends of unaligned lines by element", "[cuda][elementwise]") {
  if (!sim::sees_accesses()) SKIP_TEST("this build has a sanitizer instead of the simulator's own checks");
  const Tensor x = line(8192, bf16, 1).view_slice(0, 1, 8190), y = line(8192, bf16, 2).view_slice(0, 1, 8190);
  const sim::KernelStats all = counted([&](const Kernels& k) { k.copy(y, x); });
  CHECK(all.launches == 1);
  CHECK(all.narrow == 2);  // one warp loads and stores the 7 elements before the packs and the 6 behind them
}

TEST_CASE("empty CUDA elementwise operations launch nothing", "[cuda][elementwise]") {
  const Tensor x = Tensor::empty({0, 4}, f32, device()), y = Tensor::empty({4, 0}, f32, device());
  const sim::KernelStats all = counted([&](const Kernels& k) {
    k.copy(y.view_transpose(0, 1), x);
    k.fill(x, 1);
  });
  CHECK(all.launches == 0);
}
