// The demonstration of lesson 13b: two forms of the same attention, the cache, and a model with latents.
// Full optimisation: it times attention.
#include <cmath>

#include "lessons/13_positions/models.h"
#include "lessons/13b_latent_attention/lesson.h"
#include "nn/variants/latent_attention.h"

namespace pg::lesson13b {
namespace {

using namespace lesson13;

// What a layer's heads attend with, of x [B, T, C].
LatentInputs inputs_of(const LatentAttention& layer, const Tensor& x) {
  const LatentAttentionConfig& c = layer.config;
  const auto split = [](const Tensor& y, int64_t heads) {
    return transpose(reshape(y, {y.size(0), y.size(1), heads, -1}), 1, 2);
  };
  const Tensor q = split(layer.q_up(x), c.heads), kv = split(layer.kv_down(x), 1);
  const int64_t d_n = c.head_size, d_c = c.kv_latent_size, d_r = c.rope_size;
  return {slice(q, 3, 0, d_n), rope(slice(q, 3, d_n, d_n + d_r), c.rope), layer.kv_norm(slice(kv, 3, 0, d_c)),
          rope(slice(kv, 3, d_c, d_c + d_r), c.rope)};
}

// The plain form: keys and values of every head at every position.
Tensor plain(const LatentInputs& in, const LatentAttention& layer) {
  const int64_t heads = in.q_nope.size(1);
  const auto split = [&](const Tensor& y) { return transpose(reshape(y, {y.size(0), y.size(1), heads, -1}), 1, 2); };
  const Tensor latent = squeeze(in.latent, 1), k_rope = expand(in.k_rope, {-1, heads, -1, -1});
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
  NoGrad guard;
  Generator random(134);
  const LatentAttentionConfig c{.heads = 8, .kv_latent_size = 64, .head_size = 32, .rope_size = 16, .bias = false};
  const LatentAttention layer(256, c, random);
  const Tensor x = Tensor::normal({2, 40, 256}, 0, 1, random);
  const LatentInputs in = inputs_of(layer, x);
  const Tensor absorbed = impl.absorbed_attention(in, layer.k_up.weight, layer.v_up.weight);
  demo.say(
      "A layer with 8 heads of 32 channels, and 16 more that are rotated. Per token it remembers 64 + 16 numbers "
      "instead of the 8·(32 + 16 + 32) of its keys and values. Plain form: make all keys and values from the latents, "
      "then attend. Absorbed form: attend to the latents.");
  demo.claim("difference of absorbed and plain form", relative_difference(absorbed, plain(in, layer)), "",
             kit::at_most(1e-6));
  demo.claim("difference from the engine's layer", relative_difference(layer.c_proj(absorbed), layer(x)), "",
             kit::at_most(1e-6));
  const int64_t keys = 4000;
  const LatentInputs long_text = inputs_of(layer, Tensor::normal({1, keys, 256}, 0, 1, random));
  const auto last = [&](const Tensor& q) { return slice(q, 2, keys - 1, keys); };
  const LatentInputs next{last(long_text.q_nope), last(long_text.q_rope), long_text.latent, long_text.k_rope};
  const double plain_ms = best_milliseconds([&] { plain(next, layer); });
  const double absorbed_ms =
      best_milliseconds([&] { impl.absorbed_attention(next, layer.k_up.weight, layer.v_up.weight); });
  demo.gap();
  demo.say(
      "One new token after {} others, with their latents in the cache: {:.2f} ms in the plain form, which makes {} "
      "keys and values again for every token, and {:.2f} ms in the absorbed form.",
      grouped(static_cast<double>(keys)), plain_ms, grouped(2.0 * 8 * static_cast<double>(keys)), absorbed_ms);
  demo.claim("times as fast, absorbed over plain", plain_ms / absorbed_ms, "x", kit::at_least(1.2));
}

void show_cache(kit::Demo& demo) {
  const TransformerConfig deep_all{.n_layer = 60, .n_head = 128, .n_embd = 5120, .dtype = bf16, .head_size = 128};
  TransformerConfig deep = deep_all;
  deep.kv_latent_size = 512;
  deep.rope_size = 64;
  deep.positions = Positions::rope;
  const double bytes = cache_bytes_per_token(deep), all = cache_bytes_per_token(deep_all);
  demo.gap();
  demo.say("DeepSeek-V2 has 128 heads, and latents of 512 + 64 numbers. Bytes that are remembered of each token:");
  demo.line("keys and values of each head {:>12}", grouped(all));
  demo.line("latents                      {:>12}   1/{:.0f}", grouped(bytes), all / bytes);
}

void show_models(kit::Demo& demo) {
  demo.heading("Three models, equal in size");
  const Stories stories = read_stories();
  demo.say(
      "The models of lesson 13, the same {} steps of {} windows of {} characters of the stories. Latent attention: "
      "Llama's parts too, but every head has keys of its own, made from 24 + 8 numbers per token. The loss is in nats "
      "per character.",
      steps_of(demo), kBatch, kContext);
  TransformerConfig latent = llama(stories);
  latent.n_kv_head = 0;
  latent.n_hidden = 168;
  latent.head_size = 16;
  latent.kv_latent_size = demo.whole("latent");
  latent.rope_size = 8;
  std::vector<Variant> variants = {variant(demo, "GPT-2", gpt2(stories)),
                                   variant(demo, "Llama's parts", llama(stories)),
                                   variant(demo, "latent attention", latent)};
  compare(demo, stories, variants);
  demo.claim("loss, latent attention over GPT-2", variants[2].loss() / variants[0].loss(), "x",
             kit::at_most(demo.full() ? 1 : 0.95));
}

void demo(kit::Demo& demo, const Impl& impl) {
  const OneThread one_thread;
  show_latent(demo, impl);
  show_cache(demo);
  show_models(demo);
}

}  // namespace
}  // namespace pg::lesson13b

int main(int argc, char** argv) {
  using namespace pg::lesson13b;
  return pg::kit::run_lesson(
      pg::kit::Lesson<Impl>{.number = "13b",
                            .folder = "lessons/13b_latent_attention",
                            .title = "latent attention",
                            .reference = reference(),
                            .checks = checks(),
                            .demo = demo,
                            .settings = {pg::kit::seed_setting(),
                                         {"latent", 24, 2, 64, "channels of the latent in the trained model", true}}},
      argc, argv);
}
