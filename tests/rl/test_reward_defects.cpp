// Mistakes of rewards on their way to advantages, one test case each: rewards that are lost, penalties that are learned
// from where there is nothing to learn, and rounding that is taken for a difference.
#include <cmath>

#include "nn/train/trainer.h"
#include "rl/text/imitation.h"
#include "rl/text/trainer.h"
#include "tests/catch.h"
#include "tests/rl/policies.h"
#include "tests/rl/small_policy.h"

using namespace pg;
using namespace pg::rl;
using testing::check_close;
using testing::contains;
using testing::Doubles;
using testing::error_of;
using testing::groups_of_four;
using testing::small_policy;

namespace {

// What the update of one step gets.
Batch batch_of_step(RlTrainer& trainer, Metrics* metrics = nullptr) {
  Batch batch;
  RlHooks hooks;
  hooks.on_samples = [&](int64_t, const Experience&, const Batch& b) { batch = b; };
  const Metrics m = trainer.step(hooks);
  if (metrics) *metrics = m;
  return batch;
}

// A response of two turns: the policy's tokens 0, 1, 3, 4, and the environment's 2 and 5.
Response turns(const Doubles& rewards) {
  Response r;
  r.prompt = {7, 8};
  r.tokens = {1, 10, 14, 2, 10, 15};
  r.action_mask = {1, 1, 0, 1, 1, 0};
  r.score.per_token = rewards;
  return r;
}

Doubles advantages_of(const Response& r, Algorithm a) {
  Batch batch = make_batch({.responses = {r}});
  batch.value = Tensor::zeros(batch.mask.shape(), f64);  // for the critic
  MovingBaseline moving;
  const Tensor all = advantages(a, batch, moving);
  return of_response(all, batch, 0);
}

}  // namespace

TEST_CASE("defect: a group with equal rewards learns from the length of its responses", "[rl][defects]") {
  const auto task = make_text_task("sort", {{"length", "5"}});
  for (const char* name : {"dapo", "high_entropy"}) {
    INFO(name);
    Transformer policy = small_policy(*task);
    RlConfig config = groups_of_four(name, 8);
    config.unfinished_penalty = 0.5;
    RlTrainer trainer(policy, *task, config, [](std::vector<Response>& all) {
      for (Response& r : all) r.score = {.reward = 0.25};
    });
    Metrics metrics;
    const Batch batch = batch_of_step(trainer, &metrics);
    const Doubles shaped = sum(batch.reward, {1}).to_vector();
    CHECK(*std::min_element(shaped.begin(), shaped.end()) < *std::max_element(shaped.begin(), shaped.end()));
    CHECK(metrics.at("groups/alike") == 1);
    CHECK(metrics.at("grad_norm") == 0);
    CHECK(metrics.at("advantage/zero") == 1);
  }
}

TEST_CASE("defect: groups without a signal take part in the whitening of those that have one", "[rl][defects]") {
  const auto task = make_text_task("sort", {{"length", "5"}});
  Transformer policy = small_policy(*task);
  RlConfig config = groups_of_four("dapo", 8);
  config.batch = {.prompts = 12, .samples = 4};
  config.algorithm.whiten = true;
  config.unfinished_penalty = 0.5;
  // In each of the eight rounds the first group has a signal, so four of twelve groups have none in the end.
  RlTrainer trainer(policy, *task, config, [](std::vector<Response>& all) {
    for (size_t i = 0; i < all.size(); ++i) all[i].score = {.reward = i < 2 ? 1.0 : 0.0};
  });
  const Batch batch = batch_of_step(trainer);
  REQUIRE(batch.size() == 48);
  const Doubles advantage = batch.advantage.to_vector(), mask = batch.mask.to_vector();
  const size_t columns = mask.size() / 48;
  double sum = 0, squares = 0, tokens = 0;
  for (size_t i = 0; i < mask.size(); ++i) {
    if (mask[i] == 0) continue;
    if (i / columns / 4 >= 8) {
      CHECK(advantage[i] == 0);
    } else {
      CHECK(advantage[i] != 0);
      sum += advantage[i], squares += advantage[i] * advantage[i], ++tokens;
    }
  }
  CHECK(std::abs(sum / tokens) < 1e-12);
  CHECK(squares / (tokens - 1) == Approx(1).epsilon(1e-6));
}

TEST_CASE("defect: a reward on an environment's token is lost on its way to the policy", "[rl][defects]") {
  Algorithm a;
  a.gamma = 0.5;
  const Response r = turns({0, 0, 0.5, 0, 0, 1});
  CHECK(advantages_of(r, a) == Doubles{1.5, 1.5, 0, 1.5, 1.5, 0});
  a.credit = "token";
  CHECK(advantages_of(r, a) == Doubles{0, 0.5, 0, 0, 1, 0});
  // Later tokens of the policy discount it, those of the environment do not.
  a.credit = "to_go";
  const Doubles to_go = {0.375, 0.75, 0, 0.5, 1, 0};
  CHECK(advantages_of(r, a) == to_go);
  a.baseline = "critic";
  a.lambda = 1;  // and all values are 0
  CHECK(advantages_of(r, a) == to_go);
  // It is added to what the policy's token has itself.
  a = {};
  a.credit = "token";
  CHECK(advantages_of(turns({0, 0.25, 0.5, 0, 0, 0}), a) == Doubles{0, 0.75, 0, 0, 0, 0});

  Response before = r;
  before.action_mask = {0, 1, 1, 1, 1, 1};
  before.score.per_token = {2, 0, 0, 0, 0, 0};
  CHECK(
      contains(error_of([&] { advantages_of(before, a); }),
               "response 0 has a reward of 2 at position 1, which is before the first token that the policy sampled"));
  Batch padded = make_batch({.responses = {r, turns({0, 0, 0, 0, 0, 0})}});
  padded = rows_of(padded, std::vector<size_t>{0, 1});
  padded.lengths[0] = 6;  // the last column is padding
  MovingBaseline moving;
  CHECK(contains(error_of([&] { advantages(a, padded, moving); }), "position 6, which is padding"));
}

TEST_CASE("defect: a right answer as long as the limit is punished for its length", "[rl][defects]") {
  const auto task = make_text_task("copy", {{"length", "2"}});  // "42=" -> "42." needs all of the three tokens
  REQUIRE(task->max_response() == 3);
  Transformer policy = small_policy(*task);
  {
    Trainer imitation(policy, {.max_steps = 120, .schedule = {.kind = Schedule::Kind::constant, .lr = 5e-3}},
                      sft_batches(*task, 64));
    while (imitation.steps() < 120) imitation.step();
  }
  RlConfig config = groups_of_four("dapo", 8);
  config.batch = {.prompts = 32, .samples = 8};
  config.algorithm.dynamic_sampling = false;
  config.temperature = 1.5;
  RlTrainer trainer(policy, *task, config);
  RlHooks hooks;
  double right = 0, wrong = 0, cut = 0, too_long = 0;
  hooks.on_samples = [&](int64_t, const Experience& e, const Batch& batch) {
    const Doubles shaped = sum(batch.reward, {1}).to_vector();
    for (size_t i = 0; i < e.responses.size(); ++i) {
      const Response& r = e.responses[i];
      const int64_t answer = std::ssize(r.prompt);  // as many digits, and the end in place of "="
      const bool allowed = r.score.solved || (r.finished && r.length() <= answer);
      const double penalty = r.length() == 3 && !allowed ? 1 : 0;  // the last fifth of three tokens is one
      CHECK(shaped[i] == Approx(r.score.reward - penalty).margin(1e-12));
      if (r.length() < 3) continue;
      right += r.score.solved;
      wrong += !r.score.solved && allowed;
      cut += !r.finished;
      too_long += r.finished && !allowed;
    }
  };
  trainer.step(hooks);
  CHECK(right > 0);
  CHECK(wrong > 0);
  CHECK(cut > 0);
  CHECK(too_long > 0);
}

TEST_CASE("defect: rewards that differ by rounding alone are taken for different ones", "[rl][defects]") {
  const double one = std::nextafter(1.0, 2.0), sum = 0.1 + 0.2;
  REQUIRE(sum != 0.3);
  const Tensor rewards = Tensor::from<double>({1, one, 0.3, sum}, {2, 2});
  check_close(group_std_advantage(rewards, 0), {0, 0, 0, 0}, 0);
  check_close(groups_with_signal(rewards), {0, 0}, 0);
  check_close(gpg_advantage(Tensor::from<double>({1, one, 0, 1}, {2, 2})), {0, 0, -1, 1}, 1e-15);
  // What is far above rounding is a difference, however small.
  const Tensor close = Tensor::from<double>({1, 1 + 1e-6}, {1, 2});
  check_close(group_std_advantage(close, 0), {-std::sqrt(0.5), std::sqrt(0.5)}, 1e-9);
  check_close(groups_with_signal(close), {1}, 0);
}

TEST_CASE("defect: a response without tokens changes the advantage of its siblings", "[rl][defects]") {
  Experience e;
  e.samples = 2;
  for (const uint8_t chosen : {1, 0}) {
    Response r;
    r.prompt = {7};
    r.tokens = {1};
    r.action_mask = {chosen};
    r.score.per_token = {chosen ? 1.0 : 0.0};
    e.responses.push_back(r);
  }
  Batch batch;
  static_cast<TokenRows&>(batch) = token_rows(pointers(e.responses));
  batch.samples = 2;
  batch.reward = Tensor::from<double>({1, 100}, {2, 1});
  MovingBaseline moving;
  for (const char* baseline : {"group_mean", "leave_one_out", "group_std"}) {
    Algorithm a;
    a.baseline = baseline;
    CHECK(contains(error_of([&] { advantages(a, batch, moving); }), "the policy sampled no token of response 1"));
  }
}
