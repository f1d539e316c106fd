#pragma once
// Small models with adapters for the tests. docs/GOLDENS.md says how the folders of PEFT were made.
#include <string>
#include <vector>

#include "nn/files/pretrained.h"
#include "nn/files/safetensors.h"
#include "nn/train/trainer.h"
#include "nn/variants/lora.h"
#include "tests/catch.h"
#include "tests/tensors.h"

namespace pg::testing::lora {

inline const std::string kModels = "tests/goldens/pretrained/", kAdapters = "tests/goldens/peft/";
inline constexpr const char* kTypes[] = {"gpt2", "llama"};
// Folders of PEFT's adapters that are not the same in every block, and their base models.
inline constexpr std::pair<const char*, const char*> kUnevenAdapters[] = {
    {"llama_full_names", "llama"}, {"llama_layers", "llama"}, {"llama_regex", "llama"}, {"gpt2_exclude", "gpt2"}};

inline Tensor some_ids() { return load_safetensors(kModels + "gpt2/expected.safetensors").at("ids"); }

inline Tensor logits_of(Transformer& model, const Tensor& ids) {
  NoGrad no_grad;
  const EvalMode eval(model);
  return model(ids);
}

// Sets B to values other than zero.
inline void fill_b(Transformer& model, uint64_t seed = 5) {
  Generator g(seed);
  for (const auto& [name, tensor] : state_dict(model)) {
    if (name.ends_with("lora_B")) tensor.copy_from(Tensor::normal(tensor.shape(), 0, 0.3, g, tensor.dtype()));
  }
}

inline Transformer adapted(const std::string& type, DType dtype, const LoraConfig& lora) {
  Transformer model = load_pretrained(kModels + type, dtype);
  Generator g(3);
  add_lora(model, lora, g);
  fill_b(model);
  return model;
}

inline void check_equal_bits(Transformer& a, Transformer& b) {
  const NamedTensors x = state_dict(a), y = state_dict(b);
  REQUIRE(x.size() == y.size());
  for (size_t i = 0; i < x.size(); ++i) {
    INFO(x[i].first);
    CHECK(x[i].first == y[i].first);
    CHECK(x[i].second.dtype() == y[i].second.dtype());
    CHECK(equal_values(x[i].second, y[i].second));
  }
}

// Random tokens; each target is the token itself, which is learned fast.
inline NextBatch copying(int64_t vocab_size) {
  return [=](Generator& g) {
    const Tensor ids = integers({4, 9}, g, vocab_size);
    return TokenBatch{ids, ids.clone()};
  };
}

inline TrainConfig config(int64_t steps) {
  TrainConfig c;
  c.max_steps = steps;
  c.schedule = {.kind = Schedule::Kind::constant, .lr = 1e-2};
  return c;
}

}  // namespace pg::testing::lora
