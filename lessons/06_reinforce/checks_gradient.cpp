// The checks of the log-probability and of the loss. Expected values are computed element by element, in plain double.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "lessons/06_reinforce/checks.h"

namespace pg::lesson06 {
namespace {

using kit::Grader;
using kit::Value;
using Numbers = std::vector<double>;

// What token_log_prob gives for each row, right or wrong, and the gradient at the logits for an output gradient.
struct Picked {
  Value log_p, p, score, rounded, overflowing, one_maximum, over_rows;
  Value slope, own_slope;
};
Picked picked(const Tensor& logits, const std::vector<int32_t>& ids, const Numbers& out) {
  const Numbers x = logits.to_vector();
  const auto rows = static_cast<size_t>(logits.size(0)), tokens = static_cast<size_t>(logits.size(1));
  const double top = x.empty() ? 0 : *std::max_element(x.begin(), x.end());
  Picked all;
  for (Value* v : {&all.log_p, &all.p, &all.score, &all.rounded, &all.overflowing, &all.one_maximum, &all.over_rows}) {
    *v = Value({logits.size(0)}, Numbers(rows));
  }
  all.slope = all.own_slope = Value(logits.shape(), Numbers(x.size(), 0));
  for (size_t r = 0; r < rows; ++r) {
    const double* row = x.data() + r * tokens;
    const auto id = static_cast<size_t>(ids[r]);
    // log of the sum of e^(score - middle), plus middle
    const auto log_sum = [&](double middle) {
      double total = 0;
      for (size_t v = 0; v < tokens; ++v) total += std::exp(row[v] - middle);
      return std::log(total) + middle;
    };
    double column = 0;
    for (size_t other = 0; other < rows; ++other) column += std::exp(x[other * tokens + id]);
    const double norm = log_sum(*std::max_element(row, row + tokens));
    all.score.v[r] = row[id];
    all.log_p.v[r] = row[id] - norm;
    all.p.v[r] = std::exp(row[id] - norm);
    all.rounded.v[r] = std::log(all.p.v[r]);
    all.overflowing.v[r] = row[id] - log_sum(0);
    all.one_maximum.v[r] = row[id] - log_sum(top);
    all.over_rows.v[r] = row[id] - std::log(column);
    for (size_t v = 0; v < tokens; ++v) all.slope.v[r * tokens + v] = -out[r] * std::exp(row[v] - norm);
    all.slope.v[r * tokens + id] += out[r];
    all.own_slope.v[r * tokens + id] = out[r];
  }
  return all;
}

void compare_log_prob(Grader& g, const Impl& impl, const std::string& input, const Tensor& logits,
                      const std::vector<int32_t>& ids, double rtol = kDouble) {
  if (g.failed()) return;
  const Tensor x = leaf(logits), weight = normal({logits.size(0)}, 62, logits.dtype());
  const Picked want = picked(logits, ids, weight.to_vector());
  const Tensor got = impl.token_log_prob(x, Tensor::from(ids, {logits.size(0)}));
  double total = 0;
  for (double each : want.log_p.v) total += each;
  const auto rows = static_cast<double>(ids.size());
  g.equal(input, got.detach(), want.log_p,
          {.rtol = rtol,
           .mistakes = {{"this is the probability; take its logarithm", want.p},
                        {"these are the scores of the ids: the log of the row's sum of e^x is missing", want.score},
                        {"log of a probability that rounded to 0: use log_softmax", want.rounded},
                        {"e to a large score overflows: subtract the row's largest score first, or use log_softmax",
                         want.overflowing},
                        {"the largest score is that of all rows; each row needs its own", want.one_maximum},
                        {"the softmax is over the rows (dim 0); it is over the V tokens of each row", want.over_rows},
                        {"one number for each row: do not add them up", Value({}, {total})},
                        {"one number for each row: do not take their mean", Value({}, {total / rows})}}});
  if (g.failed() || !on_the_tape(g, got) || ids.empty()) return;
  backward(got, weight.to(got.dtype()));
  g.equal(
      input + ": the gradient that arrives at the logits", gradient_of(x), want.slope,
      as_gradient(rtol, {{"only the id's own score has a gradient: the sum over all tokens needs one too, no detach()",
                          want.own_slope}}));
}

// One input of reinforce_loss. All numbers in double, row after row.
struct Steps {
  Tensor log_prob, advantage, mask;
  Numbers lp = log_prob.to_vector(), a = advantage.to_vector(), kept = mask.to_vector();
  double episodes = static_cast<double>(log_prob.size(0)), length = static_cast<double>(log_prob.size(1));

  // f(i) for each element.
  template <class F>
  Value each(F f) const {
    Value result(log_prob.shape(), Numbers(lp.size()));
    for (size_t i = 0; i < lp.size(); ++i) result.v[i] = f(i);
    return result;
  }
  template <class F>
  double sum(F f) const {
    double total = 0;
    for (double x : each(f).v) total += x;
    return total;
  }
  double steps() const {
    return sum([&](size_t i) { return kept[i]; });
  }
  // The number of steps of the row that has element i.
  double steps_of_row(size_t i) const {
    const auto first = static_cast<ptrdiff_t>(i / static_cast<size_t>(length) * static_cast<size_t>(length));
    return std::accumulate(kept.begin() + first, kept.begin() + first + static_cast<ptrdiff_t>(length), 0.0);
  }
  Numbers whitened(double ddof) const {
    const auto n = static_cast<double>(a.size());
    const double mean = sum([&](size_t i) { return a[i] / n; });
    const double squares = sum([&](size_t i) { return (a[i] - mean) * (a[i] - mean); });
    return each([&](size_t i) { return (a[i] - mean) / std::sqrt(squares / (n - ddof)); }).v;
  }
};

void compare_loss(Grader& g, const Impl& impl, const std::string& input, const Steps& s, double rtol = kDouble) {
  if (g.failed()) return;
  const Tensor x = leaf(s.log_prob), weights = leaf(s.advantage);
  const Tensor got = impl.reinforce_loss(x, weights, s.mask);
  const auto chosen = [&](size_t i, double value) { return s.kept[i] != 0 ? value : 0; };
  const auto product = [&](size_t i) { return chosen(i, s.a[i] * s.lp[i]); };
  const double want_loss = s.sum(product) / -s.episodes;
  Value by_episode({s.log_prob.size(0)}, Numbers(static_cast<size_t>(s.episodes), 0));
  for (size_t i = 0; i < s.lp.size(); ++i) by_episode.v[i / static_cast<size_t>(s.length)] -= product(i);
  const kit::Compare value{
      .rtol = rtol,
      .mistakes = {{"0 times infinity is nan: where(mask, ...) must choose the advantage too",
                    s.sum([&](size_t i) { return chosen(i, s.lp[i]) * s.a[i]; }) / -s.episodes},
                   {"0 times infinity is nan: choose with where(mask, ...) in place of multiplying by the mask",
                    s.sum([&](size_t i) { return s.kept[i] * s.lp[i] * s.a[i]; }) / -s.episodes},
                   {"one loss for each episode: divide their sum by B", by_episode}}};
  if (got.numel() != 1) {
    g.equal(input + ": the loss", got.detach(), Value({}, {want_loss}), value);
    return;
  }
  if (!on_the_tape(g, got)) return;
  backward(got);
  const Numbers white0 = s.whitened(0), white1 = s.whitened(1);
  const auto slope = [&](double divisor, auto factor) {
    return s.each([&](size_t i) { return chosen(i, factor(i)) / -divisor; });
  };
  const auto advantage = [&](size_t i) { return s.a[i]; };
  const Value want = slope(s.episodes, advantage);
  g.equal(input + ": the gradient at log_prob", gradient_of(x), want,
          as_gradient(
              rtol,
              {{"the sign is flipped: a loss is minimised, so rewarded actions need a negative gradient",
                slope(-s.episodes, advantage)},
               {"the mask is not used", s.each([&](size_t i) { return s.a[i] / -s.episodes; })},
               {"the mask is used the wrong way round: 1 means that the step counts",
                s.each([&](size_t i) { return (1 - s.kept[i]) * s.a[i] / -s.episodes; })},
               {"divided by the number of steps, so long episodes count less; divide by the episodes B",
                slope(s.steps(), advantage)},
               {"each episode is divided by its own number of steps, so steps of long episodes count less; divide by B",
                s.each([&](size_t i) { return chosen(i, s.a[i] / -s.episodes / s.steps_of_row(i)); })},
               {"divided by B·T in place of B", slope(s.episodes * s.length, advantage)},
               {"divided by T in place of B", slope(s.length, advantage)},
               {"not divided by the number of episodes", slope(1, advantage)},
               {"this is the gradient of the probability: multiply A by log_prob, not by exp(log_prob)",
                slope(s.episodes, [&](size_t i) { return s.a[i] * std::exp(s.lp[i]); })},
               {"the advantages are scaled to mean 0 and deviation 1: take them as they are",
                slope(s.episodes, [&](size_t i) { return white0[i]; })},
               {"the advantages are scaled to mean 0 and deviation 1: take them as they are",
                slope(s.episodes, [&](size_t i) { return white1[i]; })},
               {"the gradient of a product is the other factor, and 0 times infinity is nan: where(mask, ...) on both "
                "factors, before they are multiplied",
                s.each([&](size_t i) { return s.kept[i] * s.a[i] / -s.episodes; })}}));
  g.equal(input + ": the gradient at the advantage", gradient_of(weights), zeros_like(s.advantage),
          {.rtol = rtol, .mistakes = {{"a gradient flows into the advantage: detach() it", s.each([&](size_t i) {
                                         return chosen(i, s.lp[i]) / -s.episodes;
                                       })}}});
  g.equal(input + ": the loss", got.detach(), Value({}, {want_loss}), value);
}

Tensor flags(const std::vector<uint8_t>& x, const Shape& shape) { return Tensor::from(x, shape); }

}  // namespace

void check_token_log_prob(Grader& g, const Impl& impl) {
  const auto numbers = [](const Numbers& x, const Shape& shape) { return Tensor::from(x, shape); };
  compare_log_prob(g, impl, "logits [6, 5], random; ids 0 4 2 2 1 3", normal({6, 5}, 61), {0, 4, 2, 2, 1, 3});
  compare_log_prob(g, impl, "logits {{1000, 0}, {0, 1000}}, ids 0 0", numbers({1000, 0, 0, 1000}, {2, 2}), {0, 0});
  compare_log_prob(g, impl, "logits {{1000, 999}, {-1000, -1001}}, ids 1 0", numbers({1000, 999, -1000, -1001}, {2, 2}),
                   {1, 0});
  compare_log_prob(g, impl, "logits [1, 7], random; id 5", normal({1, 7}, 80), {5});
  compare_log_prob(g, impl, "logits [3, 1]: one token, p = 1", normal({3, 1}, 81), {0, 0, 0});
  compare_log_prob(g, impl, "logits [3, 4], not contiguous; ids 3 0 1", kit::strided(normal({3, 4}, 82)), {3, 0, 1});
  compare_log_prob(g, impl, "logits [4, 3] in f32; ids 2 0 1 2", normal({4, 3}, 83, f32), {2, 0, 1, 2}, kSingle);
  compare_log_prob(g, impl, "logits [0, 5]: no rows", normal({0, 5}, 84), {});
  g.note("values, gradients, f32, and scores of 1000");
}

void check_reinforce_loss(Grader& g, const Impl& impl) {
  compare_loss(g, impl, "log_prob, advantage [3, 4]; 7 of 12 steps count",
               {negative({3, 4}, 63), normal({3, 4}, 64), flags({1, 1, 1, 1, 1, 1, 0, 0, 1, 0, 0, 0}, {3, 4})});
  const std::vector<uint8_t> some = {1, 1, 0, 1, 0, 0};
  const Tensor endless = negative({2, 3}, 71), unknown = normal({2, 3}, 72);
  endless.view_select(0, 1).view_slice(0, 1, 3).fill(-INFINITY);
  unknown.view_select(0, 1).view_slice(0, 1, 2).fill(INFINITY);
  unknown.view_select(0, 0).view_slice(0, 2, 3).fill(NAN);
  const Tensor plain = negative({2, 3}, 73), gains = normal({2, 3}, 74);
  compare_loss(g, impl, "[2, 3], log_prob = -inf where the mask is 0", {endless, gains, flags(some, {2, 3})});
  compare_loss(g, impl, "[2, 3], advantage inf and nan where the mask is 0", {plain, unknown, flags(some, {2, 3})});
  compare_loss(g, impl, "[2, 3], both", {endless, unknown, flags(some, {2, 3})});
  compare_loss(g, impl, "[5, 2], no step counts",
               {negative({5, 2}, 75), normal({5, 2}, 76), Tensor::zeros({5, 2}, u8)});
  compare_loss(g, impl, "[1, 5], every step counts",
               {negative({1, 5}, 68), normal({1, 5}, 69), Tensor::ones({1, 5}, u8)});
  compare_loss(g, impl, "[2, 3] in f32", {plain.to(f32), gains.to(f32), flags(some, {2, 3})}, kSingle);
  compare_loss(g, impl, "[2, 3], not contiguous",
               {kit::strided(plain), kit::strided(gains), kit::strided(flags(some, {2, 3}))});
  compare_loss(g, impl, "[2, 3], advantages a thousand times larger", {plain, gains * 1000.0, flags(some, {2, 3})});
  compare_loss(g, impl, "[2, 0]: no steps", {negative({2, 0}, 77), normal({2, 0}, 78), Tensor::ones({2, 0}, u8)});
  g.note("gradient, mask, f32, and infinity where nothing counts");
}

}  // namespace pg::lesson06
