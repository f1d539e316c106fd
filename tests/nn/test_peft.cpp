// Adapter folders of PEFT, read and written. docs/GOLDENS.md says how the ones here were made.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>

#include "nn/peft.h"
#include "tensor/base/json.h"
#include "tests/model_files.h"
#include "tests/nn/lora_case.h"

using namespace pg;
using namespace pg::testing;
using namespace pg::testing::lora;

namespace {

std::string floats(const Tensor& x) {
  std::string bytes;
  for (const double value : x.to_vector()) bytes += bytes_of({static_cast<float>(value)});
  return bytes;
}

// The rows of each head in the order 0, d/2, 1, d/2 + 1, ..., as GGUF files of llama have those of queries and keys.
Tensor interleaved(const Tensor& rows, int64_t heads) {
  const int64_t half = rows.size(0) / heads / 2;
  const Tensor result = Tensor::empty(rows.shape());
  for (int64_t row = 0; row < rows.size(0); ++row) {
    const int64_t head = row / (2 * half), i = row % (2 * half), from = i % 2 * half + i / 2;
    result.view_slice(0, row, row + 1)
        .copy_from(rows.view_slice(0, head * 2 * half + from, head * 2 * half + from + 1));
  }
  return result;
}

// A model of the Llama family without biases as a GGUF file in f32.
std::string gguf_of(Transformer& model) {
  const TransformerConfig& c = model.config;
  std::map<std::string, Tensor> ours;
  for (const auto& [name, tensor] : state_dict(model)) ours[name] = tensor;
  GgufBuilder b;
  b.string("general.architecture", "llama");
  const auto number = [&](const char* key, int64_t value) {
    b.number<uint32_t>(std::string("llama.") + key, GgufType::u32, static_cast<uint32_t>(value));
  };
  number("context_length", c.block_size);
  number("block_count", c.n_layer);
  number("attention.head_count", c.n_head);
  number("attention.head_count_kv", c.kv_heads());
  number("embedding_length", c.n_embd);
  number("feed_forward_length", c.hidden_width());
  b.number<float>("llama.attention.layer_norm_rms_epsilon", GgufType::f32, 0.5f);
  const auto add = [&](const std::string& name, const Tensor& x) {
    std::vector<uint64_t> sizes;
    for (int i = x.rank(); i-- > 0;) sizes.push_back(static_cast<uint64_t>(x.size(i)));
    b.tensor(name + ".weight", sizes, 0, floats(x));
  };
  add("token_embd", ours.at("wte.weight"));
  add("output_norm", ours.at("ln_f.weight"));
  for (int64_t i = 0; i < c.n_layer; ++i) {
    const std::string block = fmt::format("blk.{}.", i), own = fmt::format("h.{}.", i);
    const Tensor all = ours.at(own + "attn.c_attn.weight");
    const int64_t q = c.n_head * c.head_width(), k = c.kv_heads() * c.head_width();
    add(block + "attn_q", interleaved(all.view_slice(0, 0, q), c.n_head));
    add(block + "attn_k", interleaved(all.view_slice(0, q, q + k), c.kv_heads()));
    add(block + "attn_v", all.view_slice(0, q + k, q + 2 * k));
    const std::pair<const char*, const char*> names[] = {{"attn_norm", "ln_1"},          {"ffn_norm", "ln_2"},
                                                         {"attn_output", "attn.c_proj"}, {"ffn_gate", "mlp.c_gate"},
                                                         {"ffn_up", "mlp.c_fc"},         {"ffn_down", "mlp.c_proj"}};
    for (const auto& [theirs, mine] : names) add(block + theirs, ours.at(own + mine + ".weight"));
  }
  return b.file();
}

}  // namespace

TEST_CASE("lora: adapters of PEFT compute what PEFT computes", "[nn][lora]") {
  for (const std::string type : kTypes) {
    for (const DType dtype : {f32, f64}) {
      INFO(type << " " << name_of(dtype));
      // transformers computes norms and rotations in float32, also in a model of float64.
      const double tolerance = dtype == f32 ? 1e-5 : 2e-6;
      const SafetensorsFile expected = load_safetensors(kAdapters + type + "/expected.safetensors");
      Transformer model = load_pretrained(kModels + type, dtype);
      load_peft(model, kAdapters + type);
      CHECK(relative_error(logits_of(model, expected.at("ids")), expected.at("logits")) <= tolerance);
      const Tensor loss = model.loss(expected.at("ids"), expected.at("targets"));
      CHECK(std::abs(loss.item() - expected.at("loss").to_vector()[0]) <= tolerance);
      backward(loss);

      // The gradients by PEFT's names, from a model whose adapters they are.
      Transformer gradients = Transformer::zeros(model.config);
      std::map<std::string, Tensor> to;
      for (const auto& [name, tensor] : state_dict(gradients)) to[name] = tensor;
      for (const auto& [name, tensor] : trainable_parameters(model)) to.at(name).copy_from(tensor.grad());
      const TempDir dir;
      save_peft(gradients, dir.file("gradients"), "");
      const SafetensorsFile got = load_safetensors(dir.file("gradients/adapter_model.safetensors"));
      size_t compared = 0;
      for (const auto& [name, tensor] : expected.tensors) {
        if (!name.starts_with("grad.")) continue;
        INFO(name);
        CHECK(relative_error(got.at(name.substr(5)), tensor) <= 4 * tolerance);
        ++compared;
      }
      CHECK(compared == got.tensors.size());

      merge_lora(model);
      CHECK(relative_error(logits_of(model, expected.at("ids")), expected.at("merged")) <= tolerance);
    }
  }
}

TEST_CASE("lora: saved adapters are read back with equal bits", "[nn][lora]") {
  const TempDir dir;
  for (const std::string type : kTypes) {
    for (const DType dtype : {f32, bf16}) {
      for (const std::string targets : {"all-linear", "c_attn", "o_proj,down_proj", "c_fc"}) {
        INFO(type << " " << name_of(dtype) << " " << targets);
        Transformer model = adapted(type, dtype, {.rank = 3, .alpha = 4.5, .dropout = 0.25, .targets = targets});
        save_peft(model, dir.file("adapter"), "base");
        Transformer back = load_pretrained(kModels + type, dtype);
        load_peft(back, dir.file("adapter"));
        check_equal_bits(back, model);
        CHECK(back.config.lora.rank == 3);
        CHECK(back.config.lora.alpha == 4.5);
        CHECK(back.config.lora.dropout == 0.25);
        CHECK(equal_bits(logits_of(back, some_ids()), logits_of(model, some_ids())));
      }
    }
  }
  Transformer queries = adapted("gpt2", f32, {.rank = 1, .targets = "q_proj"});
  CHECK(contains(error_of([&] { save_peft(queries, dir.file("no"), ""); }), "q_proj has no name in PEFT's adapters"));
  Transformer plain = load_pretrained(kModels + "gpt2");
  CHECK(error_of([&] { save_peft(plain, dir.file("no"), ""); }) == "save_peft: the model has no adapters");
  CHECK(!std::filesystem::exists(dir.file("no")));
}

TEST_CASE("lora: adapter folders that cannot be computed are refused with a sentence", "[nn][lora]") {
  const TempDir dir;
  const std::string folder = dir.file("adapter");
  Transformer model = load_pretrained(kModels + "llama");
  const Tensor before = logits_of(model, some_ids());
  const auto error = [&] {
    const std::string message = error_of([&] { load_peft(model, folder); });
    CHECK(model.config.lora == LoraConfig{});
    CHECK(trainable_parameters(model).size() == named_parameters(model).size());
    CHECK(equal_bits(logits_of(model, some_ids()), before));
    return message;
  };
  const auto reset = [&] {
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    for (const std::string file : {"/adapter_config.json", "/adapter_model.safetensors"}) {
      std::filesystem::copy(kAdapters + "llama" + file, folder + file);
    }
  };
  const auto with_key = [&](const std::string& key, const Json& value, bool erase = false) {
    reset();
    Json json = Json::parse(read_bytes(folder + "/adapter_config.json"));
    json[key] = value;
    if (erase) json.erase(key);
    std::ofstream(folder + "/adapter_config.json") << json.dump();
    return error();
  };
  CHECK(contains(with_key("peft_type", "IA3"), "'peft_type' is \"IA3\"; supported: \"LORA\""));
  CHECK(contains(with_key("peft_type", nullptr), "'peft_type' is null"));
  CHECK(contains(with_key("peft_type", nullptr, true), "'peft_type' is missing"));
  CHECK(contains(with_key("bias", "all"), "'bias' is \"all\"; supported: \"none\""));
  CHECK(contains(with_key("use_dora", true), "'use_dora' is true; adapters with that are not supported"));
  CHECK(contains(with_key("modules_to_save", {"lm_head"}), "'modules_to_save' is [\"lm_head\"]; adapters with that"));
  CHECK(contains(with_key("rank_pattern", {{"q_proj", 8}}), "'rank_pattern' is {\"q_proj\":8}"));
  CHECK(contains(with_key("alpha_pattern", {{"q_proj", 8}}), "'alpha_pattern' is"));
  CHECK(contains(with_key("lora_bias", true), "'lora_bias' is true"));
  CHECK(contains(with_key("layers_to_transform", {0}), "'layers_to_transform' is [0]"));
  CHECK(contains(with_key("a key of the future", 1), "'a key of the future' is 1"));
  CHECK(contains(with_key("init_lora_weights", "pissa"), "'init_lora_weights' is \"pissa\""));
  CHECK(contains(with_key("r", 4), "is [3, 24], expected [4, 24] for r = 4"));
  for (const Json& r : {Json(0), Json(-1), Json(2.5), Json("3"), Json(1ull << 40), Json(nullptr)}) {
    CHECK(contains(with_key("r", r), "'r' must be a whole number from 1 to"));
  }
  CHECK(contains(with_key("r", 3, true), "'r' is missing"));
  CHECK(contains(with_key("r", 1 << 30), "expected [1073741824, 24]"));
  CHECK(contains(with_key("lora_alpha", 0), "'lora_alpha' must be a number above 0, got 0"));
  CHECK(contains(with_key("lora_dropout", 1), "'lora_dropout' must be a number from 0 to less than 1, got 1"));
  CHECK(contains(with_key("use_rslora", "yes"), "'use_rslora' must be true or false"));
  CHECK(contains(with_key("target_modules", {"q_proj", "lm_head"}), "q_proj, k_proj, v_proj, o_proj, gate_proj"));
  CHECK(contains(with_key("target_modules", {"q_proj"}), "belongs to none of the targets of adapter_config.json"));
  CHECK(contains(with_key("target_modules", "all-linear"), "k_proj.lora_A.weight"));
  CHECK(contains(with_key("target_modules", nullptr), "'target_modules' must be a list of names or a string"));
  CHECK(contains(with_key("target_modules", {3}), "'target_modules' must be a list of names or a string"));
  CHECK(contains(with_key("target_modules", Json::array()), "names no linear layer"));

  reset();
  std::ofstream(folder + "/adapter_config.json") << "[1]";
  CHECK(contains(error(), "expected a JSON object, got '[1]'"));
  reset();
  std::ofstream(folder + "/adapter_config.json") << std::string(100000, '[');
  CHECK(contains(error(), "adapter_config.json"));
  reset();
  std::filesystem::remove(folder + "/adapter_config.json");
  CHECK(contains(error(), "expected a folder of PEFT with adapter_config.json and adapter_model.safetensors"));
  CHECK(error().ends_with(" has no adapter_config.json"));
  reset();
  std::filesystem::remove(folder + "/adapter_model.safetensors");
  CHECK(error().ends_with(" has no adapter_model.safetensors"));

  // Tensors: one missing, one too many, one of integers.
  const NamedTensors tensors = load_safetensors(kAdapters + "llama/adapter_model.safetensors").tensors;
  const auto with_tensors = [&](const std::function<void(NamedTensors&)>& change) {
    reset();
    NamedTensors changed = tensors;
    change(changed);
    save_safetensors(folder + "/adapter_model.safetensors", changed);
    return error();
  };
  for (const auto& tensor : tensors) {
    const std::string name = tensor.first;
    const std::string message = with_tensors(
        [&](NamedTensors& t) { std::erase_if(t, [&](const auto& entry) { return entry.first == name; }); });
    CHECK(contains(message, name));
  }
  CHECK(contains(with_tensors([](NamedTensors& t) { t.emplace_back("extra", Tensor::zeros({1})); }), "'extra'"));
  CHECK(contains(with_tensors([](NamedTensors& t) { t[0].second = Tensor::zeros(t[0].second.shape(), i32); }),
                 tensors[0].first));

  // The folder of another model.
  std::filesystem::remove_all(folder);
  std::filesystem::copy(kAdapters + "gpt2", folder);
  CHECK(contains(error(), "'target_modules' of this model"));
}

TEST_CASE("lora: target_modules of PEFT may be a regular expression", "[nn][lora]") {
  const TempDir dir;
  Json json = Json::parse(read_bytes(kAdapters + "llama/adapter_config.json"));
  json["target_modules"] = ".*(q_proj|v_proj|o_proj|gate_proj|down_proj)";
  std::filesystem::copy(kAdapters + "llama/adapter_model.safetensors", dir.file("adapter_model.safetensors"));
  std::ofstream(dir.file("adapter_config.json")) << json.dump();
  Transformer expected = load_pretrained(kModels + "llama"), got = load_pretrained(kModels + "llama");
  load_peft(expected, kAdapters + "llama");
  load_peft(got, dir.path.string());
  CHECK(got.config == expected.config);
  check_equal_bits(got, expected);
}

TEST_CASE("lora: adapters fit a GGUF file of their base model", "[nn][lora]") {
  const TempDir dir;
  TransformerConfig c{.vocab_size = 11, .block_size = 8, .n_layer = 2, .n_head = 4, .n_embd = 16, .in_proj_std = 0.3};
  c.n_kv_head = 2;
  c.n_hidden = 24;
  c.bias = false;
  c.norm = NormKind::rms;
  c.norm_eps = 0.5;
  c.positions = Positions::rope;
  c.mlp = MlpKind::swiglu;
  Generator g(4);
  Transformer model(c, g);
  const std::string file = dir.file("model.gguf");
  write_bytes(file, gguf_of(model));
  add_lora(model, {.rank = 2}, g);
  fill_b(model);
  save_peft(model, dir.file("adapter"), file);
  for (const DType dtype : {f32, bf16}) {
    INFO(name_of(dtype));
    Transformer got = load_pretrained(file, dtype);
    load_peft(got, dir.file("adapter"));
    TransformerConfig want = c;
    want.dtype = dtype;
    want.in_proj_std = TransformerConfig().in_proj_std;  // the file has no initial values
    want.lora = got.config.lora;
    CHECK(got.config == want);
    Transformer expected = Transformer::zeros(want);
    load_state_dict(expected, state_dict(model));
    check_equal_bits(got, expected);
    CHECK(equal_bits(logits_of(got, Tensor::zeros({1, 8}, i32)), logits_of(expected, Tensor::zeros({1, 8}, i32))));
  }
}
