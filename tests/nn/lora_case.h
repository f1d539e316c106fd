#pragma once
// Small models with adapters for the tests. docs/GOLDENS.md says how the folders of PEFT were made.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "nn/files/pretrained.h"
#include "nn/files/safetensors.h"
#include "nn/train/trainer.h"
#include "nn/variants/lora.h"
#include "tests/catch.h"

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

inline bool equal_bits(const Tensor& a, const Tensor& b) { return a.to_vector() == b.to_vector(); }

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

inline double relative_error(const Tensor& got, const Tensor& want) {
  const std::vector<double> a = got.to_vector(), b = want.to_vector();
  REQUIRE(a.size() == b.size());
  double difference = 0, size = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference = std::max(difference, std::abs(a[i] - b[i]));
    size = std::max(size, std::abs(b[i]));
  }
  return difference / size;
}

inline void check_equal_bits(Transformer& a, Transformer& b) {
  const NamedTensors x = state_dict(a), y = state_dict(b);
  REQUIRE(x.size() == y.size());
  for (size_t i = 0; i < x.size(); ++i) {
    INFO(x[i].first);
    CHECK(x[i].first == y[i].first);
    CHECK(x[i].second.dtype() == y[i].second.dtype());
    CHECK(equal_bits(x[i].second, y[i].second));
  }
}

// Random tokens; each target is the token itself, which is learned fast.
inline NextBatch copying(int64_t vocab_size) {
  return [=](Generator& g) {
    const Tensor ids = Tensor::empty({4, 9}, i32);
    for (int32_t& id : ids.data<int32_t>()) id = static_cast<int32_t>(g.integer(static_cast<uint64_t>(vocab_size)));
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
