// Settings next to the losses: the weight of the KL, the overlong penalty, the temperature, the optimizer's epsilon.
#include <limits>

#include "nn/optim.h"
#include "rl/methods/kl_control.h"
#include "tests/rl/policies.h"

using namespace pg;
using namespace pg::testing;

TEST_CASE("the adaptive KL weight follows the formula by hand", "[rl]") {
  rl::KlControl control({.schedule = "adaptive", .beta = 0.1, .target = 6, .horizon = 10000});
  CHECK(control.beta() == 0.1);
  control.update(6.6, 250, 0);  // 10 % above the target: 1 + .1·250/10000
  CHECK(std::abs(control.beta() - 0.1 * 1.0025) < 1e-16);
  control.update(600, 500, 0);  // far above: limited to 20 %
  CHECK(std::abs(control.beta() - 0.1 * 1.0025 * 1.01) < 1e-16);
  control.update(0, 1000, 0);  // far below: limited to -20 %
  CHECK(std::abs(control.beta() - 0.1 * 1.0025 * 1.01 * 0.98) < 1e-16);
  control.update(6, 1000, 0);
  CHECK(std::abs(control.beta() - 0.1 * 1.0025 * 1.01 * 0.98) < 1e-16);
}

TEST_CASE("the stepped KL weight goes by the mean of ten updates", "[rl]") {
  rl::KlControl control({.schedule = "stepped", .beta = 0.1, .target = 2});
  double beta = 0.1;
  for (int i = 0; i < 9; ++i) control.update(5, 8, 0);
  CHECK(control.beta() == 0.1);
  control.update(5, 8, 0);  // mean 5, 2.5 times the target
  CHECK(control.beta() == (beta *= 1.5));
  const rl::KlControl::State state = control.state();
  const auto check_steps = [&] {
    double b = beta, mean = 5;
    for (int i = 0; i < 10; ++i) {
      control.update(0, 8, 0);
      mean -= 0.5;  // 4.5, 4 (exactly twice the target is not above it), 3.5, 3, ... 0
      b *= mean > 4 ? 1.5 : mean > 3 ? 1.1 : mean < 1 ? 0.7 : mean < 1.5 ? 0.9 : 1;
      CHECK(std::abs(control.beta() - b) < 1e-15);
    }
  };
  check_steps();
  control.set_state(state);  // as a resumed run does
  check_steps();
  for (int i = 0; i < 100; ++i) control.update(100, 8, 0);
  CHECK(control.beta() == 1);
  for (int i = 0; i < 100; ++i) control.update(0, 8, 0);
  CHECK(control.beta() == 1e-5);
}

TEST_CASE("the KL weight warms up by tokens and then stays", "[rl]") {
  rl::KlControl control({.schedule = "warmup", .beta = 0.04, .warmup_tokens = 1000});
  CHECK(control.beta() == 0);
  control.update(3, 8, 250);
  CHECK(std::abs(control.beta() - 0.01) < 1e-17);
  const rl::KlControl::State state = control.state();
  control.update(3, 8, 10000);
  CHECK(control.beta() == 0.04);
  control.set_state(state);  // as a resumed run does
  CHECK(std::abs(control.beta() - 0.01) < 1e-17);
}

TEST_CASE("a fixed KL weight is fixed", "[rl]") {
  rl::KlControl control({.beta = 0.3});
  control.update(1e9, 1e9, 1e9);
  CHECK(control.beta() == 0.3);
}

TEST_CASE("no KL can make the adaptive weight negative or NaN", "[rl]") {
  rl::KlControl control({.schedule = "adaptive", .target = 6, .horizon = 100});
  CHECK_THROWS_AS(control.update(0, 500, 0), Error);  // 1 - .2·500/100 = 0
  CHECK_THROWS_AS(control.update(std::nan(""), 8, 0), Error);
  control.update(0, 499, 0);
  CHECK(control.beta() > 0);
  CHECK_THROWS_AS(rl::KlControl({.beta = -1}), Error);
}

TEST_CASE("the overlong penalty falls over the cache to minus one", "[rl]") {
  struct {
    int64_t length;
    double penalty;
  } const table[] = {{0, 0},      {16384, 0},  {16385, -1.0 / 4096}, {18432, -.5}, {20479, -4095.0 / 4096},
                     {20480, -1}, {20481, -1}, {100000, -1}};
  for (const auto& row : table) CHECK(rl::overlong_penalty(row.length, 20480, 4096) == row.penalty);
  CHECK(rl::overlong_penalty(0, 10, 10) == 0);
  CHECK(rl::overlong_penalty(10, 10, 10) == -1);
  CHECK_THROWS_AS(rl::overlong_penalty(5, 10, 0), Error);
  CHECK_THROWS_AS(rl::overlong_penalty(5, 10, 11), Error);
}

// Rewards in [0, 1] have a standard deviation of at most 1/2: a target of 1 at least doubles the temperature.
TEST_CASE("an adaptive temperature does not sit at its maximum when its target can be reached", "[rl]") {
  CHECK(rl::adaptive_temperature(1, 0.25, 0.25, 0.6, 2) == 1);
  CHECK(rl::adaptive_temperature(1, 0.5, 0.25, 0.6, 2) == 0.6);
  CHECK(rl::adaptive_temperature(1, 0.3125, 0.25, 0.6, 2) == 0.8);
  CHECK(rl::adaptive_temperature(1, 0.2, 0.25, 0.6, 2) == 1.25);
  CHECK(rl::adaptive_temperature(1, 0.01, 0.25, 0.6, 2) == 2);
  CHECK(rl::adaptive_temperature(1, 0, 0.25, 0.6, 2) == 2);       // standard deviation 0
  CHECK(rl::adaptive_temperature(1.2, -1, 0.25, 0.6, 2) == 1.2);  // before the first batch
  for (double std : {0.0, 0.1, 0.3, 0.5}) CHECK(rl::adaptive_temperature(1, std, 1, 0.6, 2) == 2);  // target too high
}

namespace {

struct Scalar : Module {
  Scalar() { p.set_requires_grad(); }
  Tensor p = Tensor::zeros({1}, f64);
  void visit(Visitor& visitor) override { visitor("p", p); }
};

}  // namespace

// The same eps has a larger effect in TensorFlow's Adam, which adds it before the bias correction: there the steps are
// .759747 -.320740 -.120105 .115442. Hyper-parameters of papers that used one cannot be applied to the other unchanged.
TEST_CASE("AdamW adds epsilon to the corrected deviation", "[rl]") {
  Scalar module;
  ParamSlab slab(module);
  AdamW optimizer(slab, {.beta1 = 0.9, .beta2 = 0.999, .eps = 1e-5, .weight_decay = 0});
  Doubles steps;
  for (double gradient : {1e-3, -2e-3, 5e-4, 1e-3}) {
    const double before = module.p.to_vector()[0];
    slab.zero_grad();
    backward(module.p * gradient, Tensor::ones({1}, f64));
    optimizer.step(1);
    steps.push_back(before - module.p.to_vector()[0]);
  }
  check_close(steps, {.990099, -.363803, -.135665, .129025}, 5e-7);
}
