// The demonstration of lesson 14: the bound counted out on a tiny language, and masks filled step by step.
#include <algorithm>
#include <cmath>

#include "lessons/13_positions/models.h"
#include "lessons/14_denoiser/lesson.h"
#include "nn/variants/unmask.h"

namespace pg::lesson14 {
namespace {

using namespace lesson13;

// A language of six words of three letters a or b: word w has the probability kShare[w] / 16, letter i is b where
// bit i of w is set.
constexpr int64_t kWords = 8, kLetters = 3;
constexpr int32_t kShare[kWords] = {6, 0, 1, 3, 1, 0, 1, 4};
constexpr int32_t kHidden = 2;
int32_t letter(int64_t word, int64_t i) { return static_cast<int32_t>(word >> i & 1); }

// -log p(word)/3, its mean over the language: nats per letter.
double entropy() {
  double sum = 0;
  for (const int32_t n : kShare) sum -= n == 0 ? 0 : n / 16.0 * std::log(n / 16.0);
  return sum / kLetters;
}

// Logits [B, 3, 3] of the true probabilities of each letter, given the letters that are visible.
Tensor true_logits(const Tensor& ids) {
  std::vector<double> logits;
  const auto seen = ids.data<const int32_t>();
  for (int64_t row = 0; row < ids.size(0); ++row) {
    for (int64_t i = 0; i < kLetters; ++i) {
      double count[2] = {0, 0};
      for (int64_t word = 0; word < kWords; ++word) {
        bool fits = true;
        for (int64_t j = 0; j < kLetters; ++j) {
          const int32_t id = seen[static_cast<size_t>(row * kLetters + j)];
          fits = fits && (j == i || id == kHidden || id == letter(word, j));
        }
        if (fits) count[letter(word, i)] += kShare[word];
      }
      for (const double n : count) logits.push_back(n == 0 ? -50 : std::log(n));
      logits.push_back(3);  // the mask's, which must not matter
    }
  }
  return Tensor::from(logits, {ids.size(0), kLetters, 3});
}

void show_bound(kit::Demo& demo, const Impl& impl) {
  demo.heading("Easy questions count more");
  std::vector<int32_t> words;
  for (int64_t word = 0; word < kWords; ++word) {
    for (int32_t n = 0; n < kShare[word]; ++n) {
      for (int64_t i = 0; i < kLetters; ++i) words.push_back(letter(word, i));
    }
  }
  const Tensor ids = Tensor::from(words, {16, kLetters});
  Generator random(137);
  const int64_t batches = 2000;
  double with = 0, without = 0, times_t = 0;
  for (int64_t n = 0; n < batches; ++n) {
    MaskedTokens tokens = impl.mask_tokens(ids, kHidden, random);
    const Tensor logits = true_logits(tokens.ids);
    with += impl.denoising_loss(logits, tokens).item();
    const Tensor weights = tokens.weights;
    tokens.weights = Tensor::ones(weights.shape(), f64);
    without += impl.denoising_loss(logits, tokens).item();
    tokens.weights = 1.0 / weights;
    times_t += impl.denoising_loss(logits, tokens).item();
  }
  const double count = static_cast<double>(batches), h = entropy();
  demo.say(
      "A language so small that everything can be counted: six words of three letters, with known "
      "probabilities, and a denoiser that knows them. Its loss must be the language's own entropy. {} batches of 16 "
      "words with random masks, in nats per letter:",
      grouped(count));
  demo.show(kit::bars({{"entropy, counted", h, fmt::format("{:.4f}", h)},
                       {"weight 1/t", with / count, fmt::format("{:.4f}", with / count)},
                       {"weight 1", without / count, fmt::format("{:.4f}", without / count)},
                       {"weight t", times_t / count, fmt::format("{:.4f}", times_t / count)}}));
  demo.gap();
  demo.claim("weight 1/t, relative error", std::abs(with / count / h - 1), "", kit::at_most(0.02));
  demo.claim("weight 1, relative error", std::abs(without / count / h - 1), "", kit::at_least(0.2));
}

// The ids with some of the tokens masked.
Tensor with_masks(const Tensor& ids, int32_t mask_id, double share, Generator& random) {
  const Tensor result = ids.clone();
  for (int32_t& id : result.data<int32_t>()) id = random.uniform() < share ? mask_id : id;
  return result;
}

// The share of the masked tokens that `filled` has right.
double share_right(const Tensor& filled, const Tensor& ids, const Tensor& masked, int32_t mask_id) {
  const auto a = filled.to_vector(), b = ids.to_vector(), m = masked.to_vector();
  double right = 0, all = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (m[i] != mask_id) continue;
    ++all;
    right += a[i] == b[i];
  }
  return right / all;
}

// Predicts the masked characters of a text, all at once; its loss is the bound.
Variant denoiser(const kit::Demo& demo, const Impl& impl, const Stories& stories) {
  TransformerConfig config = llama(stories);
  config.n_kv_head = 0;
  config.n_hidden = 168;
  config.causal = false;
  config.vocab_size = stories.tokenizer.vocab_size() + 1;  // and the mask
  const int32_t mask = stories.mask_id();
  return variant(demo, "masked denoiser", config,
                 {[&impl, mask](const TokenBatch& windows, Generator& g) {
                    const MaskedTokens masked = impl.mask_tokens(windows.ids, mask, g);
                    TokenBatch hidden{masked.ids, masked.targets};
                    hidden.weights = masked.weights;
                    return hidden;
                  },
                  [&impl, mask](const Transformer& model, const TokenBatch& windows, Generator& g) {
                    const MaskedTokens masked = mask_counts(windows.ids, mask, g);
                    return impl.denoising_loss(model(masked.ids), masked).item();
                  }});
}

Variant show_models(kit::Demo& demo, const Impl& impl, const Stories& stories) {
  demo.heading("Two models, equal in size");
  demo.say(
      "The model with Llama's parts of lesson 13, which writes from left to right, and a masked denoiser: Llama's "
      "parts without the causal mask. Both see the same {} steps of {} windows of {} characters of the stories. The "
      "loss is in nats per character.",
      steps_of(demo), kBatch, kContext);
  std::vector<Variant> variants = {variant(demo, "Llama's parts", llama(stories)), denoiser(demo, impl, stories)};
  compare(demo, stories, variants);
  demo.gap();
  demo.say(
      "The denoiser's number is an upper bound (<): its loss may be lower, so this column cannot rank it. It reads all "
      "characters at once in every step, so it has no cache.");
  return std::move(variants[1]);
}

void show_denoiser(kit::Demo& demo, const Stories& stories, Variant& variant) {
  demo.heading("Filling the blanks");
  const double first = variant.loss();
  train(demo, stories, variant, demo.full() ? 3000 : 600);
  demo.say(
      "Now the denoiser of the table learns on, to {:.0f} steps in all. It needs more of them: a step of another "
      "model predicts every character from all those before it; the denoiser predicts a random part from another "
      "random "
      "part.",
      variant.steps.back());
  const kit::Series curve = demo.on_band({.name = "the denoiser's bound", .y = variant.losses, .x = variant.steps});
  demo.show(kit::line_plot({curve}, {.x_label = "step", .y_label = "nats", .height = 8}));
  demo.gap();
  demo.claim("bound, at the end over in the table", variant.loss() / first, "x", kit::at_most(0.97));

  Generator random(138);
  const auto window = [&](int64_t at, int64_t rows) {
    return Tensor::from(window_batch(stories.ids.val, at, rows, kContext).x, {rows, kContext});
  };
  const Tensor line = window(10, 1), hidden = with_masks(line, stories.mask_id(), 0.4, random);
  int64_t masks = 0;
  for (const double id : hidden.to_vector()) masks += id == stories.mask_id();
  UnmaskOptions options;
  options.greedy = true;
  options.steps = std::max<int64_t>(1, std::min<int64_t>(6, masks));
  demo.gap();
  demo.say(
      "A line of a story it has not read, {} of its characters masked. In each step it predicts all masks at once, "
      "and keeps those it is most sure of:",
      masks);
  demo.line("given   | {}", shown(stories, hidden));
  options.on_step = [&](int64_t step, const Tensor& ids) { demo.line("step {:2} | {}", step, shown(stories, ids)); };
  unmask(variant.model, hidden, options);
  demo.line("story   | {}", shown(stories, line));
  demo.gap();
  const Tensor ids = window(100, 128), masked = with_masks(ids, stories.mask_id(), 0.25, random);
  options = {};
  options.greedy = true;
  const double right = share_right(unmask(variant.model, masked, options), ids, masked, stories.mask_id());
  const int32_t space = stories.tokenizer.encode(" ")[0];
  const double spaces = share_right(Tensor::full(ids.shape(), space, i32), ids, masked, stories.mask_id());
  demo.say(
      "In {} lines with a quarter of the characters masked it has {:.0f} % of them right. A model that always "
      "says \" \", the most frequent character, has {:.0f} %.",
      ids.size(0), 100 * right, 100 * spaces);
  demo.claim("masked characters right, over \" \"", right / spaces, "x", kit::at_least(1.5));
  if (!demo.full()) return;
  demo.gap();
  options.steps = demo.whole("steps");
  demo.say("From an empty page, {} steps:", options.steps);
  options.on_step = [&](int64_t step, const Tensor& now) {
    if (step % 2 == 0) demo.line("step {:2} | {}", step, shown(stories, now));
  };
  unmask(variant.model, Tensor::full({1, kContext}, stories.mask_id(), i32), options);
}

void demo(kit::Demo& demo, const Impl& impl) {
  const OneThread one_thread;
  show_bound(demo, impl);
  const Stories stories = read_stories();
  Variant variant = show_models(demo, impl, stories);
  show_denoiser(demo, stories, variant);
}

}  // namespace
}  // namespace pg::lesson14

int main(int argc, char** argv) {
  using namespace pg::lesson14;
  return pg::kit::run_lesson(
      pg::kit::Lesson<Impl>{
          .number = "14",
          .folder = "lessons/14_denoiser",
          .title = "a masked denoiser",
          .reference = reference(),
          .checks = checks(),
          .demo = demo,
          .settings = {pg::kit::seed_setting(), {"steps", 16, 1, 64, "steps that write the empty page", true}}},
      argc, argv);
}
