// The functions that EnvTrainer calls: the engine's by default, and any others with the same arguments.
#include "rl/control/trainer.h"
#include "tests/catch.h"
#include "tests/tensors.h"

using namespace pg;
using namespace pg::rl;
using pg::testing::error_of;

namespace {

// Short runs whose ratios leave the clip range.
EnvTrainConfig small(const std::string& environment) {
  EnvTrainConfig c = env_recipe(environment);
  c.rollout_steps = 32;
  c.total_steps = 3 * 4 * 32;
  c.minibatches = 4;
  c.epochs = 2;
  c.hidden = 16;
  c.clip_low = c.clip_high = 0.001;
  return c;
}

std::vector<double> trained_parameters(const EnvTrainConfig& config, const EnvFunctions& functions) {
  EnvTrainer trainer(config, functions);
  while (!trainer.done()) trainer.step();
  return testing::values_of(named_parameters(trainer.model()));
}

}  // namespace

TEST_CASE("the trainer calls the functions that it is given, once for each rollout or micro-batch", "[env][trainer]") {
  const std::string name = GENERATE("CartPole-v1", "Pendulum-v1");
  const int64_t micro_batch = GENERATE(0, 5);
  INFO(name << " " << micro_batch);
  EnvTrainConfig c = small(name);
  c.micro_batch = micro_batch;
  int advantages = 0, policy_losses = 0, value_losses = 0, log_probs = 0;
  EnvFunctions counted;
  counted.gae = [&](const Tensor& rewards, const Tensor& values, const Tensor& next_values, const GaeOptions& options) {
    ++advantages;
    return gae(rewards, values, next_values, options);
  };
  counted.clip_loss = [&](const Tensor& ratio, const Tensor& advantage, double low, double high) {
    ++policy_losses;
    return clip_loss(ratio, advantage, low, high);
  };
  counted.value_loss = [&](const Tensor& values, const Tensor& returns, const Tensor& old_values, double clip,
                           const Tensor& mask) {
    ++value_losses;
    return value_loss(values, returns, old_values, clip, mask);
  };
  counted.gaussian_log_prob = [&](const Tensor& mean, const Tensor& log_std, const Tensor& actions) {
    ++log_probs;
    return gaussian_log_prob(mean, log_std, actions);
  };
  const bool same = trained_parameters(c, counted) == trained_parameters(c, {});
  CHECK(same);
  const int rollouts = 3, minibatches = rollouts * 2 * 4;
  const int micro_batches = minibatches * (micro_batch == 0 ? 1 : 7);  // 32 steps in parts of 5
  CHECK(advantages == rollouts);
  CHECK(policy_losses == micro_batches);
  CHECK(value_losses == micro_batches);
  CHECK(log_probs == (name == "CartPole-v1" ? 0 : rollouts + micro_batches));
}

TEST_CASE("each function of the trainer changes what is learned", "[env][trainer]") {
  const EnvTrainConfig c = small("Pendulum-v1");
  EnvFunctions no_discount, no_clip, double_value, wide;
  no_discount.gae = [](const Tensor& rewards, const Tensor& values, const Tensor& next_values,
                       const GaeOptions& options) {
    GaeOptions changed = options;
    changed.gamma = 1;
    return gae(rewards, values, next_values, changed);
  };
  no_clip.clip_loss = [](const Tensor& ratio, const Tensor& advantage, double, double) {
    return ratio_loss(ratio, advantage);
  };
  double_value.value_loss = [](const Tensor& values, const Tensor& returns, const Tensor& old_values, double clip,
                               const Tensor& mask) {
    return 2.0 * value_loss(values, returns, old_values, clip, mask);
  };
  wide.gaussian_log_prob = [](const Tensor& mean, const Tensor& log_std, const Tensor& actions) {
    return gaussian_log_prob(mean, log_std * 2.0, actions);
  };
  const std::vector<double> plain = trained_parameters(c, {});
  for (const EnvFunctions& functions : {no_discount, no_clip, double_value, wide}) {
    const bool changed = trained_parameters(c, functions) != plain;
    CHECK(changed);
  }
}

TEST_CASE("advantages of a wrong shape are refused", "[env][trainer]") {
  EnvFunctions functions;
  functions.gae = [](const Tensor& rewards, const Tensor&, const Tensor&, const GaeOptions&) {
    return Gae{Tensor::zeros({rewards.numel()}), Tensor::zeros(rewards.shape())};
  };
  EnvTrainer trainer(small("CartPole-v1"), functions);
  CHECK(error_of([&] { trainer.rollout(); }).find("gae must return advantages and returns [4, 32], got [128]") !=
        std::string::npos);
}
