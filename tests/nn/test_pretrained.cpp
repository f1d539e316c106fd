// Pretrained models: small models made and computed by transformers, read, computed, trained and written back; GGUF
// files; configurations that must be refused. docs/GOLDENS.md says how the folders were made.
#include <cmath>
#include <filesystem>
#include <fstream>

#include "nn/decode/generate.h"
#include "nn/decode/kv_cache.h"
#include "nn/files/pretrained.h"
#include "nn/files/safetensors.h"
#include "nn/optim.h"
#include "tensor/base/json.h"
#include "tests/catch.h"
#include "tests/tensors.h"

using namespace pg;
using pg::testing::error_of;
using pg::testing::read_bytes;
using pg::testing::relative_maximum;
using pg::testing::TempDir;

namespace {

const std::string kFolder = "tests/goldens/pretrained/";
const char* const kTypes[] = {"gpt2", "llama", "qwen2", "qwen3"};

// What save_pretrained writes, by the names of transformers.
SafetensorsFile saved(Transformer& model) {
  const TempDir dir;
  save_pretrained(model, dir.file("model"));
  return load_safetensors(dir.file("model/model.safetensors"));
}

void compare(Transformer& model, const SafetensorsFile& expected, const std::string& prefix, double tolerance) {
  const SafetensorsFile got = saved(model);
  const Json a = Json::parse(expected.metadata_at("attributes"));
  CHECK(got.tensors.size() == a.at("parameters").size());
  for (const Json& parameter : a.at("parameters")) {
    const std::string& name = parameter.text();
    INFO(prefix << name);
    CHECK(relative_maximum(got.at(name), expected.at(prefix + name)) <= tolerance);
  }
}

}  // namespace

TEST_CASE("pretrained: logits, gradients, a step of AdamW and greedy tokens are those of transformers",
          "[nn][pretrained]") {
  for (const std::string type : kTypes) {
    for (const DType dtype : {f32, f64}) {
      INFO(type << " in " << (dtype == f32 ? "f32" : "f64"));
      // transformers computes norms and rotations in float32, also in a model of float64.
      const double tolerance = dtype == f32 ? 1e-5 : 2e-6;
      const SafetensorsFile expected = load_safetensors(kFolder + type + "/expected.safetensors");
      const Json a = Json::parse(expected.metadata_at("attributes"));
      Transformer model = load_pretrained(kFolder + type, dtype);
      {
        NoGrad no_grad;
        CHECK(relative_maximum(model(expected.at("ids")), expected.at("logits")) <= tolerance);
      }
      ParamSlab slab(model);
      const auto number = [&](const char* name) { return a.at(name).get<double>(); };
      const auto betas = a.at("betas").get<std::vector<double>>();
      AdamW optimizer(slab, {betas.at(0), betas.at(1), number("eps"), number("weight_decay")});
      slab.zero_grad();
      const Tensor loss = model.loss(expected.at("ids"), expected.at("targets"));
      CHECK(std::abs(loss.item() - expected.at("loss").to_vector()[0]) <= tolerance);
      backward(loss);

      Transformer gradients = Transformer::zeros(model.config);
      NamedTensors by_name;
      for (const auto& [name, parameter] : named_parameters(model)) by_name.emplace_back(name, parameter.grad());
      load_state_dict(gradients, by_name);
      compare(gradients, expected, "grad.", 4 * tolerance);

      const auto prompt = expected.at("ids").view_slice(0, 0, 1).view_slice(1, 0, 4).to_vector();
      GenerateOptions options;
      options.greedy = true;
      options.max_new_tokens = 64;
      const auto result = generate(model, {std::vector<int32_t>(prompt.begin(), prompt.end())}, options);
      const auto greedy = expected.at("greedy").to_vector();
      CHECK(result[0].tokens == std::vector<int32_t>(greedy.begin(), greedy.end()));

      optimizer.step(number("lr"));
      compare(model, expected, "after.", dtype == f32 ? 1e-4 : 1e-5);
    }
  }
}

TEST_CASE("pretrained: generation, training and packed rows have the same bits in every architecture",
          "[nn][pretrained]") {
  for (const std::string type : kTypes) {
    INFO(type);
    Transformer model = load_pretrained(kFolder + type);
    const Tensor ids = load_safetensors(kFolder + type + "/expected.safetensors").at("ids");
    NoGrad no_grad;
    const Tensor whole = model.hidden(ids);
    // Token by token with a cache.
    const KvCache cache = model.new_cache(ids.size(0));
    for (int64_t t = 0; t < ids.size(1); ++t) {
      const Tensor next = model.hidden(ids.view_slice(1, t, t + 1), &cache);
      CHECK(next.to_vector() == whole.view_slice(1, t, t + 1).to_vector());
    }
    // As packed rows: the second row repeats the first two tokens of the first, which are stored once.
    const auto row = ids.view_slice(0, 0, 1).to_vector();
    const auto token = [&](size_t i) { return static_cast<int32_t>(row[i]); };
    const std::vector<int32_t> first = {token(0), token(1), token(2), token(3)},
                               second = {token(0), token(1), token(5), token(6)};
    PackedBatch rows;
    rows.rows = 2;
    rows.columns = 4;
    rows.ids = Tensor::from(std::vector<int32_t>{first[0], first[1], first[2], first[3], second[2], second[3]}, {6});
    rows.positions = Tensor::from(std::vector<int32_t>{0, 1, 2, 3, 2, 3}, {6});
    rows.grid = Tensor::from(std::vector<int32_t>{0, 1, 2, 3, 6, 7}, {6});
    rows.from = Tensor::from(std::vector<int32_t>{0, 1, 2, 3, 0, 1, 4, 5}, {8});
    std::vector<int32_t> both = first;
    both.insert(both.end(), second.begin(), second.end());
    CHECK(model.hidden(rows).to_vector() == model.hidden(Tensor::from(both, {2, 4})).to_vector());
  }
}

TEST_CASE("pretrained: a saved model is read back with equal bits and its configuration", "[nn][pretrained]") {
  for (const std::string type : kTypes) {
    for (const DType dtype : {f32, bf16}) {
      INFO(type);
      Transformer model = load_pretrained(kFolder + type, dtype);
      const TempDir dir;
      save_pretrained(model, dir.file("model"));
      Transformer back = load_pretrained(dir.file("model"), dtype);
      CHECK(back.config == model.config);
      const NamedTensors want = named_parameters(model), got = named_parameters(back);
      REQUIRE(got.size() == want.size());
      for (size_t i = 0; i < got.size(); ++i) CHECK(got[i].second.to_vector() == want[i].second.to_vector());
    }
  }
}

TEST_CASE("pretrained: configurations that cannot be computed are refused with a sentence", "[nn][pretrained]") {
  const auto refused = [](const std::string& type, const std::string& key, const Json& value) {
    Json json = Json::parse(read_bytes(kFolder + type + "/config.json"));
    if (value.is_null())
      json.erase(key);
    else
      json[key] = value;
    return error_of([&] { config_from_hf(json.dump(), "config.json"); });
  };
  CHECK(refused("llama", "model_type", "mamba") ==
        "config.json: 'model_type': expected gpt2, llama, qwen2, qwen3, got \"mamba\"");
  CHECK(refused("llama", "model_type", nullptr) == "config.json: 'model_type' is missing");
  CHECK(refused("llama", "model_type", 3) == "config.json: 'model_type' must be a string, got 3");
  CHECK(refused("llama", "hidden_size", nullptr) == "config.json: 'hidden_size' is missing");
  for (const Json& value : {Json(0), Json(-4), Json(1ull << 40), Json(2.5), Json("24"), Json({1})}) {
    CHECK(refused("llama", "hidden_size", value).starts_with("config.json: 'hidden_size' must be a whole number from"));
  }
  CHECK(refused("llama", "rms_norm_eps", "small").find("'rms_norm_eps' must be a number above 0") != std::string::npos);
  CHECK(refused("llama", "hidden_act", "relu").find("'hidden_act': expected silu, got \"relu\"") != std::string::npos);
  CHECK(refused("llama", "attention_bias", true).find("'attention_bias' is true") != std::string::npos);
  CHECK(refused("llama", "rope_parameters", {{"rope_type", "yarn"}}).find("default, llama3, got \"yarn\"") !=
        std::string::npos);
  CHECK(refused("llama", "rope_parameters", {{"rope_type", "llama3"}}).find("'factor' is missing") !=
        std::string::npos);
  CHECK(refused("llama", "rope_parameters", 3).find("'rope_parameters' must be an object") != std::string::npos);
  CHECK(refused("gpt2", "activation_function", "relu").find("'activation_function'") != std::string::npos);
  CHECK(refused("llama", "head_dim", 7) == "config.json: rotary positions need an even head_size, got 7");
  CHECK(refused("gpt2", "n_head", 5).starts_with("config.json: n_embd "));
  CHECK(refused("qwen3", "head_dim", 1 << 30).starts_with("config.json: queries, keys and values have "));
  const Json stretch = {{"rope_type", "llama3"},   {"factor", 2},       {"low_freq_factor", 4.0},
                        {"high_freq_factor", 4.0}, {"rope_theta", 1e4}, {"original_max_position_embeddings", 8}};
  CHECK(refused("llama", "rope_parameters", stretch) ==
        "config.json: 'high_freq_factor' must be above 'low_freq_factor', got 4 and 4");
  CHECK(error_of([] { config_from_hf("[1]", "config.json"); }) == "config.json: expected a JSON object, got '[1]'");
}

TEST_CASE("pretrained: a configuration has the model type that it was read from", "[nn][pretrained]") {
  for (const std::string type : kTypes) {
    TransformerConfig c = config_from_hf(read_bytes(kFolder + type + "/config.json"), "config.json");
    CHECK(hf_model_type(c) == type);
    TransformerConfig both_ways = c;
    both_ways.causal = false;
    CHECK(hf_model_type(both_ways).empty());
    CHECK(error_of([&] { config_to_hf(both_ways); }).find("no model type of gpt2") != std::string::npos);
    c.norm = c.norm == NormKind::rms ? NormKind::layer : NormKind::rms;
    CHECK(hf_model_type(c).empty());
  }
  TransformerConfig latent;
  latent.kv_latent_size = 8;
  CHECK(hf_model_type(latent).empty());
}

TEST_CASE("pretrained: tensors and configuration must belong together", "[nn][pretrained]") {
  const TempDir dir;
  const std::string folder = dir.file("model");
  const auto refused = [&](const std::string& type, const std::string& key, const Json& value) {
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    std::filesystem::copy(kFolder + type + "/model.safetensors", folder + "/model.safetensors");
    Json json = Json::parse(read_bytes(kFolder + type + "/config.json"));
    json[key] = value;
    std::ofstream(folder + "/config.json") << json.dump();
    return error_of([&] { load_pretrained(folder); });
  };
  CHECK(refused("llama", "hidden_size", 1 << 30).find("a model of at least") != std::string::npos);
  CHECK(refused("llama", "num_hidden_layers", 1).find("belongs to no parameter") != std::string::npos);
  CHECK(refused("llama", "num_hidden_layers", 2000000000).find("a model of at least") != std::string::npos);
  CHECK(refused("llama", "intermediate_size", 39).find("gate_proj.weight") != std::string::npos);
  CHECK(refused("llama", "num_attention_heads", 3).find("n_head 3 is not a multiple of n_kv_head 2") !=
        std::string::npos);
  CHECK(refused("qwen2", "model_type", "llama").find("_proj.bias' belongs to no parameter") != std::string::npos);
  CHECK(refused("qwen3", "model_type", "llama").find("_norm.weight' belongs to no parameter") != std::string::npos);
  CHECK(refused("gpt2", "n_layer", 3).find("at least") != std::string::npos);
  std::filesystem::remove(folder + "/config.json");
  CHECK(error_of([&] { load_pretrained(folder); }).find("there is no config.json") != std::string::npos);

  TransformerConfig mixed;
  mixed.norm = NormKind::rms;
  CHECK(error_of([&] { config_to_hf(mixed); }).find("no model type of gpt2, llama, qwen2, qwen3") != std::string::npos);
}
