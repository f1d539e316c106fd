// The demonstration of lesson 4, third part: generation with and without the KV cache.
// Full optimisation: it times decoding.
#include <bit>

#include "lessons/04_gpt/lesson.h"
#include "nn/decode/generate.h"
#include "tensor/base/clock.h"

namespace pg::lesson04 {
namespace {

// Number of elements whose bits differ in two f32 tensors of equal shape.
int64_t different_bits(const Tensor& a, const Tensor& b) {
  const Tensor x = a.contiguous_copy(), y = b.contiguous_copy();
  int64_t count = 0;
  for (size_t i = 0; i < x.data<float>().size(); ++i) {
    count += std::bit_cast<uint32_t>(x.data<float>()[i]) != std::bit_cast<uint32_t>(y.data<float>()[i]);
  }
  return count;
}

}  // namespace

void show_cache(kit::Demo& demo, const Impl& impl) {
  demo.heading("Remembering instead of reading again");
  NoGrad guard;
  Generator g(12);
  const int64_t room = 200, heads = 4, size = 32;
  const auto random = [&] { return Tensor::normal({1, heads, room, size}, 0, 1, g); };
  const Tensor q = random(), k = random(), v = random(), whole = pg::attention(q, k, v);
  KvCache cache(1, 1, heads, room, size, f32);
  int64_t different = 0;
  for (int64_t t = 0; t < room; ++t) {
    const auto now = [&](const Tensor& x) { return x.view_slice(2, t, t + 1); };
    different += different_bits(impl.decode(cache.slots(1)[0], now(q), now(k), now(v)), now(whole));
    cache.advance(1);
  }
  demo.say(
      "Attention over {} positions, once in one piece and once position by position from a cache: {} of {} numbers "
      "differ in any bit.",
      room, different, room * heads * size);

  Transformer model({.vocab_size = 65, .block_size = 256, .n_layer = 4, .n_head = 4, .n_embd = 128}, g);
  GenerateOptions options;
  options.max_new_tokens = 200;
  options.seed = 3;
  const std::vector<std::vector<int32_t>> prompts = {{1, 2, 3, 4}};
  double best[2] = {1e9, 1e9};
  Generated result[2];
  for (int round = 0; round < 3; ++round) {
    for (int cached = 0; cached < 2; ++cached) {
      options.kv_cache = cached == 1;
      const double start = wall_seconds();
      result[cached] = generate(model, prompts, options)[0];
      best[cached] = std::min(best[cached], wall_seconds() - start);
    }
  }
  demo.say(
      "A GPT of this size writes 200 characters: {:.0f} characters a second reading everything anew each time, {:.0f} "
      "with "
      "the cache.",
      200 / best[0], 200 / best[1]);
  demo.claim(
      "log-probabilities that differ in any bit",
      [&] {
        double count = 0;
        for (size_t i = 0; i < result[0].tokens.size(); ++i) {
          count += result[0].tokens[i] != result[1].tokens[i] || result[0].log_probs[i] != result[1].log_probs[i];
        }
        return count;
      }(),
      "of 200", kit::equals(0));
  demo.claim("times as fast with the cache", best[0] / best[1], "x", kit::at_least(2));
}

}  // namespace pg::lesson04
