// 8-bit weights on a CUDA device: the kernel for a few rows, expanded weights for more, and whole models.
#include "autograd/int8_linear.h"
#include "nn/decode/generate.h"
#include "nn/variants/int8.h"
#include "tests/cuda/on_device.h"

using namespace pg;
using namespace pg::testing;

namespace {

Int8Weight on_device(const Int8Weight& w) { return {w.q.to(device()), w.scale.to(device())}; }

void check_case(int64_t rows, int64_t k, int64_t n, DType dtype) {
  INFO(name_of(dtype) << ", " << rows << " x " << k << " x " << n);
  const Tensor x = random({rows, k}, dtype, 1), bias = random({n}, dtype, 3);
  Tensor weight = random({n, k}, dtype, 2);
  if (n > 2) weight.view_slice(0, 1, 2).fill(0);
  const Int8Weight w = quantize_int8(weight, "w"), there = on_device(w);
  const Tensor scale = w.scale.to(f64).view_reshape({n, 1}), q = dequantized({w.q, Tensor::ones({n})}).to(f64);
  const Tensor expected = linear(x.to(f64), q * scale, bias.to(f64));
  const Tensor y = int8_linear(x.to(device()), there, bias.to(device()));
  CHECK(y.dtype() == dtype);
  CHECK(relative_error(y, expected) <= tolerance(dtype));
  CHECK(relative_error(int8_linear(x.to(device()), there), linear(x.to(f64), q * scale)) <= tolerance(dtype));
  CHECK(same_bits(dequantized(there), dequantized(w)));
  // Up to 8 rows a row does not depend on the others.
  if (rows > 1 && rows <= 8) {
    CHECK(same_bits(int8_linear(x.view_slice(0, 0, 1).to(device()), there, bias.to(device())), y.view_slice(0, 0, 1)));
  }
}

Transformer model_on_device(DType dtype) {
  Generator g(3);
  Transformer model({.vocab_size = 29, .block_size = 64, .n_layer = 2, .n_head = 2, .n_embd = 32, .dtype = dtype}, g);
  const NoGrad no_grad;
  for (const auto& [name, parameter] : named_parameters(model)) {
    if (parameter.rank() == 2) parameter.detach().copy_from(Tensor::normal(parameter.shape(), 0, 0.3, g, dtype));
  }
  model.eval();
  model.to(device());
  return model;
}

}  // namespace

TEST_CASE("CUDA int8_linear of every row count and size", "[cuda][int8]") {
  const NoGrad no_grad;
  for (const DType dtype : {f32, bf16}) {
    for (const int64_t rows : {0, 1, 2, 3, 4, 5, 7, 8, 9, 20}) check_case(rows, 64, 40, dtype);
    for (const int64_t k : {1, 7, 33, 255, 256, 257, 768}) check_case(3, k, 19, dtype);
    for (const int64_t n : {1, 2, 15, 16, 17, 65}) check_case(2, 48, n, dtype);
    for (const int64_t rows : {1, 8, 9}) {  // in exact mode a row must not depend on their number
      const Exact exact(true);
      check_case(rows, 40, 21, dtype);
    }
  }
}

TEST_CASE("CUDA int8_linear in a graph follows its inputs", "[cuda][int8]") {
  need_graphs();
  const NoGrad no_grad;
  const Int8Weight w = on_device(quantize_int8(random({24, 64}, f32, 1), "w"));
  for (const int64_t rows : {2, 12}) {
    const Tensor x = random({rows, 64}, bf16, 2).to(device());
    Tensor recorded;
    int8_linear(x, w);
    const Graph graph(device(), [&] { recorded = int8_linear(x, w); });
    for (const uint64_t seed : {7, 8}) {
      x.copy_from(random({rows, 64}, bf16, seed).to(device()));
      graph.replay();
      CHECK(same_bits(recorded, int8_linear(x, w)));
    }
  }
}

TEST_CASE("CUDA models with 8-bit weights", "[cuda][int8]") {
  const NoGrad no_grad;
  const std::vector<int32_t> text = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2, 3, 8, 4};
  const Tensor ids = Tensor::from(text, {1, std::ssize(text)});
  for (const DType dtype : {f32, bf16}) {
    Transformer model = model_on_device(dtype);
    Transformer host = model;
    host.to(Device{});
    // A decoder for the weights of before is kept; it must not be used afterwards.
    const GenerateOptions options{.max_new_tokens = 16, .greedy = true};
    generate(model, {text}, options);
    const Int8Effect effect = quantize_weights(model, text), on_host = quantize_weights(host, text);
    CHECK(effect.bytes_after == on_host.bytes_after);
    CHECK(effect.kl < 0.1);
    CHECK(relative_error(model(ids), host(ids).to(f64)) <= 2 * tolerance(dtype));
    const Generated here = generate(model, {text}, options)[0], again = generate(model, {text}, options)[0];
    const Generated expected = generate(host, {text}, options)[0];
    CHECK(again.tokens == here.tokens);
    CHECK(again.log_probs == here.log_probs);
    if (dtype != f32) continue;
    CHECK(here.tokens == expected.tokens);
    for (size_t i = 0; i < here.log_probs.size(); ++i) {
      CHECK(here.log_probs[i] == Approx(expected.log_probs[i]).margin(1e-4));
    }
  }
}

TEST_CASE("CUDA int8_linear refuses weights on another device", "[cuda][int8]") {
  const NoGrad no_grad;
  const Int8Weight w = quantize_int8(random({4, 8}, f32, 1), "w");
  const Tensor x = random({2, 8}, f32, 1).to(device());  // outside of CHECK, because device() skips the test
  CHECK(contains(error_of([&] { int8_linear(x, w); }), "move one with to(device)"));
}
