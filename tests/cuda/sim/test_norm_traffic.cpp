// The accesses of layer norm and its gradient, counted by the simulator.
#include "tensor/sim/sim.h"
#include "tests/cuda/on_device.h"

using namespace pg;
using namespace pg::testing;

namespace {

sim::KernelStats stats_of(const sim::Report& report, const std::string& kernel) {
  sim::KernelStats all;
  for (const auto& [name, stats] : report.kernels()) {
    if (name.find(kernel) == std::string::npos) continue;
    all.launches += stats.launches;
    all.bytes_requested += stats.bytes_requested;
  }
  return all;
}

}  // namespace

TEST_CASE("CUDA layer norm and its gradient read every row once", "[cuda][norm]") {
  if (!sim::sees_accesses()) SKIP_TEST("this build has a sanitizer instead of the simulator's own checks");
  for (const DType dtype : {bf16, f32}) {
    for (const int64_t c : {64, 768, 1024, 2048}) {
      INFO(name_of(dtype) << ", C = " << c);
      const int64_t count = c <= 1024 ? 64 : 8;
      const Tensor x = random({count, c}, dtype, 1).to(device()), residual = random({count, c}, dtype, 2).to(device());
      const Tensor w = random({c}, dtype, 3).to(device()), b = random({c}, dtype, 4).to(device());
      const Tensor y = empty_like(x), sum = empty_like(x), dx = empty_like(x);
      const Tensor mean = Tensor::empty({count}, f32, device()), rstd = empty_like(mean);
      const Tensor dw = Tensor::empty({c}, f32, device()), db = empty_like(dw);
      const uint64_t matrix = static_cast<uint64_t>(count * c) * size_of(dtype);
      const uint64_t row = static_cast<uint64_t>(c) * size_of(dtype), column = static_cast<uint64_t>(count) * 4;
      {
        const sim::Report report;
        kernels(device()).layer_norm(y, mean, rstd, sum, x, residual, w, b, 1e-5);
        // x, residual, sum and y once; w and b for every row; mean and rstd are written.
        CHECK(stats_of(report, "held_norm_kernel").bytes_requested == 6 * matrix + 2 * column);
      }
      const sim::Report report;
      kernels(device()).layer_norm_backward(dx, dw, db, y, sum, w, mean, rstd, 1, 0, 0);
      // y, sum and dx are read, dx is written; a warp or block reads w once, its lanes the mean and rstd of each row.
      const uint64_t threads = c <= 1024 ? 32 : 256, blocks = 2, groups = blocks * (256 / threads);
      const uint64_t partial = blocks * 2 * static_cast<uint64_t>(c) * 4;
      CHECK(stats_of(report, "held_backward_kernel").launches == 1);
      CHECK(stats_of(report, "held_backward_kernel").bytes_requested ==
            4 * matrix + groups * row + 2 * threads * column + partial);
    }
  }
}
