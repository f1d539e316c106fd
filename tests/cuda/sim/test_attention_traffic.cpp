// Shared-memory accesses of the tensor-core attention kernels, counted by the simulator.
#include "tensor/sim/sim.h"
#include "tests/kernels/attention_case.h"

using namespace pg;
using namespace pg::testing;

TEST_CASE("CUDA attention on tensor cores has no bank conflicts", "[cuda][attention]") {
  if (!sim::sees_accesses()) SKIP_TEST("this build has a sanitizer instead of the simulator's own checks");
  for (const int64_t size : {64, 128}) {
    Attention x = inputs({1, 1, 1, 65, 65, size}, bf16);
    x.dout = random(x.q.shape(), bf16, 4).to(device());
    x.dq = empty_like(x.q), x.dk = empty_like(x.k), x.dv = empty_like(x.v);
    const sim::Report report;
    x.forward(kernels(device()));
    x.backward(kernels(device()), 0);
    INFO(report.table());
    for (const char* kernel : {"attention_mma_kernel", "dq_mma_kernel", "dkv_mma_kernel"}) {
      uint64_t accesses = 0;
      for (const sim::LineStats& line : report.lines()) {
        if (line.kernel.find(kernel) == std::string::npos) continue;
        accesses += line.shared_accesses;
        INFO(line.kernel << ", " << line.file << ":" << line.line);
        CHECK(line.wavefronts == line.ideal_wavefronts);
      }
      CHECK(accesses > 0);
    }
  }
}
