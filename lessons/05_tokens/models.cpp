// The demonstration of lesson 5, second part: one GPT on characters and on tokens.
#include <algorithm>
#include <cmath>

#include "lessons/05_tokens/demo.h"
#include "lessons/kit/plot.h"
#include "nn/train/trainer.h"
#include "tasks/data/stories.h"
#include "tasks/data/text_data.h"
#include "tasks/data/tokenizer.h"
#include "tensor/base/clock.h"

namespace pg::lesson05 {
namespace {

constexpr int64_t kContext = 64, kBatch = 12;
// After so many steps the models are compared; the last one only with --full.
constexpr int64_t kMoments[] = {100, 300, 3000};
constexpr size_t kTokens = 512;

TokenBatch to_tensors(const Windows& b) {
  return {Tensor::from(b.x, {b.rows, b.length}), Tensor::from(b.y, {b.rows, b.length})};
}

// The surprise of the model at each token of the text's windows, in nats, and the tokens.
std::pair<std::vector<double>, std::vector<int32_t>> surprises(Transformer& model, std::span<const int32_t> text) {
  NoGrad guard;
  std::pair<std::vector<double>, std::vector<int32_t>> result;
  const int64_t windows = window_count(text, kContext), rows = 64;
  for (int64_t first = 0; first < windows; first += rows) {
    const Windows batch = window_batch(text, first, std::min(rows, windows - first), kContext);
    const TokenBatch tensors = to_tensors(batch);
    const Tensor logits = model(tensors.ids);
    const Tensor flat = reshape(logits, {-1, logits.size(-1)});
    for (const double x : token_log_prob(flat, reshape(tensors.targets, {-1})).first.to_vector()) {
      result.first.push_back(-x);
    }
    result.second.insert(result.second.end(), batch.y.begin(), batch.y.end());
  }
  return result;
}

// How well a model predicts the validation text.
struct Score {
  double loss = 0;  // nats per token
  double bits = 0;  // per byte
};
Score score_of(const Impl& impl, const TokenModel& text, Transformer& model) {
  const auto [nats, ids] = surprises(model, text.val);
  double sum = 0;
  for (const double x : nats) sum += x;
  return {sum / static_cast<double>(nats.size()), impl.bits_per_byte(nats, ids, text.tokens)};
}

struct Trained {
  TokenModel text;
  std::vector<Score> scores;  // at kMoments
  double took = 0;
};

Trained trained_on(kit::Demo& demo, const Impl& impl, const std::string& name, std::vector<int32_t> train,
                   std::vector<int32_t> val, std::vector<std::string> tokens) {
  const TransformerConfig config{.vocab_size = std::ssize(tokens),
                                 .block_size = kContext,
                                 .n_layer = 2,
                                 .n_head = 4,
                                 .n_embd = 64,
                                 .in_proj_std = 0.125};
  Generator generator(5);
  Trained result{{Transformer(config, generator), std::move(val), std::move(tokens)}, {}};
  TrainConfig recipe;
  recipe.max_steps = kMoments[demo.full() ? 2 : 1];
  recipe.schedule = {.lr = 3e-3, .min_lr = 3e-4, .warmup_steps = 50, .decay_steps = recipe.max_steps};
  recipe.eval_interval = recipe.checkpoint_interval = 0;
  Trainer trainer(result.text.model, recipe,
                  [&](Generator& g) { return to_tensors(random_batch(train, kBatch, kContext, g)); });
  const double start = wall_seconds();
  TrainHooks hooks;
  hooks.on_step = [&](const StepReport& report) {
    if (report.step % 10 == 0) demo.status(fmt::format("{}: step {} of {}", name, report.step, recipe.max_steps));
    if (std::find(std::begin(kMoments), std::end(kMoments), report.step) != std::end(kMoments)) {
      result.scores.push_back(score_of(impl, result.text, result.text.model));
    }
  };
  trainer.run(hooks);
  result.took = wall_seconds() - start;
  return result;
}

}  // namespace

double bits_of(const Impl& impl, const TokenModel& text, Transformer& model) {
  return score_of(impl, text, model).bits;
}

TokenModel show_models(kit::Demo& demo, const Impl& impl, const Stories& stories, const Vocabulary& vocabulary) {
  demo.heading("Characters or tokens?");
  const CharTokenizer characters(stories.text);
  std::vector<std::string> symbols;
  for (int32_t id = 0; id < characters.vocab_size(); ++id) symbols.push_back(characters.decode({&id, 1}));
  const MergeTable merges = vocabulary.table(kTokens - 256);
  const auto tokens_of = [&](std::string_view text) { return encode(impl, text, vocabulary.byte_ids, merges); };
  std::vector<std::string> tokens = vocabulary.tokens;
  tokens.resize(std::min(kTokens, tokens.size()));
  demo.say(
      "The same small GPT (2 layers, 4 heads, 64 wide), steps of {} windows of {} places: once a place holds one of {} "
      "characters, once one of {} tokens. Both are asked for {} bytes of stories that they have not read.",
      kBatch, kContext, symbols.size(), tokens.size(), stories.val().size());
  const Trained by_character = trained_on(demo, impl, "characters", characters.encode(stories.train()),
                                          characters.encode(stories.val()), symbols);
  Trained by_token =
      trained_on(demo, impl, "tokens", tokens_of(stories.train()), tokens_of(stories.val()), std::move(tokens));
  const auto pair = [&](const std::string& what, double a, double b) {
    demo.line("{}", what);
    demo.show(kit::bars({{"characters", a, fmt::format("{:.3f}", a)}, {"tokens", b, fmt::format("{:.3f}", b)}}));
    demo.gap();
  };
  const Score &a = by_character.scores[0], &b = by_token.scores[0];
  pair(fmt::format("after {} steps, loss per token in nats: the characters look better", kMoments[0]), a.loss, b.loss);
  pair("the same two models, bits per byte: the tokens are", a.bits, b.bits);
  const double bytes_per_token = b.loss / std::log(2.0) / b.bits;
  demo.say(
      "A token is {:.2f} bytes of this text on average, a character is 1. To guess a token is harder than to guess a "
      "letter, but fewer guesses are needed; and 64 places of tokens reach {:.0f} bytes back.",
      bytes_per_token, bytes_per_token * kContext);
  demo.line("             loss per token           bits per byte");
  demo.line("after steps  characters     tokens    characters     tokens");
  for (size_t i = 0; i < by_token.scores.size(); ++i) {
    const Score &c = by_character.scores[i], &t = by_token.scores[i];
    demo.line("{:11}  {:10.3f} {:10.3f}    {:10.3f} {:10.3f}", kMoments[i], c.loss, t.loss, c.bits, t.bits);
  }
  demo.line("the stories' own grammar{:35.3f}", stories_entropy_per_char() / std::log(2.0));
  demo.gap();
  demo.say(
      "Nobody gets below the grammar. Loss per token compares models of one tokenizer only: here it names another "
      "winner after 300 steps than after 100, and with --full the first one again. Bits per byte names the same winner "
      "each time. Training "
      "took {:.1f} s and {:.1f} s.",
      by_character.took, by_token.took);
  demo.claim("loss per token, tokens over characters", b.loss / a.loss, "x", kit::at_least(1.1));
  demo.claim("bits per byte, characters over tokens", a.bits / b.bits, "x", kit::at_least(1.2));
  return std::move(by_token.text);
}

}  // namespace pg::lesson05
