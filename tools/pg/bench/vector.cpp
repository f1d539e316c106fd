// Benchmarks of kernels and operations that pass over memory once or a few times, each with a copy: within the L2 cache
// of one core, and in memory much larger than the caches.
#include <array>

#include "autograd/ops.h"
#include "tensor/kernels.h"
#include "tensor/tensor.h"
#include "tools/pg/bench/bench.h"

namespace pg::tools {

namespace {

constexpr int64_t kColumns = 1024, kHeadWidth = 64;

struct Operands {
  Tensor y, x, positive;              // [R, C]; elements of `positive` are in [0.1, 2)
  Tensor row, per_row, other, stats;  // [1, C], [R], [R], [R, 2]
  Tensor index, ids;                  // i32 [R, C] and [R]: random columns, and zeros
  Tensor condition, zero;             // u8 [R, C]; [R, C] of one zero
  View heads(const Tensor& t) const { return t.view_reshape({1, kColumns / kHeadWidth, t.size(0), kHeadWidth}); }
};
Operands make_operands(int64_t rows) {
  Generator g(1);
  const Shape shape{rows, kColumns};
  const Tensor uniform = Tensor::uniform(shape, 0, 1, g);
  return {.y = Tensor::zeros(shape),
          .x = Tensor::normal(shape, 0, 1, g),
          .positive = Tensor::uniform(shape, 0.1, 2, g),
          .row = Tensor::ones({1, kColumns}),
          .per_row = Tensor::zeros({rows}),
          .other = Tensor::zeros({rows}),
          .stats = Tensor::zeros({rows, 2}),
          .index = (uniform * kColumns).to(i32),
          .ids = Tensor::zeros({rows}, i32),
          .condition = lt(uniform, Tensor::scalar(0.5)),
          .zero = Tensor::zeros({1, 1}).view_expand(shape)};
}

// A kernel or an operation, and the bytes that it reads and writes per element.
struct VectorBenchmark {
  const char* name;
  double bytes;
  void (*call)(const Kernels& k, const Operands& o);
};
constexpr Scalars kScalars{1.7, 2.5};  // of functions with one or two: powers, bounds, factors
constexpr VectorBenchmark kVectorBenchmarks[] = {
#define UNARY(name, ...) \
  {#name, 8, [](const Kernels& k, const Operands& o) { k.unary(Unary::name, o.y, o.positive, kScalars); }},
#define UNARY_WITH UNARY
#include "tensor/elementwise.def"
#define BINARY(name, ...) \
  {#name, 12, [](const Kernels& k, const Operands& o) { k.binary(Binary::name, o.y, o.positive, o.positive); }},
#include "tensor/elementwise.def"
    {"add of a row", 8,
     [](const Kernels& k, const Operands& o) { k.binary(Binary::add, o.y, o.x, o.row.view_expand(o.x.shape())); }},
    {"sum over rows", 4, [](const Kernels& k, const Operands& o) { k.reduce(Reduce::sum, o.row, o.x, 1, 0); }},
    {"where", 13, [](const Kernels& k, const Operands& o) { k.where(o.y, o.condition, o.x, o.positive); }},
    {"where backward", 9, [](const Kernels& k, const Operands& o) { k.where(o.y, o.condition, o.x, o.zero); }},
    {"dropout", 8, [](const Kernels& k, const Operands& o) { k.dropout(o.y, o.x, 0.1, 1, 0, 0); }},
    {"gather", 12, [](const Kernels& k, const Operands& o) { k.gather(o.y, o.x, o.index, 1); }},
    {"scatter_add", 16, [](const Kernels& k, const Operands& o) { k.scatter_add(o.y, o.index, o.x, 1); }},
    {"softmax", 8, [](const Kernels& k, const Operands& o) { k.softmax(o.y, o.x, false); }},
    {"log_softmax over columns", 8, [](const Kernels&, const Operands& o) { log_softmax(o.x, 0); }},
    {"layer_norm", 8,
     [](const Kernels& k, const Operands& o) { k.layer_norm(o.y, o.per_row, o.other, {}, o.x, {}, {}, {}, 1e-5); }},
    {"rope", 8, [](const Kernels& k, const Operands& o) { k.rope(o.heads(o.y), o.heads(o.x), {}, 0); }},
    {"cross_entropy", 4,
     [](const Kernels& k, const Operands& o) { k.cross_entropy(o.per_row, o.stats, o.x, o.ids, {}); }},
};

std::vector<Entry> bench_vector(const VectorBenchmark& benchmark, const std::string& label, int64_t rows, int repeat) {
  const NoGrad no_grad;
  const Operands o = make_operands(rows);
  const Kernels& k = kernels(Device{});
  const auto elements = static_cast<double>(rows * kColumns);
  Entry entry{"vector", label, benchmark.name}, probe{"vector", label, "copy"};
  entry.bytes = elements * benchmark.bytes, probe.bytes = elements * 8;
  entry.timing = time_of([&] { benchmark.call(k, o); }, repeat);
  probe.timing = time_of([&] { k.copy(o.y, o.x); }, repeat);
  return {entry, probe};
}

}  // namespace

void add_vector_benchmarks(Benchmarks& all) {
  for (const VectorBenchmark& benchmark : kVectorBenchmarks) {
    for (int64_t rows : {32, 32768}) {
      const std::string label = fmt::format("{} x {}", rows, kColumns);
      all.push_back({"vector", label + " " + benchmark.name,
                     [=, &benchmark](int repeat) { return bench_vector(benchmark, label, rows, repeat); }});
    }
  }
}

}  // namespace pg::tools
