// Benchmarks of the matrix products of GPT-2 124M on a CUDA device: of a training step over 65,536 tokens, and of
// decoding one token of 1, 64 and 1024 rows. Labels are M x N x K of the forward product y [M, N] = x [M, K] · wᵀ, w
// [N, K].
#include <array>

#include "autograd/op_util.h"
#include "tensor/backend.h"
#include "tensor/kernels.h"
#include "tools/pg/bench/bench.h"

namespace pg::tools {

namespace {

struct Layer {
  const char* name;
  int64_t n, k;
};
constexpr std::array<Layer, 5> kLayers = {
    {{"qkv", 2304, 768}, {"proj", 768, 768}, {"fc", 3072, 768}, {"down", 768, 3072}, {"head", 50304, 768}}};

struct Product {
  Layer layer;
  int64_t m;
  std::string label() const { return fmt::format("{} {} x {} x {}", layer.name, m, layer.n, layer.k); }
  double flops() const { return 2.0 * static_cast<double>(m * layer.n) * static_cast<double>(layer.k); }
};

// The products that autograd/matmul.cpp computes. The gradient of the weight is f32, as in training.
std::vector<Entry> bench_training(const Product& p, const BenchSettings& s, int repeat) {
  const std::string name = p.layer.name;
  const int64_t n = p.layer.n, k = p.layer.k;
  const Kernels& kernel = kernels(s.device);
  Generator g(1);
  const auto normal = [&](const Shape& shape) { return Tensor::normal(shape, 0, 1, g, s.dtype, s.device); };
  const auto rows = [&] { return detail::aligned_rows({p.m, n}, s.dtype, s.device); };  // as linear() has them
  const Tensor x = normal({p.m, k}), w = normal({n, k}), dy = rows(), bias = normal({n});
  dy.copy_from(normal({p.m, n}));
  const Tensor y = rows(), dx = empty_like(x), dw = Tensor::empty({n, k}, sum_type(s.dtype), s.device);
  const bool head = n > 50000;
  std::vector<Entry> entries;
  const auto add = [&](const char* what, const std::function<void()>& call) {
    Entry entry{"gemm", p.label(), what};
    entry.flops = p.flops();
    entry.timing = time_cold(s.device, call, repeat);
    entry.how = backend(s.device).last_matmul();
    entries.push_back(entry);
  };
  MatmulArgs args;
  if (!head) args.bias = bias;
  add("forward", [&] { kernel.matmul(y, x, w.view_transpose(0, 1), args); });
  if (name == "fc") {
    const Tensor pre = empty_like(y);
    args.activation = Activation::gelu_tanh;
    args.pre_activation = pre;
    add("forward, gelu", [&] { kernel.matmul(y, x, w.view_transpose(0, 1), args); });
  }
  add("dx", [&] { kernel.matmul(dx, dy, w, {}); });
  add("dw", [&] { kernel.matmul(dw, dy.view_transpose(0, 1), x, {}); });
  return entries;
}

// With few rows the time is bound by reading the weights, so the bytes of all operands are counted.
std::vector<Entry> bench_decoding(const Product& p, const BenchSettings& s, int repeat) {
  const int64_t n = p.layer.n, k = p.layer.k;
  Generator g(1);
  const Tensor x = Tensor::normal({p.m, k}, 0, 1, g, s.dtype, s.device);
  const Tensor w = Tensor::normal({n, k}, 0, 1, g, s.dtype, s.device), y = Tensor::empty({p.m, n}, s.dtype, s.device);
  Entry entry{"decode-gemm", p.label(), "forward"};
  if (p.m < 512) {
    entry.bytes = static_cast<double>((p.m * k + n * k + p.m * n) * static_cast<int64_t>(size_of(s.dtype)));
  } else {
    entry.flops = p.flops();
  }
  entry.timing = time_cold(
      s.device, [&] { kernels(s.device).matmul(y, x, w.view_transpose(0, 1), {}); }, repeat);
  entry.how = backend(s.device).last_matmul();
  return {entry};
}

}  // namespace

void add_cuda_gemm_benchmarks(Benchmarks& all, const BenchSettings& settings) {
  std::vector<Product> products;
  for (const Layer& layer : kLayers) products.push_back({layer, 65536});
  products.push_back({{"head", 50257, 768}, 16384});  // GPT-2's own vocabulary
  for (const Product& p : products) {
    all.push_back({"gemm", p.label(), [=](int repeat) { return bench_training(p, settings, repeat); }});
  }
  for (int64_t rows : {1, 64, 1024}) {
    for (const Layer& layer : kLayers) {
      const Product p{layer, rows};
      all.push_back({"decode-gemm", p.label(), [=](int repeat) { return bench_decoding(p, settings, repeat); }});
    }
  }
}

}  // namespace pg::tools
