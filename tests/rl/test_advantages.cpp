// Advantages of groups and batches: identities, examples computed by hand, the effects of rounding and masks.
#include "rl/advantages.h"
#include "tests/rl/policies.h"

using namespace pg;
using namespace pg::testing;

namespace {

using Group = Tensor (*)(const Tensor&, const Tensor&);

Tensor standardised(const Tensor& rewards, const Tensor& mask) {
  return rl::group_std_advantage(rewards, 1e-9, 1, mask);
}
Tensor standardised_by_g(const Tensor& rewards, const Tensor& mask) {
  return rl::group_std_advantage(rewards, 1e-9, 0, mask);
}
Tensor by_batch(const Tensor& rewards, const Tensor& mask) { return rl::batch_std_advantage(rewards, 1e-9, 1, mask); }
Tensor opo(const Tensor& rewards, const Tensor& mask) {
  Generator generator(3);
  const Tensor lengths = Tensor::uniform(rewards.shape(), 1, 50, generator, f64);
  return rl::opo_advantage(rewards, lengths, mask);
}

// Estimators that use only rewards of the same group.
constexpr std::pair<const char*, Group> kWithinGroups[] = {{"mean", rl::group_mean_advantage},
                                                           {"leave one out", rl::leave_one_out_advantage},
                                                           {"std", standardised},
                                                           {"std by G", standardised_by_g},
                                                           {"opo", opo},
                                                           {"maxrl", rl::maxrl_advantage}};

Tensor random_rewards(const Shape& shape) {
  Generator generator(5);
  return Tensor::uniform(shape, 0, 1, generator, f64);
}

}  // namespace

// In f32 the mean of eight rewards of .9 is not .9, and their standard deviation is rounding noise. Without special
// treatment, dividing the one by the other gave every response the advantage -.92 (and +.92 for eight rewards of .7),
// so solved groups were pushed away.
TEST_CASE("equal rewards give exactly zero in every group estimator", "[rl]") {
  for (DType dtype : {f32, f64, bf16}) {
    for (double reward : {0.9, 0.7, 0.1, 1.0 / 3, 1e-3, -0.3, 0.0}) {
      for (int64_t size : {1, 2, 3, 5, 7, 8, 64}) {
        const Tensor equal = Tensor::full({2, size}, reward, dtype);
        for (const auto& [name, f] : kWithinGroups) {
          INFO(name << " of " << size << " rewards of " << reward);
          check_close(f(equal, {}), Doubles(static_cast<size_t>(2 * size), 0), 0);
        }
        check_close(by_batch(equal, {}), Doubles(static_cast<size_t>(2 * size), 0), 0);
        check_close(rl::gpg_advantage(equal), Doubles(static_cast<size_t>(2 * size), 0), 0);
        check_close(rl::whiten(equal), Doubles(static_cast<size_t>(2 * size), 0), 0);
        check_close(rl::groups_with_signal(equal), {0, 0}, 0);
      }
    }
  }
}

TEST_CASE("an equal group beside one that differs stays exactly zero", "[rl]") {
  const Tensor rewards = Tensor::from<float>({.9F, .9F, .9F, /**/ .2F, .9F, .4F}, {2, 3});
  for (Group f : {by_batch, Group(rl::gpg_advantage)}) {
    const Doubles a = f(rewards, {}).to_vector();
    check_close({a[0], a[1], a[2]}, {0, 0, 0}, 0);
    CHECK(a[3] < -0.1);
    CHECK(a[4] > 0.1);
  }
  check_close(rl::groups_with_signal(rewards), {0, 1}, 0);
}

TEST_CASE("leave-one-out is the group mean times G over G-1 and the mean of the others by hand", "[rl]") {
  const Tensor rewards = random_rewards({3, 5});
  const Doubles r = rewards.to_vector(), mean = rl::group_mean_advantage(rewards).to_vector();
  Doubles want;
  for (size_t n = 0; n < 3; ++n) {
    for (size_t g = 0; g < 5; ++g) {
      double others = 0;
      for (size_t h = 0; h < 5; ++h) others += h == g ? 0 : r[n * 5 + h];
      want.push_back(r[n * 5 + g] - others / 4);
    }
  }
  check_close(rl::leave_one_out_advantage(rewards), want, 1e-15);
  check_close(times(5.0 / 4, mean), want, 1e-15);
}

TEST_CASE("group estimators by hand", "[rl]") {
  const Tensor rewards = Tensor::from<double>({1, 2, 3, 6}, {1, 4});  // mean 3, sum of squared deviations 14
  check_close(rl::group_mean_advantage(rewards), {-2, -1, 0, 3}, 0);
  check_close(rl::group_std_advantage(rewards, 0, 0), times(std::sqrt(4.0 / 14), {-2, -1, 0, 3}), 1e-15);
  check_close(rl::group_std_advantage(rewards, 0, 1), times(std::sqrt(3.0 / 14), {-2, -1, 0, 3}), 1e-15);
  check_close(rl::group_std_advantage(rewards, 0.5, 0), times(1 / (std::sqrt(14.0 / 4) + 0.5), {-2, -1, 0, 3}), 1e-15);
  check_close(rl::maxrl_advantage(rewards), {-2.0 / 3, -1.0 / 3, 0, 1}, 1e-15);
  // (1·1 + 2·1 + 3·2 + 6·4) / 8 = 33/8
  check_close(rl::opo_advantage(rewards, Tensor::from<double>({1, 1, 2, 4}, {1, 4})),
              {1 - 33.0 / 8, 2 - 33.0 / 8, 3 - 33.0 / 8, 6 - 33.0 / 8}, 1e-15);
  check_close(rl::remax_advantage(rewards, Tensor::full({1, 1}, 2.5, f64)), {-1.5, -.5, .5, 3.5}, 0);
  // The second group has no signal: the first group counts double.
  const Tensor two = Tensor::from<double>({0, 1, /**/ 1, 1}, {2, 2});
  check_close(rl::gpg_advantage(two), {-1, 1, 0, 0}, 0);
  // All four rewards: mean 1, sum of squared deviations 2.
  const Tensor apart = Tensor::from<double>({0, 1, /**/ 1, 2}, {2, 2});
  check_close(rl::batch_std_advantage(apart, 0, 1), times(std::sqrt(3.0 / 2), {-.5, .5, -.5, .5}), 1e-15);
  check_close(rl::batch_std_advantage(apart, 0, 0), times(std::sqrt(4.0 / 2), {-.5, .5, -.5, .5}), 1e-15);
  check_close(rl::batch_std_advantage(apart, 0.5, 0), times(1 / (std::sqrt(0.5) + 0.5), {-.5, .5, -.5, .5}), 1e-15);
  // All responses failed: MaxRL would divide by 0.
  check_close(rl::maxrl_advantage(Tensor::zeros({1, 3}, f64)), {0, 0, 0}, 0);
}

TEST_CASE("a group's advantages do not depend on which other groups are in the batch", "[rl]") {
  const Tensor rewards = random_rewards({3, 4});
  for (const auto& [name, f] : kWithinGroups) {
    if (std::string(name) == "opo") continue;  // its random lengths differ by row
    const Doubles whole = f(rewards, {}).to_vector();
    for (int64_t n = 0; n < 3; ++n) {
      INFO(name);
      const auto begin = whole.begin() + n * 4;
      check_close(f(rewards.view_slice(0, n, n + 1), {}), Doubles(begin, begin + 4), 0);
    }
  }
}

TEST_CASE("dividing by the deviation of the batch does not mix the means of groups", "[rl]") {
  const Tensor rewards = Tensor::from<double>({0, 1, 2, /**/ 10, 11, 15}, {2, 3});
  const Doubles a = rl::batch_std_advantage(rewards).to_vector();
  CHECK(std::abs(a[0] + a[1] + a[2]) < 1e-15);
  CHECK(std::abs(a[3] + a[4] + a[5]) < 1e-15);
}

TEST_CASE("a masked response is as if it were not there whatever its reward is", "[rl]") {
  const Tensor rewards = Tensor::from<double>({.2, kNan, .9, .4, -HUGE_VAL}, {1, 5});
  const Tensor mask = Tensor::from<uint8_t>({1, 0, 1, 1, 0}, {1, 5});
  const Tensor three = Tensor::from<double>({.2, .9, .4}, {1, 3});
  const Group all[] = {
      rl::group_mean_advantage, rl::leave_one_out_advantage, standardised, by_batch, rl::maxrl_advantage,
      rl::gpg_advantage};
  for (Group f : all) {
    const Doubles want = f(three, {}).to_vector();
    check_close(f(rewards, mask), {want[0], 0, want[1], want[2], 0}, 1e-15);
  }
  const Tensor lengths = Tensor::from<double>({3, kNan, 5, 7, kNan}, {1, 5});
  const Doubles want = rl::opo_advantage(three, Tensor::from<double>({3, 5, 7}, {1, 3})).to_vector();
  check_close(rl::opo_advantage(rewards, lengths, mask), {want[0], 0, want[1], want[2], 0}, 1e-15);
  check_close(rl::groups_with_signal(rewards, Tensor::from<uint8_t>({0, 0, 1, 0, 0}, {1, 5})), {0}, 0);
  check_close(rl::leave_one_out_advantage(rewards, Tensor::zeros({1, 5}, u8)), {0, 0, 0, 0, 0}, 0);
}

TEST_CASE("the order of responses and of groups does not matter", "[rl]") {
  const Tensor rewards = Tensor::from<double>({.1, .5, .2, /**/ 1, 0, .7}, {2, 3});
  const Tensor turned = Tensor::from<double>({.7, 1, 0, /**/ .2, .1, .5}, {2, 3});
  for (Group f : {Group(rl::group_mean_advantage), Group(rl::leave_one_out_advantage), Group(standardised),
                  Group(by_batch), Group(rl::maxrl_advantage), Group(rl::gpg_advantage)}) {
    const Doubles a = f(rewards, {}).to_vector();
    check_close(f(turned, {}), {a[5], a[3], a[4], a[2], a[0], a[1]}, 1e-15);
  }
}

TEST_CASE("advantages are constants of the dtype of the rewards", "[rl]") {
  Tensor rewards = random_rewards({2, 3}).to(f32);
  rewards.set_requires_grad();
  for (const auto& [name, f] : kWithinGroups) {
    CHECK(!f(rewards, {}).requires_grad());
    CHECK(f(rewards, {}).dtype() == f32);
  }
}

// ---- whitening

TEST_CASE("whitening by hand", "[rl]") {
  const Tensor x = Tensor::from<double>({1, 2, 3, 4}, {2, 2});  // mean 2.5, squares 5
  check_close(rl::whiten(x, {}, 0, true, 0), times(std::sqrt(4.0 / 5), {-1.5, -.5, .5, 1.5}), 1e-15);
  check_close(rl::whiten(x, {}, 1, true, 0), times(std::sqrt(3.0 / 5), {-1.5, -.5, .5, 1.5}), 1e-15);
  check_close(rl::whiten(x, {}, 1, true, 0.5), times(1 / std::sqrt(5.0 / 3 + 0.5), {-1.5, -.5, .5, 1.5}), 1e-15);
  Doubles kept = times(std::sqrt(3.0 / 5), {-1.5, -.5, .5, 1.5});
  for (double& v : kept) v += 2.5;
  check_close(rl::whiten(x, {}, 1, false, 0), kept, 1e-15);
}

TEST_CASE("whitening one slot is no division by zero", "[rl]") {
  const Tensor x = Tensor::from<double>({3, kNan, kNan}, {1, 3}), mask = Tensor::from<uint8_t>({1, 0, 0}, {1, 3});
  for (int ddof : {0, 1}) {
    check_close(rl::whiten(x, mask, ddof), {0, 0, 0}, 0);
    check_close(rl::whiten(x, mask, ddof, false), {3, 0, 0}, 0);
    check_close(rl::whiten(x, Tensor::zeros({1, 3}, u8), ddof), {0, 0, 0}, 0);
  }
}

TEST_CASE("padding does not leak into whitening", "[rl]") {
  const Tensor padded = Tensor::from<double>({1, 2, kNan, /**/ 3, 4, HUGE_VAL}, {2, 3});
  const Tensor mask = Tensor::from<uint8_t>({1, 1, 0, 1, 1, 0}, {2, 3});
  const Doubles want = rl::whiten(Tensor::from<double>({1, 2, 3, 4}, {2, 2})).to_vector();
  check_close(rl::whiten(padded, mask), {want[0], want[1], 0, want[2], want[3], 0}, 0);
}

TEST_CASE("rewards and masks may be slices of wider tensors", "[rl]") {
  const Tensor wide = Tensor::from<double>({1, 2, 9, 9, /**/ 3, 4, 9, 9}, {2, 4});
  const Tensor wide_mask = Tensor::from<uint8_t>({1, 1, 0, 0, /**/ 1, 0, 0, 0}, {2, 4});
  const Tensor x = wide.view_slice(1, 0, 2), mask = wide_mask.view_slice(1, 0, 2);
  const Tensor y = x.clone(), m = Tensor::from<uint8_t>({1, 1, 1, 0}, {2, 2});
  check_close(rl::whiten(x, mask), rl::whiten(y, m).to_vector(), 0);
  check_close(rl::return_to_go(x, 0.5, mask), rl::return_to_go(y, 0.5, m).to_vector(), 0);
  check_close(rl::leave_one_out_advantage(x, mask), rl::leave_one_out_advantage(y, m).to_vector(), 0);
  rl::MovingBaseline a, b;
  check_close(a.advantage(x, mask), b.advantage(y, m).to_vector(), 0);
  CHECK(a.value() == b.value());
  CHECK(rl::whiten(Tensor::zeros({2, 0}, f64)).shape() == Shape{2, 0});
}

TEST_CASE("a mask of another shape with as many elements is refused", "[rl]") {
  const Tensor x = Tensor::ones({2, 3}, f64), mask = Tensor::ones({3, 2}, u8);
  CHECK_THROWS_AS(rl::whiten(x, mask), Error);
  CHECK_THROWS_AS(rl::return_to_go(x, 1, mask), Error);
  CHECK_THROWS_AS(rl::group_mean_advantage(x, mask), Error);
  CHECK_THROWS_AS(rl::MovingBaseline().advantage(x, mask), Error);
}

// ---- returns and the moving baseline

TEST_CASE("return-to-go is the discounted sum of what follows", "[rl]") {
  const Tensor rewards = Tensor::from<double>({1, 2, 4, 0, -1, 8}, {2, 3});
  check_close(rl::return_to_go(rewards, 0.5), {3, 4, 4, 1.5, 3, 8}, 0);
  check_close(rl::return_to_go(rewards), {7, 6, 4, 7, 7, 8}, 0);
  CHECK(rewards.to_vector()[0] == 1);
  CHECK(rl::return_to_go(Tensor::zeros({2, 0})).numel() == 0);
}

TEST_CASE("padding does not leak into returns", "[rl]") {
  const Tensor rewards = Tensor::from<double>({1.5, 1, 2, 2}, {1, 4});
  check_close(rl::return_to_go(rewards, 1, Tensor::from<uint8_t>({1, 1, 0, 0}, {1, 4})), {2.5, 1, 0, 0}, 0);
  check_close(rl::return_to_go(rewards), {6.5, 5, 4, 2}, 0);  // the result if the mask is forgotten
}

TEST_CASE("masked steps are passed over without a discount", "[rl]") {
  const Tensor rewards = Tensor::from<double>({1, kNan, kNan, 4, HUGE_VAL}, {1, 5});
  check_close(rl::return_to_go(rewards, 0.5, Tensor::from<uint8_t>({1, 0, 0, 1, 0}, {1, 5})), {3, 0, 0, 4, 0}, 0);
}

TEST_CASE("the baseline does not contain the batch it is subtracted from", "[rl]") {
  rl::MovingBaseline baseline(0.5);
  check_close(baseline.advantage(Tensor::from<double>({4, 8}, {2})), {4, 8}, 0);
  CHECK(baseline.value() == 6);
  check_close(baseline.advantage(Tensor::from<double>({0, 0}, {2})), {-6, -6}, 0);
  CHECK(std::abs(baseline.value() - 6 * 0.5 / 1.5) < 1e-15);  // (0.5·6 + 0) / (0.5 + 1)
}

TEST_CASE("a moving baseline passes over masked episodes and goes on from a checkpoint", "[rl]") {
  const Tensor returns = Tensor::from<double>({4, kNan, 8, HUGE_VAL}, {2, 2});
  const Tensor mask = Tensor::from<uint8_t>({1, 0, 1, 0}, {2, 2});
  rl::MovingBaseline baseline(0.5);
  check_close(baseline.advantage(returns, mask), {4, 0, 8, 0}, 0);
  CHECK(baseline.value() == 6);
  baseline.advantage(returns, Tensor::zeros({2, 2}, u8));  // all episodes are masked: no update
  CHECK(baseline.value() == 6);
  rl::MovingBaseline resumed(0.5, baseline.sum(), baseline.weight());
  check_close(resumed.advantage(returns, mask), {-2, 0, 2, 0}, 0);
  CHECK(resumed.value() == 6);
}
