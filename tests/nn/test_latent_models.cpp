// Models with latent attention: transformers' DeepSeek-V3, generation, the cache, packed rows, training.
// docs/GOLDENS.md says how the files of DeepSeek-V3 were made.
#include <algorithm>
#include <cmath>

#include "nn/decode/generate.h"
#include "nn/decode/kv_cache.h"
#include "nn/files/safetensors.h"
#include "nn/train/trainer.h"
#include "nn/variants/latent_attention.h"
#include "tensor/base/json.h"
#include "tests/catch.h"
#include "tests/nn/latent_models.h"

using namespace pg;
using namespace pg::testing;
using namespace pg::testing::latent;

namespace {

// The configuration of a model that tools/goldens/make_latent_attention_goldens.py made.
TransformerConfig deepseek(const Json& a, DType dtype) {
  const auto size = [&](const char* name) { return a.at(name).is_null() ? int64_t{0} : a.at(name).get<int64_t>(); };
  return {.vocab_size = size("vocab_size"),
          .block_size = size("max_position_embeddings"),
          .n_layer = size("num_hidden_layers"),
          .n_head = size("num_attention_heads"),
          .n_embd = size("hidden_size"),
          .bias = false,
          .dtype = dtype,
          .head_size = size("qk_nope_head_dim"),
          .n_hidden = size("intermediate_size"),
          .norm = NormKind::rms,
          .norm_eps = a.at("rms_norm_eps").get<double>(),
          .positions = Positions::rope,
          .rope = Rope(a.at("rope_parameters").at("rope_theta").get<double>()),
          .mlp = MlpKind::swiglu,
          .tied = false,
          .kv_latent_size = size("kv_lora_rank"),
          .q_latent_size = size("q_lora_rank"),
          .rope_size = size("qk_rope_head_dim"),
          .v_head_size = size("v_head_dim")};
}

}  // namespace

TEST_CASE("latent models: logits and gradients and greedy tokens are those of DeepSeek-V3 in transformers",
          "[nn][latent][golden]") {
  for (const std::string name : {"deepseek", "deepseek_no_q_latent"}) {
    const SafetensorsFile file = load_safetensors("tests/goldens/latent_attention/" + name + ".safetensors");
    for (const DType dtype : {f32, f64}) {
      for (const bool absorbed : {true, false}) {
        INFO(name << " " << name_of(dtype) << (absorbed ? " absorbed" : " plain"));
        // transformers computes norms and rotations in float32, also in a model of float64.
        const double tolerance = dtype == f32 ? 1e-5 : 2e-6;
        Transformer model = Transformer::zeros(deepseek(Json::parse(file.metadata_at("attributes")), dtype));
        NamedTensors weights;
        for (const auto& [own, parameter] : named_parameters(model)) weights.emplace_back(own, file.at(own));
        load_state_dict(model, weights);
        CHECK(file.tensors.size() == 2 * weights.size() + 5);  // no weight is left over
        for (TransformerBlock& block : model.h) latent_attention_of(block).absorbed = absorbed;
        {
          NoGrad no_grad;
          CHECK(relative_distance(model(file.at("ids")), file.at("logits")) <= tolerance);
        }
        const Tensor loss = model.loss(file.at("ids"), file.at("targets"));
        CHECK(std::abs(loss.item() - file.at("loss").to_vector()[0]) <= tolerance);
        backward(loss);
        for (const auto& [own, parameter] : named_parameters(model)) {
          INFO(own);
          CHECK(relative_distance(parameter.grad(), file.at("grad." + own)) <= tolerance);
        }
        if (!absorbed) continue;
        const auto prompt = file.at("ids").view_slice(0, 0, 1).view_slice(1, 0, 4).to_vector();
        GenerateOptions options;
        options.greedy = true;
        options.max_new_tokens = 48;
        const auto result = generate(model, {std::vector<int32_t>(prompt.begin(), prompt.end())}, options);
        const auto greedy = file.at("greedy").to_vector();
        CHECK(result[0].tokens == std::vector<int32_t>(greedy.begin(), greedy.end()));
      }
    }
  }
}

TEST_CASE("latent models: a sampled token has the log-probability of training to the bit", "[nn][latent]") {
  for (TransformerConfig c : {tiny(), tiny_rope()}) {
    for (const DType dtype : {f32, bf16}) {
      c.dtype = dtype;
      Generator g(2);
      Transformer model(c, g);
      GenerateOptions options;
      options.samples = 3;
      options.max_rows = 4;  // rows of different lengths; finished rows are replaced
      options.max_new_tokens = 25;
      options.stop_ids = {3};
      const std::vector<std::vector<int32_t>> prompts = {{1, 2}, {5, 6, 7, 8, 9}, {4}};
      const std::vector<Generated> results = generate(model, prompts, options);
      NoGrad no_grad;
      for (size_t i = 0; i < results.size(); ++i) {
        std::vector<int32_t> text = prompts[i / 3];
        const auto first = static_cast<int64_t>(text.size());
        text.insert(text.end(), results[i].tokens.begin(), results[i].tokens.end());
        const auto length = static_cast<int64_t>(text.size());
        const Tensor ids = Tensor::from(text, {1, length});
        const Tensor logits = model(ids.view_slice(1, 0, length - 1));
        const auto [log_probs, entropy] = token_log_prob(logits, ids.view_slice(1, 1, length).clone());
        CHECK(results[i].log_probs == log_probs.view_slice(1, first - 1, length - 1).clone().to_vector());
      }
      options.kv_cache = false;
      const std::vector<Generated> recomputed = generate(model, prompts, options);
      for (size_t i = 0; i < results.size(); ++i) CHECK(recomputed[i].log_probs == results[i].log_probs);
    }
  }
}

TEST_CASE("latent models: the cache holds one tensor per layer", "[nn][latent]") {
  NoGrad no_grad;
  TransformerConfig llama = tiny();
  llama.kv_latent_size = llama.q_latent_size = 0, llama.n_kv_head = 1;
  for (TransformerConfig c : {tiny(), tiny_rope(), llama}) {
    for (const DType dtype : {f32, bf16}) {
      c.dtype = dtype;
      Transformer model(c);
      const KvCache cache = model.new_cache(3, 20);
      std::vector<const void*> seen;
      size_t bytes = 0;
      for (const std::vector<Tensor>& tensors : {cache.k, cache.v}) {
        for (const Tensor& x : tensors) {
          if (std::find(seen.begin(), seen.end(), x.view().data) != seen.end()) continue;
          seen.push_back(x.view().data);
          bytes += static_cast<size_t>(x.numel()) * size_of(x.dtype());
        }
      }
      CHECK(static_cast<double>(bytes) == 3 * 20 * cache_bytes_per_token(c));
      CHECK(seen.size() == (c.latent() ? 2 : 4));

      // A copied row continues as the original does.
      const Tensor ids = random_ids({3, 9});
      const Tensor known = ids.view_slice(1, 0, 8).clone(), next = ids.view_slice(1, 8, 9).clone();
      model.hidden(known, &cache);
      cache.copy_row(2, 0);
      Tensor mixed = known.clone();
      mixed.view_slice(0, 0, 1).copy_from(known.view_slice(0, 2, 3));
      const Tensor step = model.hidden(next, &cache);
      CHECK(equal_values(step, model.hidden(cat({mixed, next}, 1)).view_slice(1, 8, 9)));
    }
  }
  CHECK(cache_bytes_per_token(tiny()) == 2 * 6 * 4);
  CHECK(cache_bytes_per_token(tiny_rope()) == 2 * (6 + 2) * 4);
  CHECK(cache_bytes_per_token({}) == 12 * 2 * 768 * 4);
}

TEST_CASE("latent models: they learn with the same gradients when blocks are recomputed", "[nn][latent]") {
  for (TransformerConfig c : {tiny(), tiny_rope()}) {
    for (const DType dtype : {f32, bf16}) {
      c.dtype = dtype;
      c.dropout = 0.25;
      std::vector<std::vector<double>> gradients[2];
      for (const bool recomputed : {false, true}) {
        Generator g(2);
        Transformer model(c, g);
        model.checkpoint_blocks = recomputed;
        model.set_dropout_stream(std::make_shared<Generator>(1));
        backward(model.loss(random_ids({2, 9}), random_ids({2, 9}, 2)));
        for (const auto& [name, parameter] : named_parameters(model)) {
          INFO(name);
          REQUIRE(has_grad(parameter));
          gradients[recomputed].push_back(parameter.grad().to_vector());
          const auto& last = gradients[recomputed].back();
          CHECK(std::any_of(last.begin(), last.end(), [](double x) { return x != 0; }));
        }
      }
      CHECK((gradients[0] == gradients[1]));

      // Each target is the token before the last one, which only attention can know.
      c.dropout = 0;
      c.n_embd = 32;
      Generator g(2);
      Transformer model(c, g);
      TrainConfig recipe;
      recipe.max_steps = 250;
      recipe.schedule = {.kind = Schedule::Kind::constant, .lr = 1e-2};
      Trainer trainer(model, recipe, [](Generator& random) {
        const Tensor text = random_ids({8, 13}, random.integer(1000000));
        return TokenBatch{text.view_slice(1, 1, 13).clone(), text.view_slice(1, 0, 12).clone()};
      });
      double first = 0, last = 0;
      for (int64_t step = 0; step < 250; ++step) {
        const double loss = trainer.step().loss;
        if (step == 0) first = loss;
        if (step >= 240) last += loss / 10;
      }
      CHECK(first > 2);
      CHECK(last < 0.8);  // of which ln(11)/12 = 0.2 is the first target, which is nowhere in the text
    }
  }
}

TEST_CASE("latent models: packed rows have the hidden states and the gradients of the grid", "[nn][latent]") {
  for (TransformerConfig c : {tiny(), tiny_rope()}) {
    c.dtype = f64;
    for (const bool recomputed : {false, true}) {
      Generator g(2);
      Transformer model(c, g);
      model.checkpoint_blocks = recomputed;
      // Two rows of 4 tokens that begin with the same two, which are stored once.
      const auto index = [](const std::vector<int32_t>& values) {
        return Tensor::from(values, {static_cast<int64_t>(values.size())});
      };
      PackedBatch rows;
      rows.rows = 2, rows.columns = 4;
      rows.ids = index({1, 2, 3, 4, 5, 6});
      rows.positions = index({0, 1, 2, 3, 2, 3});
      rows.grid = index({0, 1, 2, 3, 6, 7});
      rows.from = index({0, 1, 2, 3, 0, 1, 4, 5});
      const Tensor ids = Tensor::from(std::vector<int32_t>{1, 2, 3, 4, 1, 2, 5, 6}, {2, 4});
      const Tensor weight = Tensor::normal({2, 4, c.n_embd}, 0, 1, g, f64);
      std::vector<Tensor> results[2];
      for (const bool packed : {false, true}) {
        const Tensor hidden = packed ? model.hidden(rows) : model.hidden(ids);
        backward(sum(hidden * weight));
        results[packed].push_back(hidden.detach());
        for (const auto& [name, parameter] : named_parameters(model)) {
          results[packed].push_back(parameter.grad().clone());
          parameter.grad().fill(0);
        }
      }
      CHECK(equal_values(results[0][0], results[1][0]));
      for (size_t i = 0; i < results[0].size(); ++i) CHECK(relative_distance(results[1][i], results[0][i]) <= 1e-12);
    }
  }
}

TEST_CASE("latent models: initial values and the number of parameters", "[nn][latent]") {
  TransformerConfig c = tiny_rope();
  c.n_embd = 64, c.kv_latent_size = 48, c.q_latent_size = 40, c.v_head_size = 24;
  Generator g(3);
  Transformer model(c, g);
  std::vector<std::string> names;
  for (const auto& [name, parameter] : named_parameters(model)) {
    if (name.starts_with("h.0.attn.")) names.push_back(name.substr(9));
    if (!name.starts_with("h.") || parameter.rank() != 2) continue;
    INFO(name);
    const auto values = parameter.to_vector();
    double squares = 0;
    for (const double x : values) squares += x * x;
    const double n = static_cast<double>(values.size()), std = name.ends_with("c_proj.weight") ? 0.01 : 0.35;
    CHECK(std::sqrt(squares / n) == Approx(std).epsilon(5 / std::sqrt(2 * n)));
  }
  CHECK(names == std::vector<std::string>{"q_down.weight", "q_down.bias", "q_norm.weight", "q_up.weight",
                                          "kv_down.weight", "kv_down.bias", "kv_norm.weight", "k_up.weight",
                                          "v_up.weight", "c_proj.weight", "c_proj.bias"});
  for (TransformerConfig no_bias : {tiny(), c}) {
    for (const int64_t q_latent_size : {0, 5}) {
      no_bias.bias = false, no_bias.q_latent_size = q_latent_size;
      Transformer plain(no_bias);
      int64_t matrices = 0;
      for (const auto& [name, parameter] : named_parameters(plain))
        matrices += parameter.rank() == 2 ? parameter.numel() : 0;
      CHECK(least_parameters(no_bias) == static_cast<double>(matrices));
    }
  }
}
