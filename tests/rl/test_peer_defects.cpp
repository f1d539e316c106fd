// Mistakes of other trainers: groups that are mixed or lose their signal, first tokens that all rows share, statistics
// of the wrong dimension.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "autograd/ops.h"
#include "rl/advantages.h"
#include "rl/text/trainer.h"
#include "tests/catch.h"
#include "tests/rl/small_policy.h"

using namespace pg;
using namespace pg::rl;
using pg::testing::contains;
using pg::testing::small_policy;
using pg::testing::small_run;

namespace {

const HealthCheck& check_of(const std::vector<HealthCheck>& checks, std::string_view name) {
  const auto found = std::find_if(checks.begin(), checks.end(), [&](const HealthCheck& c) { return c.name == name; });
  REQUIRE(found != checks.end());
  return *found;
}

}  // namespace

TEST_CASE("defect: parts that cancel in their sum make every group alike without a word", "[rl][defects]") {
  const auto task = make_text_task("copy", {{"length", "2"}});
  // Part a differs in every group, and a + 2 b is always 1.
  const Judge judge = [](std::vector<Response>& all) {
    for (size_t i = 0; i < all.size(); ++i) {
      const double a = i % 2 == 0 ? 0 : 1;
      all[i].score = {.reward = 0, .parts = {{"a", a}, {"b", (1 - a) / 2}, {"c", 7}}};
    }
  };
  for (const char* name : {"grpo", "gdpo"}) {
    INFO(name);
    const bool by_parts = name == std::string("gdpo");
    Transformer policy = small_policy(*task);
    RlConfig config = small_run(name);
    config.algorithm.reward_weights = "a=1,b=2";
    config.algorithm.dynamic_sampling = true;
    RlTrainer trainer(policy, *task, config, judge);
    const Metrics m = trainer.step();
    CHECK(m.at("reward/mean") == 1);  // of the weighted parts
    CHECK(m.at("groups/alike") == 1);
    CHECK(m.at("groups/varied/a") == 1);
    CHECK(m.at("groups/varied/b") == 1);
    CHECK(m.at("groups/varied/c") == 0);
    CHECK(m.at("groups/alike_in_all_parts") == 0);
    // gdpo normalises the parts before it adds them: -z + 2 z is no constant.
    CHECK(m.at("advantage/zero") == (by_parts ? 0 : 1));
    CHECK(m.at("sampled/responses") == (by_parts ? 16 : 16 * kSamplingRounds));
    const HealthCheck& groups = check_of(trainer.health_checks(), "groups");
    CHECK(groups.ok == by_parts);
    if (!by_parts) {
      CHECK(contains(groups.why, "parts of it differ: a in 100 % of the groups, b in 100 % of the groups"));
      CHECK(!contains(groups.why, "c in"));
    }
  }
}

TEST_CASE("defect: filtering shifts the borders of groups", "[rl][defects]") {
  const auto task = make_text_task("copy", {{"length", "2"}});
  Transformer policy = small_policy(*task);
  RlConfig config = small_run("dapo");
  config.algorithm.overlong_cache = 0;  // a penalty of length would change the rewards below
  config.batch = {.prompts = 5, .samples = 3};
  // Two of three prompts earn the same with every response.
  const auto teaches = [](const Response& r) { return r.prompt[0] % 3 == 0; };
  const Judge judge = [&](std::vector<Response>& all) {
    for (size_t i = 0; i < all.size(); ++i) {
      all[i].score = {.reward = teaches(all[i]) ? static_cast<double>(i % 3) : 0.5};
    }
  };
  RlTrainer trainer(policy, *task, config, judge);
  int64_t steps = 0;
  RlHooks hooks;
  hooks.on_samples = [&](int64_t, const Experience& e, const Batch& b) {
    ++steps;
    REQUIRE(e.samples == 3);
    REQUIRE(e.responses.size() == 15);
    CHECK(b.samples == 3);
    for (size_t i = 0; i < 15; ++i) {
      CHECK(e.responses[i].prompt == e.responses[i - i % 3].prompt);
      CHECK(teaches(e.responses[i]));
      CHECK(e.responses[i].score.reward == static_cast<double>(i % 3));
      // By the deviation 1 of 0, 1, 2: the group's own mean is 1.
      const double want = (static_cast<double>(i % 3) - 1) / (1 + config.algorithm.eps);
      CHECK(of_response(b.advantage, b, i)[0] == Approx(want).epsilon(1e-12));
    }
  };
  const Metrics m = trainer.step(hooks);
  CHECK(m.at("sampled/responses") > 15);  // several rounds
  CHECK(m.at("groups/alike") == 0);
  CHECK(steps == 1);
}

TEST_CASE("defect: the first token is drawn once for all rows of a group", "[rl][defects]") {
  const auto task = make_text_task("copy", {{"length", "2"}});
  Transformer policy = small_policy(*task, {.in_proj_std = 0.5});
  Generator g(3);
  const std::vector<Problem> problems(64, task->sample(g));
  std::vector<double> p;
  {
    NoGrad no_grad;
    const std::vector<int32_t>& prompt = problems[0].prompt;
    const Tensor logits = policy(Tensor::from(prompt, {1, std::ssize(prompt)}));
    p = softmax(select(logits, 1, logits.size(1) - 1), -1).to_vector();
  }
  for (const int64_t max_rows : {0, 100}) {
    const Experience e = rollout(policy, *task, problems, {.samples = 64, .max_rows = max_rows, .seed = 9});
    std::vector<double> counts(p.size());
    for (const Response& r : e.responses) ++counts[static_cast<size_t>(r.tokens[0])];
    double chi_squared = 0;
    for (size_t i = 0; i < p.size(); ++i) {
      const double want = p[i] * 64 * 64;
      chi_squared += (counts[i] - want) * (counts[i] - want) / want;
    }
    // Its mean is the number of degrees of freedom, and its standard deviation the root of twice that. With one draw
    // for each group of 64 it would be 64 times as large.
    const auto freedom = static_cast<double>(p.size() - 1);
    INFO("chi-squared " << chi_squared << " with " << freedom << " degrees of freedom");
    CHECK(chi_squared < freedom + 5 * std::sqrt(2 * freedom));
    // Two rows of a group agree as often as independent draws do, Σ p², up to 5 standard errors.
    double agree = 0, squares = 0;
    for (size_t i = 0; i < e.responses.size(); i += 2)
      agree += e.responses[i].tokens[0] == e.responses[i + 1].tokens[0];
    for (const double x : p) squares += x * x;
    const double pairs = 64 * 32;
    CHECK(std::abs(agree / pairs - squares) < 5 * std::sqrt(squares * (1 - squares) / pairs));
  }
}

TEST_CASE("defect: with as many responses as tokens a mean is taken over the wrong dimension", "[rl][defects]") {
  const std::vector<double> x = {1, 2, 6, 4, 5, 9, 7, 0, 2};  // [3, 3]
  double mean = 0, squares = 0;
  for (const double v : x) mean += v / 9;
  for (const double v : x) squares += (v - mean) * (v - mean) / 8;
  const Tensor rewards = Tensor::from(x, {3, 3});
  const std::vector<double> by_batch = batch_std_advantage(rewards, 0.5, 1).to_vector(),
                            white = whiten(rewards, {}, 1, true, 0.5).to_vector(),
                            group = group_mean_advantage(rewards).to_vector();
  for (size_t i = 0; i < 9; ++i) {
    const size_t row = i - i % 3;
    const double of_row = (x[row] + x[row + 1] + x[row + 2]) / 3;
    CHECK(group[i] == Approx(x[i] - of_row).epsilon(1e-14));
    CHECK(by_batch[i] == Approx((x[i] - of_row) / (std::sqrt(squares) + 0.5)).epsilon(1e-14));
    CHECK(white[i] == Approx((x[i] - mean) / std::sqrt(squares + 0.5)).epsilon(1e-14));
  }
}
