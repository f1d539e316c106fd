// Transformers with 8-bit weights.
#include "nn/variants/int8.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "nn/transformer.h"

namespace pg {
namespace {

struct NamedLinear {
  std::string name;  // of the weight
  Linear* layer;
};

// The linear layers of the model whose call operator is all that reads their weights.
std::vector<NamedLinear> linear_layers(Transformer& model) {
  std::vector<NamedLinear> layers;
  Linear* last = nullptr;
  Visitor visitor(
      [&](const std::string& name, Tensor& parameter) {
        if (!last || &parameter != &last->weight) return;
        // Latent attention multiplies by these weights itself.
        if (!name.ends_with(".k_up.weight") && !name.ends_with(".v_up.weight")) layers.push_back({name, last});
      },
      [&](Module& child) { last = dynamic_cast<Linear*>(&child); });
  model.visit(visitor);
  return layers;
}

int64_t bytes_of(Transformer& model) {
  int64_t bytes = model.tied_int8 ? model.tied_int8->bytes() : 0;
  Visitor visitor(
      [&](const std::string&, Tensor& parameter) {
        bytes += parameter.numel() * static_cast<int64_t>(size_of(parameter.dtype()));
      },
      [&](Module& child) {
        if (const auto* layer = dynamic_cast<Linear*>(&child); layer && layer->int8) bytes += layer->int8->bytes();
      });
  model.visit(visitor);
  return bytes;
}

// log p of every token after each of `ids` [1, T]: f32 [T, V] on the host.
Tensor log_probs_of(const Transformer& model, const Tensor& ids) {
  const NoGrad no_grad;
  return log_softmax(cast(select(model(ids), 0, 0), f32), -1).to(Device{});
}

}  // namespace

void quantize_weights(Transformer& model) {
  const DType dtype = model.config.dtype;
  check(dtype == f32 || dtype == bf16, "quantize_weights: expected a model of f32 or bf16, got {}", dtype);
  check(!model.before_part, "quantize_weights: the model gathers its parameters for each pass (ZeRO, stage 3)");
  const std::vector<NamedLinear> layers = linear_layers(model);
  check(!layers.empty() && !model.tied_int8, "quantize_weights: the model has 8-bit weights already");
  std::vector<Int8Weight> weights;
  for (const auto& [name, layer] : layers) weights.push_back(quantize_int8(layer->weight, name));
  if (!model.lm_head) model.tied_int8 = quantize_int8(model.wte.weight, "wte.weight");
  for (size_t i = 0; i < layers.size(); ++i) {
    layers[i].layer->int8 = std::move(weights[i]);
    layers[i].layer->weight = Tensor();
  }
}

Int8Effect quantize_weights(Transformer& model, std::span<const int32_t> ids) {
  check_causal(model.config, "quantize_weights, measured on a text");
  const auto tokens = static_cast<int64_t>(ids.size());
  check(tokens >= 2 && tokens <= model.config.block_size, "quantize_weights: expected 2 to {} tokens, got {}",
        model.config.block_size, tokens);
  const EvalMode eval(model);
  const Tensor text = Tensor::from(ids, {1, tokens});
  Int8Effect effect{.tokens = tokens, .bytes_before = bytes_of(model)};
  const Tensor before = log_probs_of(model, text);
  quantize_weights(model);
  const Tensor after = log_probs_of(model, text);
  effect.bytes_after = bytes_of(model);
  const auto size = static_cast<size_t>(before.size(1));
  for (size_t t = 0; t < ids.size(); ++t) {
    const auto p = before.data<const float>().subspan(t * size, size),
               q = after.data<const float>().subspan(t * size, size);
    double kl = 0;
    for (size_t v = 0; v < size; ++v) {
      const double share = std::exp(double{p[v]});
      if (share > 0) kl += share * (double{p[v]} - double{q[v]});
    }
    effect.kl += kl / static_cast<double>(tokens);
    const bool same =
        std::max_element(p.begin(), p.end()) - p.begin() == std::max_element(q.begin(), q.end()) - q.begin();
    effect.same_choice += (same ? 1 : 0) / static_cast<double>(tokens);
    if (t + 1 == ids.size()) continue;
    const auto next = static_cast<size_t>(ids[t + 1]);
    const double difference = std::abs(double{p[next]} - double{q[next]});
    effect.mean_difference += difference / static_cast<double>(tokens - 1);
    effect.largest_difference = std::max(effect.largest_difference, difference);
  }
  return effect;
}

}  // namespace pg
