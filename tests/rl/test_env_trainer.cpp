// Policies in environments: the contents of a rollout, the effect of an update, and that the policy learns.
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>

#include "autograd/ops.h"
#include "rl/advantages.h"
#include "rl/control/trainer.h"
#include "tasks/act/bandit.h"
#include "tests/catch.h"
#include "tests/tensors.h"

using namespace pg;
using pg::testing::error_of;
using namespace pg::rl;
using pg::testing::TempDir;
using pg::testing::values_of;

namespace {

// The observation is the number of steps taken, and the reward of step n is n. An episode ends after three steps.
class Corridor final : public Environment {
 public:
  enum class End { clock, wall, both };
  explicit Corridor(End end) : Environment({{0}, {3}}, {.choices = 2}, end == End::wall ? 99 : 3, 1), end_(end) {}

 private:
  void begin(Generator&) override { s_ = {0}; }
  Outcome advance(std::span<const double>) override {
    ++s_[0];
    return {s_[0], end_ != End::clock && s_[0] == 3};
  }
  std::vector<double> observe() const override { return s_; }
  End end_;
};

// A bandit that ignores the chosen arm: it pays the reward of a random arm of the Bernoulli bandit, or always 1.
class Deaf final : public Environment {
 public:
  explicit Deaf(bool constant) : Environment({{1}, {1}}, {.choices = 10}, 1, 1), constant_(constant) {}

 private:
  void begin(Generator& g) override {
    const auto arm = static_cast<size_t>(g.integer(10));
    s_ = {constant_ || g.uniform() < bernoulli_bandit().means()[arm] ? 1.0 : 0.0};
  }
  Outcome advance(std::span<const double>) override { return {s_[0], true}; }
  std::vector<double> observe() const override { return {1}; }
  bool constant_;
};

// An environment that only has shapes.
class Blank final : public Environment {
 public:
  explicit Blank(bool discrete)
      : Environment({{0, 0, 0, 0}, {0, 0, 0, 0}},
                    discrete ? ActionSpace{.choices = 3} : ActionSpace{.box = {{-1, -1}, {1, 1}}}, 9, 4) {}

 private:
  void begin(Generator&) override {}
  Outcome advance(std::span<const double>) override { return {0, false}; }
  std::vector<double> observe() const override { return s_; }
};

EnvTrainConfig small(const std::string& environment) {
  EnvTrainConfig c = env_recipe(environment);
  c.total_steps = 6 * 4 * 32;
  c.rollout_steps = 32;
  c.minibatches = 4;
  c.epochs = 2;
  c.hidden = 16;
  return c;
}

EnvTrainConfig bandit_config() {
  EnvTrainConfig c;
  c.environment = "BernoulliBandit";
  c.environments = 16;
  c.rollout_steps = 8;
  c.total_steps = 150 * 128;
  c.entropy_coef = 0;
  c.lr = 2e-3;
  return c;
}

std::vector<double> probabilities(const ActorCritic& model) {
  return softmax(model.policy(Tensor::ones({1, 1})).detach()).to_vector();
}

}  // namespace

TEST_CASE("the trainer's rollout: what the clock cuts is bootstrapped and what has ended is not", "[env][trainer]") {
  const auto end = GENERATE(Corridor::End::clock, Corridor::End::wall, Corridor::End::both);
  EnvTrainConfig c;
  c.environments = 1;
  c.rollout_steps = 4;
  c.minibatches = 1;
  EnvTrainer trainer(c, [&] { return std::make_unique<Corridor>(end); });
  const EnvRollout r = trainer.rollout();
  CHECK(r.observations.to_vector() == std::vector<double>{0, 1, 2, 0});
  CHECK(r.rewards.to_vector() == std::vector<double>{1, 2, 3, 1});
  CHECK(r.truncated.to_vector() == std::vector<double>{0, 0, end == Corridor::End::wall ? 0.0 : 1.0, 0});
  CHECK(r.terminated.to_vector() == std::vector<double>{0, 0, end == Corridor::End::clock ? 0.0 : 1.0, 0});

  const auto v = trainer.model().value(Tensor::from<float>({0, 1, 2, 3}, {4, 1})).to_vector();
  CHECK(std::abs(v[3]) > 1e-3);  // otherwise the test would check nothing
  const double g = 0.99, gl = 0.99 * 0.95;
  const double after_end = end == Corridor::End::clock ? v[3] : 0;
  const double a3 = 1 + g * v[1] - v[0];  // first step of the next episode; the rollout ends in state 1
  const double a2 = 3 + g * after_end - v[2];
  const double a1 = 2 + g * v[2] - v[1] + gl * a2;
  const double a0 = 1 + g * v[1] - v[0] + gl * a1;
  const std::vector<double> want = {a0, a1, a2, a3}, got = r.advantages.to_vector(), returns = r.returns.to_vector();
  const std::vector<double> values = {v[0], v[1], v[2], v[0]};
  for (size_t t = 0; t < 4; ++t) {
    CHECK(got[t] == Approx(want[t]).epsilon(1e-6));
    CHECK(returns[t] == Approx(want[t] + values[t]).epsilon(1e-6));
  }
  CHECK(trainer.environments().episodes() == 1);
  CHECK(trainer.environments().mean_return() == 6);
  CHECK(trainer.environments().mean_length() == 3);
}

TEST_CASE("an update by PPO is that of PyTorch", "[env][trainer]") {
  // From tools/goldens/make_ppo_goldens.py: three updates on the whole batch, so its order does not matter. The
  // gradients of its micro-batches add up to its gradient.
  const int64_t micro_batch = GENERATE(0, 1, 7);
  for (const bool discrete : {true, false}) {
    const SafetensorsFile file =
        load_safetensors(std::string("tests/goldens/ppo/") + (discrete ? "discrete" : "continuous") + ".safetensors");
    const EnvTrainConfig c{.total_steps = 24,
                           .environments = 3,
                           .rollout_steps = 8,
                           .epochs = 3,
                           .minibatches = 1,
                           .micro_batch = micro_batch,
                           .gamma = 0.97,
                           .lambda = 0.9,
                           .clip_low = 0.1,
                           .clip_high = 0.1,
                           .value_clip = 0.1,
                           .entropy_coef = 0.02,
                           .lr = 1e-2,
                           .hidden = 6};
    EnvTrainer trainer(c, [&]() -> std::unique_ptr<Environment> { return std::make_unique<Blank>(discrete); });
    for (auto& [name, parameter] : named_parameters(trainer.model())) {
      parameter.detach().copy_from(file.at("before." + name));
    }
    EnvRollout r;
    r.observations = file.at("observations");
    r.actions = file.at("actions");
    r.log_prob = file.at("log_prob");
    r.values = file.at("values");
    r.advantages = file.at("advantages");
    r.returns = file.at("returns");
    const EnvReport report = trainer.update(r);
    const auto want = file.at("report").to_vector();
    const std::vector<double> got = {report.policy_loss, report.value_loss, report.entropy,
                                     report.k1,          report.k3,         report.clip_low + report.clip_high,
                                     report.grad_norm};
    for (size_t i = 0; i < want.size(); ++i) {
      INFO("number " << i);
      CHECK(got[i] == Approx(want[i]).epsilon(1e-5).margin(1e-7));
    }
    for (const auto& [name, parameter] : named_parameters(trainer.model())) {
      INFO(name);
      const auto x = parameter.to_vector(), y = file.at("after." + name).to_vector();
      for (size_t i = 0; i < x.size(); ++i) CHECK(std::abs(x[i] - y[i]) < 2e-6);  // compared with steps of 1e-2
    }
    const Gae estimate = gae(file.at("rewards"), r.values, file.at("next_values"),
                             {.gamma = c.gamma,
                              .lambda = c.lambda,
                              .mask = {},
                              .terminated = file.at("terminated"),
                              .truncated = file.at("truncated"),
                              .final_values = file.at("final_values")});
    const auto x = estimate.advantages.to_vector(), y = r.advantages.to_vector();
    for (size_t i = 0; i < x.size(); ++i) CHECK(std::abs(x[i] - y[i]) < 1e-6);
  }
}

TEST_CASE("before the first update the ratio is exactly 1 and nothing is clipped", "[env][trainer]") {
  const std::string name = GENERATE("CartPole-v1", "Acrobot-v1", "Pendulum-v1", "ArmReach-torque");
  const bool shared = GENERATE(false, true);
  INFO(name);
  EnvTrainConfig c = small(name);
  c.shared = shared;
  c.epochs = c.minibatches = 1;
  EnvTrainer trainer(c);
  while (!trainer.done()) {
    const EnvReport r = trainer.step();
    CHECK(r.first_ratio_error == 0);
    CHECK(r.k1 == 0);
    CHECK(r.k3 == 0);
    CHECK(r.clip_low + r.clip_high == 0);
    CHECK(std::abs(r.policy_loss) < 1e-5);  // minus the mean of whitened advantages
  }
  CHECK(trainer.steps() == c.total_steps);
  EnvTrainConfig four = small(name);
  EnvTrainer more(four);
  const EnvReport r = more.step();
  CHECK(r.first_ratio_error == 0);
  CHECK(r.k3 > 0);  // later mini-batches are evaluated by an updated policy
}

TEST_CASE("the first entropy is that of equally likely actions", "[env][trainer]") {
  EnvTrainConfig c = small("Acrobot-v1");
  c.lr = 1e-12;
  CHECK(EnvTrainer(c).step().entropy == Approx(std::log(3.0)).epsilon(1e-4));
  c = small("ArmReach-velocity");
  c.lr = 1e-12;
  CHECK(EnvTrainer(c).step().entropy == Approx(std::log(2 * std::numbers::pi * std::numbers::e)).epsilon(1e-5));
}

TEST_CASE("a resumed run in environments has the bits of one that never stopped", "[env][trainer]") {
  const std::string name = GENERATE("CartPole-v1", "Pendulum-v1", "GaussianBandit");
  INFO(name);
  const EnvTrainConfig c = small(name);
  TempDir dir;
  const std::string path = dir.file("checkpoint.safetensors");
  EnvTrainer whole(c);
  EnvReport last;
  while (!whole.done()) last = whole.step();
  {
    EnvTrainer first(c);
    first.step();
    first.step();
    first.play(2, false, 3);  // has no effect on training
    first.save(path, {{"note", "halfway"}});
  }
  const Checkpoint checkpoint = load_checkpoint(path);
  CHECK(checkpoint.state.step == 2 * 4 * 32);
  CHECK(checkpoint.text("note") == "halfway");
  EnvTrainer second(env_train_config_from_json(checkpoint.text("env_train_config")));
  second.resume(checkpoint);
  EnvReport report;
  while (!second.done()) report = second.step();
  const bool same = values_of(named_parameters(second.model())) == values_of(named_parameters(whole.model()));
  CHECK(same);
  CHECK(second.environments().state() == whole.environments().state());
  auto a = report.named(), b = last.named();
  a.pop_back(), b.pop_back();  // the wall-clock time
  for (size_t i = 0; i < a.size(); ++i) {
    INFO(a[i].first);
    CHECK((a[i].second == b[i].second || (std::isnan(a[i].second) && std::isnan(b[i].second))));
  }

  EnvTrainConfig other = c;
  other.gamma = 0.5;
  EnvTrainer wrong(other);
  CHECK(error_of([&] { wrong.resume(checkpoint); }).find("of another run") != std::string::npos);
}

TEST_CASE("training in environments has the same bits for any number of threads", "[env][trainer]") {
  std::vector<double> reference;
  for (int threads : {1, 2, 3}) {
    const testing::Threads guard(threads);
    EnvTrainConfig c = small("Pendulum-v1");
    c.hidden = 64;
    c.rollout_steps = 512;
    c.total_steps = 2 * 4 * 512;
    EnvTrainer trainer(c);
    while (!trainer.done()) trainer.step();
    if (threads == 1) reference = values_of(named_parameters(trainer.model()));
    const bool same = values_of(named_parameters(trainer.model())) == reference;
    CHECK(same);
  }
}

TEST_CASE("the entropy bonus raises the entropy", "[env][trainer]") {
  // Every action pays 1, so only the entropy bonus can move a policy that starts with a preference.
  for (double coefficient : {0.0, 0.01}) {
    EnvTrainConfig c = bandit_config();
    c.total_steps = 60 * 128;
    c.entropy_coef = coefficient;
    EnvTrainer trainer(c, [] { return std::make_unique<Deaf>(true); });
    trainer.model().policy_head.bias.data<float>()[0] = 3;
    const double first = trainer.step().entropy;
    EnvReport report;
    while (!trainer.done()) report = trainer.step();
    if (coefficient == 0) {
      CHECK(report.entropy == Approx(first).epsilon(1e-6));
    } else {
      CHECK(report.entropy > 2.29);  // the maximum is ln 10 = 2.303
    }
  }
}

TEST_CASE("a bandit is solved and shuffled rewards teach nothing", "[env][trainer]") {
  const auto best = static_cast<size_t>(bernoulli_bandit().best_arm());
  double deaf_probability = 0;
  for (uint64_t seed : {1, 2, 3}) {
    EnvTrainConfig c = bandit_config();
    c.seed = seed;
    EnvTrainer trainer(c);
    while (!trainer.done()) trainer.step();
    CHECK(probabilities(trainer.model())[best] > 0.9);
    CHECK(trainer.environments().mean_return() > 0.65);  // the best arm pays 0.8; mean of 100 episodes
    CHECK(trainer.environments().mean_length() == 1);
    for (double r : trainer.play(20, true, 5)) CHECK((r == 0 || r == 1));

    EnvTrainer deaf(c, [] { return std::make_unique<Deaf>(false); });
    while (!deaf.done()) deaf.step();
    deaf_probability += probabilities(deaf.model())[best] / 3;
  }
  CHECK(deaf_probability < 0.4);  // chance is 0.1: noise makes each policy prefer some arm, but not this one
}

TEST_CASE("without a clip range it is the plain policy gradient", "[env][trainer]") {
  EnvTrainConfig c = a2c_recipe("BernoulliBandit");
  c.total_steps = 40000;
  c.lr = 2e-3;
  EnvTrainer trainer(c);
  EnvReport r;
  while (!trainer.done()) {
    r = trainer.step();
    CHECK(r.epochs == 1);
    CHECK(r.k3 == 0);
  }
  CHECK(probabilities(trainer.model())[6] > 0.8);
}

TEST_CASE("the learning rate falls in a straight line and target_kl stops the epochs", "[env][trainer]") {
  EnvTrainConfig c = small("CartPole-v1");
  c.epochs = 5;
  c.lr = 0.02;
  c.target_kl = 1e-3;
  EnvTrainer trainer(c);
  for (int i = 0; i < 6; ++i) {
    const EnvReport r = trainer.step();
    CHECK(r.lr == Approx(0.02 * (1 - i / 6.0)).epsilon(1e-12));
    if (i == 0) CHECK(r.epochs < 5);
  }
  CHECK(trainer.done());
  CHECK(error_of([&] { trainer.step(); }).find("are done") != std::string::npos);
  c.anneal_lr = false;
  c.target_kl = 0;
  EnvTrainer constant(c);
  constant.step();
  const EnvReport r = constant.step();
  CHECK(r.lr == 0.02);
  CHECK(r.epochs == 5);
}

TEST_CASE("a mini-batch of one sample is no NaN", "[env][trainer]") {
  EnvTrainConfig c = small("Pendulum-v1");
  c.environments = 1;
  c.rollout_steps = 4;
  c.minibatches = 4;
  c.total_steps = 8;
  EnvTrainer trainer(c);
  while (!trainer.done()) CHECK(std::isfinite(trainer.step().grad_norm));
  for (double x : values_of(named_parameters(trainer.model()))) REQUIRE(std::isfinite(x));
}

TEST_CASE("a gradient that is not finite is refused with the name of the tensor", "[env][trainer]") {
  EnvTrainer trainer(small("CartPole-v1"));
  trainer.step();
  trainer.model().value_head.weight.detach().fill(3e38);  // values, and so the advantages, overflow f32
  const auto before = values_of(named_parameters(trainer.model()));
  const std::string error = error_of([&] { trainer.step(); });
  INFO(error);
  CHECK(error.find("the gradient of 'actor.0.weight' is not finite") != std::string::npos);
  const bool untouched = values_of(named_parameters(trainer.model())) == before;
  CHECK(untouched);
}

TEST_CASE("configurations survive as text and bad ones give a sentence", "[env][trainer]") {
  for (const EnvironmentRow& row : environments()) {
    const std::string& name = row.name;
    EnvTrainConfig c = env_recipe(name);
    c.seed = (uint64_t{1} << 63) + 1;
    c.lr = 1.0 / 3;
    CHECK(env_train_config_from_json(to_json(c)) == c);
    CHECK(c.environments * c.rollout_steps % c.minibatches == 0);
  }
  // The text in a checkpoint of an older version, whose keys are in alphabetical order.
  const EnvTrainConfig old = env_train_config_from_json(
      R"({"adam_eps":1e-05,"anneal_lr":true,"clip":0.2,"entropy_coef":0.01,"environment":"CartPole-v1",)"
      R"("environments":4,"epochs":4,"gamma":0.99,"hidden":64,"lambda":0.95,"layers":2,"lr":0.00025,)"
      R"("max_grad_norm":0.5,"minibatches":4,"normalize_observations":false,"normalize_rewards":false,)"
      R"("rollout_steps":128,"seed":7,"shared":false,"target_kl":0.0,"total_steps":500000,"value_clip":0.2,)"
      R"("value_coef":0.5,"whiten_advantages":true})");
  EnvTrainConfig expected;
  expected.seed = 7;
  CHECK(old == expected);
  CHECK(error_of([] { env_train_config_from_json("{}"); }).find("env_train_config") != std::string::npos);
  CHECK(error_of([] { env_recipe("Pong"); }).find("environment: expected Acrobot-v1") != std::string::npos);
  EnvTrainConfig c;
  c.minibatches = 5;
  CHECK(error_of([&] { EnvTrainer t(c); }).find("4 environments × 128 steps are not divisible into 5") !=
        std::string::npos);
  c = {};
  c.total_steps = 100;
  CHECK(error_of([&] { EnvTrainer t(c); }).find("total-steps is 100") != std::string::npos);
}
