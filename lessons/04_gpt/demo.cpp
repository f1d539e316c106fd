// The demonstration of lesson 4, first part: one attention layer learns to attend to an earlier position.
#include <algorithm>
#include <cmath>

#include "lessons/04_gpt/lesson.h"
#include "lessons/kit/plot.h"
#include "nn/optim.h"

namespace pg::lesson04 {
namespace {

constexpr int64_t kBack = 3;  // how many positions back the answer is
constexpr int64_t kSymbols = 8, kLength = 16, kWidth = 32;

// Symbol and position embeddings, layer norm, one causal attention head, a linear readout.
struct LookBack : Module {
  const Impl& impl;
  Embedding symbol, position;
  LayerNorm norm;
  Linear qkv, out;

  LookBack(const Impl& i, Generator& g)
      : impl(i),
        symbol(kSymbols, kWidth, {g}),
        position(kLength, kWidth, {g}),
        norm(kWidth),
        qkv(kWidth, 3 * kWidth, true, {g}),
        out(kWidth, kSymbols, true, {g}) {}
  void visit(Visitor& visitor) override {
    visitor("symbol", symbol);
    visitor("position", position);
    visitor("norm", norm);
    visitor("qkv", qkv);
    visitor("out", out);
  }
  Tensor part(const Tensor& ids, int64_t i) const {  // q, k or v: [B, 1, T, C]
    const Tensor x = symbol(ids) + position(Tensor::arange(kLength, i32));
    return unsqueeze(slice(qkv(layer_norm(impl, x, norm.weight, norm.bias)), 2, i * kWidth, (i + 1) * kWidth), 1);
  }
  Tensor operator()(const Tensor& ids) const {
    return out(select(attention(impl, part(ids, 0), part(ids, 1), part(ids, 2)), 1, 0));
  }
};

Tensor random_symbols(int64_t rows, Generator& g) {
  std::vector<int32_t> ids(static_cast<size_t>(rows * kLength));
  for (int32_t& id : ids) id = static_cast<int32_t>(g.integer(kSymbols));
  return Tensor::from(ids, {rows, kLength});
}
// The targets: the symbol kBack positions earlier. The first positions are ignored.
Tensor answers(const Tensor& ids) {
  Tensor targets = Tensor::full(ids.shape(), -100, i32);
  targets.view_slice(1, kBack, kLength).copy_from(ids.view_slice(1, 0, kLength - kBack));
  return targets;
}

double accuracy(const LookBack& model, const Tensor& ids) {
  NoGrad guard;
  const Tensor guess = argmax(model(ids)), truth = answers(ids);
  const auto a = guess.data<int32_t>(), b = truth.data<int32_t>();
  double right = 0, asked = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    asked += b[i] >= 0;
    right += b[i] >= 0 && a[i] == b[i];
  }
  return 100 * right / asked;
}

}  // namespace

void show_looking_back(kit::Demo& demo, const Impl& impl) {
  demo.heading("One head learns to look back");
  demo.say(
      "A sequence of {} random symbols; at each position the network must give the symbol of {} positions before. Only "
      "attention can find it. The network is an embedding of symbol and position, a layernorm, one head, and an output "
      "layer.",
      kLength, kBack);
  Generator g(3 + demo.seeds(1)[0]);
  LookBack model(impl, g);
  ParamSlab slab(model);
  AdamW optimizer(slab, {0.9, 0.99, 1e-8, 0});
  kit::Series series{.name = "loss of one head", .y = {}};
  std::vector<double> gradient_norm, weight_norm;
  const int steps = 300;
  for (int step = 0; step < steps; ++step) {
    const Tensor ids = random_symbols(32, g);
    slab.zero_grad();
    const Tensor loss = cross_entropy(model(ids), answers(ids));
    backward(loss);
    gradient_norm.push_back(grad_norm(slab));
    optimizer.step(5e-3);
    weight_norm.push_back(std::sqrt(sum(slab.params() * slab.params()).item()));
    series.y.push_back(loss.item());
    if (step % 20 == 0) demo.status(fmt::format("step {} of {}: loss {:.3f}", step, steps, series.y.back()));
  }
  demo.show(kit::line_plot({demo.on_band(series)}, {.x_label = "step", .y_label = "nats", .height = 8}));
  demo.watch("gradient norm", gradient_norm);
  demo.watch("norm of the weights", weight_norm);
  demo.gap();
  NoGrad guard;
  const Tensor ids = random_symbols(1, g);
  const Tensor p = attention_weights(model.part(ids, 0), model.part(ids, 1)).view_reshape({kLength, kLength});
  std::vector<std::vector<double>> map;
  for (int64_t t = 0; t < kLength; ++t) map.push_back(p.view_select(0, t).to_vector());
  demo.say(
      "The attention weights p (rows: query positions; columns: key positions). Nothing right of the diagonal, and a "
      "stripe {} positions below it:",
      kBack);
  demo.show(kit::heat_map(map, {.low = 0, .high = 1}));
  demo.gap();
  demo.claim("right answers on fresh sequences", accuracy(model, random_symbols(200, g)), "%", kit::at_least(99));
}

void demo(kit::Demo& demo, const Impl& impl) {
  show_looking_back(demo, impl);
  show_training(demo, impl);
  show_cache(demo, impl);
}

}  // namespace pg::lesson04

int main(int argc, char** argv) {
  using namespace pg::lesson04;
  return pg::kit::run_lesson<Impl>(
      {.number = "4",
       .folder = "lessons/04_gpt",
       .title = "a GPT",
       .reference = reference(),
       .checks = checks(),
       .demo = demo,
       .hunt = show_looking_back,
       .settings = {pg::kit::seed_setting(),
                    {"lr", 0.002, 0.0001, 0.1, "learning rate of the GPT (half with --full)"},
                    {"layers", 2, 1, 6, "layers (two more with --full)", true},
                    {"heads", 4, 1, 8, "heads in each layer", true},
                    {"head_size", 32, 4, 64, "channels of each head", true},
                    {"temperature", 0.8, 0.05, 3, "temperature of what it writes"}}},
      argc, argv);
}
