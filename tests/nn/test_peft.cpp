// Adapter folders of PEFT, read and written. docs/GOLDENS.md says how the ones here were made.
#include <cmath>
#include <filesystem>
#include <fstream>

#include "nn/files/peft.h"
#include "tensor/base/json.h"
#include "tests/nn/gguf_model.h"
#include "tests/nn/lora_case.h"

using namespace pg;
using namespace pg::testing;
using namespace pg::testing::lora;

TEST_CASE("lora: adapters of PEFT compute what PEFT computes", "[nn][lora]") {
  std::vector<std::pair<std::string, std::string>> adapters(std::begin(kUnevenAdapters), std::end(kUnevenAdapters));
  for (const std::string type : kTypes) adapters.emplace_back(type, type);
  for (const auto& [type, base] : adapters) {
    for (const DType dtype : {f32, f64}) {
      INFO(type << " " << name_of(dtype));
      // transformers computes norms and rotations in float32, also in a model of float64.
      const double tolerance = dtype == f32 ? 1e-5 : 2e-6;
      const SafetensorsFile expected = load_safetensors(kAdapters + type + "/expected.safetensors");
      Transformer model = load_pretrained(kModels + base, dtype);
      load_peft(model, kAdapters + type);
      CHECK(relative_maximum(logits_of(model, expected.at("ids")), expected.at("logits")) <= tolerance);
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
        CHECK(relative_maximum(got.at(name.substr(5)), tensor) <= 4 * tolerance);
        ++compared;
      }
      CHECK(compared == got.tensors.size());

      merge_lora(model);
      CHECK(relative_maximum(logits_of(model, expected.at("ids")), expected.at("merged")) <= tolerance);
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
        CHECK(equal_values(logits_of(back, some_ids()), logits_of(model, some_ids())));
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
    CHECK(equal_values(logits_of(model, some_ids()), before));
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
  CHECK(contains(with_key("rank_pattern", {{"q_proj", 8}}), "q_proj.lora_A.weight' is [3, 24], expected [8, 24]"));
  CHECK(contains(with_key("rank_pattern", {{"q_proj", 2.5}}), "'rank_pattern' of 'q_proj' must be a whole number"));
  CHECK(contains(with_key("rank_pattern", {3}), "'rank_pattern' must be an object of names and numbers, got [3]"));
  CHECK(contains(with_key("alpha_pattern", {{"q_proj", -1}}), "'alpha_pattern' of 'q_proj' must be a number above 0"));
  CHECK(contains(with_key("alpha_pattern", {{"(q_proj", 1}}), "the key '(q_proj' is no regular expression"));
  CHECK(contains(with_key("alpha_pattern", {{"([a-z_.0-9]+)*[A-Z]", 1}}), "cannot be matched to"));
  CHECK(contains(with_key("alpha_pattern", {{std::string(2000, 'a'), 1}}), "keys of at most 1000 bytes"));
  CHECK(contains(with_key("lora_bias", true), "'lora_bias' is true"));
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

TEST_CASE("lora: adapters that are not the same in every block lost their ranks, scales or places", "[nn][lora]") {
  const TempDir dir;
  for (const auto& [type, base] : kUnevenAdapters) {
    INFO(type);
    Transformer model = load_pretrained(kModels + base);
    load_peft(model, kAdapters + type);
    const TransformerConfig config = model.config;
    CHECK(!config.lora.modules.empty());
    CHECK(transformer_config_from_json(to_json(config)) == config);  // in a checkpoint
    size_t values = 0;
    for (const auto& [name, tensor] : trainable_parameters(model)) values += static_cast<size_t>(tensor.numel());
    CHECK(lora_parameters(config) == static_cast<double>(values));

    Transformer rebuilt = Transformer::zeros(config);
    load_state_dict(rebuilt, state_dict(model));
    check_equal_bits(rebuilt, model);
    CHECK(equal_values(logits_of(rebuilt, some_ids()), logits_of(model, some_ids())));

    save_peft(model, dir.file(type), base);
    Transformer back = load_pretrained(kModels + base);
    load_peft(back, dir.file(type));
    CHECK(back.config == config);
    check_equal_bits(back, model);

    remove_lora(model);
    CHECK(trainable_parameters(model).size() == named_parameters(model).size());
    Transformer plain = load_pretrained(kModels + base);
    check_equal_bits(model, plain);
  }
}

TEST_CASE("lora: modules that a model cannot have are refused", "[nn][lora]") {
  Transformer model = load_pretrained(kModels + "llama");
  Generator g(1);
  const auto error = [&](const std::string& modules) {
    return error_of([&] { add_lora(model, {.rank = 2, .modules = modules}, g); });
  };
  for (const char* text : {"q_proj", "0.q_proj", "0.q_proj:2", "2.q_proj:2:4", "-1.q_proj:2:4", "0.q_proj:0:4",
                           "0.q_proj:2:0", "0.q_proj:2:nan", "0.q_proj:2:4x", "0.q_proj:2:4,,1.q_proj:2:4", ":.:"}) {
    INFO(text);
    CHECK(contains(error(text), "expected BLOCK.TARGET:RANK:ALPHA with a block from 0 to 1"));
  }
  CHECK(contains(error("0.qproj:2:4"), "q_proj"));
  CHECK(contains(error("1.q_proj:2:4,0.v_proj:2:4,1.q_proj:3:4"), "q_proj and q_proj of block 1 have rows of"));
  CHECK(model.config.lora == LoraConfig{});
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
  const TransformerConfig c = small_llama();
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
    CHECK(equal_values(logits_of(got, Tensor::zeros({1, 8}, i32)), logits_of(expected, Tensor::zeros({1, 8}, i32))));
  }
}
