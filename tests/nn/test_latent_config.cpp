// Configurations of models with latent attention, their adapters, and the formats that do not have them.
#include <filesystem>

#include "nn/decode/kv_cache.h"
#include "nn/files/peft.h"
#include "nn/files/pretrained.h"
#include "nn/variants/latent_attention.h"
#include "nn/variants/lora.h"
#include "tests/catch.h"
#include "tests/nn/latent_models.h"

using namespace pg;
using namespace pg::testing;
using namespace pg::testing::latent;

TEST_CASE("latent models: configurations without meaning are refused with a sentence", "[nn][latent]") {
  const auto refused = [](TransformerConfig c) { return error_of([&] { Transformer model(c); }); };
  const TransformerConfig ordinary = {.vocab_size = 11, .block_size = 8, .n_layer = 1, .n_head = 2, .n_embd = 8};
  CHECK(refused(ordinary) == "");
  CHECK(refused(tiny()) == "");
  CHECK(refused(tiny_rope()) == "");
  TransformerConfig c = ordinary;
  c.q_latent_size = 4;
  CHECK(refused(c) ==
        "Transformer: q_latent_size is 4, but attention has no latent; set kv_latent_size or leave it out");
  c = ordinary, c.rope_size = 4;
  CHECK(contains(refused(c), "rope_size is 4, but attention has no latent"));
  c = ordinary, c.v_head_size = 4;
  CHECK(contains(refused(c), "v_head_size is 4, but attention has no latent"));
  c = ordinary, c.latent_norm = "l2";
  CHECK(contains(refused(c), "latent_norm is l2, but attention has no latent"));
  c = ordinary, c.kv_latent_size = -1;
  CHECK(contains(refused(c), "kv_latent_size must be between 0 and"));
  c = tiny(), c.n_kv_head = 1;
  CHECK(refused(c) == "Transformer: n_kv_head is 1, but with kv_latent_size all heads share one latent; leave it out");
  c = tiny(), c.latent_norm = "batch";
  CHECK(contains(refused(c), "latent-norm: expected rms, layer, l2, none, got \"batch\""));
  c = tiny(), c.qk_norm = true;
  CHECK(contains(refused(c), "qk_norm does not apply with kv_latent_size"));
  c = tiny(), c.qkv_bias = true;
  CHECK(contains(refused(c), "qkv_bias does not apply with kv_latent_size"));
  c = tiny(), c.rope_size = 2;
  CHECK(refused(c) == "Transformer: rope_size is 2, but positions are learned; set positions to rope");
  for (const int64_t size : {0, 1, 3}) {
    c = tiny_rope(), c.rope_size = size;
    CHECK(contains(refused(c), fmt::format("need an even rope_size of at least 2, got {}", size)));
  }
  c = tiny(), c.n_embd = 9;
  CHECK(refused(c) == "Transformer: n_embd 9 is not a multiple of n_head 2");
  c = tiny_rope(), c.kv_latent_size = c.head_size = c.q_latent_size = c.v_head_size = c.n_head = INT32_MAX;
  c.rope_size = INT32_MAX - 1;
  CHECK(contains(refused(c), "the channels of all heads must be between"));
  CHECK(least_parameters(c) > 1e18);
}

TEST_CASE("latent models: the configuration is restored from JSON", "[nn][latent]") {
  TransformerConfig c = tiny_rope();
  for (const LatentNormKind& norm : LatentNormKind::table()) {
    c.latent_norm = norm.name;
    CHECK(transformer_config_from_json(to_json(c)) == c);
    CHECK(contains(to_json(c), "\"latent_norm\"") == (std::string(norm.name) != "rms"));
  }
  TransformerConfig other = c;
  other.latent_norm = "rms";
  CHECK_FALSE(other == c);
  for (const char* key : {"kv_latent_size", "q_latent_size", "rope_size", "v_head_size", "latent_norm"}) {
    INFO(key);
    CHECK(contains(to_json(c), key));
    CHECK_FALSE(contains(to_json(TransformerConfig()), key));
  }
}

TEST_CASE("latent models: adapters", "[nn][latent][lora]") {
  for (const TransformerConfig& c : {tiny(), tiny_rope()}) {
    Generator g(2);
    Transformer model(c, g);
    const Tensor ids = random_ids({2, 9});
    const auto logits = [&] {
      NoGrad no_grad;
      return model(ids);
    };
    const Tensor plain = logits();
    add_lora(model, {.rank = 2}, g);
    CHECK(equal_values(logits(), plain));
    double values = 0;
    for (const auto& [name, tensor] : trainable_parameters(model)) {
      values += static_cast<double>(tensor.numel());
      if (name.ends_with("lora_B")) tensor.detach().copy_from(Tensor::normal(tensor.shape(), 0, 0.3, g));
    }
    CHECK(values == lora_parameters(model.config));
    for (const char* layer : {"q_down", "q_up", "kv_down", "c_proj"}) {
      INFO(layer);
      bool found = false;
      for (const auto& [name, tensor] : trainable_parameters(model)) {
        found |= name == fmt::format("h.1.attn.{}.lora_A", layer);
      }
      CHECK(found);
    }
    Transformer same = Transformer::zeros(model.config);
    load_state_dict(same, state_dict(model));
    const Tensor changed = logits();
    {
      NoGrad no_grad;
      CHECK(equal_values(same(ids), changed));
    }
    CHECK(relative_distance(changed, plain) > 1e-3);
    backward(model.loss(ids, ids));
    for (const auto& [name, tensor] : trainable_parameters(model)) CHECK(has_grad(tensor));
    // Cached as well.
    {
      NoGrad no_grad;
      const KvCache cache = model.new_cache(2);
      for (int64_t t = 0; t < 9; ++t) {
        CHECK(equal_values(model(ids.view_slice(1, t, t + 1).clone(), &cache), changed.view_slice(1, t, t + 1)));
      }
    }
    CHECK(error_of([&] {
            TempDir dir;
            save_peft(model, dir.file("peft"), "");
          }) ==
          "pretrained: the model has latent attention, which none of the model types gpt2, llama, qwen2, qwen3 has");
    merge_lora(model);
    CHECK(relative_distance(logits(), changed) < 1e-5);
    remove_lora(model);
    CHECK(relative_distance(logits(), changed) < 1e-5);
  }
  const auto refused = [](const TransformerConfig& config, const std::string& targets) {
    return error_of([&] {
      Generator g(2);
      Transformer model(config, g);
      add_lora(model, {.rank = 1, .targets = targets}, g);
    });
  };
  CHECK(refused(tiny(), "q_up,mlp.c_proj") == "");
  for (const char* target : {"k_up", "v_up", "q_proj", "c_attn"}) {
    const std::string message = refused(tiny(), target);
    INFO(message);
    CHECK(contains(message, "LoRA: the targets of this model: expected all-linear, q_down, q_up, kv_down, o_proj"));
    CHECK(contains(message, fmt::format("got \"{}\"", target)));
  }
  TransformerConfig c = tiny();
  c.q_latent_size = 0;
  CHECK(contains(refused(c, "q_down"), "expected all-linear, q_up, kv_down"));
}

TEST_CASE("latent models: no format of others has them", "[nn][latent][pretrained]") {
  const std::string message =
      "pretrained: the model has latent attention, which none of the model types gpt2, llama, qwen2, qwen3 has";
  for (TransformerConfig c : {tiny(), tiny_rope()}) {
    Transformer model(c);
    const TempDir dir;
    CHECK(error_of([&] { save_pretrained(model, dir.file("model")); }) == message);
    CHECK_FALSE(std::filesystem::exists(dir.file("model")));
    CHECK(error_of([&] { config_to_hf(c); }) == message);
    CHECK(error_of([&] { hf_modules(c, "h.0.attn.c_proj"); }) == message);
  }
}
