// The accesses of sums over rows and sums of squares, counted by the simulator.
#include "tensor/sim/sim.h"
#include "tests/cuda/on_device.h"

using namespace pg;
using namespace pg::testing;

namespace {

struct Counted {
  uint64_t launches = 0, wide = 0, moved = 0;  // bytes by accesses of 16 bytes per lane, and bytes moved
};
template <class F>
Counted counted(F f) {
  const sim::Report report;
  f(kernels(device()));
  Counted all;
  for (const auto& [name, stats] : report.kernels()) all.launches += stats.launches, all.moved += stats.bytes_moved;
  for (const sim::LineStats& line : report.lines()) {
    if (line.narrow == 0) all.wide += line.bytes;
  }
  return all;
}

}  // namespace

TEST_CASE("CUDA sums over rows read a matrix once, in accesses of 16 bytes", "[cuda][reduce]") {
  if (!sim::sees_accesses()) SKIP_TEST("this build has a sanitizer instead of the simulator's own checks");
  const int64_t rows = 1024, columns = 768;
  for (DType dtype : {bf16, f32, f64}) {
    const Tensor x = random({rows, columns}, dtype, 1).to(device());
    const DType sums = sum_type(dtype);
    const Tensor y = Tensor::zeros({1, columns}, sums, device());
    const Counted all = counted([&](const Kernels& k) { k.reduce(Reduce::sum, y, x, 1, 0); });
    const uint64_t matrix = static_cast<uint64_t>(rows * columns) * size_of(dtype);
    const uint64_t row = static_cast<uint64_t>(columns) * size_of(sums);
    CHECK(all.launches == 2);
    // Each of the 8 splits writes a row of sums, which the second launch reads.
    CHECK(all.wide == matrix + 8 * row);
    CHECK(all.moved == matrix + 17 * row);
  }
}

TEST_CASE("CUDA sums of squares read 16 bytes at a time", "[cuda][reduce]") {
  if (!sim::sees_accesses()) SKIP_TEST("this build has a sanitizer instead of the simulator's own checks");
  for (DType dtype : {bf16, f32, f64}) {
    const int64_t n = 65536;
    const Tensor x = random({n}, dtype, 2).to(device()), y = Tensor::zeros({1}, f64, device());
    const Counted all = counted([&](const Kernels& k) { k.sum_of_squares(y, x); });
    CHECK(all.wide == static_cast<uint64_t>(n) * size_of(dtype));
  }
}
