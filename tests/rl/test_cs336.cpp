// The functions of CS336's alignment assignment, under our names. Expected numbers are worked out by hand.
#include <cmath>

#include "autograd/ops.h"
#include "nn/train/trainer.h"
#include "rl/methods/algorithm.h"
#include "rl/methods/other_losses.h"
#include "rl/policy_loss.h"
#include "rl/text/imitation.h"
#include "rl/text/models.h"
#include "tasks/data/text_data.h"
#include "tests/catch.h"
#include "tests/rl/policies.h"

using namespace pg;
using namespace pg::rl;
using testing::check_close;
using testing::contains;
using testing::Doubles;
using testing::error_of;

namespace {

Tensor matrix(const Doubles& x, int64_t rows) { return Tensor::from(x, {rows, static_cast<int64_t>(x.size()) / rows}); }
Tensor mask_of(const std::vector<uint8_t>& x, int64_t rows) {
  return Tensor::from(x, {rows, static_cast<int64_t>(x.size()) / rows});
}
// The loss of f and its gradient by x.
std::pair<double, Doubles> with_gradient(const Doubles& x, int64_t rows,
                                         const std::function<Tensor(const Tensor&)>& f) {
  Tensor leaf = matrix(x, rows);
  leaf.set_requires_grad();
  const Tensor loss = f(leaf);
  backward(loss);
  return {loss.item(), leaf.grad().to_vector()};
}

Transformer small_model(int64_t vocab = 7) {
  Generator g(3);
  return Transformer({.vocab_size = vocab, .block_size = 16, .n_layer = 1, .n_head = 2, .n_embd = 8}, g);
}

// Two rewards to a prompt, three prompts.
rl::Batch batch_of(const Doubles& rewards, int64_t samples) {
  std::vector<std::vector<int32_t>> prompts, responses;
  std::vector<Sequence> rows;
  const std::vector<int32_t> prompt = {1, 2}, response = {3, 4};
  const std::vector<uint8_t> chosen = {1, 1};
  for (size_t i = 0; i < rewards.size(); ++i) rows.push_back({prompt, response, chosen});
  rl::Batch batch;
  static_cast<TokenRows&>(batch) = token_rows(rows);
  batch.samples = samples;
  batch.reward = reward_at_end(Tensor::from(rewards, {batch.size(), 1}), batch.mask);
  return batch;
}

// The advantage of each response.
Doubles advantages_of(const Doubles& rewards, int64_t samples, const char* baseline) {
  Algorithm a;
  a.baseline = baseline;
  rl::Batch batch = batch_of(rewards, samples);
  MovingBaseline moving;
  const Doubles all = advantages(a, batch, moving).to_vector();
  Doubles of_responses;
  const auto columns = static_cast<size_t>(batch.mask.size(1));
  for (size_t row = 0; row < rewards.size(); ++row) of_responses.push_back(all[row * columns + columns - 1]);
  return of_responses;
}

}  // namespace

TEST_CASE("CS336 tokenize_prompt_and_output: inputs without the last id and targets of the response only",
          "[rl][cs336]") {
  // "Hello, world!" twice is a prompt and an output of four tokens each; the other row is shorter.
  const std::vector<Problem> problems = {{.prompt = {9, 8, 7, 6}, .answer = {9, 8, 7, 6}},
                                         {.prompt = {5}, .answer = {4}}};
  const TokenBatch batch = sft_batch(problems);
  REQUIRE(batch.ids.shape() == Shape{2, 7});
  constexpr double none = -100;
  check_close(batch.ids, {9, 8, 7, 6, 9, 8, 7, 5, 0, 0, 0, 0, 0, 0}, 0);
  check_close(batch.targets, {none, none, none, 9, 8, 7, 6, 4, none, none, none, none, none, none}, 0);
  // The rows of reinforcement learning have the same targets and masks.
  const std::vector<uint8_t> four(4, 1), one(1, 1);
  const std::vector<Sequence> sequences = {{problems[0].prompt, problems[0].answer, four},
                                           {problems[1].prompt, problems[1].answer, one}};
  const TokenRows rows = token_rows(sequences);
  const Doubles mask = {0, 0, 0, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0};
  REQUIRE(rows.mask.shape() == Shape{2, 7});
  check_close(rows.mask, mask, 0);
  const Doubles targets = rows.targets.to_vector(), of_sft = batch.targets.to_vector();
  for (size_t i = 0; i < mask.size(); ++i) CHECK((mask[i] == 0 || targets[i] == of_sft[i]));
}

TEST_CASE("CS336 compute_entropy and get_response_log_probs", "[rl][cs336]") {
  // Odds 1:2:1, 1:1:1 and one that is certain beyond f64.
  const Tensor logits = matrix({0, std::log(2.0), 0, 5, 5, 5, 2000, 0, 0}, 3);
  const auto [log_prob, entropy] = token_log_prob(logits, Tensor::from(std::vector<int32_t>{1, 0, 0}, {3}));
  check_close(log_prob, {std::log(0.5), -std::log(3.0), 0}, 1e-12);
  check_close(entropy, {1.5 * std::log(2.0), std::log(3.0), 0}, 1e-12);

  // For a model: logit[target] - log sum exp over the vocabulary, where the mask is 1.
  const Transformer model = small_model();
  const std::vector<int32_t> prompt = {1, 2, 3}, response = {4, 5};
  const std::vector<uint8_t> chosen = {1, 1};
  const Sequence sequence{prompt, response, chosen};
  const TokenRows rows = token_rows({&sequence, 1});
  const Doubles got = score_tokens(model, rows).log_prob.to_vector();
  const Doubles of_model = model(Tensor::from(std::vector<int32_t>{1, 2, 3, 4}, {1, 4})).to_vector();
  for (size_t t = 0; t < 4; ++t) {
    double total = 0;
    for (size_t v = 0; v < 7; ++v) total += std::exp(of_model[t * 7 + v]);
    const auto target = static_cast<size_t>(rows.targets.to_vector()[t]);
    const double want = t < 2 ? 0 : of_model[t * 7 + target] - std::log(total);
    CHECK(std::abs(got[t] - want) < 1e-5);
  }
}

TEST_CASE("CS336 masked_normalize and masked_mean are aggregations", "[rl][cs336]") {
  const Tensor x = matrix({1, 2, 4, 8, 16, 32}, 2), mask = mask_of({1, 0, 1, 1, 1, 0}, 2);
  // Sum over everything / c: c = 10.
  CHECK(constant_length_mean(x, mask, {.sequences = 1, .max_length = 10}).item() == Approx((1 + 4 + 8 + 16) / 10.0));
  // Sum over each row / c, then the mean over rows.
  CHECK(constant_length_mean(x, mask, {.sequences = 2, .max_length = 10}).item() == Approx((5 + 24) / 10.0 / 2));
  // The mean over everything, and over each row and then over rows.
  CHECK(token_mean(x, mask, denominators(mask)).item() == Approx(29.0 / 4));
  CHECK(sequence_mean(x, mask, denominators(mask)).item() == Approx((2.5 + 12) / 2));
  // A row without a token has no mean: it does not count, where a masked mean over it would be NaN.
  const Tensor holes = mask_of({1, 0, 1, 0, 0, 0}, 2);
  CHECK(denominators(holes).sequences == 1);
  CHECK(sequence_mean(x, holes, denominators(holes)).item() == Approx(2.5));
  CHECK(token_mean(x, holes, denominators(holes)).item() == Approx(2.5));
  CHECK(contains(error_of([&] {
                   token_mean(x, mask_of({0, 0, 0, 0, 0, 0}, 2), denominators(mask_of({0, 0, 0, 0, 0, 0}, 2)));
                 }),
                 "token"));
  // What the mask hides may be NaN.
  const Tensor nan = matrix({1, NAN, 4, 8, 16, NAN}, 2);
  CHECK(token_mean(nan, mask, denominators(mask)).item() == Approx(29.0 / 4));
}

TEST_CASE("CS336 sft_microbatch_train_step: the loss of a constant normalizer and its gradient", "[rl][cs336]") {
  // c = 1, B = 2 rows, G = 2 micro-batches: loss sum(-lp m) / (c B G) and gradient -m / (c B G).
  const Doubles log_probs = {-1, -2, -3, -4, -5, -6};
  const std::vector<uint8_t> m = {0, 1, 1, 1, 0, 0};
  for (const double c : {1.0, 8.0}) {
    const auto [loss, gradient] = with_gradient(log_probs, 2, [&](const Tensor& lp) {
      return constant_length_mean(neg(lp), mask_of(m, 2), {.sequences = 4, .max_length = c});
    });
    CHECK(loss == Approx((2 + 3 + 4) / (c * 4)));
    check_close(gradient, {0, -1 / (c * 4), -1 / (c * 4), -1 / (c * 4), 0, 0}, 1e-12);
  }
  // Trainer's step with TrainConfig::normalizer is that loss over all micro-batches. The last has a row that learns
  // nothing, which counts as no text. So there are 3 texts and 5 targets.
  const std::vector<Problem> first = {{.prompt = {1, 2}, .answer = {3, 4, 5}}, {.prompt = {2}, .answer = {6}}};
  const std::vector<Problem> second = {{.prompt = {3}, .answer = {1}},
                                       {.prompt = {3}, .answer = {1}, .puzzle = nullptr, .action_mask = {0}}};
  const auto step = [&](double normalizer, bool packed) {
    Transformer model = small_model();
    int calls = 0;
    TrainConfig config;
    config.micro_batches = 2;
    config.normalizer = normalizer;
    Trainer trainer(model, config, [&](Generator&) {
      const auto& problems = calls++ % 2 == 0 ? first : second;
      if (!packed) return sft_batch(problems);
      std::vector<Sequence> rows;
      const static std::vector<uint8_t> all(3, 1), none(3, 0);
      for (const Problem& p : problems)
        rows.push_back({p.prompt, p.answer, std::span(p.action_mask.empty() ? all : none).first(p.answer.size())});
      return packed_batch(rows);
    });
    return trainer.step();
  };
  Transformer model = small_model();
  double nats = 0;
  for (const auto* problems : {&first, &second}) {
    for (const Problem& p : *problems) {
      if (!p.action_mask.empty()) continue;
      std::vector<int32_t> ids = p.prompt;
      ids.insert(ids.end(), p.answer.begin(), p.answer.end());
      for (size_t t = p.prompt.size(); t < ids.size(); ++t) {
        const std::vector<int32_t> before(ids.begin(), ids.begin() + static_cast<int64_t>(t));
        const Doubles logits = model(Tensor::from(before, {1, static_cast<int64_t>(t)})).to_vector();
        double total = 0;
        for (size_t v = 0; v < 7; ++v) total += std::exp(logits[logits.size() - 7 + v]);
        nats += std::log(total) - logits[logits.size() - 7 + static_cast<size_t>(ids[t])];
      }
    }
  }
  for (const bool packed : {false, true}) {
    INFO(packed);
    const StepReport mean = step(0, packed), sum = step(1, packed), tenth = step(10, packed);
    CHECK(mean.tokens == 5);
    CHECK(std::abs(mean.loss - nats / 5) < 1e-5);
    CHECK(std::abs(sum.loss - nats / 3) < 1e-5);
    CHECK(std::abs(tenth.loss - nats / 30) < 1e-6);
    CHECK(std::abs(sum.grad_norm / mean.grad_norm - 5.0 / 3) < 1e-5);
    CHECK(std::abs(sum.grad_norm / tenth.grad_norm - 10) < 1e-4);
  }
  CHECK(contains(error_of([&] { step(-1, false); }), "normalizer"));
  CHECK(contains(error_of([&] { step(NAN, false); }), "normalizer"));
}

TEST_CASE("CS336 compute_group_normalized_rewards: unbiased std or the mean alone", "[rl][cs336]") {
  // Groups (1, 2, 3, 6) and (1, 1, 1, 1). The mean of the first is 3, its unbiased variance (4 + 1 + 0 + 9) / 3.
  const Doubles rewards = {1, 2, 3, 6, 1, 1, 1, 1};
  check_close(advantages_of(rewards, 4, "group_mean"), {-2, -1, 0, 3, 0, 0, 0, 0}, 1e-12);
  const double std = std::sqrt(14.0 / 3) + 1e-6;
  check_close(advantages_of(rewards, 4, "group_std"), {-2 / std, -1 / std, 0, 3 / std, 0, 0, 0, 0}, 1e-12);
  check_close(advantages_of(rewards, 4, "none"), rewards, 0);
}

TEST_CASE("CS336 policy-gradient losses: naive, clipped and not clipped", "[rl][cs336]") {
  const Tensor log_prob = matrix({-1, -2, -3, -0.5}, 2), advantage = matrix({2, -3}, 2);
  check_close(log_prob_loss(log_prob, advantage), {2, 4, -9, -1.5}, 1e-12);
  // Ratios 1.5, 0.5, 1.1 and 1 against both signs of the advantage, clipped to [0.8, 1.2].
  const Tensor old = Tensor::zeros({2, 4}, f64);
  const Tensor now = log(matrix({1.5, 0.5, 1.1, 1, 1.5, 0.5, 1.1, 1}, 2)), a = matrix({1, -1}, 2);
  const Tensor ratio = token_ratio(now, old, {});
  check_close(clip_loss(ratio, expand(a, {2, 4}), 0.2, 0.2), {-1.2, -0.5, -1.1, -1, 1.5, 0.8, 1.1, 1}, 1e-12);
  check_close(ratio_loss(ratio, expand(a, {2, 4})), {-1.5, -0.5, -1.1, -1, 1.5, 0.5, 1.1, 1}, 1e-12);
}

TEST_CASE("CS336 compute_policy_gradient_loss: the choices of an algorithm dispatch", "[rl][cs336]") {
  // One response of two tokens to each of two prompts' groups: rewards 1, 0 and 3, 1.
  const Doubles rewards = {1, 0, 3, 1};
  const auto losses = [&](const char* baseline, const char* surrogate) {
    Algorithm a;
    a.baseline = baseline;
    a.surrogate = surrogate;
    a.ratio = std::string(surrogate) == "log_prob" ? "none" : "token";
    a.weight = "none";
    check_algorithm(a);
    rl::Batch b = batch_of(rewards, 2);
    MovingBaseline moving;
    b.advantage = advantages(a, b, moving);
    const Shape shape = b.mask.shape();
    // The prompt's column is 0; log pi of the two tokens is log 1.5 and log 0.5 above old, which is -2.
    Doubles now, old;
    for (int row = 0; row < 4; ++row) {
      for (const double r : {1.0, 1.5, 0.5})
        now.push_back(r == 1 ? 0 : -2 + std::log(r)), old.push_back(r == 1 ? 0 : -2);
    }
    b.old_log_prob = b.sampler_log_prob = Tensor::from(old, shape);
    const Doubles all = token_losses(a, Tensor::from(now, shape), b).to_vector();
    Doubles of_tokens;
    for (size_t i = 0; i < all.size(); ++i) {
      if (i % 3 != 0) of_tokens.push_back(all[i]);
    }
    return of_tokens;
  };
  const double high = -2 + std::log(1.5), low = -2 + std::log(0.5);
  check_close(losses("none", "log_prob"), {-high, -low, 0, 0, -3 * high, -3 * low, -high, -low}, 1e-12);
  // group_mean: 0.5, -0.5, 1, -1.
  check_close(losses("group_mean", "log_prob"), {-.5 * high, -.5 * low, .5 * high, .5 * low, -high, -low, high, low},
              1e-12);
  check_close(losses("group_mean", "clip"), {-.6, -.25, .75, .4, -1.2, -.5, 1.5, .8}, 1e-12);
  check_close(losses("group_mean", "ratio"), {-.75, -.25, .75, .25, -1.5, -.5, 1.5, .5}, 1e-12);
  // group_std of two rewards: (r - mean) / (|difference| / sqrt 2 + eps).
  const double first = .5 / (std::sqrt(.5) + 1e-6), second = 1 / (std::sqrt(2.0) + 1e-6);
  check_close(
      losses("group_std", "ratio"),
      {-1.5 * first, -.5 * first, 1.5 * first, .5 * first, -1.5 * second, -.5 * second, 1.5 * second, .5 * second},
      1e-12);
  const auto wrong = [&](const char* ratio, const char* surrogate) {
    Algorithm a;
    a.ratio = ratio;
    a.surrogate = surrogate;
    return error_of([&] { check_algorithm(a); });
  };
  CHECK(contains(wrong("none", "clip"), "do not go together"));
  CHECK(contains(wrong("token", "log_prob"), "do not go together"));
}

TEST_CASE("CS336 grpo_microbatch_train_step: micro-batches add up to the mean over the batch", "[rl][cs336]") {
  // Rows of 2 and 1 tokens, A = 1 and -2. G = 2 micro-batches of one row: each is -A lp / len / (B G), B G = 2.
  const Doubles log_probs = {-1, -3, -5, -7};
  const Tensor advantage = matrix({1, -2}, 2), mask = mask_of({1, 1, 0, 1}, 2);
  const Denominators total = denominators(mask);
  const auto [loss, gradient] = with_gradient(log_probs, 2, [&](const Tensor& lp) {
    return sequence_mean(log_prob_loss(lp, expand(advantage, {2, 2}), mask), mask, total);
  });
  CHECK(loss == Approx((2 - 14) / 2.0));  // row 1: (1 + 3) / 2; row 2: -2 * 7
  check_close(gradient, {-.25, -.25, 0, 1}, 1e-12);
  double parts = 0;
  for (int64_t row = 0; row < 2; ++row) {
    const Tensor lp = slice(matrix(log_probs, 2), 0, row, row + 1), m = slice(mask, 0, row, row + 1);
    const Tensor a = expand(slice(advantage, 0, row, row + 1), {1, 2});
    parts += sequence_mean(log_prob_loss(lp, a, m), m, total).item();
  }
  CHECK(parts == Approx(loss));
}

TEST_CASE("CS336 packed dataset: texts with their ends are cut into windows and a rest is left out", "[cs336]") {
  constexpr int32_t kEnd = 99;
  std::vector<int32_t> ids;
  for (const int32_t length : {3, 6, 2, 7}) {  // 18 ids and 4 ends
    for (int32_t i = 0; i < length; ++i) ids.push_back(i);
    ids.push_back(kEnd);
  }
  REQUIRE(window_count(ids, 5) == 4);  // 22 ids: 4 windows with a target for each of 5 inputs, 1 id is left
  const pg::Windows all = window_batch(ids, 0, 4, 5);
  REQUIRE((all.rows == 4 && all.length == 5));
  for (size_t i = 0; i < 20; ++i) {
    CHECK(all.x[i] == ids[i]);
    CHECK(all.y[i] == ids[i + 1]);
  }
}

TEST_CASE("CS336 per-instance DPO: -log sigmoid of beta times the difference of log-ratios", "[rl][cs336]") {
  // log-ratios 0.5 and -0.3 at beta 0.5: -log sigmoid(0.4).
  const auto one = [](double x) { return Tensor::from(Doubles{x}, {1}); };
  const DpoLoss loss = dpo_loss(one(-1), one(-4.3), one(-1.5), one(-4), {.beta = 0.5});
  check_close(loss.loss, {std::log(1 + std::exp(-0.4))}, 1e-12);
  check_close(dpo_loss(one(-1), one(-2), one(-1), one(-2), {.beta = 0.5}).loss, {std::log(2.0)}, 1e-12);
}
