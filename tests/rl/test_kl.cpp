// The KL estimators as functions: their direction, the identity on which weighted k3 is based, small and large
// differences. (Their expectations: test_language.cpp.)
#include <limits>

#include "rl/methods/kl.h"
#include "tests/rl/policies.h"

using namespace pg;
using namespace pg::testing;

TEST_CASE("k3 looks from the policy to the reference", "[rl]") {
  const Tensor zero = vector_of({0}), one = vector_of({1});
  CHECK(std::abs(rl::k3(one, zero).item() - std::exp(-1.0)) < 1e-15);       // .36787944
  CHECK(std::abs(rl::k3(zero, one).item() - (std::exp(1.0) - 2)) < 1e-15);  // .71828183
  CHECK(rl::k1(one, zero).item() == 1);
  CHECK(rl::k1(zero, one).item() == -1);
  CHECK(rl::k2(vector_of({3}), one).item() == 2);
}

TEST_CASE("while policy and reference are the same every estimator is exactly zero", "[rl]") {
  Generator generator(1);
  for (DType dtype : {f64, f32}) {
    const Tensor lp = Tensor::normal({2, 3}, -3, 1, generator, dtype),
                 old = Tensor::normal({2, 3}, -3, 1, generator, dtype);
    for (const Tensor& k : {rl::k1(lp, lp), rl::k2(lp, lp), rl::k3(lp, lp), rl::weighted_k3(lp, lp, old)}) {
      check_close(k, Doubles(6, 0), 0);
    }
    check_close(rl::full_kl(lp, lp), {0, 0}, 0);
  }
}

TEST_CASE("the gradient of weighted k3 is the ratio times k1", "[rl]") {
  Generator generator(2);
  const Tensor lp = Tensor::normal({64}, -3, 1, generator, f64), ref = Tensor::normal({64}, -3, 1, generator, f64);
  const Tensor old = Tensor::normal({64}, -3, 1, generator, f64);
  const Doubles p = lp.to_vector(), q = ref.to_vector(), mu = old.to_vector();
  Doubles gradient, value;
  for (size_t i = 0; i < 64; ++i) {
    const double ratio = std::exp(p[i] - mu[i]);
    gradient.push_back(ratio * (p[i] - q[i]));
    value.push_back(ratio * (std::exp(q[i] - p[i]) - 1 - (q[i] - p[i])));
  }
  check_close(gradient_at(lp, [&](const Tensor& x) { return rl::weighted_k3(x, ref, old); }), gradient, 1e-12);
  check_close(rl::weighted_k3(lp, ref, old), value, 1e-12);
}

// On policy, the value of weighted k3 equals that of k3. Only the gradients differ.
TEST_CASE("on policy weighted k3 is not k3", "[rl]") {
  const Tensor lp = vector_of({-1, -2, -3, -4}), ref = lp - vector_of({.2, 0, -.5, .1});
  const auto weighted = [&](const Tensor& x) { return rl::weighted_k3(x, ref, lp); };
  const auto plain = [&](const Tensor& x) { return rl::k3(x, ref); };
  check_close(gradient_at(lp, weighted), {.2, 0, -.5, .1}, 1e-15);
  check_close(gradient_at(lp, plain), {.18126925, 0, -.64872127, .09516258}, 5e-9);
  check_close(weighted(lp), plain(lp).to_vector(), 0);
}

// Where the exponential in k3 is limited to e^20, the second term of the product rule vanished and left +e^20 instead
// of -30.
TEST_CASE("weighted k3 pulls a token up that the reference finds far more likely", "[rl]") {
  for (DType dtype : {f64, f32}) {
    const Tensor lp = vector_of({-30, -21, -2}).to(dtype), ref = vector_of({-0.5, 0, -100}).to(dtype);
    check_close(gradient_at(lp, [&](const Tensor& x) { return rl::weighted_k3(x, ref, lp); }), {-29.5, -21, 98}, 0);
  }
}

TEST_CASE("k3 is never negative and keeps its digits near zero", "[rl]") {
  Doubles differences;
  for (int i = 0; i < 4000; ++i) differences.push_back((i % 2 ? 1 : -1) * std::pow(10.0, -8 + i * 0.0023));
  for (DType dtype : {f64, f32}) {
    const Tensor d = vector_of(differences).to(dtype);
    const Doubles k = rl::k3(Tensor::zeros(d.shape(), dtype), d).to_vector(), at = d.to_vector();
    for (size_t i = 0; i < k.size(); ++i) {
      INFO("difference " << at[i] << " in " << (dtype == f32 ? "f32" : "f64") << " gives " << k[i]);
      CHECK(k[i] >= 0);
      const double x = at[i], small = x * x / 2 * (1 + x / 3 + x * x / 12 + x * x * x / 60);  // the series of k3
      const double eps = dtype == f32 ? 0x1p-23 : 0x1p-52;
      if (std::abs(at[i]) < 1e-3) CHECK(std::abs(k[i] - small) <= 2 * eps * std::abs(at[i]) + 1e-13 * small);
    }
  }
}

TEST_CASE("a token that the policy never takes adds nothing to the full KL", "[rl]") {
  const double inf = std::numeric_limits<double>::infinity();
  for (DType dtype : {f64, f32}) {
    Tensor logits = Tensor::from<double>({1, 1, -inf, /**/ 0, 0, -inf, /**/ 3, -inf, -inf}, {3, 3}).to(dtype);
    const Tensor ref = Tensor::from<double>({2, 2, 2, /**/ 0, 0, -inf, /**/ 1, 1, -inf}, {3, 3}).to(dtype);
    const Tensor kl = rl::full_kl(logits, ref);
    check_close(kl, {std::log(1.5), 0, std::log(2.0)}, dtype == f32 ? 1e-6 : 1e-15);
    logits.set_requires_grad();
    backward(sum(rl::full_kl(logits, ref)));
    check_close(logits.grad(), Doubles(9, 0), dtype == f32 ? 1e-6 : 1e-15);  // probabilities equal, no token to add
  }
}

TEST_CASE("the reference has no gradient of its own in the estimators that a loss adds", "[rl]") {
  Tensor ref = vector_of({-1, -2});
  ref.set_requires_grad();
  CHECK(!rl::weighted_k3(vector_of({-1, -1}), ref, vector_of({-1, -1})).requires_grad());
}
