// The known mistakes of lesson 3.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "lessons/03_language_model/checks.h"

namespace pg::lesson03 {
namespace {

using T = const Tensor&;

// e^(x - m), each row divided by its sum.
Tensor shifted(T x, T m) { return exp(x - m) / sum(exp(x - m), {-1}, true); }
// The elements of a view in the order of its memory, as the same shape.
Tensor in_memory_order(T x) { return x.view_transpose(0, 1).contiguous_copy().view_reshape(x.shape()); }

}  // namespace

const SoftmaxMistakes& softmax_mistakes() {
  static const SoftmaxMistakes rows = {
      {"softmax_one_column", "03.1", "a single score has the probability 1",
       [](T x) { return x.size(1) == 1 ? zeros_like(x) : pg::softmax(x); }},
      {"softmax_columns", "03.1", "the columns sum to 1; the rows should", [](T x) { return pg::softmax(x, 0); }},
      {"softmax_not_divided", "03.1", "nothing is divided by the sum", [](T x) { return exp(x); }},
      {"softmax_whole_sum", "03.1", "the whole tensor sums to 1; each row should",
       [](T x) { return exp(x) / sum(exp(x)); }},
      {"softmax_logs", "03.1", "this is the log of the probabilities", [](T x) { return pg::log_softmax(x); }},
      {"softmax_of_scores", "03.1", "the scores are divided by their sum: it must be that of e^x, not x",
       [](T x) { return x / sum(x, {-1}, true); }},
      {"softmax_contiguous_order", "03.1",
       "x may be a view, whose memory is in another order: use ops, or x.contiguous_copy()",
       [](T x) { return pg::softmax(x.contiguous() ? x : in_memory_order(x)); }},
      {"softmax_overflows", "03.1", "exp overflows: subtract the row's maximum first, it changes nothing else",
       [](T x) { return shifted(x, zeros_like(x)); }},
      {"softmax_whole_maximum", "03.1",
       "the maximum of the whole tensor leaves nothing of a row far below it: take each row's",
       [](T x) { return shifted(x, amax(x)); }},
      {"softmax_column_maximum", "03.1", "the maximum is that of each column (dim 0): take each row's, {-1}",
       [](T x) { return x.numel() == 0 ? x : shifted(x, amax(x, {0}, true)); }},
      {"softmax_absolute_maximum", "03.1",
       "the largest absolute value is not the maximum: a negative score may have it",
       [](T x) { return shifted(x, amax(abs(x), {-1}, true)); }},
      {"softmax_minimum", "03.1", "the smallest score is subtracted: then exp of the others overflows",
       [](T x) { return shifted(x, neg(amax(neg(x), {-1}, true))); }},
      {"softmax_clamps", "03.1", "large scores are cut off: 1000 and 1001 must not become equal",
       [](T x) { return pg::softmax(clamp(x, -50, 50)); }}};
  return rows;
}

const SoftmaxMistakes& softmax_gradient_mistakes() {
  static const SoftmaxMistakes rows = {
      {"softmax_cut_sum", "03.1", "the sum is detached: the divisor depends on x, too",
       [](T x) {
         const Tensor e = exp(x - amax(x, {-1}, true).detach());
         return e / sum(e, {-1}, true).detach();
       }},
      {"softmax_cut_maximum_and_sum", "03.1", "the sum is detached: the divisor depends on x, too", [](T x) {
         const Tensor e = exp(x - amax(x, {-1}, true));
         return e / sum(e, {-1}, true).detach();
       }}};
  return rows;
}

namespace {

// What the gradient begins with.
Tensor target_rows(T logits, T targets) { return one_hot(targets, logits.size(1), logits.dtype()); }
Tensor surprise(T logits, T targets) { return pg::softmax(logits) - target_rows(logits, targets); }
double rows_of(T logits) { return static_cast<double>(logits.size(0)); }

Tensor next_targets(T targets) {
  std::vector<double> ids = targets.to_vector();
  std::rotate(ids.begin(), ids.begin() + 1, ids.end());
  return Tensor::from(ids, targets.shape()).to(i32);
}

}  // namespace

const CrossEntropyMistakes& cross_entropy_mistakes() {
  static const CrossEntropyMistakes rows = {
      {"backward_no_mean", "03.2", "the loss is a mean over the rows: divide by their number", surprise},
      {"backward_sign", "03.2", "the sign is flipped: raising the target's score must lower the loss",
       [](T x, T y) { return neg(surprise(x, y)) / rows_of(x); }},
      {"backward_no_target", "03.2", "the 1 at the target is not subtracted",
       [](T x, T) { return pg::softmax(x) / rows_of(x); }},
      {"backward_target_whole", "03.2", "the 1 at the target is not divided by the number of rows",
       [](T x, T y) { return pg::softmax(x) / rows_of(x) - target_rows(x, y); }},
      {"backward_target_only", "03.2", "only the target's score gets a gradient; all others push too",
       [](T x, T y) { return surprise(x, y) * target_rows(x, y) / rows_of(x); }},
      {"backward_vocabulary", "03.2", "divided by the vocabulary's size in place of the number of rows",
       [](T x, T y) { return surprise(x, y) / static_cast<double>(x.size(1)); }},
      {"backward_all_numbers", "03.2", "divide by the number of rows, not by R·V: the loss is a mean over rows",
       [](T x, T y) { return surprise(x, y) / static_cast<double>(x.numel()); }},
      {"backward_next_target", "03.2", "the targets are off by one row",
       [](T x, T y) { return surprise(x, next_targets(y)) / rows_of(x); }},
      {"backward_columns", "03.2", "each row of p sums to 1; yours has columns that do",
       [](T x, T y) { return (pg::softmax(x, 0) - target_rows(x, y)) / rows_of(x); }},
      {"backward_loss", "03.2", "this is the loss of each row, not its gradient",
       [](T x, T y) { return neg(log(pg::softmax(x))) * target_rows(x, y) / rows_of(x); }},
      {"backward_overflows", "03.2", "exp overflows: subtract the row's maximum first, or use pg::softmax",
       [](T x, T y) { return (exp(x) / sum(exp(x), {-1}, true) - target_rows(x, y)) / rows_of(x); }}};
  return rows;
}

void Adam::operator()(std::span<double> p, std::span<const double> g, std::span<double> m, std::span<double> v,
                      const AdamWArgs& a) const {
  const double b1 = !betas ? a.beta2 : shares_in_place ? a.beta1 : 1 - a.beta1;
  const double b2 = !betas ? a.beta1 : shares_in_place ? a.beta2 : 1 - a.beta2;
  double c1 = corrected ? a.bias_correction1 : 1, c2 = corrected ? a.bias_correction2 : 1;
  if (!corrections) std::swap(c1, c2);
  for (size_t i = 0; i < p.size(); ++i) {
    double d = (scaled ? a.grad_scale : 1) * g[i];
    if (!decoupled) d += a.weight_decay * p[i];
    const double decay = decoupled && (all_decay || p[i] > 0) ? (decay_lr ? a.lr : 1) * a.weight_decay : 0;
    if (decay_first) p[i] -= decay * p[i];
    const double m0 = m[i], v0 = v[i], dv = v_scaled ? d : g[i];
    m[i] = b1 * m0 + (shares ? 1 - b1 : 1) * d;
    v[i] = b2 * v0 + (shares ? 1 - b2 : 1) * (squared ? dv * dv : std::abs(dv));
    const double mean = (new_means ? m[i] : m0) / c1, square = (new_means ? v[i] : v0) / c2;
    double by = eps_outside ? std::sqrt(square) + a.eps : std::sqrt(square + a.eps);
    if (!eps_late) by = (std::sqrt(v[i]) + a.eps) / std::sqrt(c2);
    if (!root) by = square + a.eps;
    if (step_scaled) by /= a.grad_scale;
    p[i] -= (downhill ? a.lr : -a.lr) * mean / by;
    if (!decay_first) p[i] -= decay * p[i];
    if (stored) m[i] = mean, v[i] = square;
  }
}

namespace {

using Out = std::span<double>;
using In = std::span<const double>;
using Args = const AdamWArgs&;

template <Adam adam>
void step(Out p, In g, Out m, Out v, Args a) {
  adam(p, g, m, v, a);
}
// Updates the first n parameters only.
void of_first(size_t n, Out p, In g, Out m, Out v, Args a) {
  Adam{}(p.first(n), g.first(n), m.first(n), v.first(n), a);
}

}  // namespace

const AdamWMistakes& adamw_mistakes() {
  static const AdamWMistakes rows = {
      {"adamw_no_correction", "03.3",
       "the bias correction is missing: early means of m and v lean towards their start at 0",
       step<Adam{.corrected = false}>},
      {"adamw_l2", "03.3", "the decay went into the gradient, where it changes m and v; it must act on p directly",
       step<Adam{.decoupled = false}>},
      {"adamw_eps_inside", "03.3", "eps stands inside the root; it must be added to it",
       step<Adam{.eps_outside = false}>},
      {"adamw_unscaled", "03.3", "grad_scale is ignored: a clipped gradient would not be", step<Adam{.scaled = false}>},
      {"adamw_absolute", "03.3", "v is the mean of the squares of g", step<Adam{.squared = false}>},
      {"adamw_decay_last", "03.3", "the decay comes after the step: it acts on the p from before the step",
       step<Adam{.decay_first = false}>},
      {"adamw_decay_without_lr", "03.3", "the decay lacks the factor lr", step<Adam{.decay_lr = false}>},
      {"adamw_eps_early", "03.3", "eps is added before the correction of v; add it to the root of the corrected v",
       step<Adam{.eps_late = false}>},
      {"adamw_v_unscaled", "03.3", "v takes the unscaled gradient: grad_scale multiplies g before anything else",
       step<Adam{.v_scaled = false}>},
      {"adamw_corrections_swapped", "03.3",
       "the two corrections are exchanged: bias_correction1 is for m, bias_correction2 for v",
       step<Adam{.corrections = false}>},
      {"adamw_betas_swapped", "03.3", "β1 and β2 are exchanged: β1 is for m, β2 for v", step<Adam{.betas = false}>},
      {"adamw_shares_swapped", "03.3", "β and 1 - β are exchanged: β is the share of the old mean",
       step<Adam{.shares_in_place = false}>},
      {"adamw_no_shares", "03.3", "the factors 1 - β are missing: m and v are means, not sums",
       step<Adam{.shares = false}>},
      {"adamw_old_means", "03.3", "the step uses m and v of the step before: update them first",
       step<Adam{.new_means = false}>},
      {"adamw_no_root", "03.3", "the root of v is missing", step<Adam{.root = false}>},
      {"adamw_uphill", "03.3", "p goes uphill: subtract the step", step<Adam{.downhill = false}>},
      {"adamw_decays_positive_only", "03.3", "negative parameters decay, too: towards 0",
       step<Adam{.all_decay = false}>},
      {"adamw_scale_everything", "03.3", "grad_scale multiplies the step; it multiplies the gradient, once",
       step<Adam{.step_scaled = true}>},
      {"adamw_first_only", "03.3", "some elements are left out: one loop over all p.size() of them",
       [](Out p, In g, Out m, Out v, Args a) { of_first(std::min<size_t>(1, p.size()), p, g, m, v, a); }},
      {"adamw_by_four", "03.3", "some elements are left out: one loop over all p.size() of them",
       [](Out p, In g, Out m, Out v, Args a) { of_first(p.size() / 4 * 4, p, g, m, v, a); }},
      {"adamw_all_but_last", "03.3", "some elements are left out: one loop over all p.size() of them",
       [](Out p, In g, Out m, Out v, Args a) { of_first(p.size() - std::min<size_t>(1, p.size()), p, g, m, v, a); }},
      {"adamw_stores_corrected", "03.3", "the correction is for this step only: keep the uncorrected mean",
       step<Adam{.stored = true}>}};
  return rows;
}

namespace {

template <kit::Name mistake>
std::vector<double> wrong_filter(std::span<const double> logits, const SampleOptions& o) {
  const size_t n = logits.size();
  std::vector<size_t> order(n);  // most probable first
  std::iota(order.begin(), order.end(), size_t{0});
  if (mistake == "last_of_equals" || mistake == "no_ties_last") std::reverse(order.begin(), order.end());
  if (mistake == "unstable")
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return logits[a] > logits[b]; });
  else if (mistake != "first_ids")
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return logits[a] > logits[b]; });
  double largest = *std::max_element(logits.begin(), logits.end());
  if (mistake == "overflows") largest = 0;
  if (mistake == "maximum_0") largest = std::max(0.0, largest);
  size_t k = o.top_k == 0 ? n : std::min(n, static_cast<size_t>(o.top_k));
  if (mistake == "one_more" && o.top_k > 0) k = std::min(n, k + 1);
  if (mistake == "one_fewer" && o.top_k > 1) k = std::max<size_t>(1, k - 1);
  if (mistake == "reads_beyond" && o.top_k > 0 && static_cast<size_t>(o.top_k) > n) return std::vector<double>(n, NAN);
  double t = mistake == "temperature_last" || mistake == "no_temperature" ? 1 : o.temperature;
  if (mistake == "times_temperature") t = 1 / t;
  std::vector<double> p(n, 0), every(n);
  for (size_t i = 0; i < n; ++i) {
    every[i] = std::exp((logits[i] - largest) / t);
    if (mistake == "overflows_when_cold") every[i] = std::exp(logits[i] / t - largest);
  }
  for (size_t r = 0; r < n; ++r) {
    const bool with_equals = mistake != "no_ties" && mistake != "no_ties_last" && mistake != "first_ids";
    const bool equal = with_equals && logits[order[r]] >= logits[order[k - 1]];
    if (r < k || equal) p[order[r]] = every[order[r]];
  }
  const auto& judged = mistake == "p_before_k" || mistake == "not_scaled_again" ? every : p;
  const double total = std::accumulate(judged.begin(), judged.end(), 0.0);
  double mass = 0;
  bool crossed = false;
  for (size_t i : order) {
    const double before = mass;
    mass += p[i] / total;
    bool drop = before >= o.top_p;
    if (mistake == "past_p") drop = before > o.top_p;
    const bool here = mistake == "drops_crossing" || (mistake == "none_left" && i == order[0]);
    if (here && n > 1) drop = mass >= o.top_p;
    if (mistake == "one_past_p") drop = std::exchange(crossed, drop);
    if (mistake == "k_or_p" && o.top_k > 0) drop = false;
    if (o.top_p < 1 && drop) p[i] = 0;
  }
  if (mistake == "temperature_last") {
    for (double& x : p) x = std::pow(x, 1 / o.temperature);
  }
  double kept = std::accumulate(p.begin(), p.end(), 0.0);
  if (mistake == "not_scaled_again") kept = total;
  for (double& x : p) x /= kept;
  if (mistake == "sorted") std::sort(p.begin(), p.end(), std::greater<>());
  return p;
}

}  // namespace

// In an order in which the first row that fits a wrong result is the right one.
const FilterMistakes& filter_mistakes() {
  static const FilterMistakes rows = {
      {"filter_no_temperature", "03.4", "the temperature is ignored", wrong_filter<"no_temperature">},
      {"filter_sorted", "03.4", "the probabilities are in order of size; they belong in the order of the ids",
       wrong_filter<"sorted">},
      {"filter_times_temperature", "03.4", "multiplied by the temperature; divide, so that cold means sure",
       wrong_filter<"times_temperature">},
      {"filter_temperature_last", "03.4", "top-p must see the probabilities after the temperature",
       wrong_filter<"temperature_last">},
      {"filter_p_before_k", "03.4", "top-p must judge what top-k left over, scaled to sum to 1",
       wrong_filter<"p_before_k">},
      {"filter_k_or_p", "03.4", "top-p must judge what top-k left over, scaled to sum to 1", wrong_filter<"k_or_p">},
      {"filter_one_more", "03.4", "one too many are kept", wrong_filter<"one_more">},
      {"filter_one_fewer", "03.4", "one too few are kept", wrong_filter<"one_fewer">},
      {"filter_not_scaled_again", "03.4", "what is left does not sum to 1: divide by its sum",
       wrong_filter<"not_scaled_again">},
      {"filter_first_ids", "03.4", "the first k ids are kept, not the k largest", wrong_filter<"first_ids">},
      {"filter_none_left", "03.4", "the best one always stays", wrong_filter<"none_left">},
      {"filter_drops_crossing", "03.4",
       "the token that crosses the line is dropped; it must stay, or nothing might be left",
       wrong_filter<"drops_crossing">},
      {"filter_reads_beyond", "03.4", "top_k may be larger than the vocabulary: then all stay",
       wrong_filter<"reads_beyond">},
      {"filter_overflows_when_cold", "03.4", "exp overflows: subtract the largest before you divide by the temperature",
       wrong_filter<"overflows_when_cold">},
      {"filter_maximum_0", "03.4", "take the largest of all logits, which may be negative: do not start at 0",
       wrong_filter<"maximum_0">},
      {"filter_overflows", "03.4", "exp overflows: subtract the largest logit first, it changes nothing else",
       wrong_filter<"overflows">},
      {"filter_no_ties", "03.4", "those equal to the k-th largest stay as well", wrong_filter<"no_ties">},
      {"filter_last_of_equals", "03.4", "of equal ones the smaller id is ranked first", wrong_filter<"last_of_equals">},
      {"filter_unstable", "03.4",
       "std::sort puts many equal ones in any order: std::stable_sort, or compare ids as well",
       wrong_filter<"unstable">},
      {"filter_no_ties_last", "03.4", "those equal to the k-th largest stay as well", wrong_filter<"no_ties_last">},
      {"filter_past_p", "03.4", "p is reached exactly by two of them: stop there", wrong_filter<"past_p">},
      {"filter_one_past_p", "03.4", "one too many are kept: stop once the mass has reached p",
       wrong_filter<"one_past_p">}};
  return rows;
}

}  // namespace pg::lesson03
