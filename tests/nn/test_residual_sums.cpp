// Transformer adds the result of each block in the norm that follows; the composition here adds it in a pass of its
// own.
#include <string>
#include <vector>

#include "autograd/ops.h"
#include "nn/transformer.h"
#include "tests/catch.h"

using namespace pg;

namespace {

struct Family {
  const char* name;
  TransformerConfig config;
};

std::vector<Family> families(DType dtype) {
  const TransformerConfig gpt2{
      .vocab_size = 11, .block_size = 8, .n_layer = 3, .n_head = 2, .n_embd = 16, .in_proj_std = 0.3, .dtype = dtype};
  TransformerConfig dropping = gpt2, llama = gpt2, adapted, latent;
  dropping.dropout = 0.2;
  llama.bias = false, llama.n_kv_head = 1, llama.norm = NormKind::rms, llama.positions = Positions::rope;
  llama.mlp = MlpKind::swiglu, llama.tied = false;
  latent = llama;
  latent.n_kv_head = 0, latent.kv_latent_size = 8, latent.rope_size = 4, latent.head_size = 6;
  adapted = gpt2;
  adapted.lora.rank = 2;
  return {{"GPT-2", gpt2}, {"dropout", dropping}, {"Llama", llama}, {"latent", latent}, {"LoRA", adapted}};
}

Tensor norm_of(const Norm& n, const Tensor& x) {
  return n.kind == NormKind::rms ? rms_norm(x, n.weight, n.eps) : layer_norm(x, n.weight, n.bias, n.eps);
}

// The last hidden state, every sum an addition.
template <class... Where>
Tensor with_separate_sums(const Transformer& model, const Tensor& ids, const Tensor& positions, const Where&... where) {
  Tensor x = model.wte(ids);
  if (model.wpe.weight.defined()) x = x + model.wpe(positions);
  x = model.drop(x);
  for (const TransformerBlock& block : model.h) {
    const Tensor normed = norm_of(block.ln_1, x);
    x = x + (block.other_attn ? (*block.other_attn)(normed, where...) : (*block.attn)(normed, where...));
    x = x + block.mlp(norm_of(block.ln_2, x));
  }
  return norm_of(model.ln_f, x);
}

// The values of hidden() and of the gradients of Σ hidden·weight, with the same dropout in each call.
template <class F>
std::vector<std::vector<double>> values_of(Transformer& model, F hidden) {
  model.set_dropout_stream(std::make_shared<Generator>(5));
  const Tensor h = hidden();
  Generator g(9);
  backward(sum(cast(h, f32) * Tensor::normal(h.shape(), 0, 1, g)));
  std::vector<std::vector<double>> values = {h.to_vector()};
  for (const auto& [name, parameter] : named_parameters(model)) {
    if (!parameter.requires_grad() || !has_grad(parameter)) continue;
    values.push_back(parameter.grad().to_vector());
    parameter.zero_grad();
  }
  return values;
}

}  // namespace

TEST_CASE("transformer: sums inside the norms give the bits of separate sums", "[nn]") {
  const Tensor ids = Tensor::from(std::vector<int32_t>{1, 7, 3, 3, 0, 10, 2, 5}, {2, 4});
  const Tensor places = Tensor::from(std::vector<int32_t>{0, 1, 2, 3, 0, 1, 2, 3}, {8});
  const PackedBatch rows{2, 4, ids.view_reshape({8}), places, Tensor::arange(8, i32), Tensor::arange(8, i32)};
  for (const DType dtype : {f32, bf16}) {
    for (const auto& [name, config] : families(dtype)) {
      INFO(name << " " << name_of(dtype));
      Generator init(3);
      Transformer model(config, init);
      for (const auto& [own, parameter] : named_parameters(model)) {  // no norm is 1, no adapter 0
        if (parameter.rank() != 1 && !own.ends_with("lora_B")) continue;
        parameter.detach().copy_from(Tensor::normal(parameter.shape(), 0.5, 0.3, init, parameter.dtype()));
      }
      const auto want = values_of(model, [&] { return with_separate_sums(model, ids, places.view_slice(0, 0, 4)); });
      const auto want_packed = values_of(model, [&] {
        return reshape(with_separate_sums(model, rows.ids, rows.positions, rows), {2, 4, model.config.n_embd});
      });
      CHECK(want.size() > 10);
      for (const bool checkpoint_blocks : {false, true}) {
        INFO((checkpoint_blocks ? "checkpoint_blocks" : "one tape"));
        model.checkpoint_blocks = checkpoint_blocks;
        CHECK(values_of(model, [&] { return model.hidden(ids); }) == want);
        CHECK(values_of(model, [&] { return model.hidden(rows); }) == want_packed);
        NoGrad no_grad;
        model.set_dropout_stream(std::make_shared<Generator>(5));
        CHECK(model.hidden(ids).to_vector() == want[0]);
      }
    }
  }
}

TEST_CASE("transformer: before_part is called once per part, in order, before its backward", "[nn]") {
  for (const bool checkpoint_blocks : {false, true}) {
    Transformer model({.vocab_size = 11, .block_size = 8, .n_layer = 3, .n_head = 2, .n_embd = 16});
    model.checkpoint_blocks = checkpoint_blocks;
    std::vector<size_t> parts;
    model.before_part = [&](size_t part) { parts.push_back(part); };
    // When a part begins its backward, those behind it are complete and those before it have not begun.
    const auto complete = [&](size_t part) { return has_grad(model.h[part - 1].ln_1.weight); };
    const Tensor loss = sum(model.hidden(Tensor::arange(8, i32).view_reshape({1, 8})));
    CHECK(parts == std::vector<size_t>{0, 1, 2, 3, 4});
    parts.clear();
    model.before_part = [&](size_t part) {
      parts.push_back(part);
      for (size_t i = 1; i <= 3; ++i) CHECK(complete(i) == (i > part));
    };
    backward(loss);
    CHECK(parts == std::vector<size_t>{4, 3, 2, 1});
  }
}
