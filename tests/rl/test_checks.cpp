// Configurations that are refused before any work, errors that stop a step before anything is updated, and the health
// checks at the end.
#include <cmath>
#include <limits>

#include "rl/control/trainer.h"
#include "rl/methods/other_losses.h"
#include "rl/methods/statistics.h"
#include "rl/text/imitation.h"
#include "rl/text/models.h"
#include "rl/text/preferences.h"
#include "rl/text/trainer.h"
#include "tests/catch.h"
#include "tests/rl/small_policy.h"
#include "tests/tensors.h"

using namespace pg;
using pg::testing::contains;
using pg::testing::error_of;
using namespace pg::rl;
using pg::testing::kInf;
using pg::testing::kNan;
using pg::testing::small_policy;
using pg::testing::small_run;
using pg::testing::weights;

namespace {

// The copy task with a second reward part that may be invalid.
struct Broken : TextTask {
  std::unique_ptr<TextTask> inner = make_text_task("copy", {{"length", "2"}});
  double second = 0;
  bool by_token = false;
  std::string name() const override { return "broken"; }
  std::string about() const override { return ""; }
  const Tokenizer& tokenizer() const override { return inner->tokenizer(); }
  int64_t max_prompt() const override { return inner->max_prompt(); }
  int64_t max_response() const override { return inner->max_response(); }
  Problem sample(Generator& g) const override { return inner->sample(g); }
  std::vector<Problem> held_out(int64_t n) const override { return inner->held_out(n); }
  Score score(const Problem& p, std::span<const int32_t> response) const override {
    Score s = inner->score(p, response);
    if (by_token) {
      s.per_token[0] = second;
    } else {
      s.per_token.clear();
      s.parts.emplace_back("format", second);
      s.reward += second;
    }
    return s;
  }
};

const HealthCheck* check_of(const std::vector<HealthCheck>& checks, std::string_view name) {
  for (const HealthCheck& check : checks) {
    if (check.name == name) return &check;
  }
  return nullptr;
}

}  // namespace

TEST_CASE("rl checks: a reward that is NaN or infinite is named with its part, the task and the problem",
          "[rl][rl_checks]") {
  for (const double bad : {kNan, kInf, -kInf}) {
    for (const bool by_token : {false, true}) {
      Broken task;
      Transformer policy = small_policy(task);
      const auto before = weights(policy);
      RlTrainer trainer(policy, task, small_run("grpo"));
      task.second = bad;
      task.by_token = by_token;
      const std::string error = error_of([&] { trainer.step(); });
      INFO(error);
      CHECK(contains(
          error, by_token ? "the task pays a reward for token 0 of " : "the task pays a reward part \"format\" of "));
      CHECK(contains(error, std::isnan(bad) ? "nan" : "inf"));
      CHECK(contains(error, "(task broken, problem \""));
      CHECK(contains(error, "=\", response \""));  // every problem of copy ends with "="
      CHECK(weights(policy) == before);
      CHECK(trainer.steps() == 0);
    }
  }
  const auto task = make_text_task("copy", {{"length", "2"}});
  Transformer policy = small_policy(*task);
  RlTrainer judged(policy, *task, small_run("grpo"),
                   [](std::vector<Response>& responses) { responses[3].score.reward = kNan; });
  CHECK(contains(error_of([&] { judged.step(); }), "the judge pays a reward of nan (task copy, problem \""));
}

TEST_CASE("rl checks: a reward model with NaN in its weights is named as the reward model", "[rl][rl_checks]") {
  const auto task = make_text_task("copy", {{"length", "2"}});
  Transformer policy = small_policy(*task);
  Generator g(1);
  ScalarModel model(policy, 0.2, g);
  model.trunk.wte.weight.detach().data<float>()[7] = std::numeric_limits<float>::quiet_NaN();
  CHECK(contains(error_of([&] { RewardModelJudge judge(model, 0, 1); }),
                 "the reward model holds nan in its weight 'trunk.wte.weight'"));
  ScalarModel healthy(policy, 0.2, g);
  CHECK(contains(error_of([&] { RewardModelJudge judge(healthy, 0, kNan); }),
                 "positive std of the reward model's scores"));
}

TEST_CASE("rl checks: a field out of its range is refused by its row, wherever it comes from", "[rl][rl_checks]") {
  struct Wrong {
    const char *field, *value, *says;
  };
  for (const Wrong& w :
       {Wrong{"eps", "nan", "eps: expected a number of at least 0, got nan"}, Wrong{"eps", "-1", "at least 0, got -1"},
        Wrong{"clip-high", "nan", "clip-high: expected a number of at least 0, got nan"},
        Wrong{"clip-high", "inf", "got inf"},
        Wrong{"clip-low", "1.5", "clip-low: expected a number from 0 to 1, got 1.5"},
        Wrong{"clip-low", "-0.1", "got -0.1"}, Wrong{"beta", "nan", "beta: expected a number of at least 0, got nan"},
        Wrong{"gamma", "7", "gamma: expected a number from 0 to 1, got 7"}, Wrong{"lambda", "-3", "got -3"},
        Wrong{"ddof", "2", "ddof: expected a whole number from 0 to 1, got 2"},
        Wrong{"ddof", "0.5", "a whole number from 0 to 1, got 0.5"},
        Wrong{"dual-clip", "0.5", "dual-clip: expected a number above 1, got 0.5"},
        Wrong{"weight-cap", "0.5", "weight-cap: expected a number of at least 1, got 0.5"},
        Wrong{"baseline-decay", "1", "from 0 to less than 1, got 1"},
        Wrong{"epochs", "0", "epochs: expected a whole number of at least 1, got 0"},
        Wrong{"epochs", "1e30", "epochs: expected a whole number of at least 1, got 1e30"},
        Wrong{"kl-target", "0", "above 0, got 0"},
        Wrong{"entropy-bonus", "-inf", "entropy-bonus: expected a finite number, got -inf"},
        Wrong{"overlong-cache", "1.01", "a number from 0 to 1, got 1.01"}}) {
    INFO(w.field << " " << w.value);
    Algorithm a = algorithm("grpo");
    const std::vector<Field> all = fields(a);
    const Field field = find_field(all, "grpo", w.field);
    const std::string before = field.text(), error = error_of([&] { field.set(w.value); });
    INFO(error);
    CHECK(contains(error, w.says));
    CHECK(field.text() == before);
  }
  Algorithm a = algorithm("grpo");
  a.clip_low = 1.5;
  CHECK(contains(error_of([&] { check_algorithm(a); }), "grpo: clip-low must be a number from 0 to 1, got 1.5"));
  for (const Field& field : fields(a)) {  // no field but a text accepts NaN
    if (std::holds_alternative<std::string*>(field.value)) continue;
    INFO(field.name);
    CHECK(error_of([&] { field.set("nan"); }) != "");
    CHECK(error_of([&] { field.set("inf"); }) != "");
  }
}

TEST_CASE("rl checks: RlConfig and EnvTrainConfig are refused at construction", "[rl][rl_checks]") {
  const auto task = make_text_task("copy", {{"length", "2"}});
  const auto refused = [&](const std::function<void(RlConfig&)>& change) {
    Transformer policy = small_policy(*task);
    RlConfig config = small_run("grpo");
    change(config);
    return error_of([&] { RlTrainer(policy, *task, config); });
  };
  CHECK(refused([](RlConfig&) {}).empty());
  CHECK(contains(refused([](RlConfig& c) { c.schedule.lr = -1; }), "lr must be a number of at least 0, got -1"));
  CHECK(contains(refused([](RlConfig& c) { c.schedule.lr = kNan; }), "lr must be"));
  CHECK(contains(refused([](RlConfig& c) { c.schedule.lr = kInf; }), "lr must be"));
  CHECK(contains(refused([](RlConfig& c) { c.max_grad_norm = -1; }), "max-grad-norm must be"));
  CHECK(contains(refused([](RlConfig& c) { c.max_grad_norm = kNan; }), "got nan"));
  CHECK(contains(refused([](RlConfig& c) { c.adaptive_temperature.target_std = -1; }), "target-std must be"));
  CHECK(contains(refused([](RlConfig& c) { c.steps = -1; }), "steps must be a whole number of at least 0, got -1"));
  CHECK(contains(refused([](RlConfig& c) { c.schedule.warmup_steps = -1; }), "warmup must be"));
  CHECK(contains(refused([](RlConfig& c) { c.schedule.warmup_steps = 200; }), "never ends in a run of 200"));
  CHECK(contains(refused([](RlConfig& c) { c.eval_interval = -5; }), "eval-every must be"));
  CHECK(contains(refused([](RlConfig& c) { c.eval_problems = 0; }), "eval-problems must be"));
  CHECK(contains(refused([](RlConfig& c) { c.temperature = 0; }), "temperature must be a number above 0, got 0"));
  CHECK(contains(refused([](RlConfig& c) { c.batch.prompts = 100000000000; }), "prompts must be a whole number"));
  CHECK(contains(refused([](RlConfig& c) { c.batch.prompts = c.batch.samples = 1 << 23; }), "prompts times samples"));
  CHECK(contains(refused([](RlConfig& c) { c.batch.micro_batch = -1; }), "micro-batch must be"));
  CHECK(
      contains(refused([](RlConfig& c) { c.schedule = {.kind = Schedule::Kind::linear, .lr = 3e-5, .min_lr = 1e-4}; }),
               "min-lr 0.0001 is above lr 3e-05"));
  CHECK(contains(refused([](RlConfig& c) { c.algorithm.kl_control = {.schedule = "adaptive", .horizon = 3}; }),
                 "kl-horizon must be above a fifth of the 16 responses"));

  // Batch 0 used to divide by zero.
  Transformer policy = small_policy(*task);
  CHECK(contains(error_of([&] { expert_iteration(policy, *task, {.problems = 2, .samples = 2, .batch = 0}, 0); }),
                 "batch must be a whole number from 1 to 16777216, got 0"));
  const std::vector<Preference> pairs = {{{1, 11}, {1, 10}, {2, 10}}};
  PreferenceConfig preferences;
  preferences.batch = 0;
  CHECK(contains(error_of([&] { DpoTrainer t(policy, pairs, preferences); }),
                 "batch must be a whole number from 1 to 16777216, got 0"));
  preferences = {};
  preferences.schedule.lr = kNan;
  ScalarModel model(policy, 0, default_generator());
  CHECK(contains(error_of([&] { RewardModelTrainer t(model, pairs, preferences); }), "lr must be a number of"));

  const auto env = [](const std::function<void(EnvTrainConfig&)>& change) {
    EnvTrainConfig config;
    change(config);
    return error_of([&] { EnvTrainer trainer(config); });
  };
  CHECK(env([](EnvTrainConfig&) {}).empty());
  CHECK(contains(env([](EnvTrainConfig& c) { c.gamma = 7; }), "gamma must be"));
  CHECK(contains(env([](EnvTrainConfig& c) { c.lambda = kNan; }), "lambda must be"));
  CHECK(contains(env([](EnvTrainConfig& c) { c.lr = -1; }), "lr must be"));
  CHECK(contains(env([](EnvTrainConfig& c) { c.clip_low = 1.5; }), "clip-low must be"));
  CHECK(contains(env([](EnvTrainConfig& c) { c.adam_eps = 0; }), "adam-eps must be"));
  CHECK(contains(env([](EnvTrainConfig& c) { c.hidden = int64_t{1} << 40; }), "hidden must be"));
  CHECK(contains(env([](EnvTrainConfig& c) { c.environments = -1; }), "environments must be"));
  CHECK(contains(env([](EnvTrainConfig& c) { c.micro_batch = -1; }), "micro-batch must be"));
  CHECK(contains(env([](EnvTrainConfig& c) { c.entropy_coef = kInf; }), "entropy-coef must be"));
}

TEST_CASE("rl checks: choices of a method that exclude each other are refused", "[rl][rl_checks]") {
  const auto refused = [](const char* name, const std::function<void(Algorithm&)>& change) {
    Algorithm a = algorithm(name);
    change(a);
    return error_of([&] { check_algorithm(a); });
  };
  CHECK(contains(refused("clip_cov", [](Algorithm& a) { a.covariance_low = 7; }), "covariance-low 7 must be below"));
  CHECK(contains(refused("grpo_two_sided", [](Algorithm& a) { a.clip_high = 3.5; }), "delta 4 must be above 1 + clip"));
  CHECK(contains(refused("gmpo", [](Algorithm& a) { a.ratio = "sequence"; }), "surrogate gmpo weighs tokens"));
  CHECK(contains(refused("sapo", [](Algorithm& a) { a.ratio = "none"; }), "do not go together"));
  CHECK(contains(refused("sapo", [](Algorithm& a) { a.tau_positive = 0; }), "tau-positive must be a number above 0"));
  CHECK(contains(refused("ppo", [](Algorithm& a) { a.credit = "response"; }), "a critic credits to_go"));
  CHECK(
      contains(refused("high_entropy", [](Algorithm& a) { a.token_share = 0; }), "token-share must be a number above"));
}

TEST_CASE("rl checks: one sample for a baseline over a group is refused with the fix", "[rl][rl_checks]") {
  for (const Algorithm& a : algorithms()) {
    INFO(a.name);
    BatchShape batch;
    CHECK(error_of([&] { check_algorithm(a, batch); }).empty());
    batch.samples = 1;
    const std::string error = error_of([&] { check_algorithm(a, batch); });
    INFO(error);
    // With one sample per prompt the advantages of all others are 0 (rl.md: R - mean, or 0 divided by anything).
    const bool group = a.name != "reinforce" && a.name != "reinforce_baseline" && a.name != "remax" &&
                       a.name != "reinforce_pp" && a.name != "ppo" && a.name != "decoupled_ppo";
    CHECK(error.empty() == !group);
    if (group) CHECK(contains(error, "take 2 samples or more"));
  }
  Algorithm alone = algorithm("reinforce");
  alone.baseline = "batch_mean";
  CHECK(error_of([&] { check_algorithm(alone, {.prompts = 2, .samples = 1}); }).empty());
  CHECK(contains(error_of([&] { check_algorithm(alone, {.prompts = 1, .samples = 1}); }), "a step has one"));
  alone = algorithm("reinforce");
  alone.dynamic_sampling = true;
  CHECK(contains(error_of([&] { check_algorithm(alone, {.samples = 1}); }), "dynamic-sampling"));
}

TEST_CASE("rl checks: one health check tells of shuffled rewards, another of advantages that are all 0",
          "[rl][rl_checks]") {
  const auto task = make_text_task("copy", {{"length", "2"}});
  for (const bool shuffled : {false, true}) {
    Transformer policy = small_policy(*task);
    RlConfig config = small_run("reinforce_baseline");
    config.shuffle_rewards = shuffled;
    RlTrainer trainer(policy, *task, config);
    trainer.step();
    const HealthCheck* found = check_of(trainer.health_checks(), "rewards");
    CHECK((found != nullptr) == shuffled);
    if (found) {
      CHECK_FALSE(found->ok);
      CHECK(contains(found->why, "shuffled on purpose"));
    }
  }
  Transformer policy = small_policy(*task);
  RlTrainer same(policy, *task, small_run("reinforce"), [](std::vector<Response>& all) {
    for (Response& r : all) r.score = {.reward = r.prompt[0] % 2 ? 1.0 : 0.0};
  });
  const Metrics m = same.step();
  CHECK(m.at("advantage/zero") < 1);
  RlTrainer nothing(policy, *task, small_run("reinforce"), [](std::vector<Response>& all) {
    for (Response& r : all) r.score = {};
  });
  CHECK(nothing.step().at("advantage/zero") == 1);
  const HealthCheck* found = check_of(nothing.health_checks(), "advantages");
  REQUIRE(found != nullptr);
  CHECK_FALSE(found->ok);
  CHECK(found->why.starts_with("100 % of the tokens have an advantage of exactly 0"));
}

TEST_CASE("rl checks: NaN is not lost among other numbers and fails the health check", "[rl][rl_checks]") {
  const std::vector<float> good = {0, 1}, bad = {2, NAN};
  for (const size_t bad_row : {size_t{0}, size_t{1}, size_t{2}}) {
    std::vector<float> all;
    for (size_t r = 0; r < 3; ++r) {
      const std::vector<float>& row = r == bad_row ? bad : good;
      all.insert(all.end(), row.begin(), row.end());
    }
    const Tensor rows = Tensor::from(all, {3, 2});
    for (const int64_t most_rows : {1, 2, 3}) {
      const double error = probability_sum_error(
          [&](int64_t begin, int64_t end) { return rows.view_slice(0, begin, end); }, 3, most_rows);
      CHECK(std::isnan(error));
      Metrics metrics;
      metrics.add("check/probability_sum_error", error);
      const std::vector<HealthCheck> checks = health_checks(algorithm("reinforce"), metrics, 2, 10);
      REQUIRE(checks.size() == 1);
      CHECK_FALSE(checks[0].ok);
    }
  }
  CHECK(std::isnan(max_with_nan(kNan, 1)));
  CHECK(std::isnan(max_with_nan(1, kNan)));
  CHECK(max_with_nan(-kInf, -2) == -2);
  CHECK(max_with_nan(3, -2) == 3);
}

TEST_CASE("rl checks: held-out problems have the lengths of training, or their task says that they differ",
          "[rl][rl_checks]") {
  for (const char* name : {"copy", "reverse", "sort", "digits", "keyword", "guess"}) {
    INFO(name);
    const auto task = make_text_task(name);
    const auto mean_length = [](const std::vector<Problem>& problems) {
      double sum = 0;
      for (const Problem& p : problems) sum += static_cast<double>(p.prompt.size());
      return sum / static_cast<double>(problems.size());
    };
    const std::vector<Problem> training = testing::problems_of(*task, 2000, 3);
    const double of_training = mean_length(training), held_out = mean_length(task->held_out(200));
    INFO(of_training << " " << held_out);
    if (std::abs(of_training - held_out) > 0.1) CHECK(contains(task->held_out_note(), "rarer than in training"));
    if (std::string(name) == "sort") {
      CHECK(std::abs(of_training - (1 + 3.5)) < 0.15);  // 1 to 6 digits, equally likely, and the "="
      CHECK(held_out > of_training + 0.5);              // of the 10 one-digit strings, one is held out
    }
    if (std::string(name) == "digits") CHECK(task->held_out_note().empty());
  }
  // A run reports both lengths.
  const auto task = make_text_task("sort");
  Transformer policy = small_policy(*task);
  RlTrainer trainer(policy, *task, small_run("grpo"));
  CHECK(trainer.evaluate().has("eval/prompt_length"));
  CHECK(trainer.step().has("prompt/length"));
}

TEST_CASE("rl checks: the clip fraction of values counts those whose clipped loss is the larger", "[rl][rl_checks]") {
  // old 0, clip 0.2, return 1. 0.1: inside. 0.5: moved towards the return, clipped. -0.5: moved away from it, not
  // clipped.
  const auto row = [](std::vector<double> x) { return Tensor::from(x, {1, std::ssize(x)}); };
  const Tensor values = row({0.1, 0.5, -0.5, 0.9, 0.5}), returns = row({1, 1, 1, 1, 1}), old = row({0, 0, 0, 0, 0});
  CHECK(clipped_values(values, returns, old, 0.2) == 3);
  CHECK(clipped_values(values, returns, old, 0) == 0);
  CHECK(clipped_values(values, returns, old, 1) == 0);
  const Tensor mask = Tensor::from(std::vector<uint8_t>{1, 1, 1, 1, 0}, {1, 5});
  CHECK(clipped_values(values, returns, old, 0.2, mask) == 2);
  // The counted values are those without a gradient.
  Tensor leaf = values.clone();
  leaf.set_requires_grad();
  backward(sum(value_loss(leaf, returns, old, 0.2)));
  CHECK(leaf.grad().to_vector()[1] == 0);
  CHECK(leaf.grad().to_vector()[2] != 0);
}

TEST_CASE("rl checks: explain says what weighs tokens, what a mean divides by, and when whitening happens",
          "[rl][rl_checks]") {
  CHECK(contains(explain(algorithm("grpo"), {}), "min(old / sampler, 2)"));
  Algorithm none = algorithm("grpo");
  none.weight = "none";
  CHECK_FALSE(contains(explain(none, {}), "sampler,"));
  CHECK(contains(explain(algorithm("grpo"), {}), "mean over the mini-batch's responses"));
  CHECK(contains(explain(algorithm("dr_grpo"), {}), "responses in the mini-batch times the longest possible length"));
  CHECK(contains(explain(algorithm("ppo"), {}), "before it is cut into mini-batches"));
  CHECK(contains(error_of([] { explain(algorithm("grpo"), {.samples = 1}); }), "samples is 1"));
}
