// The checks of the return, the baseline and the estimates of the KL. Expected values come from the definitions.
#include <algorithm>
#include <cmath>

#include "lessons/06_reinforce/checks.h"

namespace pg::lesson06 {
namespace {

using kit::Grader, kit::Value;
using Numbers = std::vector<double>;

void compare_returns(Grader& g, const Impl& impl, const std::string& input, const Tensor& rewards, double gamma) {
  if (g.failed()) return;
  const Value before = rewards;
  const Value want = weighted_sums(rewards, [=](int64_t t, int64_t k) { return k < t ? 0 : std::pow(gamma, k - t); });
  const auto known = kit::results_of(return_mistakes(), rewards, gamma);
  g.equal(input, impl.return_to_go(rewards, gamma), want, {.mistakes = known});
  g.equal(input + ": the rewards afterwards", rewards, before,
          {.mistakes = {{"the rewards were overwritten: work on a clone", want}}});
}

void compare_baseline(Grader& g, const Impl& impl, const std::string& input, double decay,
                      const std::vector<Tensor>& batches, double rtol = kDouble) {
  const auto rows = advantage_mistakes();
  std::vector<Baseline> wrong(rows.size(), {.decay = decay});
  Baseline mine{.decay = decay}, right = mine;
  int number = 0;
  for (const Tensor& batch : batches) {
    if (g.failed()) return;
    const Value before = batch;
    Value want = before;
    for (double& r : want.v) r -= right.weight == 0 ? 0 : right.sum / right.weight;
    right.sum = decay * right.sum + kit::mean_of(batch);
    right.weight = decay * right.weight + 1;
    std::vector<kit::Mistake> known, states;
    for (size_t i = 0; i < rows.size(); ++i) {
      known.push_back({rows[i].says, rows[i].wrong(wrong[i], batch)});
      states.push_back({rows[i].says, Numbers{wrong[i].sum, wrong[i].weight}});
    }
    const Tensor got = impl.advantage(mine, batch);
    const std::string which = fmt::format("{}batch {}", input, ++number);
    g.equal(which + ": the returns afterwards", batch, before,
            {.mistakes = {{"the returns were overwritten: work on a clone", want}}});
    g.equal(which + ": advantages", got, want, {.rtol = rtol, .mistakes = known});
    g.equal(which + ": {sum, weight} afterwards", Numbers{mine.sum, mine.weight}, Numbers{right.sum, right.weight},
            {.rtol = rtol, .mistakes = states});
  }
}

// Compares the three estimates and their gradients on one input.
// With `near` the policies nearly agree: what is wrong only there has lost its digits.
void compare_kl(Grader& g, const Impl& impl, const std::string& input, const Tensor& log_prob, const Tensor& ref,
                double rtol = kDouble, bool near = false) {
  const Numbers lp = log_prob.to_vector(), lr = ref.to_vector();
  const Tensor weight = normal(log_prob.shape(), 79, log_prob.dtype());
  const Numbers w = weight.to_vector();
  // Compares values, and the gradient at log_prob, which is `slope`, of d = log ref - log π.
  const auto compare = [&](const char* name, auto f, auto value, auto slope, std::vector<kit::Mistake> mistakes) {
    if (g.failed()) return;
    Value want(log_prob.shape(), lp), gradient = want;
    for (size_t i = 0; i < lp.size(); ++i) {
      want.v[i] = value(lr[i] - lp[i]);
      gradient.v[i] = w[i] * slope(lr[i] - lp[i]);
    }
    const Tensor x = leaf(log_prob), got = f(x, ref);
    if (near && name == std::string("k3")) {
      mistakes.push_back(
          {"exp(d) - 1 loses its digits where the policies agree, which is where every run begins: use "
           "expm1(d)",
           got.detach()});
    }
    g.equal(fmt::format("{}: {}", input, name), got.detach(), want, {.rtol = rtol, .mistakes = mistakes});
    if (g.failed() || !on_the_tape(g, got)) return;
    if (!std::all_of(gradient.v.begin(), gradient.v.end(), [](double v) { return std::isfinite(v); })) return;
    backward(got, weight.to(got.dtype()));
    g.equal(fmt::format("{}: the gradient of {} at log_prob", input, name), gradient_of(x), gradient,
            as_gradient(rtol));
  };
  const auto of_k1 = kit::results_of(k1_mistakes(), log_prob, ref),
             of_k2 = kit::results_of(k2_mistakes(), log_prob, ref),
             of_k3 = kit::results_of(k3_mistakes(), log_prob, ref);
  compare(
      "k1", impl.k1, [](double d) { return -d; }, [](double) { return 1.0; }, of_k1);
  compare(
      "k2", impl.k2, [](double d) { return d * d / 2; }, [](double d) { return -d; }, of_k2);
  compare(
      "k3", impl.k3, [](double d) { return std::expm1(d) - d; }, [](double d) { return -std::expm1(d); }, of_k3);
}

}  // namespace

Tensor weighted_sums(const Tensor& rewards, const std::function<double(int64_t, int64_t)>& weight) {
  const Numbers r = rewards.to_vector();
  Numbers sums(r.size(), 0);
  const int64_t steps = rewards.size(1);
  for (size_t i = 0; i < r.size(); ++i) {
    const int64_t t = static_cast<int64_t>(i) % steps;
    for (int64_t k = 0; k < steps; ++k)
      sums[i] += weight(t, k) * r[i + static_cast<size_t>(k) - static_cast<size_t>(t)];
  }
  return Tensor::from(sums, rewards.shape());
}

void check_return_to_go(Grader& g, const Impl& impl) {
  compare_returns(g, impl, "rewards [3, 5], random, gamma 0.9", normal({3, 5}, 65), 0.9);
  compare_returns(g, impl, "rewards [2, 7], random, gamma 0.5", normal({2, 7}, 70), 0.5);
  compare_returns(g, impl, "rewards {{0, 0, 0}, {1, 2, 3}}, gamma 0.5", Tensor::from(Numbers{0, 0, 0, 1, 2, 3}, {2, 3}),
                  0.5);
  compare_returns(g, impl, "rewards [2, 1], random, gamma 0.5", normal({2, 1}, 85), 0.5);
  compare_returns(g, impl, "rewards [1, 4], random, gamma 0", normal({1, 4}, 86), 0);
  compare_returns(g, impl, "rewards [1, 4], random, gamma 1", normal({1, 4}, 86), 1);
  compare_returns(g, impl, "rewards [3, 4], not contiguous, gamma 0.9", kit::strided(normal({3, 4}, 87)), 0.9);
  compare_returns(g, impl, "rewards [2, 400] up to 1000, gamma 0.1", normal({2, 400}, 88) * 250.0, 0.1);
  compare_returns(g, impl, "rewards [2, 0]: no steps, gamma 0.9", normal({2, 0}, 89), 0.9);
  g.note("six shapes, gamma from 0 to 1, rewards left as they are");
}

void check_advantage(Grader& g, const Impl& impl) {
  const auto batch = [](Numbers v) { return Tensor::from(v, {static_cast<int64_t>(v.size())}); };
  compare_baseline(g, impl, "decay 0.5, batches {4, 8}, {1, 3}, {0, 0}: ", 0.5,
                   {batch({4, 8}), batch({1, 3}), batch({0, 0})});
  compare_baseline(g, impl, "decay 0.9, batches [3], [1], [2, 3], [5, 1], [], [2, 1, 3, 1]: ", 0.9,
                   {normal({3}, 90), batch({500}), kit::with_zero_row(normal({2, 3}, 91)),
                    kit::strided(normal({5, 1}, 92)), normal({}, 95), normal({2, 1, 3, 1}, 96)});
  compare_baseline(g, impl, "decay 0, batches [2, 5] and [1, 3] in f32: ", 0,
                   {normal({2, 5}, 93, f32), normal({1, 3}, 94, f32)}, kSingle);
  g.note("three baselines, each batch judged by those before it");
}

void check_kl(Grader& g, const Impl& impl) {
  const auto log_prob = [](const Shape& shape, DType dtype = f64) { return negative(shape, 66, dtype); };
  const auto reference = [](const Shape& shape, DType dtype = f64) { return negative(shape, 67, dtype); };
  compare_kl(g, impl, "log_prob, ref_log_prob [7], random", log_prob({7}), reference({7}));
  const auto numbers = [](const Numbers& x) { return Tensor::from(x, {static_cast<int64_t>(x.size())}); };
  const Tensor near = numbers({-1, -1}), beside = numbers({-1 + 1e-6, -1 - 1e-6});
  compare_kl(g, impl, "log_prob = -1, ref = -1 ± 0.000001", near, beside, 1e-5, true);
  for (const Shape& shape : {Shape{2, 5}, Shape{3, 1}, Shape{}, Shape{2, 1, 3, 5}, Shape{0}}) {
    compare_kl(g, impl, fmt::format("log_prob, ref_log_prob {}", shape), log_prob(shape), reference(shape));
  }
  compare_kl(g, impl, "[2, 3], not contiguous", kit::strided(log_prob({2, 3})), kit::strided(reference({2, 3})));
  compare_kl(g, impl, "[2, 3], a row of 0", kit::with_zero_row(log_prob({2, 3})), reference({2, 3}));
  compare_kl(g, impl, "[2, 3] in f32", log_prob({2, 3}, f32), reference({2, 3}, f32), kSingle);
  compare_kl(g, impl, "log_prob -300 -5, ref -301 -200", numbers({-300, -5}), numbers({-301, -200}));
  compare_kl(g, impl, "log_prob -1, ref -infinity", numbers({-1, -2}), numbers({-INFINITY, -1}));
  g.note("three estimates and their gradients, policies that nearly agree or never, f32");
}

}  // namespace pg::lesson06
