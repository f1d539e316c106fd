// Benchmarks of the matrix product at GPT-2's shapes, including packing. For bf16 operands the results are bf16, and
// f32 for the gradients of weights (aᵀ·b), as in training.
#include "tensor/kernels.h"
#include "tools/pg/bench/bench.h"
#include "tools/pg/bench/ceilings.h"

namespace pg::tools {

namespace {

Entry bench_gemm(const std::string& label, const GemmShape& s, GemmForm form, DType dtype, int repeat) {
  Generator g(1);
  const Tensor a = gemm_operand(s.m, s.k, form == GemmForm::tn, g, dtype);
  const Tensor b = gemm_operand(s.k, s.n, form == GemmForm::nt, g, dtype);
  const Tensor c = Tensor::zeros({s.m, s.n}, form == GemmForm::tn ? sum_type(dtype) : dtype);
  MatmulArgs args;
  args.beta = form == GemmForm::accumulate ? 1 : 0;
  Entry entry{"gemm", label, kGemmForms[static_cast<size_t>(form)]};
  entry.flops = s.flops();
  entry.timing = time_of([&] { kernels(Device{}).matmul(c, a, b, args); }, repeat);
  return entry;
}

}  // namespace

void add_gemm_benchmarks(Benchmarks& all, const BenchSettings& settings) {
  for (const GemmShape& shape : gemm_shapes()) {
    const std::string label = fmt::format("{} x {} x {}", shape.m, shape.n, shape.k);
    const auto run = [=, dtype = settings.dtype](int repeat) {
      std::vector<Entry> entries;
      for (GemmForm form : {GemmForm::nn, GemmForm::nt, GemmForm::tn, GemmForm::accumulate}) {
        entries.push_back(bench_gemm(label, shape, form, dtype, repeat));
      }
      return entries;
    };
    all.push_back({"gemm", label, run, shape.m * shape.n * shape.k > int64_t{1} << 32});
  }
}

}  // namespace pg::tools
