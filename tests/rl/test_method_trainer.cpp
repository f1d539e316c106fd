// The trainer with the parts of a reward weighted, with a reference that averages the policy, and with the controls
// that a baseline over parts cannot have.
#include <cmath>

#include "nn/files/checkpoint.h"
#include "rl/text/imitation.h"
#include "rl/text/trainer.h"
#include "tests/catch.h"
#include "tests/rl/small_policy.h"

using namespace pg;
using namespace pg::rl;
using pg::testing::contains;
using pg::testing::error_of;
using pg::testing::small_policy;
using pg::testing::TempDir;
using pg::testing::values_of;

namespace {

RlConfig small(const char* name) {
  RlConfig config = testing::groups_of_four(name, 6);
  config.schedule.lr = 3e-3;
  config.eval_interval = 0;
  return config;
}

// A step in which `check` looks at the rollout before the update.
Metrics step_with(const RlConfig& config, const TextTask& task,
                  const std::function<void(const Experience&, const Batch&)>& look) {
  Transformer policy = small_policy(task, {.in_proj_std = 0.18});
  RlTrainer trainer(policy, task, config);
  RlHooks hooks;
  hooks.on_samples = [&](int64_t, const Experience& e, const Batch& b) { look(e, b); };
  return trainer.step(hooks);
}

}  // namespace

TEST_CASE("rl methods: reward-weights weigh the parts of the reward", "[rl][rl_trainer]") {
  const auto task = make_text_task("keyword", {{"length-penalty", "0.1"}});
  for (const auto& [text, moons, length] :
       {std::tuple{"", 1.0, 1.0}, {"moons=2,length=-3", 2.0, -3.0}, {"length=0.5", 0.0, 0.5}}) {
    INFO("weights \"" << text << "\"");
    RlConfig config = small("reinforce");
    config.algorithm.reward_weights = text;
    double total = 0, parts_differ = 0;
    const Metrics metrics =
        step_with(config, *task, [&, moons = moons, length = length](const Experience& e, const Batch& b) {
          for (size_t i = 0; i < e.responses.size(); ++i) {
            const auto& parts = e.responses[i].score.parts;
            REQUIRE(parts.size() == 2);
            REQUIRE(parts[0].first == "moons");
            const double want = moons * parts[0].second + length * parts[1].second;
            CHECK(std::abs(e.responses[i].score.reward - want) < 1e-12);
            const auto row = static_cast<int64_t>(i);
            CHECK(std::abs(sum(b.reward.view_slice(0, row, row + 1)).item() - want) < 1e-12);
            total += want;
            parts_differ += parts[0].second != 0 && parts[1].second != 0;
          }
        });
    CHECK(std::abs(metrics.at("reward/mean") - total / 24) < 1e-12);
    CHECK(total != 0);
    CHECK(parts_differ > 0);
  }
  RlConfig config = small("reinforce");
  config.algorithm.reward_weights = "moon=2";
  const std::string error = error_of([&] { step_with(config, *task, [](const Experience&, const Batch&) {}); });
  CHECK(contains(error, "moon"));
  CHECK(contains(error, "moons"));
  CHECK(contains(error, "length"));
}

TEST_CASE("rl methods: gdpo compares the parts of the reward with their weights", "[rl][rl_trainer]") {
  const auto task = make_text_task("keyword", {{"length-penalty", "0.1"}});
  RlConfig config = small("gdpo");
  config.algorithm.reward_weights = "moons=1,length=0.25";
  step_with(config, *task, [&](const Experience&, const Batch& b) {
    std::vector<Tensor> groups;
    for (const Tensor& part : b.parts) groups.push_back(part.view_reshape({6, 4}));
    const Algorithm& a = config.algorithm;
    const std::vector<double> want = gdpo_advantage(groups, {1, 0.25}, a.eps, a.ddof).to_vector();
    double largest = 0;
    for (size_t i = 0; i < want.size(); ++i) {
      const size_t first = static_cast<size_t>(b.prompts[i]) - 1;  // of the row's tokens
      CHECK(b.advantage.to_vector()[i * static_cast<size_t>(b.advantage.size(1)) + first] == want[i]);
      largest = std::max(largest, std::abs(want[i]));
    }
    CHECK(largest > 0.1);
  });
  const auto refused = [&](auto change) {
    RlConfig changed = small("gdpo");
    change(changed);
    return contains(error_of([&] { check_config(changed); }), "baseline gdpo compares the parts of the reward");
  };
  CHECK(refused([](RlConfig& c) { c.shuffle_rewards = true; }));
  CHECK(refused([](RlConfig& c) { c.unfinished_penalty = 0.5; }));
  CHECK(refused([](RlConfig& c) { c.log_prob_credit = 0.1; }));
  check_config(config);
}

// ref_n = d^n θ_0 + (1 - d) Σ_k d^(n-k) θ_k, with θ_k the policy after step k.
TEST_CASE("rl methods: an ema reference is the average of the policy's weights", "[rl][rl_trainer]") {
  TempDir dir;
  const auto task = make_text_task("sort", {{"length", "2"}});
  constexpr double d = 0.75;
  constexpr int n = 4;
  RlConfig config = small("grpo_two_sided");
  config.algorithm.reference = "ema";
  config.algorithm.reference_decay = d;
  config.steps = n;
  Transformer policy = small_policy(*task, {.in_proj_std = 0.18});
  std::vector<double> want = values_of(state_dict(policy));
  const std::vector<double> start = want;
  RlTrainer trainer(policy, *task, config);
  for (double& w : want) w *= std::pow(d, n);
  for (int k = 1; k <= n; ++k) {
    const Metrics metrics = trainer.step();
    CHECK((metrics.at("ref_kl/k3") == 0) == (k == 1));
    const std::vector<double> now = values_of(state_dict(policy));
    for (size_t i = 0; i < want.size(); ++i) want[i] += (1 - d) * std::pow(d, n - k) * now[i];
  }
  trainer.save(dir.file("c.safetensors"));
  Transformer reference = small_policy(*task, {.in_proj_std = 0.18});
  load_checkpoint(dir.file("c.safetensors")).restore(reference, "reference");
  const std::vector<double> got = values_of(state_dict(reference)), last = values_of(state_dict(policy));
  double from_start = 0, from_policy = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    CHECK(std::abs(got[i] - want[i]) <= 1e-6 * (1 + std::abs(want[i])));  // n roundings of f32
    from_start = std::max(from_start, std::abs(got[i] - start[i]));
    from_policy = std::max(from_policy, std::abs(got[i] - last[i]));
  }
  CHECK(from_start > 1e-3);
  CHECK(from_policy > 1e-3);
}

TEST_CASE("rl methods: clip_cov and kl_cov select tokens of the rollout, and high_entropy by the policy's entropy",
          "[rl][rl_trainer]") {
  const auto task = make_text_task("keyword", {});
  for (const char* name : {"clip_cov", "kl_cov", "high_entropy"}) {
    INFO(name);
    RlConfig config = small(name);
    config.algorithm.dynamic_sampling = false;
    config.algorithm.overlong_cache = 0;
    config.algorithm.token_share = 0.3;
    config.algorithm.covariance_low = 0;
    step_with(config, *task, [](const Experience&, const Batch& b) {
      REQUIRE(b.selected.shape() == b.mask.shape());
      const auto selected = b.selected.to_vector(), mask = b.mask.to_vector();
      double chosen = 0, tokens = 0;
      for (size_t i = 0; i < mask.size(); ++i) {
        CHECK(selected[i] <= mask[i]);
        chosen += selected[i];
        tokens += mask[i];
      }
      CHECK(chosen > 0);
      CHECK(chosen <= std::ceil(0.3 * tokens));
    });
  }
}

TEST_CASE("rl methods: advantages of the best responses alone are a learning signal", "[rl][rl_trainer]") {
  const auto well = [](const char* name, double zero) {
    Metrics metrics;
    metrics.add("advantage/zero", zero);
    const std::vector<HealthCheck> checks = health_checks(algorithm(name), metrics, 2, 10);
    REQUIRE(checks.size() == 1);
    return checks[0].ok;
  };
  CHECK(well("pass_at_k", 0.97));
  CHECK(!well("grpo", 0.97));
  CHECK(!well("pass_at_k", 1));
}

TEST_CASE("rl methods: responses without advantage may be left out of the update", "[rl][rl_trainer]") {
  const auto task = make_text_task("sort", {{"length", "3"}});
  for (const char* name : {"dr_grpo", "rloo", "reinforce_baseline", "gspo", "grpo", "dapo"}) {
    INFO(name);
    RlConfig config = small(name);
    config.batch = {.prompts = 6, .samples = 4, .mini_batches = 2, .micro_batch = 5};
    config.algorithm.epochs = 2;
    config.algorithm.kl_control.beta = 0;
    config.algorithm.dynamic_sampling = false;
    config.adamw.eps = 1e-3;  // with a small eps, Adam turns gradients that are zero up to rounding into ±1
    std::vector<double> norms[2], all[2], computed;
    for (const bool skip : {false, true}) {
      config.skip_zero_advantage = skip;
      Transformer policy = small_policy(*task, {.in_proj_std = 0.18, .dtype = f64});
      // Rewards of three of the six groups, of which one has a single right response.
      RlTrainer trainer(policy, *task, config, [](std::vector<Response>& responses) {
        for (size_t i = 0; i < responses.size(); ++i) {
          responses[i].score = {.reward = i == 2 || i == 9 || i == 10 || i == 20 ? 1.0 : 0.0};
        }
      });
      RlHooks hooks;
      hooks.on_update = [&](const UpdateReport& report) { norms[skip].push_back(report.grad_norm); };
      const Metrics metrics = trainer.step(hooks);
      computed.push_back(metrics.at("time/update_tokens_per_s") * metrics.at("time/update_s"));
      for (const auto& [path, x] : state_dict(policy)) {
        for (const double value : x.to_vector()) all[skip].push_back(value);
      }
    }
    REQUIRE(norms[0].size() == 4);
    REQUIRE(all[0].size() == all[1].size());
    for (size_t i = 0; i < 4; ++i) CHECK(norms[1][i] == Approx(norms[0][i]).epsilon(1e-9));
    for (size_t i = 0; i < all[0].size(); ++i) CHECK(all[1][i] == Approx(all[0][i]).epsilon(1e-9).margin(1e-9));
    CHECK(computed[1] < 0.8 * computed[0]);
  }
}

TEST_CASE("rl methods: what learns without advantage refuses to leave responses out", "[rl][rl_trainer]") {
  const auto error = [](const char* name, auto change) {
    RlConfig config = small(name);
    config.skip_zero_advantage = true;
    change(config);
    return error_of([&] { check_config(config); });
  };
  const char* expected = "skip-zero-advantage is for a loss that is 0 without advantage";
  CHECK(contains(error("grpo", [](RlConfig&) {}), expected));
  CHECK(contains(error("dr_grpo", [](RlConfig& c) { c.algorithm.entropy_bonus = 0.01; }), expected));
  CHECK(contains(error("ppo", [](RlConfig&) {}), expected));
  CHECK(contains(error("kl_cov", [](RlConfig&) {}), expected));
  CHECK(error("dr_grpo", [](RlConfig&) {}).empty());
  CHECK(error("grpo", [](RlConfig& c) { c.algorithm.kl_control.beta = 0; }).empty());
}
