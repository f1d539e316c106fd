// The demonstration of lesson 13, second part: what a model remembers of a token.
// Full optimisation: it times attention.
#include <cmath>

#include "lessons/13_variations/demo.h"
#include "nn/variants/latent_attention.h"
#include "tensor/base/clock.h"

namespace pg::lesson13 {
namespace {

void show_cache(kit::Demo& demo, const std::string& name, TransformerConfig config, TransformerConfig whole) {
  const double bytes = cache_bytes_per_token(config), all = cache_bytes_per_token(whole);
  demo.line("{:44} {:>9} {:>9}   1/{:.0f}", name, grouped(bytes), grouped(all), all / bytes);
}

// What a layer's heads attend with, of x [B, T, C].
LatentInputs inputs_of(const Impl& impl, const LatentAttention& layer, const Tensor& x) {
  const LatentAttentionConfig& c = layer.config;
  const auto split = [](const Tensor& y, int64_t heads) {
    return transpose(reshape(y, {y.size(0), y.size(1), heads, -1}), 1, 2);
  };
  const Tensor q = split(layer.q_up(x), c.heads), kv = split(layer.kv_down(x), 1);
  const int64_t d_n = c.head_size, d_c = c.kv_latent_size, d_r = c.rope_size;
  return {slice(q, 3, 0, d_n), impl.rope(slice(q, 3, d_n, d_n + d_r), c.rope, {}), layer.kv_norm(slice(kv, 3, 0, d_c)),
          impl.rope(slice(kv, 3, d_c, d_c + d_r), c.rope, {})};
}

// The plain form: keys and values of every head at every position.
Tensor plain(const Impl& impl, const LatentInputs& in, const LatentAttention& layer) {
  const int64_t heads = in.q_nope.size(1);
  const auto split = [&](const Tensor& y) { return transpose(reshape(y, {y.size(0), y.size(1), heads, -1}), 1, 2); };
  const Tensor latent = squeeze(in.latent, 1), k_rope = impl.repeat_heads(in.k_rope, heads);
  const Tensor k = cat({split(layer.k_up(latent)), k_rope}, 3), v = split(layer.v_up(latent));
  const Tensor zeros = Tensor::zeros({v.size(0), heads, v.size(2), k.size(3) - v.size(3)}, v.dtype());
  const Tensor y = slice(attention(cat({in.q_nope, in.q_rope}, 3), k, cat({v, zeros}, 3)), 3, 0, v.size(3));
  return reshape(transpose(y, 1, 2), {y.size(0), y.size(2), heads * y.size(3)});
}

template <class F>
double best_milliseconds(F&& run) {
  double best = 1e9;
  for (int round = 0; round < 7; ++round) {
    const double start = wall_seconds();
    run();
    best = std::min(best, wall_seconds() - start);
  }
  return 1e3 * best;
}

void show_latent(kit::Demo& demo, const Impl& impl) {
  demo.heading("Remember a summary");
  Generator random(134);
  const LatentAttentionConfig c{.heads = 8, .kv_latent_size = 64, .head_size = 32, .rope_size = 16, .bias = false};
  const LatentAttention layer(256, c, random);
  const Tensor x = Tensor::normal({2, 40, 256}, 0, 1, random);
  const LatentInputs in = inputs_of(impl, layer, x);
  const Tensor absorbed = impl.absorbed_attention(in, layer.k_up.weight, layer.v_up.weight);
  demo.say(
      "A layer with 8 heads of 32 channels, and 16 more that are rotated. Per token it remembers 64 + 16 numbers "
      "instead of the 8·(32 + 16 + 32) of its keys and values. Plain form: make all keys and values from the latents, "
      "then attend. Absorbed form: attend to the latents.");
  demo.claim("difference of absorbed and plain form", relative_difference(absorbed, plain(impl, in, layer)), "",
             kit::at_most(1e-6));
  demo.claim("difference from the engine's layer", relative_difference(layer.c_proj(absorbed), layer(x)), "",
             kit::at_most(1e-6));
  const int64_t keys = 4000;
  const LatentInputs long_text = inputs_of(impl, layer, Tensor::normal({1, keys, 256}, 0, 1, random));
  const auto last = [&](const Tensor& q) { return slice(q, 2, keys - 1, keys); };
  const LatentInputs next{last(long_text.q_nope), last(long_text.q_rope), long_text.latent, long_text.k_rope};
  const double plain_ms = best_milliseconds([&] { plain(impl, next, layer); });
  const double absorbed_ms =
      best_milliseconds([&] { impl.absorbed_attention(next, layer.k_up.weight, layer.v_up.weight); });
  demo.gap();
  demo.say(
      "One new token after {} others, with their latents in the cache: {:.2f} ms in the plain form, which makes {} "
      "keys and values again for every token, and {:.2f} ms in the absorbed form.",
      grouped(static_cast<double>(keys)), plain_ms, grouped(2.0 * 8 * static_cast<double>(keys)), absorbed_ms);
  demo.claim("times as fast, absorbed over plain", plain_ms / absorbed_ms, "x", kit::at_least(1.2));
}

}  // namespace

void show_sharing(kit::Demo& demo, const Impl& impl) {
  demo.heading("Fewer heads to remember");
  NoGrad guard;
  demo.line("queries           0 1 2 3        0 1 2 3        0 1 2 3");
  demo.line("                  | | | |        |/  |/         |/_/_/");
  demo.line("keys and values   0 1 2 3        0   1          0");
  demo.gap();
  const TransformerConfig four{.n_layer = 2, .n_head = 4, .n_embd = 64};
  TransformerConfig two = four, one = four;
  two.n_kv_head = 2;
  one.n_kv_head = 1;
  const TransformerConfig llama_all{.n_layer = 32, .n_head = 32, .n_embd = 4096, .dtype = bf16};
  TransformerConfig llama = llama_all;
  llama.n_kv_head = 8;
  const TransformerConfig deep_all{.n_layer = 60, .n_head = 128, .n_embd = 5120, .dtype = bf16, .head_size = 128};
  TransformerConfig deep = deep_all;
  deep.kv_latent_size = 512;
  deep.rope_size = 64;
  deep.positions = Positions::rope;
  demo.say(
      "Heads of queries may share a head of keys and values, and then the cache has fewer of them. Bytes that are "
      "remembered of each token, this way and with keys and values of every head:");
  demo.line("{:44} {:>9} {:>9}   part", "", "this way", "each head");
  show_cache(demo, "ours, 4 heads of queries, 2 of keys", two, four);
  show_cache(demo, "ours, 4 heads of queries, 1 of keys", one, four);
  show_cache(demo, "Llama 3 8B, 32 heads of queries, 8 of keys", llama, llama_all);
  show_cache(demo, "DeepSeek-V2, 128 heads, latents of 512 + 64", deep, deep_all);
  demo.gap();
  demo.claim("cache, 4 heads of keys over 1", cache_bytes_per_token(four) / cache_bytes_per_token(one), "x",
             kit::equals(4));
  Generator random(133);
  const auto heads = [&](int64_t n) { return Tensor::normal({2, n, 20, 16}, 0, 1, random); };
  const Tensor q = heads(6), k = heads(2), v = heads(2);
  const Tensor copied = attention(q, impl.repeat_heads(k, 6), impl.repeat_heads(v, 6));
  demo.claim("6 heads share 2 or read copies: difference", relative_difference(copied, attention(q, k, v)), "",
             kit::at_most(1e-6));
  show_latent(demo, impl);
}

}  // namespace pg::lesson13
