// The loss of a critic and the quality of its predictions.
#include <limits>

#include "rl/methods/other_losses.h"
#include "tests/rl/policies.h"

using namespace pg;
using namespace pg::testing;

TEST_CASE("the clipped value loss takes the larger error", "[rl]") {
  // Moved towards the return beyond the clip: the error of the clipped value .7 counts, and there is no gradient. Moved
  // away beyond the clip: not clipped. Inside: both errors are equal.
  const Tensor returns = row({3, 3, 3, 3}), old = row({.5, 2.5, 2.5, .5});
  Tensor values = row({1, 2.9, 4, .6});
  values.set_requires_grad();
  const Tensor loss = rl::value_loss(values, returns, old, 0.2);
  check_close(loss, {2.3 * 2.3 / 2, .3 * .3 / 2, .5, 2.4 * 2.4 / 2}, 1e-15);
  backward(sum(loss));
  check_close(values.grad(), {0, 0, 1, -2.4}, 1e-15);
  check_close(rl::value_loss(values, returns), {2, .01 / 2, .5, 2.4 * 2.4 / 2}, 1e-15);
}

TEST_CASE("returns and old values are constants of the value loss", "[rl]") {
  Tensor returns = row({1, 2}), old = row({0, 0});
  returns.set_requires_grad();
  old.set_requires_grad();
  CHECK(!rl::value_loss(row({0.5, 0.1}), returns, old, 0.2).requires_grad());
}

TEST_CASE("explained variance by hand", "[rl]") {
  const Tensor returns = row({1, 2, 3, 6});
  CHECK(rl::explained_variance(returns, returns) == 1);
  CHECK(std::abs(rl::explained_variance(returns - 100, returns) - 1) < 1e-12);  // a constant error does not reduce it
  CHECK(rl::explained_variance(Tensor::full({1, 4}, 3, f64), returns) == 0);
  CHECK(rl::explained_variance(neg(returns), returns) == -3);
  // Errors 0, 1, -1, 0: variance 1/2 of 14/4.
  CHECK(std::abs(rl::explained_variance(row({1, 1, 4, 6}), returns) - (1 - 0.5 / 3.5)) < 1e-15);
}

TEST_CASE("explained variance of equal returns is NaN whatever rounding does to their mean", "[rl]") {
  for (double value : {0.1, 0.7, 0.9, 1.0 / 3}) {
    for (int64_t n : {1, 3, 6, 7, 8, 10}) {
      CHECK(std::isnan(rl::explained_variance(Tensor::zeros({1, n}, f64), Tensor::full({1, n}, value, f64))));
    }
  }
}

TEST_CASE("explained variance refuses shapes that only have as many elements", "[rl]") {
  const Tensor x = Tensor::ones({2, 3}, f64), turned = Tensor::ones({3, 2}, f64);
  CHECK_THROWS_AS(rl::explained_variance(x, turned), Error);
  CHECK_THROWS_AS(rl::explained_variance(x, x, Tensor::ones({3, 2}, u8)), Error);
}

TEST_CASE("explained variance does not look at masked slots", "[rl]") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Tensor mask = Tensor::from<uint8_t>({1, 0, 1, 1, 0, 1}, {1, 6});
  CHECK(std::abs(rl::explained_variance(row({1, nan, 1, 4, nan, 6}), row({1, nan, 2, 3, HUGE_VAL, 6}), mask) -
                 (1 - 0.5 / 3.5)) < 1e-15);
}
