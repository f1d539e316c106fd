// Models with 8-bit weights: against models of f32 that hold the rounded values, what quantize_weights() reports, and
// what it refuses.
#include <cmath>

#include "autograd/ops.h"
#include "nn/decode/generate.h"
#include "nn/files/checkpoint.h"
#include "nn/variants/int8.h"
#include "nn/variants/lora.h"
#include "nn/variants/unmask.h"
#include "tests/catch.h"
#include "tests/tensors.h"

using namespace pg;
using namespace pg::testing;

namespace {

TransformerConfig gpt2_like(DType dtype = f32) {
  return {.vocab_size = 41, .block_size = 32, .n_layer = 2, .n_head = 2, .n_embd = 24, .dtype = dtype};
}
TransformerConfig llama_like(DType dtype = f32) {
  TransformerConfig c = gpt2_like(dtype);
  c.norm = NormKind::rms, c.positions = Positions::rope, c.mlp = MlpKind::swiglu;
  c.n_kv_head = 1, c.qk_norm = true, c.bias = false, c.tied = false;
  return c;
}
TransformerConfig latent(DType dtype = f32) {
  TransformerConfig c = gpt2_like(dtype);
  c.kv_latent_size = 10, c.q_latent_size = 7, c.positions = Positions::rope, c.rope_size = 4;
  return c;
}

// Weights for which probabilities are far from uniform.
Transformer model_of(const TransformerConfig& config, uint64_t seed = 3) {
  Generator g(seed);
  Transformer model(config, g);
  const NoGrad no_grad;
  for (const auto& [name, parameter] : named_parameters(model)) {
    if (parameter.rank() == 2) parameter.detach().copy_from(Tensor::normal(parameter.shape(), 0, 0.3, g, config.dtype));
    if (name.ends_with("bias"))
      parameter.detach().copy_from(Tensor::normal(parameter.shape(), 0, 0.1, g, config.dtype));
  }
  model.eval();
  return model;
}
Transformer quantized(const TransformerConfig& config, uint64_t seed = 3) {
  Transformer model = model_of(config, seed);
  quantize_weights(model);
  return model;
}

std::vector<int32_t> text_of(int64_t tokens, uint64_t seed = 9) {
  Generator g(seed);
  std::vector<int32_t> ids(static_cast<size_t>(tokens));
  for (int32_t& id : ids) id = static_cast<int32_t>(g.integer(41));
  return ids;
}
Tensor log_probs(const Transformer& model, const std::vector<int32_t>& ids) {
  const NoGrad no_grad;
  return log_softmax(cast(model(Tensor::from(ids, {1, std::ssize(ids)})), f64));
}

// Row by row: round to the nearest multiple, ties to even, of the row's largest magnitude / 127.
void round_rows(const Tensor& weight) {
  const auto values = weight.data<float>();
  const auto k = static_cast<size_t>(weight.size(1));
  for (size_t row = 0; row < values.size(); row += k) {
    float largest = 0;
    for (size_t i = row; i < row + k; ++i) largest = std::max(largest, std::abs(values[i]));
    const float scale = largest / 127;
    for (size_t i = row; i < row + k; ++i) values[i] = scale * static_cast<float>(std::rint(double{values[i]} / scale));
  }
}

// The model in f32 whose linear layers and head hold the rounded weights; its embedding is that of `model`.
Transformer rounded(const Transformer& model) {
  TransformerConfig config = model.config;
  config.tied = false;
  Transformer copy = Transformer::zeros(config);
  Transformer source = model;
  const NoGrad no_grad;
  NamedTensors from = named_parameters(source);
  if (model.config.tied) from.emplace_back("lm_head.weight", model.wte.weight);
  for (const auto& [name, parameter] : named_parameters(copy)) {
    const auto found = std::find_if(from.begin(), from.end(), [&, &n = name](const auto& e) { return e.first == n; });
    REQUIRE(found != from.end());
    parameter.detach().copy_from(found->second.detach());
    const bool kept = name.starts_with("w") || name.find("_up.weight") != std::string::npos;
    const bool is_q_up = name.ends_with("q_up.weight");
    if (parameter.rank() == 2 && (!kept || is_q_up)) round_rows(parameter.detach());
  }
  copy.eval();
  return copy;
}

}  // namespace

TEST_CASE("int8 models compute what models of the rounded weights compute", "[nn][int8]") {
  const std::vector<int32_t> text = text_of(30);
  for (const TransformerConfig& config : {gpt2_like(), llama_like(), latent()}) {
    INFO("latent " << config.latent() << ", tied " << config.tied);
    const Transformer model = model_of(config), other = rounded(model), int8 = quantized(config);
    CHECK(largest_difference(log_probs(int8, text), log_probs(other, text)) < 1e-4);
    CHECK(largest_difference(log_probs(model, text), log_probs(other, text)) > 1e-3);  // rounding is visible
  }
}

TEST_CASE("int8 models of bf16 differ from bf16 as little as their weights", "[nn][int8]") {
  const std::vector<int32_t> text = text_of(30);
  for (const auto make : {gpt2_like, llama_like, latent}) {
    const Transformer wide = model_of(make(f32));
    Transformer narrow = Transformer::zeros(make(bf16));
    Transformer source = wide;
    load_state_dict(narrow, state_dict(source));
    narrow.eval();
    const Tensor exact = log_probs(wide, text);
    const double of_bf16 = largest_difference(log_probs(narrow, text), exact);
    quantize_weights(narrow);
    CHECK(largest_difference(log_probs(narrow, text), exact) < 4 * of_bf16);
  }
}

TEST_CASE("int8 models generate the same rows alone and together with and without a cache", "[nn][int8]") {
  for (const DType dtype : {f32, bf16}) {
    for (const auto make : {gpt2_like, llama_like, latent}) {
      Transformer model = quantized(make(dtype));
      std::vector<std::vector<int32_t>> prompts;
      for (int64_t row = 0; row < 17; ++row) prompts.push_back(text_of(1 + row, static_cast<uint64_t>(row)));
      GenerateOptions options{.max_new_tokens = 12, .seed = 5};
      const auto together = generate(model, prompts, options);
      options.kv_cache = false;
      const auto again = generate(model, prompts, options);
      options.kv_cache = true;
      for (size_t row = 0; row < prompts.size(); ++row) {
        INFO(name_of(dtype) << ", row " << row);
        CHECK(again[row].tokens == together[row].tokens);
        CHECK(again[row].log_probs == together[row].log_probs);
        options.first_row = row;
        const Generated alone = generate(model, {prompts[row]}, options)[0];
        CHECK(alone.tokens == together[row].tokens);
        CHECK(alone.log_probs == together[row].log_probs);
      }
    }
  }
}

TEST_CASE("int8 weights change no bit of a model whose weights they hold exactly", "[nn][int8]") {
  for (const auto make : {gpt2_like, llama_like}) {
    Generator g(1);
    Transformer model = model_of(make(f32));
    for (const auto& [name, parameter] : named_parameters(model)) {
      if (parameter.rank() != 2) continue;
      const auto values = parameter.detach().data<float>();
      const auto k = static_cast<size_t>(parameter.size(1));
      for (size_t i = 0; i < values.size(); ++i) {  // integers times a power of two, the largest 127
        const int64_t integer = i % k == 0 ? 127 : g.integer(255) - 127;
        values[i] = static_cast<float>(integer) * (i / k % 2 == 0 ? 0x1p-8f : 0x1p-9f);
      }
    }
    const std::vector<int32_t> text = text_of(25);
    const Tensor before = log_probs(model, text);
    const Int8Effect effect = quantize_weights(model, text);
    CHECK(log_probs(model, text).to_vector() == before.to_vector());
    CHECK(effect.tokens == 25);
    CHECK(effect.mean_difference == 0);
    CHECK(effect.largest_difference == 0);
    CHECK(effect.kl == 0);
    CHECK(effect.same_choice == Approx(1));
  }
}

TEST_CASE("quantize_weights reports the change of the distributions and of the bytes", "[nn][int8]") {
  const std::vector<int32_t> text = text_of(20);
  for (const auto make : {gpt2_like, llama_like, latent}) {
    Transformer model = model_of(make(f32));
    const Tensor p = log_probs(model, text);
    int64_t bytes = 4 * count_parameters(model);
    model.train();
    const Int8Effect effect = quantize_weights(model, text);
    CHECK(model.training);
    model.eval();
    const std::vector<double> a = p.to_vector(), b = log_probs(model, text).to_vector();
    double mean = 0, largest = 0, kl = 0, same = 0;
    for (size_t t = 0; t < 20; ++t) {
      const auto *x = a.data() + t * 41, *y = b.data() + t * 41;
      for (size_t v = 0; v < 41; ++v) kl += std::exp(x[v]) * (x[v] - y[v]) / 20;
      same += (std::max_element(x, x + 41) - x == std::max_element(y, y + 41) - y) / 20.0;
      if (t == 19) break;
      const auto next = static_cast<size_t>(text[t + 1]);
      mean += std::abs(x[next] - y[next]) / 19, largest = std::max(largest, std::abs(x[next] - y[next]));
    }
    CHECK(effect.tokens == 20);
    CHECK(effect.mean_difference == Approx(mean).epsilon(1e-3));
    CHECK(effect.largest_difference == Approx(largest).epsilon(1e-3));
    CHECK(effect.kl == Approx(kl).epsilon(1e-2));
    CHECK(effect.kl > 0);
    CHECK(effect.same_choice == Approx(same));
    CHECK(effect.bytes_before == bytes);
    // A row of K values: K bytes and a scale. Rows are held 16 at a time.
    Transformer plain = model_of(make(f32));
    for (const auto& [name, parameter] : named_parameters(plain)) {
      const bool kept = name.starts_with("w") || name.ends_with("k_up.weight") || name.ends_with("v_up.weight");
      if (parameter.rank() != 2 || (kept && !(name == "wte.weight" && plain.config.tied))) continue;
      const int64_t n = parameter.size(0), k = parameter.size(1);
      bytes += (n + 15) / 16 * 16 * k + 4 * n;
      if (!kept) bytes -= 4 * n * k;
    }
    CHECK(effect.bytes_after == bytes);
  }
}

TEST_CASE("int8 weights with adapters", "[nn][int8][lora]") {
  const std::vector<int32_t> text = text_of(30);
  const auto adapted = [](const TransformerConfig& config) {
    Transformer model = model_of(config);
    Generator g(4);
    add_lora(model, {.rank = 2}, g);
    for (const auto& [name, tensor] : named_parameters(model)) {
      if (name.ends_with("lora_B")) tensor.detach().copy_from(Tensor::normal(tensor.shape(), 0, 0.1, g));
    }
    model.eval();
    return model;
  };
  for (const auto make : {gpt2_like, llama_like}) {
    Transformer model = adapted(make(f32));
    const Tensor before = log_probs(model, text);
    const Tensor without = log_probs(model_of(make(f32)), text);
    const double of_adapters = largest_difference(before, without);
    quantize_weights(model);
    const double of_rounding = largest_difference(log_probs(model, text), before);
    CHECK(of_rounding > 0);
    CHECK(of_rounding < of_adapters / 3);  // the adapters' terms are still there
    CHECK(contains(error_of([&] { merge_lora(model); }), "merge the adapters before"));

    Transformer merged = adapted(make(f32));
    merge_lora(merged);
    quantize_weights(merged);
    CHECK(largest_difference(log_probs(merged, text), before) < of_adapters / 3);
    CHECK(contains(error_of([&] { unmerge_lora(merged); }), "8-bit weights"));
  }
}

TEST_CASE("int8 models refuse training and saving", "[nn][int8]") {
  Transformer model = quantized(gpt2_like());
  const Tensor ids = Tensor::from(text_of(8), {1, 8});
  CHECK(contains(error_of([&] { model.loss(ids, ids); }), "not for training"));
  CHECK(contains(error_of([&] { state_dict(model); }), "8-bit weights"));
  const TempDir folder;
  CHECK(
      contains(error_of([&] { save_checkpoint(folder.file("x.safetensors"), model, nullptr, {}); }), "8-bit weights"));
  CHECK(!std::filesystem::exists(folder.file("x.safetensors")));
  Transformer other = model_of(gpt2_like());
  CHECK(
      contains(error_of([&] { load_state_dict(model, state_dict(other)); }), "'h.0.attn.c_attn.weight' is unexpected"));
  CHECK(contains(error_of([&] { quantize_weights(model); }), "has 8-bit weights already"));
  // A copy shares the weights and computes the same.
  const Transformer copy = model;
  CHECK(log_probs(copy, text_of(9)).to_vector() == log_probs(model, text_of(9)).to_vector());
}

TEST_CASE("quantize_weights refuses a model and leaves it unchanged", "[nn][int8]") {
  const std::vector<int32_t> text = text_of(6);
  Transformer model = model_of(gpt2_like());
  const auto before = log_probs(model, text).to_vector();
  const auto unchanged = [&] { return log_probs(model, text).to_vector() == before && !model.tied_int8; };
  const auto refusal = [&] { return error_of([&] { quantize_weights(model); }); };

  float& last = model.h[1].mlp.c_proj.weight.data<float>()[5];
  const float value = std::exchange(last, NAN);
  CHECK(contains(refusal(), "'h.1.mlp.c_proj.weight' has a non-finite value (nan) in row 0, column 5"));
  last = value;
  CHECK(unchanged());
  float& embedded = model.wte.weight.data<float>()[24];
  const float old = std::exchange(embedded, INFINITY);
  CHECK(contains(refusal(), "'wte.weight' has a non-finite value (inf) in row 1, column 0"));
  embedded = old;
  CHECK(unchanged());
  model.before_part = [](size_t) {};
  CHECK(contains(refusal(), "gathers its parameters"));
  model.before_part = {};
  CHECK(unchanged());
  for (const int64_t tokens : {0, 1, 33}) {
    const std::vector<int32_t> wrong = text_of(tokens);
    CHECK(contains(error_of([&] { quantize_weights(model, wrong); }), "expected 2 to 32 tokens"));
  }
  const std::vector<int32_t> unknown = {1, 41};
  CHECK(!error_of([&] { quantize_weights(model, unknown); }).empty());
  CHECK(unchanged());
  Transformer wide = model_of(gpt2_like(f64));
  CHECK(contains(error_of([&] { quantize_weights(wide); }), "expected a model of f32 or bf16, got f64"));
  TransformerConfig config = gpt2_like();
  config.causal = false;
  Transformer denoiser = model_of(config);
  CHECK(contains(error_of([&] { quantize_weights(denoiser, text); }), "bidirectional"));
  CHECK(error_of([&] { quantize_weights(denoiser); }).empty());
}
