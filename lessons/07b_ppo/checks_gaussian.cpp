// The checks of the Gaussian policy. Expected values come from the density of one number, in plain double.
#include <cmath>
#include <numbers>

#include "lessons/07b_ppo/checks.h"

namespace pg::lesson07b {
namespace {

using kit::Grader, kit::Value;
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
  Value sums(F f) const {
    return each({count}, [&](size_t n) {
      double total = 0;
      for (int64_t i = 0; i < size; ++i) total += of(f, static_cast<int64_t>(n), i);
      return total;
    });
  }

  Numbers m = mean.to_vector(), s = log_std.to_vector(), a = taken.to_vector();
};
void compare_log_prob(Grader& g, const Impl& impl, const std::string& input, const Actions& x) {
  if (g.failed()) return;
  const Tensor mean = leaf(x.mean), log_std = leaf(x.log_std);
  const Tensor weight = normal({x.count}, 79, x.mean.dtype());
  const auto known = kit::known_gradients_by([](auto f, const auto&... x) { return f(x...).first; },
                                             gaussian_mistakes(), weight, mean, log_std, x.taken);
  const Tensor got = impl.gaussian_log_prob(mean, log_std, x.taken).first;
  g.equal(input + ": log-probability", got.detach(), x.sums(log_density), {.rtol = x.rtol, .mistakes = known.results});
  if (g.failed() || !on_the_tape(g, got)) return;
  // d log p / d mean = (a - mean) / std²,  d log p / d log_std = (a - mean)² / std² - 1, summed over the actions.
  backward(got, weight.to(got.dtype()));
  const Numbers w = weight.to_vector();
  const Value at_mean = each({x.count, x.size}, [&](size_t i) {
    const auto at = static_cast<int64_t>(i);
    return w[i / static_cast<size_t>(x.size)] *
           x.of([](double d, double s) { return d / std::exp(2 * s); }, at / x.size, at % x.size);
  });
  Value at_std({x.size}, Numbers(static_cast<size_t>(x.size), 0));
  for (int64_t n = 0; n < x.count; ++n) {
    for (int64_t i = 0; i < x.size; ++i) {
      const double square = x.of([](double d, double s) { return d * d / std::exp(2 * s); }, n, i);
      at_std.v[static_cast<size_t>(i)] += w[static_cast<size_t>(n)] * (square - 1);
    }
  }
  g.equal(input + ": the gradient at mean", gradient_of(mean), at_mean, as_gradient(x.rtol));
  g.equal(input + ": the gradient at log_std", gradient_of(log_std), at_std, as_gradient(x.rtol, known.at[1]));
}

void compare_entropy(Grader& g, const Impl& impl, const std::string& input, const Actions& x) {
  if (g.failed()) return;
  const Tensor log_std = leaf(x.log_std), weight = normal({x.count}, 80, x.mean.dtype());
  const auto known = kit::known_gradients_by([](auto f, const auto&... x) { return f(x...).second; },
                                             gaussian_mistakes(), weight, x.mean, log_std, x.taken);
  const Tensor got = impl.gaussian_log_prob(x.mean, log_std, x.taken).second;
  g.equal(input + ": entropy", got.detach(), x.sums(entropy_of_one), {.rtol = x.rtol, .mistakes = known.results});
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
  compare(g, impl, "mean, actions [3, 2], a mean of 0, log_std [2]",
          Actions{kit::with_zero_row(plain.mean), plain.log_std, plain.taken});
  compare(g, impl, "mean 200 -3, actions 205 -3.001, log_std 1 -8",
          Actions{Tensor::from(Numbers{200, -3}, {1, 2}), Tensor::from(Numbers{1, -8}, {2}),
                  Tensor::from(Numbers{205, -3.001}, {1, 2})});
  compare(g, impl, "no actions: mean, actions [0, 3], log_std [3]", random(0, 3, 116));
}

}  // namespace

void check_log_prob(Grader& g, const Impl& impl) {
  compare_all(g, impl, compare_log_prob);
  g.note("nine inputs, f32, values and gradients");
}

void check_entropy(Grader& g, const Impl& impl) {
  compare_all(g, impl, compare_entropy);
  g.note("nine inputs, f32, values and gradients");
}

}  // namespace pg::lesson07b
