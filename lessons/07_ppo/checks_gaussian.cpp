// The checks of the Gaussian policy. Expected values come from the density of one number, in plain double.
#include <cmath>
#include <numbers>

#include "lessons/07_ppo/checks.h"

namespace pg::lesson07 {
namespace {

using kit::Grader;
using kit::Value;
using Numbers = std::vector<double>;

const double kHalfLog2Pi = std::log(2 * std::numbers::pi) / 2;

double log_density(double d, double s) { return -d * d / (2 * std::exp(2 * s)) - s - kHalfLog2Pi; }
double entropy_of_one(double, double s) { return s + kHalfLog2Pi + 0.5; }

// N actions of k numbers.
struct Actions {
  Tensor mean, log_std, taken;
  double rtol = kDouble;
  int64_t count = mean.size(0), size = mean.size(1);

  // f(d, s) of number i of action n, with d = action - mean and s = log_std.
  template <class F>
  double of(F f, int64_t n, int64_t i) const {
    const auto at = static_cast<size_t>(n * size + i);
    return f(a[at] - m[at], s[static_cast<size_t>(i)]);
  }
  // Σ_i f for each action.
  template <class F>
  Value sums(F f, double factor = 1) const {
    return each({count}, [&](size_t n) {
      double total = 0;
      for (int64_t i = 0; i < size; ++i) total += factor * of(f, static_cast<int64_t>(n), i);
      return total;
    });
  }

  Numbers m = mean.to_vector(), s = log_std.to_vector(), a = taken.to_vector();
};
Value plus(Value x, double offset) {
  for (double& v : x.v) v += offset;
  return x;
}
Value exp_of(Value x) {
  for (double& v : x.v) v = std::exp(v);
  return x;
}

void compare_log_prob(Grader& g, const Impl& impl, const std::string& input, const Actions& x) {
  if (g.failed()) return;
  const Tensor mean = leaf(x.mean), log_std = leaf(x.log_std);
  const Tensor weight = normal({x.count}, 79, x.mean.dtype());
  const Tensor got = impl.gaussian_log_prob(mean, log_std, x.taken).first;
  const auto with = [&](double (*f)(double, double)) { return x.sums(f); };
  const auto k = static_cast<double>(x.size);
  const Value want = x.sums(log_density);
  g.equal(input + ": log-probability", got.detach(), want,
          {.rtol = x.rtol,
           .mistakes = {{"the std is taken for the variance: divide by std², which is exp(2·log_std)",
                         with([](double d, double s) { return -d * d / (2 * std::exp(s)) - s - kHalfLog2Pi; })},
                        {"log_std is taken for the log of the variance",
                         with([](double d, double s) { return -d * d / (2 * std::exp(s)) - s / 2 - kHalfLog2Pi; })},
                        {"log_std is taken for the std: exp() is missing",
                         with([](double d, double s) { return -d * d / (2 * s * s) - s - kHalfLog2Pi; })},
                        {"log_std is taken for the std: exp() is missing",
                         with([](double d, double s) { return -d * d / (2 * s * s) - std::log(s) - kHalfLog2Pi; })},
                        {"the term log_std is missing: a wider density is lower",
                         with([](double d, double s) { return -d * d / (2 * std::exp(2 * s)) - kHalfLog2Pi; })},
                        {"std stands in place of log_std", with([](double d, double s) {
                           return -d * d / (2 * std::exp(2 * s)) - std::exp(s) - kHalfLog2Pi;
                         })},
                        {"log_std is added; a wider density is lower",
                         with([](double d, double s) { return -d * d / (2 * std::exp(2 * s)) + s - kHalfLog2Pi; })},
                        {"log(2π)/2 is missing: the density does not integrate to 1", plus(want, k * kHalfLog2Pi)},
                        {"log(2π)/2 is counted once; each of the k numbers has it", plus(want, (k - 1) * kHalfLog2Pi)},
                        {"this has log(2π), the formula log(2π)/2", plus(want, -k * kHalfLog2Pi)},
                        {"a mean over the k numbers: independent probabilities multiply, so their logarithms add up",
                         x.sums(log_density, 1 / k)},
                        {"the sum over all N actions too; give one number for each action",
                         Value({}, {mean_of(want) * want.v.size()})},
                        {"the sum is over the N actions (dim 0); it is over the k numbers of each",
                         each({x.size},
                              [&](size_t i) {
                                double total = 0;
                                for (int64_t n = 0; n < x.count; ++n)
                                  total += x.of(log_density, n, static_cast<int64_t>(i));
                                return total;
                              })},
                        {"one number for each of the k; add them up: the probability of an action is their product",
                         each({x.count, x.size},
                              [&](size_t i) {
                                const auto at = static_cast<int64_t>(i);
                                return x.of(log_density, at / x.size, at % x.size);
                              })},
                        {"this is the density; take its logarithm", exp_of(want)},
                        {"the sign is flipped: this is -log p", x.sums(log_density, -1)},
                        {"the 1/2 of the square is missing",
                         with([](double d, double s) { return -d * d / std::exp(2 * s) - s - kHalfLog2Pi; })},
                        {"the sign of the square is flipped: an action far from the mean is unlikely",
                         with([](double d, double s) { return d * d / (2 * std::exp(2 * s)) - s - kHalfLog2Pi; })}}});
  if (g.failed() || !on_the_tape(g, got)) return;
  // d log p / d mean = (a - mean) / std²,  d log p / d log_std = (a - mean)² / std² - 1, summed over the actions.
  backward(got, weight.to(got.dtype()));
  const Numbers w = weight.to_vector();
  const Value at_mean = each({x.count, x.size}, [&](size_t i) {
    const auto at = static_cast<int64_t>(i);
    return w[i / static_cast<size_t>(x.size)] *
           x.of([](double d, double s) { return d / std::exp(2 * s); }, at / x.size, at % x.size);
  });
  Value at_std({x.size}, Numbers(static_cast<size_t>(x.size), 0)), no_square = at_std;
  for (int64_t n = 0; n < x.count; ++n) {
    for (int64_t i = 0; i < x.size; ++i) {
      const double square = x.of([](double d, double s) { return d * d / std::exp(2 * s); }, n, i);
      at_std.v[static_cast<size_t>(i)] += w[static_cast<size_t>(n)] * (square - 1);
      no_square.v[static_cast<size_t>(i)] -= w[static_cast<size_t>(n)];
    }
  }
  g.equal(input + ": the gradient at mean", gradient_of(mean), at_mean, as_gradient(x.rtol));
  g.equal(
      input + ": the gradient at log_std", gradient_of(log_std), at_std,
      as_gradient(x.rtol, {{"the std by which the distance is divided has no gradient: do not detach it", no_square}}));
}

void compare_entropy(Grader& g, const Impl& impl, const std::string& input, const Actions& x) {
  if (g.failed()) return;
  const Tensor log_std = leaf(x.log_std), weight = normal({x.count}, 80, x.mean.dtype());
  const Tensor got = impl.gaussian_log_prob(x.mean, log_std, x.taken).second;
  const auto with = [&](double (*f)(double, double)) { return x.sums(f); };
  const auto k = static_cast<double>(x.size);
  const Value want = x.sums(entropy_of_one);
  const Value one({}, {want.v.empty() ? 0 : want.v[0]});
  g.equal(
      input + ": entropy", got.detach(), want,
      {.rtol = x.rtol,
       .mistakes = {
           {"the sign is flipped: a wider distribution has more entropy", x.sums(entropy_of_one, -1)},
           {"a mean over the k numbers: entropies of independent numbers add up", x.sums(entropy_of_one, 1 / k)},
           {"the e in log(2πe)/2 is missing: half a nat per number",
            with([](double, double s) { return s + kHalfLog2Pi; })},
           {"log(2πe)/2 is counted once; each of the k numbers has it", plus(want, (1 - k) * (kHalfLog2Pi + 0.5))},
           {"this has log(2πe), the formula log(2πe)/2", plus(want, k * (kHalfLog2Pi + 0.5))},
           {"this has 1 + log(2π)/2; log(2πe)/2 is (1 + log(2π))/2", plus(want, k * 0.5)},
           {"log(2πe)/2 is missing", with([](double, double s) { return s; })},
           {"std stands in place of log_std", with([](double, double s) { return std::exp(s) + kHalfLog2Pi + 0.5; })},
           {"log_std is taken for the log of the variance",
            with([](double, double s) { return s / 2 + kHalfLog2Pi + 0.5; })},
           {"log_std is missing: then the entropy bonus has no gradient",
            with([](double, double) { return kHalfLog2Pi + 0.5; })},
           {"one number; expand it to [N], one for each action", one},
           {"one number; expand it to [N], one for each action", Value({1}, one.v)},
           {"this is -log p of the action taken: its mean is the entropy; the formula needs no action",
            x.sums(log_density, -1)}}});
  if (g.failed() || !on_the_tape(g, got)) return;
  backward(got, weight.to(got.dtype()));
  double total = 0;
  for (double each_weight : weight.to_vector()) total += each_weight;
  g.equal(input + ": the gradient at log_std", gradient_of(log_std),
          Value({x.size}, Numbers(static_cast<size_t>(x.size), total)), as_gradient(x.rtol));
}

// The inputs of both checks.
template <class Compare>
void compare_all(Grader& g, const Impl& impl, Compare compare) {
  const auto random = [](int64_t n, int64_t k, uint64_t seed, DType dtype = f64) {
    return Actions{normal({n, k}, seed, dtype), normal({k}, seed + 1, dtype), normal({n, k}, seed + 2, dtype),
                   dtype == f32 ? kSingle : kDouble};
  };
  compare(g, impl, "mean, actions [4, 3], log_std [3], random", random(4, 3, 76));
  compare(g, impl, "mean, actions [2, 2], log_std [2]", random(2, 2, 101));
  compare(g, impl, "mean, actions [1, 5], log_std [5]", random(1, 5, 104));
  compare(g, impl, "mean, actions [3, 1], log_std [1]", random(3, 1, 107));
  compare(g, impl, "mean, actions [5, 2], log_std [2] in f32", random(5, 2, 110, f32));
  const Actions plain = random(3, 2, 113);
  compare(g, impl, "mean, actions [3, 2], log_std [2], not contiguous",
          Actions{kit::strided(plain.mean), kit::strided(plain.log_std), kit::strided(plain.taken)});
  compare(g, impl, "mean 200 -3, actions 205 -3.001, log_std 1 -8",
          Actions{Tensor::from(Numbers{200, -3}, {1, 2}), Tensor::from(Numbers{1, -8}, {2}),
                  Tensor::from(Numbers{205, -3.001}, {1, 2})});
  compare(g, impl, "no actions: mean, actions [0, 3], log_std [3]", random(0, 3, 116));
}

}  // namespace

void check_log_prob(Grader& g, const Impl& impl) {
  compare_all(g, impl, compare_log_prob);
  g.note("eight shapes, f32, values and gradients");
}

void check_entropy(Grader& g, const Impl& impl) {
  compare_all(g, impl, compare_entropy);
  g.note("eight shapes, f32, values and gradients");
}

}  // namespace pg::lesson07
