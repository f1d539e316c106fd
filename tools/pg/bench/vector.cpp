// Benchmarks of kernels that pass over memory once or twice, each with a copy of the same bytes: within the L2 cache of
// one core, and in memory much larger than the caches.
#include <array>

#include "tensor/kernels.h"
#include "tensor/tensor.h"
#include "tools/pg/bench/bench.h"

namespace pg::tools {

namespace {

constexpr int64_t kColumns = 1024;

struct Operands {
  Tensor y, x;            // [R, C]
  Tensor per_row, other;  // [R]
  Tensor stats;           // [R, 2]
  Tensor ids;             // [R]
};
// A kernel that reads x and writes y, or only reads x.
struct VectorKernel {
  const char* name;
  bool writes;
  void (*call)(const Kernels& k, const Operands& o);
};
constexpr VectorKernel kVectorKernels[] = {
    {"exp", true, [](const Kernels& k, const Operands& o) { k.unary(Unary::exp, o.y, o.x, {}); }},
    {"gelu", true, [](const Kernels& k, const Operands& o) { k.unary(Unary::gelu_tanh, o.y, o.x, {}); }},
    {"softmax", true, [](const Kernels& k, const Operands& o) { k.softmax(o.y, o.x, false); }},
    {"layer_norm", true,
     [](const Kernels& k, const Operands& o) { k.layer_norm(o.y, o.per_row, o.other, {}, o.x, {}, {}, {}, 1e-5); }},
    {"cross_entropy", false,
     [](const Kernels& k, const Operands& o) { k.cross_entropy(o.per_row, o.stats, o.x, o.ids, {}); }},
};

std::vector<Entry> bench_vector(const VectorKernel& kernel, const std::string& label, int64_t rows, int repeat) {
  Generator g(1);
  const Operands o{.y = Tensor::zeros({rows, kColumns}),
                   .x = Tensor::normal({rows, kColumns}, 0, 1, g),
                   .per_row = Tensor::zeros({rows}),
                   .other = Tensor::zeros({rows}),
                   .stats = Tensor::zeros({rows, 2}),
                   .ids = Tensor::zeros({rows}, i32)};
  const Kernels& k = kernels(Device{});
  Entry entry{"vector", label, kernel.name}, probe{"vector", label, kernel.writes ? "copy" : "max"};
  entry.bytes = probe.bytes = static_cast<double>(rows * kColumns * 4) * (kernel.writes ? 2 : 1);
  entry.timing = time_of([&] { kernel.call(k, o); }, repeat);
  const Tensor one = Tensor::zeros({1, 1});
  probe.timing = time_of([&] { kernel.writes ? k.copy(o.y, o.x) : k.reduce(Reduce::max, one, o.x, 1, 0); }, repeat);
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
