// Modules, layers and GPT-2.
#include <algorithm>
#include <cmath>
#include <functional>

#include "autograd/ops.h"
#include "nn/decode/kv_cache.h"
#include "nn/transformer.h"
#include "tests/catch.h"
#include "tests/tensors.h"

using namespace pg;
using pg::testing::equal_values;
using pg::testing::error_of;
using pg::testing::integers;
using pg::testing::largest_difference;

namespace {

TransformerConfig tiny() {
  return {.vocab_size = 11,
          .block_size = 8,
          .n_layer = 2,
          .n_head = 2,
          .n_embd = 8,
          .dropout = 0,
          .bias = true,
          .dtype = f32};
}

struct Mean {
  double mean, std;
};
Mean moments(const Tensor& x) {
  const auto values = x.to_vector();
  double sum = 0, squares = 0;
  for (double v : values) sum += v, squares += v * v;
  const double n = static_cast<double>(values.size());
  return {sum / n, std::sqrt(squares / n - sum / n * (sum / n))};
}

}  // namespace

TEST_CASE("module: GPT-2 names its parameters in order", "[nn]") {
  Transformer model(tiny());
  std::vector<std::string> names;
  for (const auto& [name, parameter] : named_parameters(model)) names.push_back(name);
  std::vector<std::string> expected = {"wte.weight", "wpe.weight"};
  for (const char* block : {"h.0.", "h.1."}) {
    for (const char* name : {"ln_1.weight", "ln_1.bias", "attn.c_attn.weight", "attn.c_attn.bias", "attn.c_proj.weight",
                             "attn.c_proj.bias", "ln_2.weight", "ln_2.bias", "mlp.c_fc.weight", "mlp.c_fc.bias",
                             "mlp.c_proj.weight", "mlp.c_proj.bias"}) {
      expected.push_back(std::string(block) + name);
    }
  }
  expected.insert(expected.end(), {"ln_f.weight", "ln_f.bias"});
  CHECK(names == expected);

  TransformerConfig no_bias = tiny();
  no_bias.bias = false;
  Transformer without(no_bias);
  CHECK(named_parameters(without).size() == 2 + 2 * 6 + 1);
}

TEST_CASE("module: GPT-2 small has the published number of parameters", "[nn]") {
  // The published model has 124,439,808 parameters: 12 layers of width 768, 50,257 tokens, 1,024 positions. The model
  // built here has one layer and few tokens.
  Transformer model({.vocab_size = 100, .block_size = 10, .n_layer = 1});
  const int64_t per_layer = 12 * 768 * 768 + 13 * 768;
  CHECK(count_parameters(model) + 11 * per_layer + (50257 - 100 + 1024 - 10) * 768 == 124439808);
}

TEST_CASE("module: load_state_dict lists every problem at once and changes nothing", "[nn]") {
  Generator g(1);
  Transformer a(tiny(), g), b(tiny(), g);
  NamedTensors state = state_dict(a);
  load_state_dict(b, state);
  for (size_t i = 0; i < state.size(); ++i) CHECK(equal_values(state_dict(b)[i].second, state[i].second));
  CHECK(named_parameters(b)[0].second.requires_grad());

  NamedTensors bad;
  for (auto& [name, tensor] : state) bad.emplace_back(name, Tensor::zeros(tensor.shape()));
  bad[0].second = Tensor::zeros({3, 3});  // wte.weight
  bad[1].first = "wpe.wait";
  bad[3].second = Tensor::zeros(bad[3].second.shape(), i32);  // h.0.ln_1.bias
  const std::string message = error_of([&] { load_state_dict(b, bad); });
  for (const char* words : {"'wte.weight' is [3, 3], expected [11, 8]", "'wpe.weight' is missing",
                            "'h.0.ln_1.bias' is i32", "'wpe.wait' is unexpected"}) {
    INFO(words);
    CHECK(message.find(words) != std::string::npos);
  }
  for (size_t i = 0; i < state.size(); ++i) CHECK(equal_values(state_dict(b)[i].second, state[i].second));
}

TEST_CASE("module: train and eval reach every module", "[nn]") {
  TransformerConfig c = tiny();
  c.dropout = 0.5;
  Transformer model(c);
  Generator g(2);
  const Tensor ids = integers({2, 8}, g, 11);
  NoGrad no_grad;
  model.eval();
  CHECK_FALSE(model.h[1].mlp.drop.training);
  CHECK(equal_values(model(ids), model(ids)));
  model.train();
  CHECK(model.h[1].attn->drop.training);
  CHECK(error_of([&] { model(ids); }).starts_with("dropout: a module in train mode needs a stream"));
  model.set_dropout_stream(std::make_shared<Generator>(5));
  const Tensor first = model(ids);
  CHECK_FALSE(equal_values(first, model(ids)));
  model.set_dropout_stream(std::make_shared<Generator>(5));
  CHECK(equal_values(first, model(ids)));
  {
    EvalMode eval(model);
    CHECK_FALSE(model.drop.training);
  }
  CHECK(model.drop.training);
}

TEST_CASE("layers: shapes and initial values", "[nn]") {
  Generator g(3);
  const Linear linear(256, 300, true, {g});
  CHECK(linear.weight.shape() == Shape{300, 256});
  CHECK(linear(Tensor::ones({2, 5, 256})).shape() == Shape{2, 5, 300});
  const Mean w = moments(linear.weight);  // uniform in ±1/16: standard deviation 1/16/√3
  CHECK(std::abs(w.mean) < 1e-3);
  CHECK(w.std == Approx(1 / 16.0 / std::sqrt(3.0)).epsilon(0.02));
  CHECK_FALSE(Linear(3, 4, false, {g}).bias.defined());
  CHECK(RMSNorm(6)(Tensor::full({2, 6}, 3.0)).to_vector()[0] == Approx(1.0).epsilon(1e-6));
  const auto [sum, y] = RMSNorm(6).add(Tensor::full({2, 6}, 3.0), Tensor::full({2, 6}, -5.0));
  CHECK(sum.to_vector()[11] == -2);
  CHECK(y.to_vector()[11] == Approx(-1.0).epsilon(1e-6));

  TransformerConfig c = tiny();
  c.n_embd = 64, c.n_layer = 8, c.vocab_size = 500, c.in_proj_std = 0.1;
  Transformer model(c, g);
  for (const auto& [name, parameter] : named_parameters(model)) {
    INFO(name);
    const Mean m = moments(parameter);
    const double n = static_cast<double>(parameter.numel());
    if (parameter.rank() == 2) {  // within five standard errors
      const bool residual = name.find("c_proj") != std::string::npos;
      const double std = residual ? 0.02 / 4 : name.starts_with("h.") ? 0.1 : 0.02;
      CHECK(m.std == Approx(std).epsilon(5 / std::sqrt(2 * n)));
      CHECK(std::abs(m.mean) < 5 * std / std::sqrt(n));
    } else {
      CHECK(m.std == 0);
      CHECK(m.mean == (name.find("ln_") != std::string::npos && name.ends_with("weight") ? 1 : 0));
    }
  }
}

TEST_CASE("layers: MLP and attention equal their parts in f64", "[nn]") {
  Generator g(4);
  const Init init{g, f64};
  const Tensor x = Tensor::normal({2, 5, 12}, 0, 1, g, f64);
  const MLP mlp(12, true, 0, init);
  CHECK(largest_difference(mlp(x), mlp.c_proj(gelu(mlp.c_fc(x)))) < 1e-14);

  const CausalSelfAttention attn({.n_head = 3, .n_embd = 12}, init);
  const Tensor qkv = attn.c_attn(x);
  const auto part = [&](int64_t i) {
    return transpose(reshape(slice(qkv, -1, 12 * i, 12 * i + 12), {2, 5, 3, 4}), 1, 2);  // [B, H, T, D]
  };
  Tensor mask = Tensor::zeros({5, 5}, f64);  // 0 where t sees s, -inf where s is later
  for (int64_t t = 0; t < 5; ++t) {
    for (int64_t s = t + 1; s < 5; ++s) mask.data<double>()[t * 5 + s] = -INFINITY;
  }
  const Tensor weights = softmax(matmul(part(0), transpose(part(1))) * 0.5 + mask);
  const Tensor y = reshape(transpose(matmul(weights, part(2)), 1, 2), {2, 5, 12});
  CHECK(largest_difference(attn(x), attn.c_proj(y)) < 1e-14);
}

TEST_CASE("gpt2: a later token changes no earlier logit", "[nn]") {
  Generator g(5);
  Transformer model(tiny(), g);
  NoGrad no_grad;
  Tensor ids = integers({1, 8}, g, 11);
  const Tensor before = model(ids);
  ids.data<int32_t>()[5] = (ids.data<int32_t>()[5] + 1) % 11;
  const Tensor after = model(ids);
  CHECK(equal_values(before.view_slice(1, 0, 5), after.view_slice(1, 0, 5)));
  CHECK_FALSE(equal_values(before.view_slice(1, 5, 8), after.view_slice(1, 5, 8)));
}

TEST_CASE("gpt2: initial weights predict near uniformly and every parameter receives a gradient", "[nn]") {
  Generator g(6);
  Transformer model(tiny(), g);
  const Tensor ids = integers({4, 8}, g, 11), targets = integers({4, 8}, g, 11);
  const Tensor loss = model.loss(ids, targets);
  CHECK(loss.item() == Approx(std::log(11.0)).epsilon(0.02));
  backward(loss);
  for (const auto& [name, parameter] : named_parameters(model)) {
    INFO(name);
    REQUIRE(has_grad(parameter));
    const auto gradient = parameter.grad().to_vector();
    CHECK(std::any_of(gradient.begin(), gradient.end(), [](double x) { return x != 0; }));
  }
}

TEST_CASE("gpt2: errors", "[nn]") {
  Transformer model(tiny());
  NoGrad no_grad;
  CHECK(error_of([&] { model(Tensor::zeros({1, 9}, i32)); }) == "Transformer: 9 positions, block_size is 8");
  CHECK(error_of([&] { model(Tensor::zeros({8}, i32)); }).find("expected ids i32 [B, T]") != std::string::npos);
  CHECK_FALSE(error_of([&] { model(Tensor::full({1, 2}, 11, i32)); }).empty());
  const KvCache cache = model.new_cache(2, 4);
  CHECK(error_of([&] { model(Tensor::zeros({2, 5}, i32), &cache); }).find("no room for 5 more") != std::string::npos);
  CHECK(error_of([&] { model(Tensor::zeros({3, 1}, i32), &cache); }).find("ids have 3 rows") != std::string::npos);
  {
    EnableGrad grad;
    CHECK(error_of([&] { model(Tensor::zeros({2, 1}, i32), &cache); }).find("NoGrad") != std::string::npos);
  }
  TransformerConfig c = tiny();
  c.n_head = 3;
  CHECK(error_of([&] { Transformer bad(c); }) == "Transformer: n_embd 8 is not a multiple of n_head 3");
  c = tiny();
  c.n_layer = 0;
  CHECK(error_of([&] { Transformer bad(c); }).find("n_layer") != std::string::npos);
}

TEST_CASE("gpt2: the config is restored from JSON", "[nn]") {
  TransformerConfig c = tiny();
  c.dropout = 0.1;
  c.bias = false;
  c.in_proj_std = 0.125;
  c.dtype = f64;
  CHECK(transformer_config_from_json(to_json(c)) == c);
  const auto refused = [](const std::string& from, const std::string& to) {
    std::string json = to_json(tiny());
    json.replace(json.find(from), from.size(), to);
    return error_of([&] { transformer_config_from_json(json); });
  };
  CHECK(refused("n_head", "heads") == "Transformer config: unknown key 'heads'");
  CHECK(refused("\"n_layer\":2,", "") == "Transformer config: 'n_layer' is missing");
  CHECK(refused("\"n_layer\":2", "\"n_layer\":-2") == "Transformer config: 'n_layer' cannot be -2");
  CHECK(refused("\"in_proj_std\":0.02", "\"in_proj_std\":null") == "Transformer config: 'in_proj_std' cannot be null");
  CHECK(refused("\"f32\"", "\"f8\"") == "Transformer config: 'dtype' cannot be \"f8\"");
  CHECK(error_of([] { transformer_config_from_json("nonsense"); }).find("expected a JSON object") != std::string::npos);
}

TEST_CASE("gpt2: cached steps give the bits of the whole sequence", "[nn]") {
  Generator g(7);
  TransformerConfig c = tiny();
  c.block_size = 40;
  Transformer model(c, g);
  NoGrad no_grad;
  const Tensor ids = integers({3, 37}, g, 11);
  const Tensor whole = model(ids);
  const KvCache cache = model.new_cache(3);
  for (int64_t begin = 0; begin < 37;) {
    const int64_t end = std::min<int64_t>(37, begin + 1 + g.integer(6));
    CHECK(equal_values(model(ids.view_slice(1, begin, end), &cache), whole.view_slice(1, begin, end)));
    begin = end;
  }
  CHECK(cache.lengths.to_vector() == std::vector<double>{37, 37, 37});
}
