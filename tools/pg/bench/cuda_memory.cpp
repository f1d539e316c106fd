// Benchmarks of memory-bound kernels on a CUDA device, at the sizes of training GPT-2 124M with 65,536 tokens (logits:
// 16,384). Each byte that must be read or written is counted once. The data exceeds the L2 cache.
#include "nn/optim.h"
#include "tensor/kernels.h"
#include "tools/pg/bench/bench.h"

namespace pg::tools {

namespace {

constexpr int64_t kTokens = 65536, kWidth = 768, kVocab = 50304, kLogitRows = 16384;

// Allocates the tensors of a kernel and times it.
class Bench {
 public:
  Bench(const BenchSettings& settings, int repeat) : s_(settings), repeat_(repeat) {}

  const Kernels& kernel() const { return kernels(s_.device); }
  Tensor normal(const Shape& shape) { return Tensor::normal(shape, 0, 1, generator_, s_.dtype, s_.device); }
  Tensor sums(const Shape& shape) const { return Tensor::zeros(shape, sum_type(s_.dtype), s_.device); }
  Tensor ids(int64_t n, int64_t below) {
    std::vector<int32_t> values(static_cast<size_t>(n));
    for (auto& id : values) id = static_cast<int32_t>(generator_.integer(below));
    return Tensor::from(values, {n}).to(s_.device);
  }

  template <class... Tensors>
  Entry time(const char* what, const std::string& label, const std::function<void()>& call,
             const Tensors&... moved) const {
    Entry entry{"memory", label, what};
    ((entry.bytes += static_cast<double>(moved.numel()) * static_cast<double>(size_of(moved.dtype()))), ...);
    entry.timing = time_cold(s_.device, call, repeat_);
    return entry;
  }

 private:
  const BenchSettings s_;
  const int repeat_;
  Generator generator_{1};
};

std::vector<Entry> bench_elementwise(Bench& b, const std::string& label) {
  const Tensor x = b.normal({kTokens, 4 * kWidth}), dy = b.normal(x.shape()), y = empty_like(x),
               wide = b.sums(x.shape());
  const Kernels& k = b.kernel();
  return {
      b.time(
          "copy", label, [&] { k.copy(y, x); }, x, y),
      b.time(
          "add", label, [&] { k.binary(Binary::add, y, x, dy); }, x, dy, y),
      b.time(
          "gelu", label, [&] { k.unary(Unary::gelu_tanh, y, x, {}); }, x, y),
      b.time(
          "gelu backward", label, [&] { k.unary_backward(Unary::gelu_tanh, y, dy, x, {}, 0); }, x, dy, y),
      b.time(
          "to f32", label, [&] { k.copy(wide, x); }, x, wide),
  };
}

std::vector<Entry> bench_norm(Bench& b, const std::string& label) {
  const Tensor x = b.normal({kTokens, kWidth}), residual = b.normal(x.shape()), sum = empty_like(x), y = empty_like(x);
  const Tensor w = b.normal({kWidth}), bias = b.normal({kWidth}), dw = b.sums({kWidth}), db = b.sums({kWidth});
  const Tensor mean = b.sums({kTokens}), rstd = b.sums({kTokens});
  const Kernels& k = b.kernel();
  const auto forward = [&] { k.layer_norm(y, mean, rstd, sum, x, residual, w, bias, 1e-5); };
  const auto backward = [&] { k.layer_norm_backward(y, dw, db, residual, x, w, mean, rstd, 0, 0, 0); };
  return {b.time("layer_norm", label, forward, x, residual, sum, y, mean, rstd),
          b.time("layer_norm backward", label, backward, x, residual, y, mean, rstd),
          b.time(
              "bias gradient", label,
              [&] {
                k.reduce(Reduce::sum, db.view_reshape({1, kWidth}), x, 1, 0);
              },
              x)};
}

std::vector<Entry> bench_logits(Bench& b, const std::string& label) {
  const Tensor logits = b.normal({kLogitRows, kVocab}), gradient = empty_like(logits), ids = b.ids(kLogitRows, kVocab);
  const Tensor loss = b.sums({kLogitRows}), stats = b.sums({kLogitRows, 2}), one = b.sums({kLogitRows});
  one.fill(1.0 / kLogitRows);
  const Kernels& k = b.kernel();
  return {b.time(
              "softmax", label, [&] { k.softmax(gradient, logits, false); }, logits, gradient),
          b.time(
              "cross_entropy", label, [&] { k.cross_entropy(loss, stats, logits, ids, {}); }, logits),
          b.time(
              "cross_entropy backward", label,
              [&] { k.cross_entropy_backward(gradient, one, logits, stats, ids, {}, 0); }, logits, gradient),
          b.time(
              "cross_entropy with gradient", label,
              [&] { k.cross_entropy_with_gradient(loss, gradient, one, ids, {}); }, gradient, gradient)};
}

std::vector<Entry> bench_embedding(Bench& b, const std::string& label) {
  const Tensor w = b.normal({kVocab, kWidth}), ids = b.ids(kTokens, kVocab), y = b.normal({kTokens, kWidth});
  const Tensor dw = b.sums({kVocab, kWidth});
  const Kernels& k = b.kernel();
  return {b.time(
              "embedding backward", label, [&] { k.embedding_backward(dw, y, ids, 0); }, y, ids, dw),
          b.time(
              "embedding", label, [&] { k.embedding(y, w, ids); }, y, y, ids)};
}

// With f32 master weights if the model is bf16.
std::vector<Entry> bench_optimizer(Bench& b, const std::string& label) {
  constexpr int64_t n = 124'475'904;  // GPT-2 124M with a vocabulary of 50304
  struct Weights : Module {
    Tensor weight;
    void visit(Visitor& visitor) override { visitor("weight", weight); }
  } model;
  model.weight = b.normal({n / 768, 768}).set_requires_grad();
  ParamSlab slab(model);
  AdamW adam(slab);
  slab.fill_missing_grads();
  slab.grads().fill(1e-3);
  const Tensor square = Tensor::empty({1}, f64, slab.grads().device());
  const auto& p = slab.params();
  return {b.time(
              "adamw", label, [&] { adam.step(1e-3); }, p, p, p, p, p, p, slab.grads(), slab.rounded()),
          b.time(
              "gradient norm", label, [&] { b.kernel().sum_of_squares(square, slab.grads()); }, slab.grads())};
}

}  // namespace

void add_cuda_memory_benchmarks(Benchmarks& all, const BenchSettings& settings) {
  const auto add = [&](const std::string& label, std::vector<Entry> (*bench)(Bench&, const std::string&)) {
    all.push_back({"memory", label, [=](int repeat) {
                     Bench b(settings, repeat);
                     return bench(b, label);
                   }});
  };
  add(fmt::format("{} x {}", kTokens, 4 * kWidth), bench_elementwise);
  add(fmt::format("{} x {}", kTokens, kWidth), bench_norm);
  add(fmt::format("{} x {}", kLogitRows, kVocab), bench_logits);
  add(fmt::format("{} tokens of {} x {}", kTokens, kVocab, kWidth), bench_embedding);
  add("124M parameters", bench_optimizer);
}

}  // namespace pg::tools
