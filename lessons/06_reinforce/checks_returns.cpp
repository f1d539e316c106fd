// The checks of the return, the baseline and the estimates of the KL. Expected values come from the definitions.
#include <algorithm>
#include <cmath>

#include "lessons/06_reinforce/checks.h"

namespace pg::lesson06 {
namespace {

using kit::Grader;
using kit::Value;
using Numbers = std::vector<double>;

// Σ_k weight(t, k)·r[b, k] for each step t of each row b.
template <class Weight>
Value weighted_sums(const Tensor& rewards, Weight weight) {
  const Numbers r = rewards.to_vector();
  const int64_t steps = rewards.size(1);
  Value result(rewards.shape(), Numbers(r.size(), 0));
  for (size_t i = 0; i < r.size(); ++i) {
    const int64_t t = static_cast<int64_t>(i) % steps;
    for (int64_t k = 0; k < steps; ++k) {
      result.v[i] += weight(t, k) * r[i - static_cast<size_t>(t) + static_cast<size_t>(k)];
    }
  }
  return result;
}

void compare_returns(Grader& g, const Impl& impl, const std::string& input, const Tensor& rewards, double gamma) {
  if (g.failed()) return;
  const Value before = rewards;
  Numbers powers = {1};
  for (int64_t t = 0; t < rewards.size(1); ++t) powers.push_back(gamma * powers.back());
  const auto power = [&](int64_t n) { return powers[static_cast<size_t>(n)]; };
  const auto sums = [&](auto weight) { return weighted_sums(rewards, weight); };
  const Value want = sums([&](int64_t t, int64_t k) { return k < t ? 0 : power(k - t); });
  Value across = before;
  for (size_t i = across.v.size(); i-- > 1;) across.v[i - 1] += gamma * across.v[i];
  g.equal(
      input, impl.return_to_go(rewards, gamma), want,
      {.mistakes = {
           {"every step gets the whole return; an action did not cause what came before it",
            sums([&](int64_t, int64_t k) { return power(k); })},
           {"gamma is ignored", sums([](int64_t t, int64_t k) { return k < t ? 0.0 : 1.0; })},
           {"this sums the past; credit goes to what comes after",
            sums([&](int64_t t, int64_t k) { return k > t ? 0 : power(t - k); })},
           {"the step's own reward is missing", sums([&](int64_t t, int64_t k) { return k <= t ? 0 : power(k - t); })},
           {"discounted by the distance from the start, not from the step",
            sums([&](int64_t t, int64_t k) { return k < t ? 0 : power(k); })},
           {"the step's own reward is multiplied by gamma too; it comes at once",
            sums([&](int64_t t, int64_t k) { return k < t ? 0 : power(k - t + 1); })},
           {"only the next reward is added; add gamma times the next return", sums([&](int64_t t, int64_t k) {
              return k == t ? 1 : k == t + 1 ? gamma : 0;
            })},
           {"the last step of a row gets the first return of the next row: each row is an episode of its own",
            across}}});
  g.equal(input + ": the rewards afterwards", rewards, before,
          {.mistakes = {{"the rewards were overwritten: work on a clone", want}}});
}

// Moving baselines, the right one first.
enum class Kind {
  right,
  own_batch,
  plain_mean,
  no_weight,
  plus,
  weight_first,
  no_correction,
  sum_stays,
  last_batch,
  total,
  nothing
};

// The baseline of that kind, in plain double.
class Simulated {
 public:
  Simulated(Kind kind, double decay) : kind_(kind), decay_(decay) {}
  Value advantage(const Tensor& returns) {
    Value x = returns;
    double mean = 0;
    for (double r : x.v) mean += kind_ == Kind::total ? r : r / static_cast<double>(x.v.size());
    if (kind_ == Kind::own_batch) learn(mean);
    const double b = kind_ == Kind::plus ? -baseline() : baseline();
    for (double& r : x.v) r -= b;
    if (kind_ != Kind::own_batch) learn(mean);
    return x;
  }
  Numbers state() const { return {sum_, weight_}; }

 private:
  double baseline() const {
    if (weight_ == 0) return 0;
    if (kind_ == Kind::no_weight || kind_ == Kind::no_correction || kind_ == Kind::last_batch) return sum_;
    return sum_ / (kind_ == Kind::weight_first ? decay_ * weight_ + 1 : weight_);
  }
  void learn(double mean) {
    if (kind_ == Kind::nothing) return;
    const double kept = kind_ == Kind::plain_mean || kind_ == Kind::sum_stays ? 1
                        : kind_ == Kind::last_batch                           ? 0
                                                                              : decay_;
    sum_ = kept * sum_ + (kind_ == Kind::no_correction ? (1 - decay_) * mean : mean);
    weight_ = (kind_ == Kind::plain_mean ? 1 : decay_) * weight_ + 1;
  }

  Kind kind_;
  double decay_, sum_ = 0, weight_ = 0;
};

void compare_baseline(Grader& g, const Impl& impl, const std::string& input, double decay,
                      const std::vector<Tensor>& batches, double rtol = kDouble) {
  struct Wrong {
    std::string says;
    Simulated baseline;
  };
  const auto wrong = [&](Kind kind, const std::string& says) { return Wrong{says, Simulated(kind, decay)}; };
  std::vector<Wrong> mistakes = {
      wrong(Kind::own_batch, "the batch is in its own baseline: then the baseline depends on the action it judges"),
      wrong(Kind::plain_mean, "the plain mean of all batches; older ones must count less"),
      wrong(Kind::no_weight, "sum is not divided by weight"),
      wrong(Kind::plus, "plus the baseline; subtract it"),
      wrong(Kind::weight_first, "weight learns before the result is computed: compute the result first"),
      wrong(Kind::no_correction,
            "sum = decay·sum + (1 - decay)·mean begins at 0 and is too small at first: "
            "decay·sum + mean, divided by weight"),
      wrong(Kind::sum_stays, "decay is missing at sum"),
      wrong(Kind::last_batch, "this is the mean of the last batch alone: sum keeps decay times what it was"),
      wrong(Kind::nothing, "the baseline has learned nothing: change sum and weight of the baseline that is passed"),
      {"decay is 0.9 whatever the baseline says: use baseline.decay", Simulated(Kind::right, 0.9)},
      wrong(Kind::total, "the sum of the returns; sum learns their mean, so that the size of a batch does not matter")};
  Baseline mine{.decay = decay};
  Simulated right(Kind::right, decay);
  int number = 0;
  for (const Tensor& batch : batches) {
    if (g.failed()) return;
    const Tensor got = impl.advantage(mine, batch);
    std::vector<kit::Mistake> known, states;
    for (Wrong& each : mistakes) {
      known.push_back({each.says, each.baseline.advantage(batch)});
      states.push_back({each.says, each.baseline.state()});
    }
    const std::string which = fmt::format("{}batch {}", input, ++number);
    g.equal(which + ": advantages", got, right.advantage(batch), {.rtol = rtol, .mistakes = known});
    g.equal(which + ": {sum, weight} afterwards", Numbers{mine.sum, mine.weight}, right.state(),
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
  const auto each = [&](auto f) {
    Value result(log_prob.shape(), Numbers(lp.size()));
    for (size_t i = 0; i < lp.size(); ++i) result.v[i] = f(lr[i] - lp[i], i);
    return result;
  };
  const auto mean = [](const Value& x) {
    double total = 0;
    for (double v : x.v) total += v / static_cast<double>(x.v.size());
    return Value({}, {total});
  };
  const auto k1 = [](double d, size_t) { return -d; };
  const auto k2 = [](double d, size_t) { return d * d / 2; };
  const auto k3 = [](double d, size_t) { return std::expm1(d) - d; };
  const std::string digits =
      "exp(d) - 1 loses its digits where the policies agree, which is where every run begins: use expm1(d)";
  // Compares values, and the gradient at log_prob, which is `slope`.
  const auto compare = [&](const char* name, Tensor (*f)(const Tensor&, const Tensor&), auto value, auto slope,
                           std::vector<kit::Mistake> mistakes) {
    if (g.failed()) return;
    const Tensor x = leaf(log_prob), got = f(x, ref);
    const Value want = each(value);
    mistakes.push_back({"the mean over all elements; give one estimate for each element", mean(want)});
    mistakes.push_back({"weighted by π: the samples come from π, so their plain mean has these weights already",
                        each([&](double d, size_t i) { return std::exp(lp[i]) * value(d, i); })});
    if (near && name == std::string("k3")) mistakes.push_back({digits, got.detach()});
    g.equal(fmt::format("{}: {}", input, name), got.detach(), want, {.rtol = rtol, .mistakes = mistakes});
    if (g.failed() || !on_the_tape(g, got)) return;
    const Value gradient = each([&](double d, size_t i) { return w[i] * slope(d); });
    for (double v : gradient.v) {
      if (!std::isfinite(v)) return;
    }
    backward(got, weight.to(got.dtype()));
    g.equal(fmt::format("{}: the gradient of {} at log_prob", input, name), gradient_of(x), gradient,
            as_gradient(rtol));
  };
  const std::string absolute = "the absolute value: k1 may be negative, and must be, to be right on average";
  compare("k1", impl.k1, k1, [](double) { return 1.0; },
          {{"reference minus policy; it is policy minus reference", each([](double d, size_t) { return d; })},
           {absolute, each([](double d, size_t) { return std::abs(d); })},
           {absolute, each([](double d, size_t) { return std::max(-d, 0.0); })},
           {"this is k2", each(k2)},
           {"this is k3", each(k3)}});
  compare("k2", impl.k2, k2, [](double d) { return -d; },
          {{"the factor 1/2 is missing", each([](double d, size_t) { return d * d; })},
           {"the 1/2 is squared too: (k1/2)² is k1²/4", each([](double d, size_t) { return d * d / 4; })},
           {"the absolute value, not the square", each([](double d, size_t) { return std::abs(d) / 2; })},
           {"this is k3", each(k3)}});
  compare("k3", impl.k3, k3, [](double d) { return -std::expm1(d); },
          {{"the two are exchanged: the ratio is ref/π, not π/ref",
            each([](double d, size_t) { return std::expm1(-d) + d; })},
           {"d is added; it is subtracted", each([](double d, size_t) { return std::expm1(d) + d; })},
           {"the 1 is not subtracted", each([](double d, size_t) { return std::exp(d) - d; })},
           {"the 1 is subtracted twice: expm1(d) is e^d - 1 already",
            each([](double d, size_t) { return std::expm1(d) - 1 - d; })},
           {"d is not subtracted", each([](double d, size_t) { return std::expm1(d); })},
           {"this is the ratio itself", each([](double d, size_t) { return std::exp(d); })},
           {"this is k2", each(k2)},
           {"this is k1", each(k1)}});
}

}  // namespace

void check_return_to_go(Grader& g, const Impl& impl) {
  compare_returns(g, impl, "rewards [3, 5], random, gamma 0.9", normal({3, 5}, 65), 0.9);
  compare_returns(g, impl, "rewards [2, 7], random, gamma 0.5", normal({2, 7}, 70), 0.5);
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
                   {normal({3}, 90), batch({500}), normal({2, 3}, 91), kit::strided(normal({5, 1}, 92)), normal({}, 95),
                    normal({2, 1, 3, 1}, 96)});
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
  compare_kl(g, impl, "[2, 3] in f32", log_prob({2, 3}, f32), reference({2, 3}, f32), kSingle);
  compare_kl(g, impl, "log_prob -300 -5, ref -301 -200", numbers({-300, -5}), numbers({-301, -200}));
  compare_kl(g, impl, "log_prob -1, ref -infinity", numbers({-1, -2}), numbers({-INFINITY, -1}));
  g.note("three estimates and their gradients, policies that nearly agree or never, f32");
}

}  // namespace pg::lesson06
