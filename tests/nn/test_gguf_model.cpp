// Models in GGUF files: what other programs read wrong.
#include <cmath>

#include "nn/files/pretrained.h"
#include "tests/nn/gguf_model.h"
#include "tests/nn/lora_case.h"

using namespace pg;
using namespace pg::testing;
using pg::testing::lora::logits_of;

namespace {

const Tensor& ids() {
  static const Tensor all = [] {
    const Tensor x = Tensor::empty({2, 8}, i32);
    for (int64_t i = 0; i < 16; ++i) x.data<int32_t>()[static_cast<size_t>(i)] = static_cast<int32_t>(i * 7 % 11);
    return x;
  }();
  return all;
}

// The divisors that llama.cpp writes for Llama 3.1 and later (generate_extra_tensors in convert_hf_to_gguf.py), with
// low_freq_factor 1, high_freq_factor 4 and 8192 original positions.
Tensor llama3_divisors(double factor, double base, int64_t head_size) {
  std::vector<float> all;
  for (int64_t i = 0; i < head_size / 2; ++i) {
    const double wave = 2 * M_PI * std::pow(base, static_cast<double>(2 * i) / static_cast<double>(head_size));
    double divisor = factor;
    if (wave < 8192.0 / 4) divisor = 1;
    if (wave >= 8192.0 / 4 && wave <= 8192.0) {
      const double smooth = (8192 / wave - 1) / (4 - 1);
      divisor = 1 / ((1 - smooth) / factor + smooth);
    }
    all.push_back(static_cast<float>(divisor));
  }
  return Tensor::from(all, {std::ssize(all)});
}

}  // namespace

TEST_CASE("gguf: rows of grouped heads were put back by the wrong number of heads", "[nn][pretrained]") {
  const TempDir dir;
  const TransformerConfig c = small_llama(32, 4, 128);
  Generator g(4);
  Transformer model(c, g);
  write_bytes(dir.file("model.gguf"), gguf_of(model));
  Transformer got = load_pretrained(dir.file("model.gguf"));
  CHECK(got.config.n_head == 32);
  CHECK(got.config.kv_heads() == 4);
  CHECK(equal_values(logits_of(got, ids()), logits_of(model, ids())));
}

TEST_CASE("gguf: a file without output.weight has no head of its own, one with it keeps that", "[nn][pretrained]") {
  const TempDir dir;
  const std::string file = dir.file("model.gguf");
  Generator g(4);
  Transformer model(small_llama(), g);
  const Tensor expected = logits_of(model, ids());
  write_bytes(file, gguf_of(model));
  Transformer tied = load_pretrained(file);
  CHECK(tied.config.tied);
  CHECK(equal_values(logits_of(tied, ids()), expected));
  write_bytes(file, gguf_of(model, {{"output", model.wte.weight.detach()}}));  // an equal copy
  Transformer copy = load_pretrained(file);
  CHECK(!copy.config.tied);
  CHECK(equal_values(logits_of(copy, ids()), expected));
  write_bytes(file, gguf_of(model, {{"output", model.wte.weight.detach() * 2}}));
  Transformer other = load_pretrained(file);
  CHECK(equal_values(logits_of(other, ids()), logits_of(model, ids()) * 2));
}

TEST_CASE("gguf: the frequencies of rope_freqs.weight were ignored", "[nn][pretrained]") {
  const TempDir dir;
  const std::string file = dir.file("model.gguf");
  TransformerConfig c = small_llama(2, 1, 128);  // heads of 64 channels, as in Llama 3.2 1B
  c.rope = Rope(500000);
  Generator g(4);
  Transformer plain(c, g);
  for (const double factor : {8.0, 32.0}) {  // of Llama 3.1 and 3.2
    c.rope.factor = factor;
    Transformer model = Transformer::zeros(c);
    load_state_dict(model, state_dict(plain));
    write_bytes(file, gguf_of(model, {{"rope_freqs", llama3_divisors(factor, 500000, 64)}}, 500000));
    Transformer got = load_pretrained(file);
    CHECK(got.config.rope == c.rope);
    CHECK(equal_values(logits_of(got, ids()), logits_of(model, ids())));
    CHECK(!equal_values(logits_of(got, ids()), logits_of(plain, ids())));
  }
  const auto refused = [&](const Tensor& divisors) {
    write_bytes(file, gguf_of(plain, {{"rope_freqs", divisors}}, 500000));
    return error_of([&] { load_pretrained(file); });
  };
  CHECK(contains(refused(Tensor::full({32}, 2.0)), "are not those of Llama 3"));  // a linear scaling
  CHECK(contains(refused(llama3_divisors(32, 500000, 32)), "'rope_freqs.weight' must be [32], it is [16]"));
  CHECK(contains(refused(Tensor::ones({32, 1})), "'rope_freqs.weight' must be [32], it is [32, 1]"));
}
