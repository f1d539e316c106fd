// LoRA: what adapters compute, their initial values and gradients, and what stays frozen.
#include <cmath>

#include "autograd/check/gradcheck.h"
#include "tests/nn/lora_case.h"

using namespace pg;
using namespace pg::testing;
using namespace pg::testing::lora;

TEST_CASE("lora: a model with new adapters computes what it computed before", "[nn][lora]") {
  for (const std::string type : kTypes) {
    for (const DType dtype : {f32, f64, bf16}) {
      for (const std::string targets : {"all-linear", "q_proj,v_proj", "k_proj", "c_proj", "up_proj"}) {
        INFO(type << " " << name_of(dtype) << " " << targets);
        Transformer model = load_pretrained(kModels + type, dtype);
        const Tensor before = logits_of(model, some_ids());
        Generator g(3);
        add_lora(model, {.rank = 3, .targets = targets}, g);
        const Tensor after = logits_of(model, some_ids());
        if (type == "gpt2" && dtype == bf16 && (targets == "all-linear" || targets == "up_proj")) {
          CHECK(relative_maximum(after, before) <= 0x1p-6);  // a second rounding to 8 bits before gelu, in two blocks
        } else {
          CHECK(equal_values(after, before));
        }
        fill_b(model);
        CHECK(!equal_values(logits_of(model, some_ids()), before));
      }
    }
  }
}

TEST_CASE("lora: initial values are those of PEFT", "[nn][lora]") {
  Generator g(3);
  Transformer model(TransformerConfig{.vocab_size = 11, .block_size = 8, .n_layer = 2, .n_head = 4, .n_embd = 256}, g);
  add_lora(model, {.rank = 16}, g);
  int64_t matrices = 0;
  for (const auto& [name, tensor] : state_dict(model)) {
    if (!is_adapter(name)) continue;
    INFO(name);
    ++matrices;
    const std::vector<double> values = tensor.to_vector();
    double largest = 0, squares = 0;
    for (const double x : values) largest = std::max(largest, std::abs(x)), squares += x * x;
    const double bound = 1 / std::sqrt(static_cast<double>(tensor.size(1)));
    if (name.ends_with("lora_B")) {
      CHECK(largest == 0);
    } else {
      CHECK(largest <= bound);
      CHECK(largest > 0.99 * bound);
      CHECK(squares / static_cast<double>(values.size()) == Approx(bound * bound / 3).epsilon(0.1));  // uniform
    }
  }
  CHECK(matrices == 2 * 4 * 2);
  CHECK(lora_parameters(model.config) == 2 * 16 * (256 * 4 + 256 * 2 + 256 * 5 + 256 * 5));
}

TEST_CASE("lora: gradients of the adapters are those of finite differences", "[nn][lora]") {
  for (const std::string type : kTypes) {
    for (const std::string targets : {"all-linear", "q_proj,v_proj", "c_proj"}) {
      INFO(type << " " << targets);
      Transformer model = adapted(type, f64, {.rank = 2, .alpha = 3, .dropout = 0.25, .targets = targets});
      const Tensor ids = some_ids().view_slice(1, 0, 5);
      std::vector<Tensor> inputs;
      for (const auto& [name, tensor] : trainable_parameters(model)) inputs.push_back(tensor.detach());
      const std::function<Tensor(std::span<const Tensor>)> logits = [&](std::span<const Tensor> x) {
        size_t next = 0;
        Visitor visitor([&](const std::string& name, Tensor& parameter) {
          if (is_adapter(name)) parameter = x[next++];
        });
        model.visit(visitor);
        model.set_dropout_stream(std::make_shared<Generator>(1));  // the same masks in each call
        return model(ids);
      };
      GradcheckOptions options;
      options.max_perturbations = 100;
      const GradcheckResult result = gradcheck(logits, inputs, options);
      INFO(result.message);
      CHECK(result.ok);
    }
  }
}

TEST_CASE("lora: recomputed blocks give the adapters the same gradients", "[nn][lora]") {
  for (const std::string type : kTypes) {
    INFO(type);
    std::vector<std::vector<double>> gradients[2];
    for (const bool recomputed : {false, true}) {
      Transformer model = adapted(type, f32, {.rank = 2, .dropout = 0.25});
      model.checkpoint_blocks = recomputed;
      model.set_dropout_stream(std::make_shared<Generator>(1));
      backward(model.loss(some_ids(), some_ids()));
      for (const auto& [name, tensor] : trainable_parameters(model)) {
        REQUIRE(has_grad(tensor));
        gradients[recomputed].push_back(tensor.grad().to_vector());
      }
    }
    CHECK((gradients[0] == gradients[1]));
  }
}

TEST_CASE("lora: the base weights are frozen and cost neither gradients nor optimizer state", "[nn][lora]") {
  for (const std::string type : kTypes) {
    for (const DType dtype : {f32, bf16}) {
      INFO(type << " " << name_of(dtype));
      Transformer base = load_pretrained(kModels + type, dtype);
      Transformer model = adapted(type, dtype, {.rank = 2});
      const int64_t in_base = count_parameters(base), in_adapters = count_parameters(model) - in_base;
      CHECK(static_cast<double>(in_adapters) == lora_parameters(model.config));

      Trainer trainer(model, config(20), copying(model.config.vocab_size));
      const double first = trainer.step().loss;
      double last = 0;
      while (trainer.steps() < 20) last = trainer.step().loss;
      CHECK(last < first);

      const NamedTensors before = state_dict(base);
      std::map<std::string, Tensor> after;
      for (const auto& [name, parameter] : named_parameters(model)) {
        INFO(name);
        CHECK(parameter.requires_grad() == is_adapter(name));
        CHECK(has_grad(parameter) == is_adapter(name));
        CHECK(parameter.dtype() == (is_adapter(name) ? f32 : dtype));
        after[name] = parameter;
      }
      for (const auto& [name, tensor] : before) CHECK(equal_values(after.at(name), tensor));

      // Beside the base weights: adapters and gradients, each begins at a multiple of 256 elements, and two moments.
      const StepMemory memory = trainer.memory();
      size_t padded = 0;
      for (const auto& [name, tensor] : trainable_parameters(model)) {
        padded = (padded + 255) / 256 * 256 + static_cast<size_t>(tensor.numel());
      }
      CHECK(memory.weights == static_cast<size_t>(in_base) * size_of(dtype) + 4 * padded);
      CHECK(memory.gradients == 4 * padded);
      CHECK(memory.optimizer == 8 * static_cast<size_t>(in_adapters));
    }
  }
}

TEST_CASE("lora: configurations without meaning are refused with a sentence", "[nn][lora]") {
  const auto refused = [](const std::string& type, const LoraConfig& lora) {
    Transformer model = load_pretrained(kModels + type);
    Generator g(3);
    const std::string error = error_of([&] { add_lora(model, lora, g); });
    CHECK(model.config.lora == LoraConfig{});
    CHECK(trainable_parameters(model).size() == named_parameters(model).size());
    return error;
  };
  CHECK(refused("llama", {.rank = 0}) == "add_lora: rank must be at least 1, got 0");
  CHECK(contains(refused("llama", {.rank = 1, .alpha = 0}), "lora-alpha must be a number above 0, got 0"));
  CHECK(contains(refused("llama", {.rank = 1, .alpha = NAN}), "lora-alpha must be"));
  CHECK(contains(refused("llama", {.rank = 1, .dropout = 1}),
                 "lora-dropout must be a number from 0 to less than 1, got 1"));
  const std::string unknown = refused("llama", {.rank = 1, .targets = "q_proj,vproj"});
  CHECK(contains(unknown, "all-linear, q_proj, k_proj, v_proj, o_proj, gate_proj, up_proj, down_proj"));
  CHECK(contains(unknown, "vproj"));
  CHECK(contains(unknown, "did you mean v_proj?"));
  CHECK(contains(refused("gpt2", {.rank = 1, .targets = "gate_proj"}), "expected"));
  CHECK(
      contains(refused("gpt2", {.rank = 1, .targets = "c_attn,k_proj"}), "k_proj and c_attn have rows of attn.c_attn"));
  CHECK(contains(refused("gpt2", {.rank = 1, .targets = ""}), "names no linear layer"));
  CHECK(contains(refused("gpt2", {.rank = 1, .targets = ","}), "expected"));

  TransformerConfig wrong = load_pretrained(kModels + "gpt2").config;
  wrong.lora.rank = -1;
  CHECK(contains(error_of([&] { Transformer::zeros(wrong); }), "lora-rank must be"));
  Transformer twice = adapted("gpt2", f32, {.rank = 1});
  Generator g(3);
  CHECK(contains(error_of([&] { add_lora(twice, {.rank = 1}, g); }), "has adapters of rank 1 already"));
  merge_lora(twice);
  CHECK(contains(error_of([&] { backward(twice.loss(some_ids(), some_ids())); }), "requires a gradient"));
}
