// Losses on pairs: values computed by hand, and identities between the losses.
#include "rl/methods/other_losses.h"
#include "tests/rl/policies.h"

using namespace pg;
using namespace pg::testing;

namespace {

Tensor loss_at(const Doubles& delta, const rl::DpoOptions& options) {
  const Tensor zero = Tensor::zeros({static_cast<int64_t>(delta.size())}, f64);
  return rl::dpo_loss(vector_of(delta) - 7, zero - 7, zero, zero, options).loss;
}

}  // namespace

TEST_CASE("DPO is exactly ln 2 while the policy is the reference", "[rl]") {
  for (DType dtype : {f64, f32}) {
    const Tensor c = vector_of({-31.7, -0.2, -900}).to(dtype), r = vector_of({-12.4, -88.1, -3}).to(dtype);
    const rl::DpoLoss d = rl::dpo_loss(c, r, c, r);
    const double ln2 = dtype == f32 ? static_cast<double>(std::log(2.0F)) : std::log(2.0);
    check_close(d.loss, {ln2, ln2, ln2}, 0);
    check_close(d.chosen_reward, {0, 0, 0}, 0);
    check_close(d.rejected_reward, {0, 0, 0}, 0);
    check_close(rl::bradley_terry_loss(c, c), {ln2, ln2, ln2}, 0);
  }
}

TEST_CASE("DPO by hand", "[rl]") {
  // Δ = (-10 + 11) - (-8 + 7) = 2, βΔ = 1: log(1 + 1/e).
  Tensor chosen = vector_of({-10}), rejected = vector_of({-8});
  chosen.set_requires_grad();
  rejected.set_requires_grad();
  const rl::DpoLoss d = rl::dpo_loss(chosen, rejected, vector_of({-11}), vector_of({-7}), {.beta = 0.5});
  CHECK(std::abs(d.loss.item() - std::log1p(std::exp(-1.0))) < 1e-15);
  CHECK(d.chosen_reward.item() == 0.5);
  CHECK(d.rejected_reward.item() == -0.5);
  CHECK(d.loss.requires_grad());
  CHECK(!d.chosen_reward.requires_grad());
  CHECK(!d.rejected_reward.requires_grad());
}

// d/dΔ -log σ(βΔ) = -β σ(-βΔ): increases the chosen response and decreases the rejected one.
TEST_CASE("DPO pushes both responses apart and most where it is wrong", "[rl]") {
  Tensor chosen = vector_of({-10, -10, -10}), rejected = vector_of({-20, -10, -2});
  chosen.set_requires_grad();
  rejected.set_requires_grad();
  backward(
      sum(rl::dpo_loss(chosen, rejected, vector_of({-10, -10, -10}), vector_of({-10, -10, -10}), {.beta = 0.25}).loss));
  Doubles want;
  for (double delta : {10, 0, -8}) want.push_back(-0.25 / (1 + std::exp(0.25 * delta)));
  check_close(chosen.grad(), want, 1e-15);
  check_close(rejected.grad(), times(-1, want), 1e-15);
}

TEST_CASE("swapping the labels changes the DPO loss by the margin itself", "[rl]") {
  const Doubles delta = {-3, -0.4, 0, 1.5, 8};
  const Doubles right = loss_at(delta, {.beta = 0.5}).to_vector(),
                wrong = loss_at(times(-1, delta), {.beta = 0.5}).to_vector();
  for (size_t i = 0; i < delta.size(); ++i) CHECK(std::abs(wrong[i] - right[i] - 0.5 * delta[i]) < 1e-14);
}

TEST_CASE("label smoothing mixes both labels and the robust loss undoes flips on average", "[rl]") {
  const Doubles delta = {-3, -0.4, 0, 1.5, 8};
  const auto loss = [&](double sign, rl::DpoKind kind, double e) {
    return loss_at(times(sign, delta), {.kind = kind, .beta = 0.5, .label_smoothing = e}).to_vector();
  };
  const Doubles right = loss(1, rl::DpoKind::sigmoid, 0), wrong = loss(-1, rl::DpoKind::sigmoid, 0);
  const Doubles smooth = loss(1, rl::DpoKind::sigmoid, 0.2);
  const Doubles robust = loss(1, rl::DpoKind::robust, 0.2), robust_flipped = loss(-1, rl::DpoKind::robust, 0.2);
  for (size_t i = 0; i < delta.size(); ++i) {
    CHECK(std::abs(smooth[i] - (0.8 * right[i] + 0.2 * wrong[i])) < 1e-14);
    CHECK(std::abs(0.8 * robust[i] + 0.2 * robust_flipped[i] - right[i]) < 1e-14);
  }
  check_close(loss(1, rl::DpoKind::robust, 0), right, 1e-14);
}

TEST_CASE("the hinge stops at its margin and IPO has its minimum at one", "[rl]") {
  check_close(loss_at({-2, 0, 1, 2, 5}, {.kind = rl::DpoKind::hinge, .beta = 0.5}), {2, 1, .5, 0, 0}, 0);
  check_close(loss_at({-1, 0, 1, 3}, {.kind = rl::DpoKind::ipo, .beta = 0.5}), {4, 1, 0, 4}, 0);  // 1/(2β) = 1
}

TEST_CASE("losses on pairs stay finite for any margin", "[rl]") {
  for (DType dtype : {f64, f32}) {
    Tensor chosen = vector_of({2000, -2000}).to(dtype);
    chosen.set_requires_grad();
    const Tensor zero = Tensor::zeros({2}, dtype);
    const Tensor dpo = rl::dpo_loss(chosen, zero, zero, zero, {.beta = 1, .label_smoothing = 0.25}).loss;
    check_close(dpo, {500, 1500}, 0);
    const Tensor bt = rl::bradley_terry_loss(chosen, zero);
    check_close(bt, {0, 2000}, 0);
    backward(sum(bt));
    check_close(chosen.grad(), {0, -1}, 0);
  }
}

TEST_CASE("the margin of a reward model shifts the scores and has no gradient", "[rl]") {
  const Tensor chosen = vector_of({1, 2, -1}), rejected = vector_of({0.5, 3, -1});
  Tensor margin = vector_of({1, 0.5, -2});
  margin.set_requires_grad();
  check_close(rl::bradley_terry_loss(chosen, rejected, margin),
              rl::bradley_terry_loss(chosen - margin.detach(), rejected).to_vector(), 1e-15);
  CHECK(!rl::bradley_terry_loss(chosen, rejected, margin).requires_grad());
}

TEST_CASE("centring tells scores apart that Bradley and Terry cannot", "[rl]") {
  const Tensor chosen = vector_of({1, 11, -0.5}), rejected = vector_of({0, 10, -1.5});
  const double plain = std::log1p(std::exp(-1.0));
  check_close(rl::bradley_terry_loss(chosen, rejected), {plain, plain, plain}, 1e-15);
  check_close(rl::bradley_terry_loss(chosen, rejected, {}, 0.01), {plain + .01, plain + 4.41, plain + .04}, 1e-14);
}
