// The checks of the losses and of the Gaussian policy. Expected values are computed by hand or from the definition.
#include <cmath>
#include <limits>
#include <numbers>

#include "lessons/07_ppo/checks.h"

namespace pg::lesson07 {
namespace {

using kit::Grader;
using kit::Value;
using Numbers = std::vector<double>;

Tensor normal(const Shape& shape, uint64_t seed) {
  Generator random(seed);
  return Tensor::normal(shape, 0, 1, random, f64);
}
Tensor leaf(const Tensor& x) { return x.clone().set_requires_grad(); }
Value gradient_of(const Tensor& x) {
  const Tensor grad = x.grad();
  return grad.defined() ? Value(grad) : Value(zeros_like(x));
}
bool on_the_tape(Grader& g, const Tensor& x) {
  return g.expect(
      x.requires_grad(), "the result", "no tape", "a tensor on the tape",
      "without a gradient nothing is learned: use tensor operations only, without detach() and to_vector()");
}

}  // namespace

void check_clip_loss(Grader& g, const Impl& impl) {
  const double low = 0.2, high = 0.3;
  const Numbers ratios = {0.5, 0.9, 1.25, 1.6};
  Numbers both = ratios;
  both.insert(both.end(), ratios.begin(), ratios.end());
  const Tensor rho = leaf(Tensor::from(both, {2, 4}));
  const Tensor a = leaf(Tensor::from(Numbers{2, 2, 2, 2, -2, -2, -2, -2}, {2, 4}));
  const Tensor got = impl.clip_loss(rho, a, low, high);
  const auto loss = [](Numbers plus, const Numbers& minus) {
    plus.insert(plus.end(), minus.begin(), minus.end());
    return Value({2, 4}, plus);
  };
  // Computed by hand: the clipped ratios are 0.8 0.9 1.25 1.3.
  const Value want = loss({-1, -1.8, -2.5, -2.6}, {1.6, 1.8, 2.5, 3.2});
  Value negative = want;
  for (double& x : negative.v) x = -x;
  g.equal(
      "ratio 0.5 0.9 1.25 1.6 with A = 2 and with A = -2; low 0.2, high 0.3", got.detach(), want,
      {.mistakes = {
           {"the maximum in place of the minimum: it rewards ratios outside the clip range",
            loss({-1.6, -1.8, -2.5, -3.2}, {1, 1.8, 2.5, 2.6})},
           {"the clipped term alone: take the minimum with the unclipped one, or a ratio that moved in the wrong "
            "direction has no gradient",
            loss({-1.6, -1.8, -2.5, -2.6}, {1.6, 1.8, 2.5, 2.6})},
           {"the clip is on the wrong side for negative A: the minimum is of the products with A, not of the ratios",
            loss({-1, -1.8, -2.5, -2.6}, {1, 1.8, 2.5, 2.6})},
           {"nothing is clipped", loss({-1, -1.8, -2.5, -3.2}, {1, 1.8, 2.5, 3.2})},
           {"low and high are exchanged: the range is 1 - low to 1 + high",
            loss({-1, -1.8, -2.4, -2.4}, {1.4, 1.8, 2.5, 3.2})},
           {"clipped to the range -low to high; the range is about 1",
            loss({-0.6, -0.6, -0.6, -0.6}, {1, 1.8, 2.5, 3.2})},
           {"the sign is flipped: the loss is minimised", negative}}});
  if (g.failed() || !on_the_tape(g, got)) return;
  const Tensor weight = normal({2, 4}, 75);
  backward(got, weight);
  const Numbers w = weight.to_vector();
  const Numbers slope = {-2, -2, -2, 0, 0, 2, 2, 2};
  Value gradient({2, 4}, Numbers(8)), into_advantage = gradient;
  for (size_t i = 0; i < 8; ++i) {
    gradient.v[i] = w[i] * slope[i];
    into_advantage.v[i] = w[i] * want.v[i] / (i < 4 ? 2 : -2);  // the loss is linear in A
  }
  g.equal("the gradient at the ratio: 0 only where the ratio is past the clip in the direction that A favours",
          gradient_of(rho), gradient);
  g.equal("the gradient at the advantage", gradient_of(a), Tensor::zeros({2, 4}, f64),
          {.mistakes = {{"a gradient flows into the advantage: detach() it", into_advantage}}});
  if (g.failed()) return;
  g.equal(
      "ratio [2, 2], one A per row: 1 and -1",
      impl.clip_loss(Tensor::from(Numbers{2, 0.5, 2, 0.5}, {2, 2}), Tensor::from(Numbers{1, -1}, {2, 1}), low, high),
      Value({2, 2}, {-1.3, -0.5, 2, 0.8}));
  g.equal(
      "ratio 0.5 0.95 2 with A = -1 1 1; low 0.1, high 0.5",
      impl.clip_loss(Tensor::from(Numbers{0.5, 0.95, 2}, {3, 1}), Tensor::from(Numbers{-1, 1, 1}, {3, 1}), 0.1, 0.5),
      Value({3, 1}, {0.9, -0.95, -1.5}));
  g.note("both signs of A, four ratios each, two ranges, and the gradient");
}

void check_value_loss(Grader& g, const Impl& impl) {
  // R = 0 in all cases. near = old ± 0.5 where v is further away from old.
  const Tensor v = leaf(Tensor::from(Numbers{1, 1, -1, 0.25, 2}, {5}));
  const Tensor old = leaf(Tensor::from(Numbers{0.2, 2, -0.8, 0.125, -1}, {5}));
  const Tensor returns = leaf(Tensor::zeros({5}, f64));
  const double clip = 0.5;
  const auto half_squares = [](Numbers x) {
    for (double& e : x) e = e * e / 2;
    return Value({5}, x);
  };
  g.equal("v 1 1 -1 0.25 2, R = 0, clip 0", impl.value_loss(v.detach(), returns.detach(), {}, 0, {}),
          half_squares({1, 1, -1, 0.25, 2}), {.mistakes = {{"the factor 1/2 is missing", [] {
                                                              return Value({5}, {1, 1, 1, 0.0625, 4});
                                                            }()}}});
  if (g.failed()) return;
  const Tensor got = impl.value_loss(v, returns, old, clip, {});
  // The values of near: 0.7, 1.5, -1, 0.25, -0.5.
  g.equal("the same with old 0.2 2 -0.8 0.125 -1, clip 0.5", got.detach(), half_squares({1, 1.5, -1, 0.25, 2}),
          {.mistakes = {{"the minimum in place of the maximum: the loss is the larger of the two errors",
                         half_squares({0.7, 1, -1, 0.25, -0.5})},
                        {"the clipped error alone: where v is past the clip, it has no gradient",
                         half_squares({0.7, 1.5, -1, 0.25, -0.5})},
                        {"clip and old_values are not used: clip v - old to ±clip, and add old",
                         half_squares({1, 1, -1, 0.25, 2})}}});
  if (g.failed() || !on_the_tape(g, got)) return;
  backward(got, Tensor::ones({5}, f64));
  g.equal("the gradient at v", gradient_of(v), Value({5}, {1, 0, -1, 0.25, 2}));
  for (const auto& [name, x] : {std::pair{"returns", returns}, std::pair{"old_values", old}}) {
    g.expect(!x.grad().defined() || sum(x.grad() * x.grad()).item() == 0, std::string("the gradient at the ") + name,
             "not 0", "0", "a gradient flows into what is a constant: detach() it");
  }
  if (g.failed()) return;
  const double inf = std::numeric_limits<double>::infinity();
  const Tensor mask = Tensor::from(std::vector<uint8_t>{1, 0, 1, 0}, {2, 2});
  const Tensor u = leaf(Tensor::from(Numbers{3, 1, -1, 2}, {2, 2}));
  const Tensor masked = impl.value_loss(u, Tensor::from(Numbers{1, inf, -2, NAN}, {2, 2}),
                                        Tensor::from(Numbers{3, 0, -1, inf}, {2, 2}), clip, mask);
  g.equal("mask {{1, 0}, {1, 0}}, nan and infinity where it is 0", masked.detach(), Value({2, 2}, {2, 0, 0.5, 0}));
  if (g.failed()) return;
  backward(masked, Tensor::ones({2, 2}, f64));
  g.equal(
      "the gradient at v of the same", gradient_of(u), Value({2, 2}, {2, 0, 1, 0}),
      {.mistakes = {{"the loss is masked, but its gradient is 0 times infinity: mask the errors before you square them",
                     Value({2, 2}, {2, NAN, 1, NAN})},
                    {"the loss is masked, but its gradient is 0 times infinity: mask the errors before you square them",
                     Value({2, 2}, {2, -NAN, 1, -NAN})}}});
  const Tensor v3 = Tensor::from(Numbers{0.1, 0.7, -0.3}, {3}), r3 = Tensor::from(Numbers{0.3, -0.2, 0.6}, {3});
  g.equal("v = 0.1 0.7 -0.3, R = 0.3 -0.2 0.6, clip 0", impl.value_loss(v3, r3, v3, 0, Tensor::ones({3}, u8)),
          Value({3}, {0.02, 0.405, 0.405}));
  g.note("unclipped, clipped, masked, and the gradients");
}

namespace {

// N = 4 actions of k = 3 elements.
struct Actions {
  Tensor mean = normal({4, 3}, 76), log_std = normal({3}, 77), taken = normal({4, 3}, 78);

  // Σ_i f(a_i - mean_i, log_std_i) for each action.
  Value sums(double (*f)(double, double), double factor = 1) const {
    const Numbers m = mean.to_vector(), s = log_std.to_vector(), a = taken.to_vector();
    Value result({4}, Numbers(4, 0));
    for (size_t i = 0; i < a.size(); ++i) result.v[i / 3] += factor * f(a[i] - m[i], s[i % 3]);
    return result;
  }
};
const double kHalfLog2Pi = std::log(2 * std::numbers::pi) / 2;

double log_density(double d, double s) { return -d * d / (2 * std::exp(2 * s)) - s - kHalfLog2Pi; }
double entropy_of_one(double, double s) { return s + kHalfLog2Pi + 0.5; }

}  // namespace

void check_log_prob(Grader& g, const Impl& impl) {
  const Actions x;
  const Tensor mean = leaf(x.mean), log_std = leaf(x.log_std);
  const Tensor got = impl.gaussian_log_prob(mean, log_std, x.taken).first;
  const auto with = [&](double (*f)(double, double)) { return x.sums(f); };
  g.equal("mean, actions [4, 3], log_std [3], random: log-probability", got.detach(), x.sums(log_density),
          {.mistakes = {{"the std is taken for the variance: divide by std², which is exp(2·log_std)",
                         with([](double d, double s) { return -d * d / (2 * std::exp(s)) - s - kHalfLog2Pi; })},
                        {"log_std is taken for the log of the variance",
                         with([](double d, double s) { return -d * d / (2 * std::exp(s)) - s / 2 - kHalfLog2Pi; })},
                        {"log_std is taken for the std: exp() is missing",
                         with([](double d, double s) { return -d * d / (2 * s * s) - s - kHalfLog2Pi; })},
                        {"the term log_std is missing: a wider density is lower",
                         with([](double d, double s) { return -d * d / (2 * std::exp(2 * s)) - kHalfLog2Pi; })},
                        {"log(2π)/2 is missing: the density does not integrate to 1",
                         with([](double d, double s) { return -d * d / (2 * std::exp(2 * s)) - s; })},
                        {"log(2π)/2 is counted once; each of the k numbers has it",
                         [&] {
                           Value v = x.sums([](double d, double s) { return -d * d / (2 * std::exp(2 * s)) - s; });
                           for (double& p : v.v) p -= kHalfLog2Pi;
                           return v;
                         }()},
                        {"a mean over the k numbers: independent probabilities multiply, so their logarithms add up",
                         x.sums(log_density, 1.0 / 3)},
                        {"the 1/2 of the square is missing",
                         with([](double d, double s) { return -d * d / std::exp(2 * s) - s - kHalfLog2Pi; })},
                        {"the sign of the square is flipped: an action far from the mean is unlikely",
                         with([](double d, double s) { return d * d / (2 * std::exp(2 * s)) - s - kHalfLog2Pi; })}}});
  if (g.failed() || !on_the_tape(g, got)) return;
  // d log p / d mean = (a - mean) / std²,  d log p / d log_std = (a - mean)² / std² - 1, summed over the actions.
  backward(got, Tensor::ones({4}, f64));
  const Tensor d = x.taken - x.mean, variance = exp(x.log_std * 2.0);
  g.equal("the gradient at mean", gradient_of(mean), d / variance);
  g.equal("the gradient at log_std", gradient_of(log_std), sum(d * d / variance - 1.0, {0}));
  const Tensor two = Tensor::from(Numbers{0.3, -0.7, 1.1, 0.2}, {2, 2});
  g.equal(
      "mean 0, actions {{0.3, -0.7}, {1.1, 0.2}}, log_std {0.1, -0.4}",
      impl.gaussian_log_prob(Tensor::zeros({2, 2}, f64), Tensor::from(Numbers{0.1, -0.4}, {2}), two).first,
      Value({2}, {log_density(0.3, 0.1) + log_density(-0.7, -0.4), log_density(1.1, 0.1) + log_density(0.2, -0.4)}));
  g.note("two shapes, values and gradients");
}

void check_entropy(Grader& g, const Impl& impl) {
  const Actions x;
  const Tensor log_std = leaf(x.log_std);
  const Tensor got = impl.gaussian_log_prob(x.mean, log_std, x.taken).second;
  const auto with = [&](double (*f)(double, double)) { return x.sums(f); };
  g.equal("mean, actions [4, 3], log_std [3], random: entropy", got.detach(), x.sums(entropy_of_one),
          {.mistakes = {
               {"the sign is flipped: a wider distribution has more entropy", x.sums(entropy_of_one, -1)},
               {"a mean over the k numbers: entropies of independent numbers add up", x.sums(entropy_of_one, 1.0 / 3)},
               {"the e in log(2πe)/2 is missing: half a nat per number",
                with([](double, double s) { return s + kHalfLog2Pi; })},
               {"log(2πe)/2 is missing", with([](double, double s) { return s; })},
               {"log_std is missing: then the entropy bonus has no gradient",
                with([](double, double) { return kHalfLog2Pi + 0.5; })},
               {"this is -log p of the action taken: its mean is the entropy; the formula needs no action",
                x.sums(log_density, -1)}}});
  if (g.failed() || !on_the_tape(g, got)) return;
  backward(got, Tensor::from(Numbers{1, 2, 3, 4}, {4}));
  g.equal("the gradient at log_std for an output gradient of 1 2 3 4", gradient_of(log_std), Value({3}, {10, 10, 10}));
  g.note("value and gradient");
}

}  // namespace pg::lesson07
