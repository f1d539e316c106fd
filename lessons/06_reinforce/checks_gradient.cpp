// The checks of the log-probability and of the loss. Expected values are computed element by element, in plain double.
#include <algorithm>
#include <cmath>

#include "lessons/06_reinforce/checks.h"

namespace pg::lesson06 {
namespace {

using kit::Grader, kit::Value;
using Numbers = std::vector<double>;

// log_softmax(logits)[r, ids[r]] of each row, and the gradient at the logits when `out` arrives at the result.
std::pair<Value, Value> picked(const Tensor& logits, const std::vector<int32_t>& ids, const Numbers& out) {
  const Numbers x = logits.to_vector();
  const auto rows = static_cast<size_t>(logits.size(0)), tokens = static_cast<size_t>(logits.size(1));
  Value log_p({logits.size(0)}, Numbers(rows)), slope(logits.shape(), Numbers(x.size()));
  for (size_t r = 0; r < rows; ++r) {
    const double* row = x.data() + r * tokens;
    const auto id = static_cast<size_t>(ids[r]);
    const double top = *std::max_element(row, row + tokens);
    double total = 0;
    for (size_t v = 0; v < tokens; ++v) total += std::exp(row[v] - top);
    log_p.v[r] = row[id] - top - std::log(total);
    for (size_t v = 0; v < tokens; ++v) slope.v[r * tokens + v] = -out[r] * std::exp(row[v] - top) / total;
    slope.v[r * tokens + id] += out[r];
  }
  return {log_p, slope};
}

void compare_log_prob(Grader& g, const Impl& impl, const std::string& input, const Tensor& logits,
                      const std::vector<int32_t>& ids, double rtol = kDouble) {
  if (g.failed()) return;
  const Tensor x = leaf(logits), rows = Tensor::from(ids, {logits.size(0)}),
               weight = normal({logits.size(0)}, 62, logits.dtype());
  const auto [want, slope] = picked(logits, ids, weight.to_vector());
  const auto known = kit::known_gradients(log_prob_mistakes(), weight, x, rows);
  const auto got = kit::on_leaves(impl.token_log_prob, x, rows);
  g.equal(input, got.result.detach(), want, {.rtol = rtol, .mistakes = known.results});
  if (g.failed() || !on_the_tape(g, got.result) || ids.empty()) return;
  backward(got.result, weight.to(got.result.dtype()));
  g.equal(input + ": the gradient that arrives at the logits", got.gradient(0), slope, as_gradient(rtol, known.at[0]));
}

void compare_loss(Grader& g, const Impl& impl, const std::string& input, const Tensor& log_prob,
                  const Tensor& advantage, const Tensor& mask, double rtol = kDouble) {
  if (g.failed()) return;
  const Tensor x = leaf(log_prob), weights = leaf(advantage);
  const Numbers lp = log_prob.to_vector(), a = advantage.to_vector(), kept = mask.to_vector();
  const double episodes = static_cast<double>(log_prob.size(0));
  double want_loss = 0;
  Value slope(log_prob.shape(), Numbers(lp.size()));
  for (size_t i = 0; i < lp.size(); ++i) {
    if (kept[i] == 0) continue;
    want_loss -= a[i] * lp[i] / episodes;
    slope.v[i] = a[i] / -episodes;
  }
  const auto known = kit::known_gradients(loss_mistakes(), Tensor::scalar(1, f64), x, weights, mask);
  const auto got = kit::on_leaves(impl.reinforce_loss, x, weights, mask);
  const auto compare_value = [&] {
    g.equal(input + ": the loss", got.result.detach(), Value({}, {want_loss}),
            {.rtol = rtol, .mistakes = known.results});
  };
  if (got.result.numel() != 1) return compare_value();
  if (!on_the_tape(g, got.result)) return;
  backward(got.result);
  g.equal(input + ": the gradient at log_prob", got.gradient(0), slope, as_gradient(rtol, known.at[0]));
  g.equal(input + ": the gradient at the advantage", got.gradient(1), zeros_like(advantage),
          {.rtol = rtol, .mistakes = known.at[1]});
  compare_value();
}

Tensor flags(const std::vector<uint8_t>& x, const Shape& shape) { return Tensor::from(x, shape); }

}  // namespace

void check_token_log_prob(Grader& g, const Impl& impl) {
  const auto numbers = [](const Numbers& x, const Shape& shape) { return Tensor::from(x, shape); };
  compare_log_prob(g, impl, "logits [6, 5], random; ids 0 4 2 2 1 3", normal({6, 5}, 61), {0, 4, 2, 2, 1, 3});
  compare_log_prob(g, impl, "logits {{1000, 0}, {0, 1000}}, ids 0 0", numbers({1000, 0, 0, 1000}, {2, 2}), {0, 0});
  compare_log_prob(g, impl, "logits {{1000, 999}, {-1000, -1001}}, ids 1 0", numbers({1000, 999, -1000, -1001}, {2, 2}),
                   {1, 0});
  compare_log_prob(g, impl, "logits {{0, 0, 0}, {1, 2, 3}}, ids 1 2", numbers({0, 0, 0, 1, 2, 3}, {2, 3}), {1, 2});
  compare_log_prob(g, impl, "logits [1, 7], random; id 5", normal({1, 7}, 80), {5});
  compare_log_prob(g, impl, "logits [3, 1]: one token, p = 1", normal({3, 1}, 81), {0, 0, 0});
  compare_log_prob(g, impl, "logits [3, 4], not contiguous; ids 3 0 1", kit::strided(normal({3, 4}, 82)), {3, 0, 1});
  compare_log_prob(g, impl, "logits [4, 3] in f32; ids 2 0 1 2", normal({4, 3}, 83, f32), {2, 0, 1, 2}, kSingle);
  compare_log_prob(g, impl, "logits [0, 5]: no rows", normal({0, 5}, 84), {});
  g.note("values, gradients, f32, and scores of 1000");
}

void check_reinforce_loss(Grader& g, const Impl& impl) {
  compare_loss(g, impl, "log_prob, advantage [3, 4]; 7 of 12 steps count", negative({3, 4}, 63), normal({3, 4}, 64),
               flags({1, 1, 1, 1, 1, 1, 0, 0, 1, 0, 0, 0}, {3, 4}));
  const std::vector<uint8_t> some = {1, 1, 0, 1, 0, 0};
  const Tensor endless = negative({2, 3}, 71), unknown = normal({2, 3}, 72);
  endless.view_select(0, 1).view_slice(0, 1, 3).fill(-INFINITY);
  unknown.view_select(0, 1).view_slice(0, 1, 2).fill(INFINITY);
  unknown.view_select(0, 0).view_slice(0, 2, 3).fill(NAN);
  const Tensor plain = negative({2, 3}, 73), gains = normal({2, 3}, 74);
  compare_loss(g, impl, "[2, 3], log_prob = -inf where the mask is 0", endless, gains, flags(some, {2, 3}));
  compare_loss(g, impl, "[2, 3], advantage inf and nan where the mask is 0", plain, unknown, flags(some, {2, 3}));
  compare_loss(g, impl, "[2, 3], both", endless, unknown, flags(some, {2, 3}));
  compare_loss(g, impl, "[3, 2], an episode without a step", negative({3, 2}, 97), normal({3, 2}, 98),
               flags({1, 1, 0, 0, 1, 0}, {3, 2}));
  compare_loss(g, impl, "[5, 2], no step counts", negative({5, 2}, 75), normal({5, 2}, 76), Tensor::zeros({5, 2}, u8));
  compare_loss(g, impl, "[1, 5], every step counts", negative({1, 5}, 68), normal({1, 5}, 69),
               Tensor::ones({1, 5}, u8));
  compare_loss(g, impl, "[2, 3] in f32", plain.to(f32), gains.to(f32), flags(some, {2, 3}), kSingle);
  compare_loss(g, impl, "[2, 3], not contiguous", kit::strided(plain), kit::strided(gains),
               kit::strided(flags(some, {2, 3})));
  compare_loss(g, impl, "[2, 3], advantages a thousand times larger", plain, gains * 1000.0, flags(some, {2, 3}));
  compare_loss(g, impl, "[2, 0]: no steps", negative({2, 0}, 77), normal({2, 0}, 78), Tensor::ones({2, 0}, u8));
  g.note("gradient, mask, f32, and infinity where nothing counts");
}

}  // namespace pg::lesson06
