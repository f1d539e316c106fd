// Checks of the losses of pairs: Bradley-Terry and DPO. Expected values are computed here element by element, in plain
// double.
#include <cmath>

#include "lessons/08_rlhf/checks.h"

namespace pg::lesson08 {
namespace {

using kit::Grader;
using kit::Value;
using Numbers = std::vector<double>;

double minus_log_sigmoid(double x) { return std::max(-x, 0.0) + std::log1p(std::exp(-std::abs(x))); }
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

const std::string kOneForEach = "one loss for each pair; the mean is taken later";
const std::string kInfinite = "σ(x) rounds to 0, and log 0 is -infinity, or e^-x overflows: -log σ(x) is softplus(-x)";

// How the numbers of a case become tensors.
struct Layout {
  DType dtype = f64;
  bool contiguous = true;

  Tensor operator()(const Numbers& x) const {
    const Tensor tensor = Tensor::from(x, {static_cast<int64_t>(x.size())}).to(dtype);
    return contiguous ? tensor : kit::strided(tensor);
  }
  Numbers rounded(const Numbers& x) const { return (*this)(x).to_vector(); }
  double rtol() const { return dtype == f32 ? kSingle : kDouble; }
};
// Seeded random numbers.
Numbers random(int64_t count, uint64_t seed) {
  Generator generator(seed);
  return Tensor::normal({count}, 0, 1.5, generator, f64).to_vector();
}
// The numbers by which the losses are weighted before backward.
Numbers weights(size_t count) {
  Numbers w;
  for (size_t i = 0; i < count; ++i) w.push_back(1 + 0.5 * static_cast<double>(i));
  return w;
}
// f(i) for each pair.
template <class F>
Value each(size_t count, F f) {
  Numbers out;
  for (size_t i = 0; i < count; ++i) out.push_back(f(i));
  return Value(out);
}

void compare_pairs(Grader& g, const Impl& impl, const std::string& input, Numbers c, Numbers r, Numbers m,
                   double centring, const Layout& layout = {}) {
  if (g.failed()) return;
  c = layout.rounded(c), r = layout.rounded(r), m = layout.rounded(m);
  const Tensor chosen = leaf(layout(c)), rejected = leaf(layout(r));
  const Tensor margin = m.empty() ? Tensor() : leaf(layout(m));
  const size_t count = c.size();
  const double rtol = layout.rtol();
  const auto margin_of = [&](size_t i) { return m.empty() ? 0 : m[i]; };
  const auto x = [&](size_t i) { return c[i] - r[i] - margin_of(i); };
  const auto centre = [&](size_t i) { return centring * (c[i] + r[i]) * (c[i] + r[i]); };
  // loss(i) and the centring term
  const auto with = [&](auto loss) { return each(count, [&](size_t i) { return loss(i) + centre(i); }); };
  const auto of = [&](auto argument) { return with([&](size_t i) { return minus_log_sigmoid(argument(i)); }); };
  const auto centred = [&](auto term) {
    return each(count, [&](size_t i) { return minus_log_sigmoid(x(i)) + centring * term(i); });
  };
  const Value want = of(x);
  const Tensor got = impl.bradley_terry_loss(chosen, rejected, margin, centring);
  const std::string inside = "the centring term is inside of -log σ; add it outside";
  g.equal(
      input, got.detach(), want,
      {.rtol = rtol,
       .mistakes = {
           {"the sign of the difference: this teaches to prefer the rejected one",
            of([&](size_t i) { return r[i] - c[i] - margin_of(i); })},
           {"the sign of the difference: this teaches to prefer the rejected one", of([&](size_t i) { return -x(i); })},
           {"the difference itself; the loss is -log σ of it", with([&](size_t i) { return -x(i); })},
           {"this is σ(chosen - rejected - margin), a probability: the loss is minus its logarithm",
            with([&](size_t i) { return sigmoid(x(i)); })},
           {"this is log σ; the loss is -log σ", with([&](size_t i) { return -minus_log_sigmoid(x(i)); })},
           {"the margin is added; subtracted it asks for more distance, added for less",
            of([&](size_t i) { return c[i] - r[i] + margin_of(i); })},
           {"the margin is not used", of([&](size_t i) { return c[i] - r[i]; })},
           {"the margin is outside of the sigmoid",
            with([&](size_t i) { return minus_log_sigmoid(c[i] - r[i]) - margin_of(i); })},
           {"the margin is outside of the sigmoid",
            with([&](size_t i) { return minus_log_sigmoid(c[i] - r[i]) + margin_of(i); })},
           {"the margin of the first pair is used for all",
            of([&](size_t i) { return c[i] - r[i] - (m.empty() ? 0 : m[0]); })},
           {"the centring term is missing: scores may drift anywhere together", centred([](size_t) { return 0; })},
           {"the difference is centred; that pulls the two together. Centre their sum",
            centred([&](size_t i) { return (c[i] - r[i]) * (c[i] - r[i]); })},
           {"the sum is not squared: this only pushes scores down", centred([&](size_t i) { return c[i] + r[i]; })},
           {"c² + r² pulls each score to 0; centring·(c + r)² pulls only their sum",
            centred([&](size_t i) { return c[i] * c[i] + r[i] * r[i]; })},
           {"centring is squared too: centring·(c + r)²",
            centred([&](size_t i) { return centring * (c[i] + r[i]) * (c[i] + r[i]); })},
           {inside, each(count, [&](size_t i) { return minus_log_sigmoid(x(i) - centre(i)); })},
           {inside, each(count, [&](size_t i) { return minus_log_sigmoid(x(i) + centre(i)); })},
           {kInfinite, with([&](size_t i) { return -std::log(sigmoid(x(i))); })},
           {kOneForEach, Value({}, {mean_of(want)})}}});
  if (g.failed() || !on_the_tape(g, got, "use ops all the way") || count == 0) return;
  const Numbers w = weights(count);
  backward(got, layout(w).to(got.dtype()));
  // d loss / d chosen is -σ(-x) plus the slope of the centring; at rejected the first has the other sign.
  const auto slope = [&](double sign, double of_centring) {
    return each(count,
                [&](size_t i) { return w[i] * (-sign * sigmoid(-x(i)) + of_centring * 2 * centring * (c[i] + r[i])); });
  };
  const std::string drift = "the centring term has no gradient, so it changes nothing: do not detach it";
  const std::string where = input + ": the gradient at ";
  g.equal(where + "chosen, -σ(-(chosen - rejected - margin)) + 2·centring·(chosen + rejected)", gradient_of(chosen),
          slope(1, 1), as_gradient(rtol, {{drift, slope(1, 0)}}));
  g.equal(where + "rejected", gradient_of(rejected), slope(-1, 1), as_gradient(rtol, {{drift, slope(-1, 0)}}));
  if (margin.defined()) {
    g.equal(where + "the margin, a constant", gradient_of(margin), zeros_like(margin),
            {.rtol = rtol,
             .mistakes = {{"a gradient flows into the margin, which is a constant: detach() it",
                           each(count, [&](size_t i) { return w[i] * sigmoid(-x(i)); })}}});
  }
}

// The log-probabilities of pairs: under the policy, then under the reference.
struct Pairs {
  Numbers c, r, rc, rr;
};

void compare_dpo(Grader& g, const Impl& impl, const std::string& input, Pairs p, double b, const Layout& layout = {}) {
  if (g.failed()) return;
  for (Numbers* x : {&p.c, &p.r, &p.rc, &p.rr}) *x = layout.rounded(*x);
  const Tensor chosen = leaf(layout(p.c)), rejected = leaf(layout(p.r));
  const Tensor ref_chosen = leaf(layout(p.rc)), ref_rejected = leaf(layout(p.rr));
  const DpoLoss got = impl.dpo_loss(chosen, rejected, ref_chosen, ref_rejected, {.beta = b});
  const size_t count = p.c.size();
  const double rtol = layout.rtol();
  const auto c = [&](size_t i) { return p.c[i] - p.rc[i]; };
  const auto r = [&](size_t i) { return p.r[i] - p.rr[i]; };
  const auto delta = [&](size_t i) { return c(i) - r(i); };
  const auto of = [&](auto argument) { return each(count, [&](size_t i) { return minus_log_sigmoid(argument(i)); }); };
  const Value want = of([&](size_t i) { return b * delta(i); });
  g.equal(
      input + ": loss", got.loss.detach(), want,
      {.rtol = rtol,
       .mistakes = {
           {"the sign of Δ: this makes the rejected response likelier", of([&](size_t i) { return -b * delta(i); })},
           {"the reference is not used: before the first step the loss is ln 2 for every pair",
            of([&](size_t i) { return b * (p.c[i] - p.r[i]); })},
           {"the reference's log-probabilities are added, or the two references are exchanged: c = chosen - "
            "ref_chosen, "
            "r = rejected - ref_rejected",
            of([&](size_t i) { return b * ((p.c[i] + p.rc[i]) - (p.r[i] + p.rr[i])); })},
           {"c and r are added; Δ = c - r", of([&](size_t i) { return b * (c(i) + r(i)); })},
           {"only the chosen response is used; Δ = c - r", of([&](size_t i) { return b * c(i); })},
           {"β is forgotten", of([&](size_t i) { return delta(i); })},
           {"β is applied twice", of([&](size_t i) { return b * b * delta(i); })},
           {"divided by β", of([&](size_t i) { return delta(i) / b; })},
           {"β is outside of -log σ", each(count, [&](size_t i) { return b * minus_log_sigmoid(delta(i)); })},
           {"β is 0.1 whatever the options say: use options.beta", of([&](size_t i) { return 0.1 * delta(i); })},
           {"the ratios are not logarithms any more: c = chosen - ref_chosen, without exp",
            of([&](size_t i) { return b * (std::exp(c(i)) - std::exp(r(i))); })},
           {"this is σ, a probability: the loss is minus its logarithm",
            each(count, [&](size_t i) { return sigmoid(b * delta(i)); })},
           {"this is log σ; the loss is -log σ",
            each(count, [&](size_t i) { return -minus_log_sigmoid(b * delta(i)); })},
           {kInfinite, each(count, [&](size_t i) { return -std::log(sigmoid(b * delta(i))); })},
           {kOneForEach, Value({}, {mean_of(want)})}}});
  const auto reward = [&](const std::string& name, const Tensor& mine, auto ratio, auto other, const Numbers& policy) {
    g.equal(input + ": " + name, mine.detach(), each(count, [&](size_t i) { return b * ratio(i); }),
            {.rtol = rtol,
             .mistakes = {{"β is forgotten in the implicit rewards", each(count, ratio)},
                          {"the two rewards are exchanged", each(count, [&](size_t i) { return b * other(i); })},
                          {"the reference is missing in the implicit rewards",
                           each(count, [&](size_t i) { return b * policy[i]; })}}});
  };
  reward("chosen_reward", got.chosen_reward, c, r, p.c);
  reward("rejected_reward", got.rejected_reward, r, c, p.r);
  if (g.failed()) return;
  g.expect(!got.chosen_reward.requires_grad() && !got.rejected_reward.requires_grad(), "the implicit rewards",
           "on the tape", "without gradient", "they are to look at, not to learn from: detach() them");
  if (g.failed() || !on_the_tape(g, got.loss, "detach the reference, not the policy") || count == 0) return;
  const Numbers w = weights(count);
  backward(got.loss, layout(w).to(got.loss.dtype()));
  const auto slope = [&](double sign) {
    return each(count, [&](size_t i) { return w[i] * sign * b * sigmoid(-b * delta(i)); });
  };
  const std::string where = input + ": the gradient at ";
  const std::string reference = "a gradient flows into the reference, which must stay as it is: detach() it";
  // max(-x, 0) + log(1 + e^-|x|) is right, but for its slope at 0.
  const Value kink = each(count, [&](size_t i) { return delta(i) == 0 ? 0 : slope(-1).v[i]; });
  g.equal(where + "chosen: -β·σ(-βΔ)", gradient_of(chosen), slope(-1),
          as_gradient(rtol,
                      {{"at Δ = 0, where training begins, this form of -log σ has no slope: use softplus(-x)", kink}}));
  g.equal(where + "rejected: the same with a plus", gradient_of(rejected), slope(1), as_gradient(rtol));
  g.equal(where + "ref_chosen", gradient_of(ref_chosen), zeros_like(chosen),
          {.rtol = rtol, .mistakes = {{reference, slope(1)}}});
  g.equal(where + "ref_rejected", gradient_of(ref_rejected), zeros_like(chosen),
          {.rtol = rtol, .mistakes = {{reference, slope(-1)}}});
}

}  // namespace

void check_bradley_terry_loss(Grader& g, const Impl& impl) {
  const Numbers c = {1.2, -0.3, 2.5, 0.4, -1.1}, r = {0.7, 0.9, -1.4, 0.1, -1.6}, m = {0.4, 0.25, 1, 0.1, 2};
  compare_pairs(g, impl, "chosen, rejected [5], no margin, centring 0", c, r, {}, 0);
  compare_pairs(g, impl, "the same with a margin [5]", c, r, m, 0);
  compare_pairs(g, impl, "no margin, centring 0.01", c, r, {}, 0.01);
  compare_pairs(g, impl, "margin [5] and centring 0.01", c, r, m, 0.01);
  compare_pairs(g, impl, "scores {-800, 800} and {800, -800}", {-800, 800}, {800, -800}, {}, 0);
  compare_pairs(g, impl, "one pair, centring 0.3", {0.8}, {-0.3}, {0.2}, 0.3);
  compare_pairs(g, impl, "[4] in f32, margin, centring 0.1", random(4, 1), random(4, 2), random(4, 3), 0.1, {f32});
  compare_pairs(g, impl, "[3], not contiguous, margin", random(3, 4), random(3, 5), random(3, 6), 0, {f64, false});
  compare_pairs(g, impl, "no pairs", {}, {}, {}, 0.1);
  g.note("margin, centring, gradients, f32, and scores 1600 apart");
}

void check_dpo_loss(Grader& g, const Impl& impl) {
  const Pairs p = {
      {-4.1, -7.3, -2.2, -9.5}, {-5.6, -6.1, -4.9, -9.1}, {-4.8, -6.9, -3.3, -8.0}, {-5.0, -6.6, -3.7, -9.9}};
  compare_dpo(g, impl, "random log-probabilities [4], β 0.3", p, 0.3);
  compare_dpo(g, impl, "the policy is the reference, loss ln 2", {p.c, p.r, p.c, p.r}, 0.3);
  compare_dpo(g, impl, "one pair, β 2", {{-3}, {-4}, {-3.5}, {-2.5}}, 2);
  compare_dpo(g, impl, "Δ = ±6000, β 0.3", {{-6000, 0}, {0, -6000}, {0, 0}, {0, 0}}, 0.3);
  const auto some = [](int64_t count) {
    return Pairs{random(count, 11), random(count, 12), random(count, 13), random(count, 14)};
  };
  compare_dpo(g, impl, "[3] in f32, β 0.5", some(3), 0.5, {f32});
  compare_dpo(g, impl, "[5], not contiguous, β 0.7", some(5), 0.7, {f64, false});
  compare_dpo(g, impl, "no pairs", {}, 0.3);
  g.note("ln 2 at the start, values, rewards, gradients, f32, and Δ = 6000");
}

}  // namespace pg::lesson08
