#pragma once
// What the demonstrations of lessons 13, 13b, 13c and 14 share: small models that learn the stories.
#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "lessons/kit/demo.h"
#include "lessons/kit/plot.h"
#include "lessons/kit/value.h"
#include "nn/train/trainer.h"
#include "nn/transformer.h"
#include "tasks/data/stories.h"
#include "tasks/data/text_data.h"
#include "tasks/data/tokenizer.h"
#include "tensor/base/clock.h"
#include "tensor/base/parallel.h"

namespace pg::lesson13 {

// Models this small are not faster on several cores: their threads would mostly wait for each other.
class OneThread {
 public:
  OneThread() : before_(num_threads()) { set_num_threads(1); }
  ~OneThread() { set_num_threads(before_); }
  OneThread(const OneThread&) = delete;

 private:
  int before_;
};

// The built-in stories as characters, nine tenths to learn from.
struct Stories {
  CharTokenizer tokenizer;
  TextData ids;
  int32_t mask_id() const { return static_cast<int32_t>(tokenizer.vocab_size()); }
};
inline Stories read_stories() {
  const std::string text = generate_stories();
  CharTokenizer tokenizer(text);
  TextData ids = split_text(tokenizer.encode(text));
  return {std::move(tokenizer), std::move(ids)};
}

constexpr int64_t kContext = 32, kBatch = 24;
constexpr int64_t kWindows = 192;  // of the validation text

// GPT-2 and the same with Llama's parts, of equal size up to a few per cent: the width of the MLP makes up for what
// attention saves.
inline TransformerConfig gpt2(const Stories& stories) {
  return {.vocab_size = stories.tokenizer.vocab_size(),
          .block_size = kContext,
          .n_layer = 2,
          .n_head = 4,
          .n_embd = 64,
          .in_proj_std = 0.125};
}
inline TransformerConfig llama(const Stories& stories) {
  TransformerConfig config = gpt2(stories);
  config.bias = false;
  config.norm = NormKind::rms;
  config.positions = Positions::rope;
  config.rope = Rope(100);  // 32 positions need no slower waves
  config.mlp = MlpKind::swiglu;
  config.n_kv_head = 1;
  config.n_hidden = 200;
  return config;
}

// What a model learns of windows of a text, and its loss on them in nats per character.
struct Objective {
  std::function<TokenBatch(const TokenBatch&, Generator&)> batch;
  std::function<double(const Transformer&, const TokenBatch&, Generator&)> loss;
};
inline Objective next_character() {
  return {[](const TokenBatch& windows, Generator&) { return windows; },
          [](const Transformer& model, const TokenBatch& windows, Generator&) {
            return model.loss(windows.ids, windows.targets).item();
          }};
}
inline TokenBatch batch_of(const Windows& b) {
  return {Tensor::from(b.x, {b.rows, b.length}), Tensor::from(b.y, {b.rows, b.length})};
}

// The mean loss on the first windows of a text.
inline double loss_of(const Transformer& model, std::span<const int32_t> text, const Objective& objective) {
  NoGrad guard;
  Generator random(3);
  double nats = 0;
  const int64_t count = std::min<int64_t>(kWindows, window_count(text, kContext)), rows = 64;
  for (int64_t first = 0; first < count; first += rows) {
    const TokenBatch batch = batch_of(window_batch(text, first, std::min(rows, count - first), kContext));
    nats += static_cast<double>(batch.ids.numel()) * objective.loss(model, batch, random);
  }
  return nats / static_cast<double>(count * kContext);
}

// A model in training, and its validation loss on the way.
struct Variant {
  std::string name;
  Transformer model;
  Objective objective = next_character();
  std::vector<double> steps = {}, losses = {};  // nats per character
  double tokens_per_second = 0;
  double loss() const { return losses.back(); }
};
inline Variant variant(const kit::Demo& demo, const std::string& name, const TransformerConfig& config,
                       const Objective& objective = next_character()) {
  Generator generator(4 + demo.seeds(1)[0]);
  return {name, Transformer(config, generator), objective};
}

// `steps` training steps, the learning rate falling to a tenth. `losses` gets ten more entries.
inline void train(kit::Demo& demo, const Stories& stories, Variant& variant, int64_t steps) {
  TrainConfig recipe;
  recipe.seed = 1336 + demo.seeds(1)[0];
  recipe.max_steps = steps;
  recipe.schedule = {.lr = 4e-3, .min_lr = 4e-4, .warmup_steps = 50, .decay_steps = steps};
  recipe.eval_interval = recipe.checkpoint_interval = 0;
  Trainer trainer(variant.model, recipe, [&](Generator& g) {
    const TokenBatch windows = batch_of(random_batch(stories.ids.train, kBatch, kContext, g));
    return variant.objective.batch(windows, g);
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
    variant.losses.push_back(loss_of(variant.model, stories.ids.val, variant.objective));
  }
  variant.tokens_per_second = static_cast<double>(steps * kBatch * kContext) / took;
}
inline int64_t steps_of(const kit::Demo& demo) { return demo.full() ? 1200 : 200; }

// The largest difference, divided by the largest value of b.
inline double relative_difference(const Tensor& a, const Tensor& b) {
  return kit::relative_error(a.detach(), b.detach());
}

// "12,345"
inline std::string grouped(double x) {
  std::string digits = fmt::format("{:.0f}", x);
  for (auto at = std::ssize(digits) - 3; at > 0; at -= 3) digits.insert(static_cast<size_t>(at), 1, ',');
  return digits;
}

// Text on one line: "/" for a line end, "_" for the mask.
inline std::string shown(const Stories& stories, const Tensor& ids) {
  std::string text;
  for (const double id : ids.to_vector()) {
    const auto token = static_cast<int32_t>(id);
    const std::string c = token == stories.mask_id() ? "_" : stories.tokenizer.decode({&token, 1});
    text += c == "\n" ? "/" : c;
  }
  return text;
}

// Trains each and prints a table and the curves. Claims that they are of equal size.
inline void compare(kit::Demo& demo, const Stories& stories, std::vector<Variant>& variants) {
  for (Variant& v : variants) train(demo, stories, v, steps_of(demo));
  demo.line("                   parameters     loss   training   cache, bytes");
  demo.line("                                         tokens/s      per token");
  double least = 1e18, most = 0;
  for (Variant& v : variants) {
    const TransformerConfig& c = v.model.config;
    const double parameters = static_cast<double>(count_parameters(v.model));
    least = std::min(least, parameters);
    most = std::max(most, parameters);
    demo.line("{:16} {:>12} {:>8} {:>10}   {:>12}", v.name, grouped(parameters),
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
      "The last row is the stories' own entropy: no model gets below it. Tokens per second are those of one core of "
      "this machine, just now.");
  demo.claim("parameters, most over fewest", most / least, "x", kit::at_most(1.1));
}

}  // namespace pg::lesson13
