// Known mistakes of reinforcement learning systems, one test case each, at the level of rollouts and the training loop.
// Mistakes in single formulas are tested together with the formulas.
#include <cmath>

#include "rl/text/metrics.h"
#include "rl/text/models.h"
#include "rl/text/trainer.h"
#include "tests/catch.h"
#include "tests/rl/small_policy.h"

using namespace pg;
using namespace pg::rl;
using pg::testing::response;
using pg::testing::wide_policy;

namespace {}  // namespace

TEST_CASE("no id stands for padding, so an end of sequence is learned and an id 0 too", "[rl][defects]") {
  // Id 0 is used for padding. Id 10 is the end token, which also occurs in the prompt.
  const Response a = response({10, 1}, {0, 0, 10}), b = response({3}, {10});
  const std::vector<const Response*> both = {&a, &b};
  const TokenRows rows = token_rows(both);
  CHECK(rows.ids.to_vector() == std::vector<double>{10, 1, 0, 0, 3, 0, 0, 0});
  CHECK(rows.targets.to_vector() == std::vector<double>{1, 0, 0, 10, 10, 0, 0, 0});
  CHECK(rows.mask.to_vector() == std::vector<double>{0, 1, 1, 1, 1, 0, 0, 0});
  CHECK(rows.indices.to_vector() == std::vector<double>{1, 2, 3, 4});
  CHECK(rows.tokens.to_vector() == std::vector<double>{0, 0, 10, 10});
}

TEST_CASE("a response begins where its own prompt ends, not where the longest does", "[rl][defects]") {
  const auto task = make_text_task("sort", {{"length", "6"}});
  Transformer policy = wide_policy(*task);
  const std::vector<Problem> problems = testing::problems_of(*task, 10, 2);
  const Experience e = rollout(policy, *task, problems, {.samples = 2, .seed = 1});
  for (size_t i = 0; i < e.responses.size(); ++i) {
    const Response& r = e.responses[i];
    CHECK(r.prompt == problems[i / 2].prompt);
    const Response* one = &r;
    const TokenRows rows = token_rows({&one, 1});
    CHECK(rows.indices.to_vector()[0] == static_cast<double>(r.prompt.size() - 1));
    CHECK(rows.tokens.to_vector() == std::vector<double>(r.tokens.begin(), r.tokens.end()));
  }
}

TEST_CASE("two problems with the same prompt are two groups", "[rl][defects]") {
  Experience e;
  e.samples = 2;
  for (const double reward : {1.0, 3.0, 10.0, 20.0}) {
    e.responses.push_back(response({7}, {1}));
    e.responses.back().score.reward = reward;
  }
  Algorithm a;
  a.baseline = "group_mean";
  MovingBaseline moving;
  Batch batch = make_batch(e);
  CHECK(advantages(a, batch, moving).to_vector() == std::vector<double>{-1, 1, -5, 5});
}

TEST_CASE("a group of one, or one without spread, has advantages of 0 and no NaN", "[rl][defects]") {
  for (const int64_t samples : {1, 2}) {
    for (const Baseline& baseline : Baseline::table()) {
      if (!baseline.needs.group) continue;
      INFO(baseline.name);
      Experience e;
      e.samples = samples;
      for (int i = 0; i < 2; ++i) {
        e.responses.push_back(response({7}, {1, 2}));
        e.responses.back().score.per_token = {0, 0.7};
        e.responses.back().score.parts = {{"found", 0.7}};
      }
      Algorithm a;
      a.baseline = baseline;
      MovingBaseline moving;
      Batch batch = make_batch(e);
      CHECK(advantages(a, batch, moving).to_vector() == std::vector<double>{0, 0, 0, 0});
    }
  }
}

TEST_CASE("entropy, KL and clip fraction are of the policy's tokens, not of prompts and padding", "[rl][defects]") {
  const auto task = make_text_task("sort", {{"length", "6"}});
  Transformer policy = wide_policy(*task);
  const std::vector<Problem> problems = testing::problems_of(*task, 8, 2);
  const Experience e = rollout(policy, *task, problems, {.samples = 1, .seed = 1});
  const Algorithm a = algorithm("grpo");
  const auto stats = [&](int64_t rows_at_once) {  // padded to different lengths
    PolicyStats stats;
    for (size_t i = 0; i < e.responses.size(); i += static_cast<size_t>(rows_at_once)) {
      std::vector<const Response*> batch;
      for (size_t j = i; j < i + static_cast<size_t>(rows_at_once); ++j) batch.push_back(&e.responses[j]);
      const TokenRows rows = token_rows(batch);
      NoGrad no_grad;
      const TokenScores scores = score_tokens(policy, rows);
      // Old log-probabilities for which every unmasked token is clipped, and garbage where the mask is 0.
      Tensor old = scores.log_prob.clone(), advantage = Tensor::ones(old.shape());
      const auto mask = rows.mask.data<uint8_t>();
      for (size_t k = 0; k < mask.size(); ++k) {
        old.data<float>()[k] = mask[k] ? old.data<float>()[k] - 0.5F : -1e9F;
        if (!mask[k]) advantage.data<float>()[k] = 1e9F;
      }
      stats.add(a, scores.log_prob, old, scores.entropy, advantage, rows);
    }
    Metrics m;
    stats.report(a, m);
    return m;
  };
  const Metrics alone = stats(1), together = stats(8);
  CHECK(std::abs(alone.at("entropy") - std::log(16.0)) < 0.3);
  for (const auto& [name, value] : alone.values()) {
    INFO(name);
    CHECK(std::abs(together.at(name) - value) < 1e-12 * std::max(1.0, std::abs(value)));
  }
  CHECK(alone.at("clip/high") == 1);
  CHECK(std::abs(alone.at("ratio/mean") - std::exp(0.5)) < 1e-5);
}

TEST_CASE("a new policy tries everything: it does not repeat the token it read", "[rl][defects]") {
  const auto task = make_text_task("sort", {{"length", "6"}});
  Transformer policy = wide_policy(*task);
  const Tensor ids = Tensor::arange(16, i32).view_reshape({16, 1});
  const Tensor p = softmax(policy(ids));
  const std::vector<double> all = p.to_vector();
  for (size_t i = 0; i < 16; ++i) CHECK(all[i * 16 + i] < 0.2);  // 1/16 if all tokens are equally likely
}

TEST_CASE("sampling leaves the model in the mode it was in, and no tape behind", "[rl][defects]") {
  const auto task = make_text_task("sort", {{"length", "3"}});
  Transformer policy = wide_policy(*task);
  Generator g(2);
  for (const bool training : {true, false}) {
    policy.train(training);
    const Experience e = rollout(policy, *task, {task->sample(g)}, {.samples = 2});
    CHECK(policy.training == training);
    CHECK(policy.h[0].attn->training == training);
  }
  CHECK(policy(Tensor::zeros({1, 2}, i32)).requires_grad());
}

TEST_CASE("the loss that is logged is that of the whole batch, and groups reach across micro-batches",
          "[rl][defects]") {
  const auto task = make_text_task("sort", {{"length", "4"}});
  std::vector<double> losses, norms;
  for (const int64_t size : {0, 1, 3}) {  // micro-batches of 3 split groups of 4
    Transformer policy = wide_policy(*task);
    RlConfig config;
    config.algorithm = algorithm("dapo");
    config.batch = {.prompts = 4, .samples = 4, .mini_batches = 1, .micro_batch = size};
    RlTrainer trainer(policy, *task, config);
    const Metrics m = trainer.step();
    losses.push_back(m.at("loss"));
    norms.push_back(m.at("grad_norm"));
  }
  for (size_t i = 1; i < losses.size(); ++i) {
    CHECK(std::abs(losses[i] - losses[0]) < 1e-6);
    CHECK(std::abs(norms[i] / norms[0] - 1) < 1e-5);
  }
}

TEST_CASE("the loss is 0 at the first step and the gradient is not", "[rl][defects]") {
  const auto task = make_text_task("copy", {{"length", "2"}});
  Transformer policy = wide_policy(*task);
  RlConfig config;
  config.algorithm = algorithm("dr_grpo");
  config.batch = {.prompts = 16, .samples = 16};
  config.algorithm.aggregation = "sequence_mean";
  RlTrainer trainer(policy, *task, config);
  const Metrics m = trainer.step();
  CHECK(std::abs(m.at("policy_loss")) < 1e-6);  // advantages of a group add up to 0, and every ratio is 1
  CHECK(m.at("grad_norm") > 1e-3);
}
