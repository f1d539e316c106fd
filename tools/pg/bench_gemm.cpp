// Benchmarks of the f32 matrix product at GPT-2's shapes, packing included.
#include "tensor/kernels.h"
#include "tools/pg/bench.h"
#include "tools/pg/ceilings.h"
#include "tools/pg/gemm_shapes.h"

namespace pg::tools {

namespace {

Entry bench_gemm(const std::string& label, const GemmShape& s, GemmForm form, int repeat) {
  Generator g(1);
  const Tensor a = gemm_operand(s.m, s.k, form == GemmForm::tn, g);
  const Tensor b = gemm_operand(s.k, s.n, form == GemmForm::nt, g);
  const Tensor c = Tensor::zeros({s.m, s.n});
  MatmulArgs args;
  args.beta = form == GemmForm::accumulate ? 1 : 0;
  Entry entry{"gemm", label, kGemmForms[static_cast<size_t>(form)]};
  entry.flops = s.flops();
  entry.seconds = time_of([&] { kernels(Device{}).matmul(c, a, b, args); }, repeat);
  return entry;
}

}  // namespace

void add_gemm_benchmarks(Benchmarks& all) {
  for (const GemmShape& shape : gemm_shapes()) {
    const std::string label = fmt::format("{} x {} x {}", shape.m, shape.n, shape.k);
    const auto run = [=](int repeat) {
      std::vector<Entry> entries;
      for (GemmForm form : {GemmForm::nn, GemmForm::nt, GemmForm::tn, GemmForm::accumulate}) {
        entries.push_back(bench_gemm(label, shape, form, repeat));
      }
      return entries;
    };
    all.push_back({"gemm", label, run, shape.m * shape.n * shape.k > int64_t{1} << 32});
  }
}

}  // namespace pg::tools
