// Checks of the losses of pairs: Bradley-Terry and DPO. Expected values are computed here element by element, in plain
// double.
#include <cmath>

#include "lessons/08_rlhf/checks.h"

namespace pg::lesson08 {
namespace {

using kit::Grader, kit::Value;
using Numbers = std::vector<double>;

double minus_log_sigmoid(double x) { return std::max(-x, 0.0) + std::log1p(std::exp(-std::abs(x))); }
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

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
  Generator generator = kit::draws(seed);
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
  const Numbers w = weights(count);
  const double rtol = layout.rtol();
  const auto x = [&](size_t i) { return c[i] - r[i] - (m.empty() ? 0 : m[i]); };
  const Value want =
      each(count, [&](size_t i) { return minus_log_sigmoid(x(i)) + centring * (c[i] + r[i]) * (c[i] + r[i]); });
  const auto known = kit::known_gradients(pair_mistakes(), layout(w), chosen, rejected, margin, centring);
  const auto got = kit::on_leaves(impl.bradley_terry_loss, chosen, rejected, margin, centring);
  g.equal(input, got.result.detach(), want, {.rtol = rtol, .mistakes = known.results});
  if (g.failed() || !on_the_tape(g, got.result, "use ops all the way") || count == 0) return;
  backward(got.result, layout(w).to(got.result.dtype()));
  // d loss / d chosen is -σ(-x) plus the slope of the centring; at rejected the first has the other sign.
  const auto slope = [&](double sign) {
    return each(count, [&](size_t i) { return w[i] * (-sign * sigmoid(-x(i)) + 2 * centring * (c[i] + r[i])); });
  };
  const std::string where = input + ": the gradient at ";
  g.equal(where + "chosen, -σ(-(chosen - rejected - margin)) + 2·centring·(chosen + rejected)", got.gradient(0),
          slope(1), as_gradient(rtol, known.at[0]));
  g.equal(where + "rejected", got.gradient(1), slope(-1), as_gradient(rtol, known.at[1]));
  if (margin.defined()) {
    g.equal(where + "the margin, a constant", got.gradient(2), zeros_like(margin),
            {.rtol = rtol, .mistakes = known.at[2]});
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
  const DpoOptions options{.beta = b};
  const size_t count = p.c.size();
  const Numbers w = weights(count);
  const double rtol = layout.rtol();
  const auto of = [&](const auto& f) { return kit::on_leaves(f, chosen, rejected, ref_chosen, ref_rejected, options); };
  // The losses of the known mistakes, their rewards, and their gradients at the four.
  std::vector<kit::Mistake> losses, chosen_rewards, rejected_rewards, at[4];
  for (const auto& row : dpo_mistakes()) {
    const auto wrong = of(row.wrong);
    losses.push_back({row.says, wrong.result.loss.detach()});
    chosen_rewards.push_back({row.says, wrong.result.chosen_reward});
    rejected_rewards.push_back({row.says, wrong.result.rejected_reward});
    if (count == 0 || wrong.result.loss.shape() != chosen.shape()) continue;
    backward(wrong.result.loss, layout(w));
    for (size_t i = 0; i < 4; ++i) at[i].push_back({row.says, wrong.gradient(i)});
  }
  const auto got = of(impl.dpo_loss);
  const auto& [loss, chosen_reward, rejected_reward] = got.result;
  const auto c = [&](size_t i) { return p.c[i] - p.rc[i]; };
  const auto r = [&](size_t i) { return p.r[i] - p.rr[i]; };
  const auto delta = [&](size_t i) { return c(i) - r(i); };
  g.equal(input + ": loss", loss.detach(), each(count, [&](size_t i) { return minus_log_sigmoid(b * delta(i)); }),
          {.rtol = rtol, .mistakes = losses});
  g.equal(input + ": chosen_reward", chosen_reward.detach(), each(count, [&](size_t i) { return b * c(i); }),
          {.rtol = rtol, .mistakes = chosen_rewards});
  g.equal(input + ": rejected_reward", rejected_reward.detach(), each(count, [&](size_t i) { return b * r(i); }),
          {.rtol = rtol, .mistakes = rejected_rewards});
  if (g.failed()) return;
  g.expect(!chosen_reward.requires_grad() && !rejected_reward.requires_grad(), "the implicit rewards", "on the tape",
           "without gradient", "they are to look at, not to learn from: detach() them");
  if (g.failed() || !on_the_tape(g, loss, "detach the reference, not the policy") || count == 0) return;
  backward(loss, layout(w).to(loss.dtype()));
  const auto slope = [&](double sign) {
    return each(count, [&](size_t i) { return w[i] * sign * b * sigmoid(-b * delta(i)); });
  };
  const std::string where = input + ": the gradient at ";
  g.equal(where + "chosen: -β·σ(-βΔ)", got.gradient(0), slope(-1), as_gradient(rtol, at[0]));
  g.equal(where + "rejected: the same with a plus", got.gradient(1), slope(1), as_gradient(rtol));
  g.equal(where + "ref_chosen", got.gradient(2), zeros_like(chosen), {.rtol = rtol, .mistakes = at[2]});
  g.equal(where + "ref_rejected", got.gradient(3), zeros_like(chosen), {.rtol = rtol, .mistakes = at[3]});
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
