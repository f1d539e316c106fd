// How many digits the operations keep: shifts, divisions and means, compared with mathematics and IEEE arithmetic.
#include <cmath>
#include <functional>

#include "autograd/ops.h"
#include "tests/catch.h"
#include "tests/tensors.h"

using namespace pg;
using pg::testing::leaf;

namespace {

using Values = std::vector<double>;

}  // namespace

// The gradients of functions of softmax(logits) do not depend on a shift of all logits. The logits are multiples of
// 1/16, so f32 holds them exactly after a shift of up to a million.
TEST_CASE("a shift of all logits costs the gradient no precision", "[ops][values]") {
  const Values base = {0.5, -1.25, 2, 0.0625, -3, 1.5, -0.75, 2.4375, 0};
  const size_t n = base.size(), id = 3;
  double total = 0, entropy = 0;
  Values p, log_p;
  for (double x : base) total += std::exp(x);
  for (double x : base) log_p.push_back(x - std::log(total)), p.push_back(std::exp(log_p.back()));
  for (size_t i = 0; i < n; ++i) entropy -= p[i] * log_p[i];
  const Tensor ids = Tensor::from(std::vector<int32_t>{id}, {1});
  struct Case {
    const char* name;
    std::function<Tensor(const Tensor&)> loss;  // a function of x [1, n]
    std::function<double(size_t)> gradient;
  };
  const double smoothing = 0.25;
  const std::vector<Case> cases = {
      {"cross_entropy", [&](const Tensor& x) { return cross_entropy(x, ids); },
       [&](size_t i) { return p[i] - (i == id ? 1 : 0); }},
      {"cross_entropy with smoothing",
       [&](const Tensor& x) {
         return cross_entropy(x, ids, {.reduction = Reduction::sum, .label_smoothing = smoothing});
       },
       [&](size_t i) { return p[i] - smoothing / static_cast<double>(n) - (i == id ? 1 - smoothing : 0); }},
      {"token_log_prob", [&](const Tensor& x) { return sum(token_log_prob(x, ids).first); },
       [&](size_t i) { return (i == id ? 1 : 0) - p[i]; }},
      {"entropy", [&](const Tensor& x) { return sum(token_log_prob(x, ids).second); },
       [&](size_t i) { return -p[i] * (log_p[i] + entropy); }},
      {"token_log_prob and entropy",
       [&](const Tensor& x) {
         const auto [log_prob, h] = token_log_prob(x, ids);
         return sum(log_prob) + 2 * sum(h);
       },
       [&](size_t i) { return (i == id ? 1 : 0) - p[i] - 2 * p[i] * (log_p[i] + entropy); }},
      {"logsumexp", [](const Tensor& x) { return sum(logsumexp(x, {1})); }, [&](size_t i) { return p[i]; }},
      {"log_softmax", [](const Tensor& x) { return sum(slice(log_softmax(x), 1, id, id + 1)); },
       [&](size_t i) { return (i == id ? 1 : 0) - p[i]; }},
      {"softmax", [](const Tensor& x) { return sum(slice(softmax(x), 1, id, id + 1)); },
       [&](size_t i) { return p[id] * ((i == id ? 1 : 0) - p[i]); }}};
  for (const Case& c : cases) {
    for (double shift : {0.0, 100.0, -100.0, 1e3, 3e3, 1e4, 1e5, 1e6}) {
      for (DType dtype : {f32, f64}) {
        const Tensor x = (Tensor::from(base, {1, static_cast<int64_t>(n)}) + shift).to(dtype).set_requires_grad();
        backward(c.loss(x));
        const Values got = x.grad().to_vector();
        double difference = 0, size = 0;
        for (size_t i = 0; i < n; ++i) {
          const double want = c.gradient(i);
          difference += (got[i] - want) * (got[i] - want), size += want * want;
        }
        INFO(c.name << ", shift " << shift << ", " << name_of(dtype));
        CHECK(std::sqrt(difference / size) <= (dtype == f32 ? 2e-7 : 4e-15));
      }
    }
  }
}

TEST_CASE("two equal logits of 1e30 have probability one half each", "[ops][values]") {
  const Tensor ids = Tensor::from(std::vector<int32_t>{0}, {1});
  for (DType dtype : {f32, f64, bf16}) {
    const auto gradient = [&](const std::function<Tensor(const Tensor&)>& loss) {
      const Tensor x = Tensor::full({1, 2}, 1e30, dtype).set_requires_grad();
      backward(loss(x));
      return x.grad().to_vector();
    };
    CHECK(gradient([&](const Tensor& x) { return cross_entropy(x, ids); }) == Values{-0.5, 0.5});
    CHECK(gradient([&](const Tensor& x) { return sum(token_log_prob(x, ids).first); }) == Values{0.5, -0.5});
    CHECK(gradient([](const Tensor& x) { return logsumexp(x); }) == Values{0.5, 0.5});
  }
}

TEST_CASE("division by a number rounds each quotient once", "[ops][values]") {
  std::vector<float> singles;
  Values doubles;
  Generator g(3);
  for (int i = 0; i < 1000; ++i) doubles.push_back(g.normal() * 100), singles.push_back(float(doubles.back()));
  for (double divisor : {49.0, 3.0, 10.0, -7.3, 1e-3}) {
    const Values y = (Tensor::from(doubles, {1000}) / divisor).to_vector();
    const Values y32 = (Tensor::from(singles, {1000}) / divisor).to_vector();
    const Values y16 = (Tensor::from(singles, {1000}).to(bf16) / divisor).to_vector();
    const Values x16 = Tensor::from(singles, {1000}).to(bf16).to_vector();
    for (size_t i = 0; i < 1000; ++i) {
      CHECK(y[i] == doubles[i] / divisor);
      CHECK(y32[i] == double(singles[i] / float(divisor)));
      CHECK(y16[i] == double(float(BFloat16(float(x16[i]) / float(divisor)))));
    }
  }
  const Tensor tiny = leaf({3e-310, 1e-310});
  const Tensor y = tiny / 1e-310;  // 1/1e-310 overflows f64
  CHECK(y.to_vector()[1] == 1);
  CHECK(y.to_vector()[0] == Approx(3));
  const Tensor x = leaf({98});
  backward(sum(x / 49.0));
  CHECK(x.grad().item() == 1 / 49.0);
}
TEST_CASE("the mean of equal numbers is that number and its gradient 1 over n", "[ops][values]") {
  for (DType dtype : {f32, f64, bf16}) {
    const auto rounded = [&](double value) { return Tensor::scalar(value, dtype).item(); };
    for (int n = 1; n <= 300; ++n) {
      const Tensor x = Tensor::ones({n}, dtype).set_requires_grad();
      const Tensor y = mean(x);
      backward(y);
      INFO(n << " ones, " << name_of(dtype));
      CHECK(y.item() == 1);
      CHECK(x.grad().to_vector() == Values(n, rounded(1.0 / n)));
      CHECK(var(x, {}, 0).item() == 0);
      const Tensor columns = mean(Tensor::ones({n, 3}, dtype), {0});
      CHECK(columns.to_vector() == Values(3, 1));
    }
  }
}

TEST_CASE("a mean is the sum divided by the count and rounded once", "[ops][values]") {
  Generator g(4);
  for (int n : {3, 7, 10, 49, 1000}) {
    Values values;
    double total = 0;  // a sum of integers: exact
    for (int i = 0; i < n; ++i) values.push_back(std::floor(1000 * g.normal())), total += values.back();
    CHECK(mean(leaf(values)).item() == total / n);
    CHECK(mean(leaf(values, f32)).item() == double(float(total / n)));
  }
}
