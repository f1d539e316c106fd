// The checks of lesson 13c on low-rank adapters: new ones, and merging.
#include <cmath>

#include "lessons/13c_lora/checks.h"
#include "nn/transformer.h"

namespace pg::lesson13c {
namespace {

using kit::Grader;

Linear random_layer(int64_t in, int64_t out, bool bias, uint64_t seed, DType dtype = f64) {
  Generator random = kit::draws(seed);
  return Linear(in, out, bias, {random, dtype});
}

// What the first step would do: the gradients of the adapter for a random cotangent.
bool learns(Grader& g, const Linear& layer, const std::string& input, const Tensor& x) {
  const LoraAdapter& adapter = layer.lora[0];
  const Tensor y = layer(x);
  if (!require(g, y.requires_grad(), input + ": the result", "depends on nothing that is trained", "depends on B",
               "the adapter's tensors need set_requires_grad()")) {
    return false;
  }
  backward(sum(y * random_tensor(y.shape(), 172, y.dtype())));
  const auto moves = [](const Tensor& t) {
    return t.grad().defined() && kit::relative_error(t.grad(), Tensor::zeros(t.shape(), t.dtype())) > 0;
  };
  return require(g, moves(adapter.a) || moves(adapter.b), input + ": gradients of A and B", "both are zero",
                 "that of B is not",
                 "A and B are both zero: each one's gradient is a product with the other, so nothing is ever learned");
}

bool check_one_adapter(Grader& g, const Impl& impl, int64_t in, int64_t out, bool bias, DType dtype,
                       const LoraConfig& config) {
  const int64_t rank = config.rank;
  const double alpha = config.alpha, r = static_cast<double>(rank);
  const std::string input = fmt::format("weight [{}, {}] {}, {}, rank {}, alpha {}", out, in, dtype,
                                        bias ? "a bias" : "no bias", rank, alpha);
  Linear layer = random_layer(in, out, bias, 170, dtype);
  const Tensor weight = layer.weight.detach().clone(), x = random_tensor({2, 4, in}, 171, dtype);
  const Tensor before = layer(x).detach(), held = layer.weight;
  Generator random = kit::draws(173);
  const std::string no_bias = "a layer may have no bias: it may be undefined, so ask layer.bias.defined() first";
  if (!runs(g, input, [&] { impl.add_lora(layer, config, random); }, {{"undefined", no_bias}})) return false;
  if (!require(g, layer.lora.size() == 1, input + ": adapters", fmt::format("{}", layer.lora.size()), "1",
               layer.lora.empty() ? "nothing was appended: layer.lora.push_back(adapter)"
                                  : "one adapter for the whole layer is enough") ||
      !require(g, layer.weight.storage() == held.storage(), input + ": the weight's memory", "is another",
               "is the same", "the layer got another weight: only set_requires_grad(false) on the one it has")) {
    return false;
  }
  LoraAdapter& adapter = layer.lora[0];
  const auto shape_text = [](const Tensor& t) { return t.defined() ? fmt::format("{}", t.shape()) : "undefined"; };
  require(g, adapter.a.defined() && adapter.a.shape() == Shape{rank, in}, input + ": A", shape_text(adapter.a),
          fmt::format("[{}, {}]", rank, in), "A [rank, in] reads x; the rank is config.rank");
  require(g, adapter.b.defined() && adapter.b.shape() == Shape{out, rank}, input + ": B", shape_text(adapter.b),
          fmt::format("[{}, {}]", out, rank), "B [out, rank] writes the result; the rank is config.rank");
  require(g, adapter.begin == 0 && adapter.end == out, input + ": rows",
          fmt::format("{} to {}", adapter.begin, adapter.end), fmt::format("0 to {}", out),
          ".begin = 0, .end = out: all rows of the weight");
  if (g.failed()) return false;
  const Tensor a = adapter.a.detach(), b = adapter.b.detach(), zero = Tensor::zeros({out, rank}, dtype);
  require(g, a.dtype() == dtype && b.dtype() == dtype, input + ": dtypes of A and B",
          fmt::format("{} and {}", a.dtype(), b.dtype()), fmt::format("{}", dtype),
          "both have the weight's dtype: pass layer.weight.dtype()");
  const double bound = 1 / std::sqrt(static_cast<double>(in));
  if (g.failed()) return false;
  const bool a_zero = kit::relative_error(a, Tensor::zeros(a.shape(), dtype)) == 0;
  const bool b_zero = kit::relative_error(b, zero) == 0;
  if (a_zero && b_zero) return learns(g, layer, input, x);
  require(g, b_zero, input + ": B", a_zero ? "random, and A is zero" : "random", "all zeros",
          a_zero ? "A and B are exchanged: A is random, B is zero"
                 : "A and B are both random: the model is another one before the first step; B begins as zero");
  if (g.failed()) return false;
  Generator again = kit::draws(173);
  const Tensor want = Tensor::uniform({rank, in}, -bound, bound, again, dtype);
  const auto adapter_by = [&](auto add) {
    Linear other = random_layer(in, out, bias, 170, dtype);
    Generator draw = kit::draws(173);
    add(other, config, draw);
    return other.lora[0];
  };
  auto draws = kit::values_of(add_mistakes(), [&](auto add) { return adapter_by(add).a.detach(); });
  const auto scales = kit::values_of(add_mistakes(), [&](auto add) { return adapter_by(add).scale; });
  if (amax(abs(a)).item() <= bound) {
    draws.push_back({"the numbers are in ±1/√in, but others: draw A from `generator`, in one call", a});
  }
  g.equal(input + ": A", a, want, {.rtol = dtype == f32 ? 1e-6 : 1e-12, .mistakes = draws});
  g.equal(input + ": scale", adapter.scale, alpha / r, {.mistakes = scales});
  require(g, a.storage() != layer.weight.storage() && kit::relative_error(layer.weight.detach(), weight) == 0,
          input + ": the weight", "changed", "as before", "W is frozen: only A and B are new");
  require(g, !layer.lora_merged, input + ": lora_merged", "true", "false",
          "the weight does not contain the term yet, so layer(x) must add it");
  require(g, adapter.a.requires_grad() && adapter.b.requires_grad(), input + ": A and B", "do not require a gradient",
          "require a gradient", "tensors are made without a gradient: a.set_requires_grad(), b.set_requires_grad()");
  require(g, !layer.weight.requires_grad() && !(bias && layer.bias.requires_grad()), input + ": weight and bias",
          "still require a gradient", "are frozen",
          "x.set_requires_grad(false) for the weight and for the bias: else the whole layer is trained");
  if (g.failed()) return false;
  g.equal(input + ": layer(x) before and after", layer(x).detach(), before, {.rtol = 0});
  if (g.failed() || !learns(g, layer, input, x)) return false;
  // As in training, after which A and B are both something: the layer with its low-rank term.
  adapter.b.detach().copy_from(random_tensor({out, rank}, 174, dtype));
  const Tensor sum_of_both = weight + matmul(adapter.b.detach(), a) * (alpha / r);
  const Tensor bias_now = layer.bias.defined() ? layer.bias.detach() : Tensor();
  return g.equal(input + ": layer(x) with another B", layer(x).detach(), linear(x, sum_of_both, bias_now),
                 {.rtol = dtype == f32 ? 1e-5 : 1e-9});
}

}  // namespace

void check_add_lora(Grader& g, const Impl& impl) {
  struct Case {
    int64_t in, out;
    bool bias;
    DType dtype;
    int64_t rank;
    double alpha;
  };
  for (const Case& one : {Case{7, 5, true, f64, 3, 7}, Case{4, 10, false, f64, 2, 7}, Case{6, 11, true, f32, 5, 4}}) {
    if (!check_one_adapter(g, impl, one.in, one.out, one.bias, one.dtype, {.rank = one.rank, .alpha = one.alpha}))
      return;
  }
  g.note("three layers, with and without a bias: same bits, then they learn");
}

namespace {

// A layer with random adapters of these rows.
struct Rows {
  int64_t begin, end;
};
Linear adapted_layer(int64_t in, int64_t out, const std::vector<Rows>& rows, uint64_t seed, DType dtype = f64) {
  Linear layer = random_layer(in, out, true, seed, dtype);
  for (const Rows& r : rows) {
    Tensor a = random_tensor({3, in}, seed += 1, dtype), b = random_tensor({r.end - r.begin, 3}, seed += 1, dtype);
    layer.lora.push_back({.prefix = fmt::format("{}.", r.begin),
                          .begin = r.begin,
                          .end = r.end,
                          .scale = 1.75,
                          .a = a.set_requires_grad(),
                          .b = b.set_requires_grad()});
  }
  return layer;
}

// The layer's weight plus the terms.
Tensor merged(const Linear& layer) {
  const Tensor result = layer.weight.detach().clone();
  for (const LoraAdapter& one : layer.lora) {
    const Tensor rows = result.view_slice(0, one.begin, one.end);
    rows.copy_from(rows + matmul(one.b.detach(), one.a.detach()) * one.scale);
  }
  return result;
}

bool check_one_merge(Grader& g, const Impl& impl, const std::string& input, Linear layer, double rtol) {
  const Tensor weight = layer.weight.detach().clone(), x = random_tensor({2, 3, weight.size(1)}, 180, weight.dtype());
  const Tensor held = layer.weight;  // as a ParamSlab holds it
  const Tensor unmerged = layer(x).detach(), want = merged(layer);
  const size_t count = layer.lora.size();
  const auto mistakes = kit::values_of(merge_mistakes(), [&](auto merge) {
    Linear other = layer;
    other.weight = weight.clone();
    merge(other);
    return other.weight;
  });
  const Unchanged adapters({layer.lora[0].a.detach(), layer.lora[0].b.detach(), layer.bias.detach()});
  impl.merge_lora(layer);
  if (!require(g, layer.weight.defined() && layer.weight.storage() == held.storage(), input + ": the weight's memory",
               "is another", "is the same",
               "`layer.weight = ...` makes the name point elsewhere, and whoever holds the old memory keeps the old "
               "weight: rows.copy_from(...)") ||
      !require(g, layer.lora.size() == count, input + ": adapters", fmt::format("{}", layer.lora.size()),
               fmt::format("{}", count), "the adapters stay: whoever takes the term out again needs them") ||
      !adapters.expect(g, input)) {
    return false;
  }
  g.equal(input + ": the weight", layer.weight.detach(), want, {.rtol = rtol, .mistakes = mistakes});
  require(g, layer.lora_merged, input + ": lora_merged", "false", "true",
          "the layer does not know that it is merged: it adds the terms a second time in layer(x)");
  if (g.failed()) return false;
  g.equal(input + ": layer(x) merged and not", layer(x).detach(), unmerged, {.rtol = 10 * rtol});
  const Tensor once = layer.weight.detach().clone();
  refuses(g, input + ", merged again", [&] { impl.merge_lora(layer); });
  return require(g, kit::relative_error(layer.weight.detach(), once) == 0, input + ", after the refusal: the weight",
                 "changed", "as it was", "check before you add");
}

}  // namespace

void check_merge_lora(Grader& g, const Impl& impl) {
  if (!check_one_merge(g, impl, "weight [7, 4], one adapter", adapted_layer(4, 7, {{0, 7}}, 181), 1e-9) ||
      !check_one_merge(g, impl, "weight [5, 5], one adapter", adapted_layer(5, 5, {{0, 5}}, 182), 1e-9) ||
      !check_one_merge(g, impl, "weight [9, 4], adapters of rows 0 to 3 and 5 to 9",
                       adapted_layer(4, 9, {{0, 3}, {5, 9}}, 183), 1e-9) ||
      !check_one_merge(g, impl, "weight [6, 8] f32, one adapter", adapted_layer(8, 6, {{0, 6}}, 184, f32), 1e-6)) {
    return;
  }
  Linear without = random_layer(3, 2, true, 185);
  refuses(g, "a layer without adapters", [&] { impl.merge_lora(without); });
  if (g.failed()) return;
  // A whole model, as the engine's own merge_lora has it.
  Generator random = kit::draws(186);
  const TransformerConfig config{
      .vocab_size = 7, .block_size = 5, .n_layer = 2, .n_head = 2, .n_embd = 6, .dtype = f64};
  Transformer model(config, random);
  pg::add_lora(model, {.rank = 2, .alpha = 3}, random);
  for (const auto& [name, parameter] : named_parameters(model)) {
    if (!is_adapter(name)) continue;
    parameter.detach().copy_from(Tensor::normal(parameter.shape(), 0, 0.5, random, f64));
  }
  std::vector<std::pair<Linear*, Tensor>> layers;
  for (TransformerBlock& block : model.h) {
    for (Linear* layer : {&block.attn->c_attn, &block.attn->c_proj, &block.mlp.c_fc, &block.mlp.c_proj}) {
      Linear copy = *layer;
      copy.weight = layer->weight.detach().clone();
      impl.merge_lora(copy);
      layers.emplace_back(layer, copy.weight);
    }
  }
  pg::merge_lora(model);
  for (const auto& [layer, weight] : layers) {
    g.equal("a GPT-2 of two blocks, as pg::merge_lora", weight.detach(), layer->weight.detach());
  }
  g.note("four layers, then all eight of a GPT-2");
}

}  // namespace pg::lesson13c
