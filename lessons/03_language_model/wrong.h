#pragma once
// Wrong answers to lesson 3. mutants.cpp has the table.
#include "lessons/03_language_model/answers.h"

namespace pg::lesson03 {

enum class Row {
  columns,
  in_float,
  overflows,
  not_divided,
  whole_sum,
  whole_maximum,
  absolute_maximum,
  minimum,
  clamps,
  logs,
  of_scores,
  off_the_tape,
  cut_maximum_and_sum,
  in_f64,
  one_column,
  contiguous_order
};
template <Row mistake>
Tensor wrong_softmax(const Tensor& x0) {
  using enum Row;
  const Tensor x = mistake == off_the_tape ? x0.detach() : mistake == in_float ? cast(x0, f32) : x0;
  if (mistake == one_column && x.size(1) == 1) return zeros_like(x);
  if (mistake == contiguous_order && !x.contiguous()) {
    const Tensor plain = x.view_transpose(0, 1).contiguous_copy().view_reshape(x.shape());
    return pg::softmax(plain);
  }
  Tensor m = amax(x, {-1}, true);
  if (mistake == whole_maximum || mistake == columns || mistake == whole_sum) m = amax(x);
  if (mistake == absolute_maximum) m = amax(abs(x), {-1}, true);
  if (mistake == minimum) m = neg(amax(neg(x), {-1}, true));
  if (mistake == overflows || mistake == not_divided) m = zeros_like(m);
  Tensor e = mistake == clamps ? exp(clamp(x, -50, 50)) : exp(x - m);
  if (mistake == not_divided) return e;
  if (mistake == columns) return e / sum(e, {0}, true);
  if (mistake == whole_sum) return e / sum(e);
  if (mistake == of_scores) return x / sum(x, {-1}, true);
  Tensor total = sum(e, {-1}, true);
  if (mistake == cut_maximum_and_sum) total = total.detach();
  const Tensor p = e / total;
  if (mistake == logs) return log(p);
  return mistake == in_float ? cast(p, f64) : mistake == in_f64 ? cast(p, f64) : p;
}

enum class Surprise {
  no_target,
  sign,
  no_mean,
  vocabulary,
  all_numbers,
  target_only,
  next_target,
  columns,
  overflows,
  in_f64,
  loss,
  half,
  changes_logits
};
template <Surprise mistake>
Tensor wrong_cross_entropy(const Tensor& logits, const Tensor& targets) {
  using enum Surprise;
  const int64_t rows = logits.size(0), v = logits.size(1);
  Tensor p = pg::softmax(logits), y = one_hot(targets, v, logits.dtype());
  if (mistake == columns) p = pg::softmax(logits, 0);
  if (mistake == overflows) p = exp(logits) / sum(exp(logits), {-1}, true);
  if (mistake == next_target) {
    std::vector<double> ids = targets.to_vector();
    std::rotate(ids.begin(), ids.begin() + 1, ids.end());
    y = one_hot(Tensor::from(ids, targets.shape()).to(i32), v, logits.dtype());
  }
  Tensor d = mistake == sign ? y - p : p - y;
  if (mistake == no_target) d = p;
  if (mistake == target_only) d = d * y;
  if (mistake == loss) d = neg(log(p)) * y;
  if (mistake == changes_logits) logits.copy_from(p);
  double by = static_cast<double>(rows);
  if (mistake == no_mean) by = 1;
  if (mistake == vocabulary) by = static_cast<double>(v);
  if (mistake == all_numbers) by = static_cast<double>(rows * v);
  if (mistake == half) by *= 2;
  d = d / by;
  return mistake == in_f64 ? d.to(f64) : d;
}

enum class Adams {
  in_float,
  l2,
  no_correction,
  unscaled,
  absolute,
  eps_inside,
  decay_last,
  decay_without_lr,
  eps_early,
  v_unscaled,
  corrections_swapped,
  betas_swapped,
  shares_swapped,
  no_shares,
  old_means,
  no_root,
  uphill,
  stores_corrected,
  by_four,
  first_only,
  decays_positive_only,
  scale_everything,
  keeps_m
};
template <Adams mistake>
void wrong_adamw(std::span<double> p, std::span<const double> g, std::span<double> m, std::span<double> v,
                 const AdamWArgs& a) {
  using enum Adams;
  static std::vector<double> kept;
  const size_t n = mistake == by_four      ? p.size() / 4 * 4
                   : mistake == first_only ? std::min<size_t>(1, p.size())
                                           : p.size();
  if (mistake == keeps_m && kept.size() != n) kept.assign(m.begin(), m.end());
  const double b1 = mistake == betas_swapped ? a.beta2 : mistake == shares_swapped ? 1 - a.beta1 : a.beta1;
  const double b2 = mistake == betas_swapped ? a.beta1 : mistake == shares_swapped ? 1 - a.beta2 : a.beta2;
  double c1 = a.bias_correction1, c2 = a.bias_correction2;
  if (mistake == no_correction) c1 = c2 = 1;
  if (mistake == corrections_swapped) std::swap(c1, c2);
  for (size_t i = 0; i < n; ++i) {
    double d = mistake == unscaled ? g[i] : a.grad_scale * g[i];
    if (mistake == in_float) d = static_cast<float>(d);
    if (mistake == l2) d += a.weight_decay * p[i];
    const double dv = mistake == v_unscaled ? g[i] : d;
    const double decay = (mistake == decay_without_lr ? 1 : a.lr) * a.weight_decay;
    const bool decays = mistake != l2 && mistake != decay_last && !(mistake == decays_positive_only && p[i] < 0);
    if (decays) p[i] -= decay * p[i];
    const double m0 = mistake == keeps_m ? kept[i] : m[i], v0 = v[i];
    m[i] = b1 * m0 + (mistake == no_shares ? 1 : 1 - b1) * d;
    v[i] = b2 * v0 + (mistake == no_shares ? 1 : 1 - b2) * (mistake == absolute ? std::abs(dv) : dv * dv);
    if (mistake == keeps_m) kept[i] = m[i];
    const double mean = (mistake == old_means ? m0 : m[i]) / c1, square = (mistake == old_means ? v0 : v[i]) / c2;
    double root = std::sqrt(square) + a.eps;
    if (mistake == eps_inside) root = std::sqrt(square + a.eps);
    if (mistake == eps_early) root = (std::sqrt(v[i]) + a.eps) / std::sqrt(c2);
    if (mistake == no_root) root = square + a.eps;
    if (mistake == scale_everything) root /= a.grad_scale;
    p[i] -= (mistake == uphill ? -1 : 1) * a.lr * mean / root;
    if (mistake == decay_last) p[i] -= decay * p[i];
    if (mistake == stores_corrected) m[i] = mean, v[i] = square;
  }
}

enum class Filter {
  one_more,
  not_scaled_again,
  overflows,
  p_before_k,
  drops_crossing,
  times_temperature,
  overflows_when_cold,
  past_p,
  reads_beyond,
  no_ties,
  sorted,
  first_ids,
  temperature_last,
  k_or_p,
  maximum_0,
  last_of_equals,
  in_float,
  one_token_nan
};
template <Filter mistake>
std::vector<double> wrong_filter(std::span<const double> logits, const SampleOptions& o) {
  using enum Filter;
  const size_t n = logits.size();
  std::vector<size_t> order(n);  // most probable first
  std::iota(order.begin(), order.end(), size_t{0});
  if (mistake == last_of_equals) std::reverse(order.begin(), order.end());
  if (mistake != first_ids)
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return logits[a] > logits[b]; });
  double largest = *std::max_element(logits.begin(), logits.end());
  if (mistake == overflows) largest = 0;
  if (mistake == maximum_0) largest = std::max(0.0, largest);
  size_t k = o.top_k == 0 ? n : std::min(n, static_cast<size_t>(o.top_k));
  if (mistake == one_more && o.top_k > 0) k = std::min(n, k + 1);
  if (mistake == reads_beyond && o.top_k > 0 && static_cast<size_t>(o.top_k) > n) return std::vector<double>(n, NAN);
  if (mistake == one_token_nan && n == 1) return {NAN};
  double t = mistake == temperature_last ? 1 : o.temperature;
  if (mistake == times_temperature) t = 1 / t;
  std::vector<double> p(n, 0), every(n);
  for (size_t i = 0; i < n; ++i) {
    every[i] = std::exp((logits[i] - largest) / t);
    if (mistake == overflows_when_cold) every[i] = std::exp(logits[i] / t - largest);
    if (mistake == in_float) every[i] = std::exp(static_cast<float>((logits[i] - largest) / t));
  }
  for (size_t r = 0; r < n; ++r) {
    const bool equal = mistake != no_ties && mistake != first_ids && logits[order[r]] >= logits[order[k - 1]];
    if (r < k || equal) p[order[r]] = every[order[r]];
  }
  const auto& judged = mistake == p_before_k || mistake == not_scaled_again ? every : p;
  const double total = std::accumulate(judged.begin(), judged.end(), 0.0);
  double mass = 0;
  for (size_t i : order) {
    const double before = mass;
    mass += p[i] / total;
    bool drop = before >= o.top_p;
    if (mistake == past_p) drop = before > o.top_p;
    if (mistake == drops_crossing) drop = mass >= o.top_p;
    if (mistake == k_or_p && o.top_k > 0) drop = false;
    if (o.top_p < 1 && drop) p[i] = 0;
  }
  if (mistake == temperature_last) {
    for (double& x : p) x = std::pow(x, 1 / o.temperature);
  }
  double kept = std::accumulate(p.begin(), p.end(), 0.0);
  if (mistake == not_scaled_again) kept = total;
  for (double& x : p) x /= kept;
  if (mistake == sorted) std::sort(p.begin(), p.end(), std::greater<>());
  return p;
}

enum class Draw {
  at_most,
  returns_0,
  zeros_count,
  last_id,
  one_past,
  in_float,
  most_probable,
  one_later,
  reversed,
  rounds
};
template <Draw mistake>
int32_t wrong_draw(std::span<const double> probs, double u) {
  using enum Draw;
  const size_t n = probs.size();
  if (mistake == most_probable)
    return static_cast<int32_t>(std::max_element(probs.begin(), probs.end()) - probs.begin());
  double sum = 0;
  float narrow = 0;
  size_t last = 0;
  for (size_t r = 0; r < n; ++r) {
    const size_t i = mistake == reversed ? n - 1 - r : r;
    if (probs[i] == 0 && mistake != zeros_count) continue;
    sum += probs[i], narrow += static_cast<float>(probs[i]);
    last = i;
    const bool here = mistake == at_most || mistake == zeros_count ? u <= sum
                      : mistake == in_float                        ? u < narrow
                                                                   : u < sum;
    if (here) return static_cast<int32_t>(mistake == one_later ? std::min(n - 1, i + 1) : i);
  }
  if (mistake == rounds) return -1;
  return static_cast<int32_t>(mistake == returns_0 ? 0 : mistake == last_id ? n - 1 : mistake == one_past ? n : last);
}

}  // namespace pg::lesson03
