// LoRA: adapters are merged into the weights and taken out again.
#include "tests/nn/lora_case.h"

using namespace pg;
using namespace pg::testing;
using namespace pg::testing::lora;

TEST_CASE("lora: merged weights are W + scale B A and compute the same", "[nn][lora]") {
  for (const std::string type : kTypes) {
    for (const DType dtype : {f32, f64}) {
      for (const std::string targets : {"all-linear", "q_proj,v_proj", "k_proj", "down_proj"}) {
        INFO(type << " " << name_of(dtype) << " " << targets);
        const double tolerance = dtype == f32 ? 1e-6 : 1e-12;      // of weights and of the results of a layer
        const double of_logits = dtype == f32 ? 1e-5 : tolerance;  // as for other models in f32
        Generator random(9);
        Transformer base = load_pretrained(kModels + type, dtype);
        Transformer model = adapted(type, dtype, {.rank = 3, .alpha = 5, .targets = targets});
        const Tensor expected = logits_of(model, some_ids());
        std::map<std::string, Tensor> want;
        for (const auto& [name, tensor] : state_dict(base)) want[name] = tensor.clone();
        for (TransformerBlock& block : model.h) {
          const std::string prefix = "h." + std::to_string(&block - model.h.data()) + ".";
          std::vector<std::pair<std::string, Linear*>> layers = {{"attn.c_attn", &block.attn->c_attn},
                                                                 {"attn.c_proj", &block.attn->c_proj},
                                                                 {"mlp.c_fc", &block.mlp.c_fc},
                                                                 {"mlp.c_proj", &block.mlp.c_proj}};
          if (block.mlp.c_gate) layers.emplace_back("mlp.c_gate", &*block.mlp.c_gate);
          for (const auto& [module, layer] : layers) {
            const Tensor& weight = want.at(prefix + module + ".weight");
            std::vector<double> sum = weight.to_vector();
            const auto in = static_cast<size_t>(weight.size(1));
            for (const LoraAdapter& adapter : layer->lora) {
              CHECK(adapter.scale == 5.0 / 3);
              const std::vector<double> a = adapter.a.to_vector(), b = adapter.b.to_vector();
              for (size_t row = 0; row < b.size() / 3; ++row) {
                for (size_t column = 0; column < in; ++column) {
                  double product = 0;
                  for (size_t k = 0; k < 3; ++k) product += b[row * 3 + k] * a[k * in + column];
                  sum[(static_cast<size_t>(adapter.begin) + row) * in + column] += 5.0 / 3 * product;
                }
              }
            }
            weight.copy_from(Tensor::from(sum, weight.shape()));
          }
        }
        // One layer: the result with adapters, and then with merged weights.
        const Linear& layer = model.h[1].attn->c_attn;
        const Tensor x = Tensor::normal({7, layer.weight.size(1)}, 0, 1, random, dtype);
        NoGrad no_grad;
        const Tensor of_layer = layer(x);
        merge_lora(model);
        CHECK(relative_maximum(layer(x), of_layer) <= tolerance);
        for (const auto& [name, tensor] : state_dict(model)) {
          INFO(name);
          if (!is_adapter(name)) CHECK(relative_maximum(tensor, want.at(name)) <= tolerance);
        }
        CHECK(relative_maximum(logits_of(model, some_ids()), expected) <= of_logits);
        CHECK(error_of([&] { merge_lora(model); }).starts_with("merge_lora: the model has no adapters, or they are"));

        // The merged model is a plain one for transformers.
        const TempDir dir;
        save_pretrained(model, dir.file("merged"));
        Transformer plain = load_pretrained(dir.file("merged"), dtype);
        CHECK(equal_values(logits_of(plain, some_ids()), logits_of(model, some_ids())));

        unmerge_lora(model);
        for (const auto& [name, tensor] : state_dict(base)) want[name] = tensor;
        for (const auto& [name, tensor] : state_dict(model)) {
          INFO(name);
          if (!is_adapter(name)) CHECK(relative_maximum(tensor, want.at(name)) <= (dtype == f32 ? 3e-7 : 1e-15));
        }
        CHECK(relative_maximum(logits_of(model, some_ids()), expected) <= of_logits);
        CHECK(error_of([&] { unmerge_lora(model); }) == "unmerge_lora: the model has no merged adapters");
        CHECK(contains(error_of([&] { save_pretrained(model, dir.file("no")); }), "adapters that are not merged"));

        remove_lora(model);
        CHECK(model.config == base.config);
        CHECK(count_parameters(model) == count_parameters(base));
        CHECK(trainable_parameters(model).size() == named_parameters(model).size());
        CHECK(relative_maximum(logits_of(model, some_ids()), logits_of(base, some_ids())) <= of_logits);
        CHECK(error_of([&] { remove_lora(model); }) == "remove_lora: the model has no adapters");
        CHECK(contains(error_of([&] { merge_lora(model); }), "no adapters"));
      }
    }
  }
}

TEST_CASE("lora: merging into bf16 weights renews the f32 masters of an optimizer", "[nn][lora][bf16]") {
  Transformer model = load_pretrained(kModels + "llama", bf16);
  ParamSlab slab(model);
  const Tensor before = slab.params().clone();
  Generator g(3);
  add_lora(model, {.rank = 2}, g);
  fill_b(model);
  merge_lora(model);
  slab.refresh_masters();
  CHECK(!equal_values(slab.params(), before));
  std::map<std::string, Tensor> weights;
  for (const auto& [name, tensor] : state_dict(model)) weights[name] = tensor;
  for (const ParamSlab::Segment& segment : slab.segments()) {
    CHECK(equal_values(ParamSlab::view_of(slab.params(), segment), weights.at(segment.name)));
  }
}
