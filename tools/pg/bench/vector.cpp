// Benchmarks of kernels that pass over memory once or twice, each with a copy of the same bytes: within the L2 cache of
// one core, and in memory much larger than the caches.
#include <array>

#include "tensor/kernels.h"
#include "tensor/tensor.h"
#include "tools/pg/bench/bench.h"

namespace pg::tools {

namespace {

constexpr int64_t kColumns = 1024;

// A kernel for x [R, C] and, in most cases, y of the same shape. One call reads x and writes y, or only reads x.
struct VectorKernel {
  const char* name;
  bool writes;
  void (*call)(const Kernels& k, const Tensor& y, const Tensor& x, const Tensor& per_row, const Tensor& ids);
};
constexpr VectorKernel kVectorKernels[] = {
    {"exp", true,
     [](const Kernels& k, const Tensor& y, const Tensor& x, const Tensor&, const Tensor&) {
       k.unary(Unary::exp, y, x, {});
     }},
    {"gelu", true,
     [](const Kernels& k, const Tensor& y, const Tensor& x, const Tensor&, const Tensor&) {
       k.unary(Unary::gelu_tanh, y, x, {});
     }},
    {"softmax", true,
     [](const Kernels& k, const Tensor& y, const Tensor& x, const Tensor&, const Tensor&) { k.softmax(y, x, false); }},
    {"layer_norm", true,
     [](const Kernels& k, const Tensor& y, const Tensor& x, const Tensor& per_row, const Tensor&) {
       k.layer_norm(y, per_row, per_row, {}, x, {}, {}, {}, 1e-5);
     }},
    {"cross_entropy", false,
     [](const Kernels& k, const Tensor&, const Tensor& x, const Tensor& per_row, const Tensor& ids) {
       k.cross_entropy(per_row, per_row, x, ids, {});
     }},
};

std::vector<Entry> bench_vector(const VectorKernel& kernel, const std::string& label, int64_t rows, int repeat) {
  Generator g(1);
  const Tensor x = Tensor::normal({rows, kColumns}, 0, 1, g), y = Tensor::zeros({rows, kColumns});
  const Tensor per_row = Tensor::zeros({rows}), ids = Tensor::zeros({rows}, i32);
  const Kernels& k = kernels(Device{});
  Entry entry{"vector", label, kernel.name}, probe{"vector", label, kernel.writes ? "copy" : "max"};
  entry.bytes = probe.bytes = static_cast<double>(rows * kColumns * 4) * (kernel.writes ? 2 : 1);
  entry.timing = time_of([&] { kernel.call(k, y, x, per_row, ids); }, repeat);
  const Tensor one = Tensor::zeros({1, 1});
  probe.timing = time_of([&] { kernel.writes ? k.copy(y, x) : k.reduce(Reduce::max, one, x, 1, 0); }, repeat);
  return {entry, probe};
}

}  // namespace

void add_vector_benchmarks(Benchmarks& all) {
  for (const VectorKernel& kernel : kVectorKernels) {
    for (int64_t rows : {32, 32768}) {
      const std::string label = fmt::format("{} x {}", rows, kColumns);
      all.push_back({"vector", label + " " + kernel.name,
                     [=, &kernel](int repeat) { return bench_vector(kernel, label, rows, repeat); }});
    }
  }
}

}  // namespace pg::tools
