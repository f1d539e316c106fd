// Benchmarks of the f32 matrix product at the shapes of GPT-2 124M: forward (b is a transposed weight), the gradient of
// the input (b plain) and the gradient of the weight (a transposed), packing included.
#include <array>

#include "tensor/kernels.h"
#include "tensor/tensor.h"
#include "tools/pg/bench.h"
#include "tools/pg/ceilings.h"

namespace pg::tools {

namespace {

enum class Form { nn, nt, tn, accumulate };  // t: that operand is stored transposed
constexpr std::array kForms = {"a·b", "a·bᵀ", "aᵀ·b", "c + a·b"};

// Stored [rows, columns], or [columns, rows] and turned.
Tensor operand(int64_t rows, int64_t columns, bool transposed, Generator& g) {
  if (!transposed) return Tensor::normal({rows, columns}, 0, 1, g);
  return Tensor::normal({columns, rows}, 0, 1, g).view_transpose(0, 1);
}

Entry bench_gemm(const std::string& label, int64_t m, int64_t n, int64_t k, Form form, int repeat) {
  Generator g(1);
  const Tensor a = operand(m, k, form == Form::tn, g), b = operand(k, n, form == Form::nt, g);
  const Tensor c = Tensor::zeros({m, n});
  MatmulArgs args;
  args.beta = form == Form::accumulate ? 1 : 0;
  Entry entry{"gemm", label, kForms[static_cast<size_t>(form)]};
  entry.flops = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  entry.seconds = time_of([&] { kernels(Device{}).matmul(c, a, b, args); }, repeat);
  return entry;
}

}  // namespace

void add_gemm_benchmarks(Benchmarks& all) {
  struct Layer {
    int64_t k, n;
  };
  constexpr std::array<Layer, 5> layers = {{{768, 2304}, {768, 768}, {768, 3072}, {3072, 768}, {768, 50257}}};
  for (int64_t m : {256, 1024, 4096}) {
    for (const Layer& layer : layers) {
      const int64_t k = layer.k, n = layer.n;
      const std::string label = fmt::format("{} x {} x {}", m, n, k);
      const auto run = [=](int repeat) {
        std::vector<Entry> entries;
        for (Form form : {Form::nn, Form::nt, Form::tn, Form::accumulate}) {
          entries.push_back(bench_gemm(label, m, n, k, form, repeat));
        }
        return entries;
      };
      all.push_back({"gemm", label, run, m * n * k > int64_t{1} << 32});
    }
  }
}

}  // namespace pg::tools
