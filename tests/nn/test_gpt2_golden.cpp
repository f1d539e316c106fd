// A 2-layer GPT-2 compared with PyTorch. docs/GOLDENS.md describes what the file holds and how it was made.
#include "nn/files/safetensors.h"
#include "nn/optim.h"
#include "nn/transformer.h"
#include "tensor/base/json.h"
#include "tests/catch.h"
#include "tests/tensors.h"

using namespace pg;
using pg::testing::relative_distance;

namespace {

void replay(DType dtype, double tolerance) {
  const SafetensorsFile file = load_safetensors("tests/goldens/gpt2/gpt2.safetensors");
  const Json a = Json::parse(file.metadata_at("attributes"));
  const auto size = [&](const char* name) { return a.at(name).get<int64_t>(); };
  Transformer model({.vocab_size = size("vocab_size"),
                     .block_size = size("n_positions"),
                     .n_layer = size("n_layer"),
                     .n_head = size("n_head"),
                     .n_embd = size("n_embd"),
                     .dropout = 0,
                     .bias = true,
                     .dtype = dtype});
  NamedTensors weights;
  for (const auto& [name, parameter] : named_parameters(model)) weights.emplace_back(name, file.at(name));
  load_state_dict(model, weights);
  const auto close = [&](const std::string& name, const std::vector<double>& got) {
    const double error = relative_distance(got, file.at(name).to_vector());
    INFO(name << ": relative error " << error);
    CHECK(error <= tolerance);
  };

  ParamSlab slab(model);
  const auto number = [&](const char* name) { return a.at(name).get<double>(); };
  const auto betas = a.at("betas").get<std::vector<double>>();
  AdamW optimizer(slab, {betas.at(0), betas.at(1), number("eps"), number("weight_decay")});
  const Tensor ids = file.at("ids"), targets = file.at("targets");
  std::vector<double> losses, norms;
  for (int step = 0; step < a.at("steps").get<int>(); ++step) {
    slab.zero_grad();
    const Tensor loss = model.loss(ids, targets);
    losses.push_back(loss.item());
    backward(loss);
    if (step == 0) {
      NoGrad no_grad;
      close("logits", model(ids).to_vector());
      close("loss", {loss.item()});
      for (const auto& [name, parameter] : named_parameters(model)) close("grad." + name, parameter.grad().to_vector());
    }
    norms.push_back(grad_norm(slab));
    optimizer.step(number("lr"), clip_scale(norms.back(), number("max_norm")));
  }
  close("losses", losses);
  close("grad_norms", norms);
  for (const auto& [name, parameter] : named_parameters(model)) close("step10." + name, parameter.to_vector());
}

}  // namespace

TEST_CASE("gpt2 golden: logits and gradients and ten AdamW steps in f64", "[nn][golden]") { replay(f64, 1e-10); }
TEST_CASE("gpt2 golden: logits and gradients and ten AdamW steps in f32", "[nn][golden]") { replay(f32, 1e-5); }
