// The shape of Qwen2.5-Math-1.5B is accepted, without its weights, and so are embeddings with rows that are no token.
#include <filesystem>
#include <fstream>

#include "nn/files/hf_config.h"
#include "tensor/base/json.h"
#include "tests/catch.h"
#include "tools/pg/run/run_model.h"
#include "tools/pg/show/model_info.h"

using namespace pg;
using testing::TempDir;

namespace {

// The published sizes.
constexpr int64_t kVocabulary = 151936, kWidth = 1536, kHidden = 8960, kLayers = 28, kKeys = 256;
constexpr const char* kConfig = R"({
  "architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2", "vocab_size": 151936, "hidden_size": 1536,
  "intermediate_size": 8960, "num_hidden_layers": 28, "num_attention_heads": 12, "num_key_value_heads": 2,
  "max_position_embeddings": 4096, "rope_theta": 10000, "rms_norm_eps": 1e-06, "hidden_act": "silu",
  "tie_word_embeddings": true, "use_sliding_window": false, "sliding_window": 4096, "max_window_layers": 21,
  "use_mrope": false, "attention_dropout": 0.0, "initializer_range": 0.02, "torch_dtype": "bfloat16",
  "bos_token_id": 151643, "eos_token_id": 151643, "use_cache": true, "transformers_version": "4.44.0"})";

// A file of safetensors whose tensors are zeros, which take no room on the disk.
void write_zeros(const std::string& path, const std::vector<std::pair<std::string, std::vector<int64_t>>>& tensors) {
  Json header;
  int64_t end = 0;
  for (const auto& [name, shape] : tensors) {
    int64_t bytes = 2;
    for (const int64_t size : shape) bytes *= size;
    header[name] = {{"dtype", "BF16"}, {"shape", shape}, {"data_offsets", {end, end + bytes}}};
    end += bytes;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const uint64_t length = text.size();
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(&length), 8) << text;
  std::filesystem::resize_file(path, 8 + length + static_cast<uint64_t>(end));
}

}  // namespace

TEST_CASE("pg info accepts the shape of Qwen2.5-Math-1.5B and counts its parameters", "[pg][cs336]") {
  const TempDir dir;
  std::ofstream(dir.file("config.json")) << kConfig;
  std::vector<std::pair<std::string, std::vector<int64_t>>> tensors = {
      {"model.embed_tokens.weight", {kVocabulary, kWidth}}, {"model.norm.weight", {kWidth}}};
  for (int64_t layer = 0; layer < kLayers; ++layer) {
    const auto add = [&](const std::string& name, std::vector<int64_t> shape) {
      tensors.emplace_back(fmt::format("model.layers.{}.{}", layer, name), std::move(shape));
    };
    for (const auto& [name, rows] : {std::pair{"q", kWidth}, {"k", kKeys}, {"v", kKeys}}) {
      add(fmt::format("self_attn.{}_proj.weight", name), {rows, kWidth});
      add(fmt::format("self_attn.{}_proj.bias", name), {rows});
    }
    add("self_attn.o_proj.weight", {kWidth, kWidth});
    add("mlp.gate_proj.weight", {kHidden, kWidth});
    add("mlp.up_proj.weight", {kHidden, kWidth});
    add("mlp.down_proj.weight", {kWidth, kHidden});
    add("input_layernorm.weight", {kWidth});
    add("post_attention_layernorm.weight", {kWidth});
  }
  write_zeros(dir.file("model.safetensors"), tensors);
  const auto info = tools::describe_file(dir.path.string());
  INFO(info.dump());
  // 151936 * 1536 + 28 * 46,797,824 + 1536
  CHECK(info["parameters"] == 1543714304);
  CHECK(info["architecture"] == "qwen2");
  CHECK(info["sizes"]["block_count"] == kLayers);
  CHECK(info["sizes"]["attention.head_count"] == 12);
  CHECK(info["sizes"]["attention.head_count_kv"] == 2);
  CHECK(info["sizes"]["context_length"] == 4096);
  CHECK_FALSE(info.contains("not_supported"));

  const TransformerConfig config = config_from_hf(kConfig, "config.json");
  CHECK(config.qkv_bias);
  CHECK(config.tied);
  CHECK(config.vocab_size == kVocabulary);
  // The estimate of memory counts what any model of this size has at least.
  CHECK(least_parameters(config) <= 1543714304.0);
  CHECK(least_parameters(config) > 0.9 * 1543714304.0);
}

TEST_CASE("without the rows that are no token a model computes the same for the others", "[pg][cs336]") {
  for (const bool tied : {false, true}) {
    INFO(tied);
    Generator g(3);
    auto model = std::make_unique<Transformer>(
        TransformerConfig{.vocab_size = 12, .block_size = 8, .n_layer = 1, .n_head = 2, .n_embd = 8, .tied = tied}, g);
    const Tensor ids = Tensor::from(std::vector<int32_t>{1, 6, 0}, {1, 3});
    const std::vector<double> before = (*model)(ids).to_vector();
    const Transformer* const same = model.get();
    model = tools::without_unused_rows(std::move(model), 12);
    CHECK(model.get() == same);
    model = tools::without_unused_rows(std::move(model), 7);
    REQUIRE(model->config.vocab_size == 7);
    const std::vector<double> after = (*model)(ids).to_vector();
    REQUIRE(after.size() == 21);
    for (size_t t = 0; t < 3; ++t) {
      for (size_t v = 0; v < 7; ++v) CHECK(after[t * 7 + v] == before[t * 12 + v]);
    }
  }
}
