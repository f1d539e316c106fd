// Reward models, DPO and expert iteration: what they read, what they leave unchanged, and that they learn.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>

#include "nn/variants/lora.h"
#include "rl/text/imitation.h"
#include "rl/text/preferences.h"
#include "tasks/data/tiny_language.h"
#include "tensor/base/random.h"
#include "tests/catch.h"
#include "tests/rl/small_policy.h"

using namespace pg;
using namespace pg::rl;
using pg::testing::response;
using pg::testing::warm_up;
using pg::testing::weights;
using pg::testing::wide_policy;

namespace {

// Chosen: sentences with a moon. Rejected: sentences without a moon. There are no intermediate cases.
std::vector<Preference> moon_pairs(size_t count, uint64_t seed) {
  Generator g(seed);
  std::vector<Preference> pairs(count);
  for (Preference& p : pairs) {
    p.prompt = {0};
    while (p.chosen.empty() || p.rejected.empty()) {
      std::vector<int32_t> sentence = tiny_sentence(g);
      const bool moon = std::count(sentence.begin(), sentence.end(), tiny_word("moon")) > 0;
      (moon ? p.chosen : p.rejected) = std::move(sentence);
    }
  }
  return pairs;
}

PreferenceConfig config_of(double lr) {
  PreferenceConfig config;
  config.schedule.lr = lr;
  return config;
}

// Experience with groups of `samples` responses that have these rewards.
Experience with_rewards(const std::vector<double>& rewards, int64_t samples) {
  Experience e;
  e.samples = samples;
  for (size_t i = 0; i < rewards.size(); ++i) {
    e.responses.push_back(response({0}, {static_cast<int32_t>(i), 0}));
    e.responses.back().score.reward = rewards[i];
  }
  return e;
}

// Calls `run` with `count` threads.
template <class F>
auto threads(int count, const F& run) {
  const testing::Threads guard(count);
  return run();
}

}  // namespace

TEST_CASE("preferences: a reward model learns to order pairs that can be told apart", "[rl][preferences]") {
  const auto task = make_text_task("keyword");
  Transformer policy = wide_policy(*task);
  Generator g(1);
  ScalarModel model(policy, 0.2, g);
  RewardModelTrainer trainer(model, moon_pairs(400, 1), config_of(3e-3));
  const std::vector<Preference> held_out = moon_pairs(200, 2);
  CHECK(trainer.accuracy(held_out) < 0.8);
  double loss = 0;
  for (int step = 0; step < 150; ++step) loss = trainer.step().at("loss");
  CHECK(trainer.accuracy(held_out) >= 0.99);
  CHECK(loss < 0.2);
}

TEST_CASE("preferences: the accuracy of a reward model is measured without dropout", "[rl][preferences]") {
  const auto task = make_text_task("keyword");
  Transformer policy = wide_policy(*task);
  Generator g(1);
  add_lora(policy, {.rank = 4, .alpha = 32, .dropout = 0.7}, g);
  ScalarModel model(policy, 0.2, g);
  RewardModelTrainer trainer(model, moon_pairs(100, 1), config_of(3e-2));
  for (int step = 0; step < 10; ++step) trainer.step();
  const std::vector<Preference> pairs = moon_pairs(50, 2);
  // One pair at a time, in eval mode.
  double higher = 0;
  {
    NoGrad no_grad;
    EvalMode eval_mode(model);
    for (const Preference& pair : pairs) {
      const std::vector<Response> both = {response(pair.prompt, pair.chosen), response(pair.prompt, pair.rejected)};
      const std::vector<double> scores = sequence_scores(model, pointers(both)).to_vector();
      higher += scores[0] > scores[1];
    }
  }
  CHECK(trainer.accuracy(pairs) == higher / 50);
  CHECK(model.training);
}

TEST_CASE("preferences: a score is read at the last token and knows neither padding nor neighbours",
          "[rl][preferences]") {
  const auto task = make_text_task("keyword");
  Transformer policy = wide_policy(*task);
  Generator g(2);
  const ScalarModel model(policy, 0.5, g);
  NoGrad no_grad;
  const std::vector<Response> all = {response({0}, {1, 6, 13, 0}), response({0, 3}, {0}),
                                     response({0}, {2, 3, 4, 12, 16, 1, 7, 19, 0})};
  const std::vector<const Response*> view = {&all[0], &all[1], &all[2]};
  const std::vector<double> together = sequence_scores(model, view).to_vector();
  for (size_t i = 0; i < all.size(); ++i) {
    CHECK(sequence_scores(model, {&view[i], 1}).to_vector()[0] == together[i]);
    std::vector<int32_t> ids = all[i].prompt;
    ids.insert(ids.end(), all[i].tokens.begin(), all[i].tokens.end());
    const auto n = static_cast<int64_t>(ids.size());
    CHECK(model(Tensor::from(ids, {1, n})).to_vector()[ids.size() - 1] == together[i]);
  }
  Response no_end = all[0];
  no_end.tokens.back() = 19;
  const Response* one = &no_end;
  CHECK(sequence_scores(model, {&one, 1}).to_vector()[0] != together[0]);  // the score depends on the end of sequence
}

TEST_CASE("preferences: log-probabilities of sequences are the sums of the sampler's, bit for bit",
          "[rl][preferences]") {
  const auto task = make_text_task("keyword");
  Transformer policy = wide_policy(*task);
  warm_up(policy, *task, 20);
  NoGrad no_grad;
  Generator g(3);
  std::vector<Problem> problems(5, task->sample(g));
  const Experience e = rollout(policy, *task, problems, {.samples = 4, .seed = 9});
  std::vector<const Response*> view;
  for (const Response& r : e.responses) view.push_back(&r);
  const Tensor sampled = sum(make_batch(e).sampler_log_prob.to(f32), {1});
  CHECK(sequence_log_probs(policy, view).to_vector() == sampled.to_vector());
}

TEST_CASE("preferences: DPO begins at ln 2 and parts chosen from rejected", "[rl][preferences]") {
  const auto task = make_text_task("keyword");
  Transformer policy = wide_policy(*task);
  warm_up(policy, *task, 60);
  DpoTrainer trainer(policy, moon_pairs(200, 3), config_of(1e-3));
  const Metrics first = trainer.step();
  CHECK(first.at("loss") == Approx(std::numbers::ln2).margin(1e-7));
  CHECK(first.at("reward/chosen") == 0);
  CHECK(first.at("reward/rejected") == 0);
  const std::vector<Preference> held_out = moon_pairs(100, 4);
  Metrics last;
  for (int step = 0; step < 80; ++step) last = trainer.step();
  CHECK(last.at("loss") < 0.6);
  CHECK(last.at("accuracy") > 0.9);
  CHECK(trainer.accuracy(held_out) > 0.9);
  CHECK(last.at("reward/chosen") > last.at("reward/rejected"));
  // A reward is β times the change of the log-probability from the reference, for chosen and rejected separately. Here
  // the rejected ones fall.
  CHECK(last.at("reward/rejected") < 0);
  CHECK(last.at("log_prob/rejected") < first.at("log_prob/rejected"));
}

TEST_CASE("preferences: labels follow the sigmoid of the difference", "[rl][preferences]") {
  const size_t pairs = 20000;
  std::vector<double> rewards;
  for (size_t i = 0; i < pairs; ++i) {
    rewards.push_back(i % 2 ? 1 : 0);
    rewards.push_back(i % 2 ? 0 : 1);
  }
  Generator g(4);
  const double noise = 0.7, p = 1 / (1 + std::exp(-1 / noise));
  const auto labels = label_pairs(with_rewards(rewards, 2), noise, g);
  REQUIRE(labels.size() == pairs);
  double right = 0, first = 0;
  for (size_t i = 0; i < pairs; ++i) {
    right += rewards[static_cast<size_t>(labels[i].chosen[0])];
    first += labels[i].chosen[0] == static_cast<int32_t>(2 * i);
  }
  const auto n = static_cast<double>(pairs);
  CHECK(std::abs(right / n - p) < 4 * std::sqrt(p * (1 - p) / n));
  CHECK(std::abs(first / n - 0.5) < 4 * std::sqrt(0.25 / n));  // no preference for the first or second response
}

TEST_CASE("preferences: without noise the better one is chosen, equals and other prompts' are left out",
          "[rl][preferences]") {
  Generator g(5);
  // Groups of three: the pairs are (0, 1) and (4, 5), because 2 and 3 answer different prompts. Then equal rewards.
  const auto pairs = label_pairs(with_rewards({1, 3, 9, 0, 2, 1}, 3), 0, g);
  REQUIRE(pairs.size() == 2);
  CHECK(pairs[0].chosen[0] == 1);
  CHECK(pairs[0].rejected[0] == 0);
  CHECK(pairs[1].chosen[0] == 4);
  CHECK(pairs[1].rejected[0] == 5);
  CHECK(label_pairs(with_rewards({2, 2}, 2), 0, g).empty());
  CHECK(label_pairs(with_rewards({2, 2}, 2), 1, g).empty());
}

TEST_CASE("preferences: a judge pays a deviation above what it was normalised over and keeps the task's reward",
          "[rl][preferences]") {
  const auto task = make_text_task("keyword");
  Transformer policy = wide_policy(*task);
  Generator g(6);
  const ScalarModel model(policy, 0.5, g);
  std::vector<Response> all = {response({0}, {1, 6, 13, 0}), response({0}, {2, 12, 15, 0}), response({0}, {0})};
  for (size_t i = 0; i < all.size(); ++i) all[i].score.reward = static_cast<double>(i);
  const RewardModelJudge judge(model, all);
  judge(all);
  double sum = 0, squares = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    sum += all[i].score.reward;
    squares += all[i].score.reward * all[i].score.reward;
    CHECK(all[i].score.parts[1].second == static_cast<double>(i));
  }
  CHECK(std::abs(sum) < 1e-9);
  CHECK(squares / 3 == Approx(1));
}

TEST_CASE("expert iteration raises the solved share, but not if the rewards are shuffled", "[rl][preferences]") {
  const std::string name = GENERATE("sort", "copy");
  const bool shuffled = GENERATE(false, true);
  const auto task = make_text_task(name, {{"length", "3"}});
  Transformer policy = wide_policy(*task);
  warm_up(policy, *task, 60);
  const ExpertIterationConfig config{.lr = 3e-3, .shuffle_rewards = shuffled};
  double first = 0, last = 0;
  for (int64_t i = 0; i < 10; ++i) {
    const Metrics m = expert_iteration(policy, *task, config, i);
    (i == 0 ? first : last) = m.at("solved");
    if (m.at("solved") > 0) CHECK(m.at("kept") > 0);
  }
  INFO(name << ": " << first << " to " << last << (shuffled ? " with shuffled rewards" : ""));
  if (shuffled) {
    CHECK(last < first + 0.1);
  } else {
    CHECK(last > first + 0.2);
  }
}

TEST_CASE("expert iteration: of several turns only the policy's tokens are imitated", "[rl][preferences]") {
  const auto task = make_text_task("adventure", {{"rooms", "3"}});
  Transformer policy = wide_policy(*task);
  warm_up(policy, *task, 100);
  // With a learning rate of 0 the loss is that of the policy itself, on the distinct right responses of the rollout.
  const ExpertIterationConfig config{.problems = 64, .samples = 16, .epochs = 1, .batch = 1024, .lr = 0};
  Generator draws = random_stream(config.seed, 3);
  std::vector<Problem> problems;
  for (int64_t i = 0; i < config.problems; ++i) problems.push_back(task->sample(draws));
  const Experience seen = rollout(policy, *task, problems,
                                  {.samples = config.samples,
                                   .seed = random_stream(config.seed, ~uint64_t{0}).seed(),
                                   .first_row = uint64_t{3} << 32});
  double sum = 0, own = 0, of_environment = 0;
  std::set<std::pair<std::vector<int32_t>, std::vector<int32_t>>> kept;
  for (const Response& r : seen.responses) {
    if (!r.score.solved || !kept.emplace(r.prompt, r.tokens).second) continue;
    const Response* one = &r;
    for (const double x : score_tokens(policy, token_rows({&one, 1})).log_prob.to_vector()) sum += x;
    own += static_cast<double>(r.length());
    of_environment += static_cast<double>(std::ssize(r.tokens) - r.length());
  }
  REQUIRE(of_environment > 5);
  const Metrics metrics = expert_iteration(policy, *task, config, 3);
  CHECK(metrics.at("kept") == static_cast<double>(kept.size()));
  CHECK(metrics.at("sft_loss") == Approx(-sum / own));
}

TEST_CASE("expert iteration leaves the policy alone when nothing is solved", "[rl][preferences]") {
  const auto task = make_text_task("sort", {{"length", "12"}});
  Transformer policy = wide_policy(*task);
  const std::vector<double> before = weights(policy);
  const Metrics m = expert_iteration(policy, *task, {.problems = 4, .samples = 2}, 0);
  REQUIRE(m.at("solved") == 0);
  CHECK(m.at("kept") == 0);
  CHECK_FALSE(m.has("sft_loss"));
  CHECK(weights(policy) == before);
}

TEST_CASE("preferences: a stop waited for the end of the step", "[rl][preferences]") {
  const auto task = make_text_task("keyword");
  PreferenceConfig config = config_of(1e-3);
  config.micro_batch = 8;  // four of them
  const auto dpo = [&](bool stopped) {
    Transformer policy = wide_policy(*task);
    DpoTrainer trainer(policy, moon_pairs(64, 1), config);
    for (int step = 0; step < 3; ++step) {
      int asked = 0;
      if (stopped) CHECK(trainer.step([&] { return ++asked == 2; }).values().empty());
      trainer.step();
    }
    return weights(policy);
  };
  CHECK(dpo(true) == dpo(false));
  const auto reward_model = [&](bool stopped) {
    Transformer policy = wide_policy(*task);
    Generator g(7);
    ScalarModel model(policy, 0.2, g);
    RewardModelTrainer trainer(model, moon_pairs(64, 1), config);
    trainer.step();
    if (stopped) CHECK(trainer.step([] { return true; }).values().empty());
    trainer.step();
    return weights(model);
  };
  CHECK(reward_model(true) == reward_model(false));

  const auto sort = make_text_task("sort", {{"length", "2"}});
  Transformer policy = wide_policy(*sort);
  warm_up(policy, *sort, 30);
  const auto before = weights(policy);
  int asked = 0;
  const auto soon = [&] { return ++asked > 1; };
  CHECK(expert_iteration(policy, *sort, {}, 0, nullptr, soon, soon).values().empty());
  CHECK(asked < 8);
  CHECK(weights(policy) == before);
}

TEST_CASE("preferences: the same seed gives the same bits for one thread and for two", "[rl][preferences]") {
  const auto task = make_text_task("keyword");
  const auto reward_model = [&] {
    Transformer policy = wide_policy(*task);
    Generator g(7);
    ScalarModel model(policy, 0.2, g);
    RewardModelTrainer trainer(model, moon_pairs(64, 1), config_of(1e-3));
    for (int step = 0; step < 5; ++step) trainer.step();
    return weights(model);
  };
  const auto dpo = [&] {
    Transformer policy = wide_policy(*task);
    DpoTrainer trainer(policy, moon_pairs(64, 1), config_of(1e-3));
    for (int step = 0; step < 5; ++step) trainer.step();
    return weights(policy);
  };
  const auto expert = [] {
    const auto sort = make_text_task("sort", {{"length", "2"}});
    Transformer policy = wide_policy(*sort);
    warm_up(policy, *sort, 30);
    REQUIRE(expert_iteration(policy, *sort, {}, 0).at("kept") > 0);
    return weights(policy);
  };
  CHECK(threads(1, reward_model) == threads(2, reward_model));
  CHECK(threads(1, dpo) == threads(2, dpo));
  CHECK(threads(1, expert) == threads(2, expert));
  CHECK(threads(2, reward_model) == threads(2, reward_model));
}
