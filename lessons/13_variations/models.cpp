// The demonstration of lesson 13, third part: four models of equal size learn the stories.
#include <algorithm>
#include <cmath>

#include "lessons/13_variations/demo.h"
#include "lessons/kit/plot.h"
#include "nn/train/trainer.h"
#include "tasks/data/stories.h"
#include "tensor/base/clock.h"

namespace pg::lesson13 {
namespace {

constexpr int64_t kWindows = 192;  // of the validation text

TokenBatch causal_batch(const Windows& b) {
  return {Tensor::from(b.x, {b.rows, b.length}), Tensor::from(b.y, {b.rows, b.length})};
}

struct Named {
  std::string name;
  TransformerConfig config;
};
// Equal in their parameters up to a few per cent: the widths of the MLPs make up for what attention saves.
std::vector<Named> configs(int64_t vocab_size, bool full) {
  const TransformerConfig gpt2{
      .vocab_size = vocab_size, .block_size = kContext, .n_layer = 2, .n_head = 4, .n_embd = 64, .in_proj_std = 0.125};
  TransformerConfig llama = gpt2;
  llama.bias = false;
  llama.norm = NormKind::rms;
  llama.positions = Positions::rope;
  llama.rope = Rope(100);  // 32 positions need no slower waves
  llama.mlp = MlpKind::swiglu;
  llama.n_kv_head = 1;
  llama.n_hidden = 200;
  TransformerConfig latent = llama;
  latent.n_kv_head = 0;
  latent.n_hidden = 168;
  latent.head_size = 16;
  latent.kv_latent_size = 24;
  latent.rope_size = 8;
  TransformerConfig denoiser = llama;
  denoiser.n_kv_head = 0;
  denoiser.n_hidden = 168;
  denoiser.causal = false;
  denoiser.vocab_size = vocab_size + 1;  // and the mask
  TransformerConfig rotary = gpt2;       // which of Llama's parts is it?
  rotary.positions = Positions::rope;
  rotary.rope = llama.rope;
  std::vector<Named> all = {
      {"GPT-2", gpt2}, {"Llama's parts", llama}, {"latent attention", latent}, {"masked denoiser", denoiser}};
  if (full) all.push_back({"GPT-2 with RoPE", rotary});
  return all;
}

}  // namespace

double loss_of(const Impl& impl, const Stories& stories, const Transformer& model, std::span<const int32_t> text) {
  NoGrad guard;
  Generator masks(3);
  double nats = 0;
  const int64_t count = std::min<int64_t>(kWindows, window_count(text, kContext)), rows = 64;
  for (int64_t first = 0; first < count; first += rows) {
    const TokenBatch batch = causal_batch(window_batch(text, first, std::min(rows, count - first), kContext));
    const double tokens = static_cast<double>(batch.ids.numel());
    if (model.config.causal) {
      nats += tokens * model.loss(batch.ids, batch.targets).item();
    } else {
      const MaskedTokens masked = mask_counts(batch.ids, stories.mask_id(), masks);
      nats += tokens * impl.denoising_loss(model(masked.ids), masked).item();
    }
  }
  return nats / static_cast<double>(count * kContext);
}

void train(kit::Demo& demo, const Impl& impl, const Stories& stories, Variant& variant, int64_t steps) {
  TrainConfig recipe;
  recipe.seed = 1336 + demo.seeds(1)[0];
  recipe.max_steps = steps;
  recipe.schedule = {.lr = 4e-3, .min_lr = 4e-4, .warmup_steps = 50, .decay_steps = steps};
  recipe.eval_interval = recipe.checkpoint_interval = 0;
  Trainer trainer(variant.model, recipe, [&](Generator& g) {
    TokenBatch batch = causal_batch(random_batch(stories.ids.train, kBatch, kContext, g));
    if (variant.model.config.causal) return batch;
    const MaskedTokens masked = impl.mask_tokens(batch.ids, stories.mask_id(), g);
    TokenBatch hidden{masked.ids, masked.targets};
    hidden.weights = masked.weights;
    return hidden;
  });
  const double before = variant.steps.empty() ? 0 : variant.steps.back();
  double took = 0;
  for (int64_t step = 1; step <= steps; ++step) {
    const double start = wall_seconds();
    trainer.step();
    took += wall_seconds() - start;
    if (step * 10 % steps != 0) continue;
    demo.status(fmt::format("{}: step {} of {}", variant.name, step, steps));
    variant.steps.push_back(before + static_cast<double>(step));
    variant.losses.push_back(loss_of(impl, stories, variant.model, stories.ids.val));
  }
  variant.tokens_per_second = static_cast<double>(steps * kBatch * kContext) / took;
}

std::vector<Variant> show_models(kit::Demo& demo, const Impl& impl, const Stories& stories) {
  demo.heading("Four models, equal in size");
  const int64_t steps = demo.full() ? 1200 : 200;
  demo.say(
      "Each has 2 layers, 4 heads, 64 channels and about 100,000 parameters, and sees the same {} steps of {} windows "
      "of {} characters of the stories. Llama's parts: RoPE, RMS norms, SwiGLU, one head of keys for four of queries. "
      "Latent attention: these too, but every head has keys of its own, made from 24 + 8 numbers per token. Masked "
      "denoiser: Llama's parts without the causal mask. The loss is measured on stories that no model has read, in "
      "nats per character.",
      steps, kBatch, kContext);
  std::vector<Variant> variants;
  for (const Named& one : configs(stories.tokenizer.vocab_size(), demo.full())) {
    Generator generator(4 + demo.seeds(1)[0]);
    variants.push_back({one.name, Transformer(one.config, generator), {}, {}});
    train(demo, impl, stories, variants.back(), steps);
  }
  demo.line("                   parameters     loss   training   cache, bytes");
  demo.line("                                         tokens/s      per token");
  for (Variant& v : variants) {
    const TransformerConfig& c = v.model.config;
    demo.line("{:16} {:>12} {:>8} {:>10}   {:>12}", v.name, grouped(static_cast<double>(count_parameters(v.model))),
              fmt::format("{}{:.3f}", c.causal ? "" : "<", v.loss()), grouped(v.tokens_per_second),
              c.causal ? grouped(cache_bytes_per_token(c)) : "none");
  }
  demo.line("the grammar      {:>12} {:>8.3f}", "", stories_entropy_per_char());
  demo.gap();
  std::vector<kit::Series> curves;
  for (const Variant& v : variants) curves.push_back(demo.on_band({.name = v.name, .y = v.losses, .x = v.steps}));
  demo.show(kit::line_plot(curves, {.x_label = "step", .y_label = "nats", .height = 12}));
  demo.gap();
  demo.say(
      "The last row is the stories' own entropy: no model gets below it. The denoiser's number is an upper bound (<): "
      "its loss may be lower, so this column cannot rank it. It reads all characters at once in every step, so it has "
      "no cache. Tokens per second are those of one core of this machine, just now.");
  const auto parameters = [&](size_t i) { return static_cast<double>(count_parameters(variants[i].model)); };
  double least = parameters(0), most = parameters(0);
  for (size_t i = 1; i < variants.size(); ++i) {
    least = std::min(least, parameters(i));
    most = std::max(most, parameters(i));
  }
  demo.claim("parameters, most over fewest", most / least, "x", kit::at_most(1.1));
  demo.claim("loss, Llama's parts over GPT-2", variants[1].loss() / variants[0].loss(), "x",
             kit::at_most(demo.full() ? 0.97 : 0.9));
  demo.claim("loss, latent attention over GPT-2", variants[2].loss() / variants[0].loss(), "x",
             kit::at_most(demo.full() ? 1 : 0.95));
  return variants;
}

}  // namespace pg::lesson13
