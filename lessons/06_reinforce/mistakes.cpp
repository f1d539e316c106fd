// The known mistakes of lesson 6.
#include <cmath>

#include "lessons/06_reinforce/checks.h"

namespace pg::lesson06 {
namespace {

using T = const Tensor&;

Tensor pick(T x, T ids) { return squeeze(gather(x, 1, unsqueeze(ids, 1)), 1); }
Tensor right_log_prob(T x, T ids) { return pick(log_softmax(x), ids); }
// Scores of which `middle` is taken off first.
Tensor moved_log_prob(T x, T middle, T ids) {
  const Tensor moved = x - middle;
  return pick(moved - log(sum(exp(moved), {1}, true)), ids);
}

}  // namespace

// In an order in which the first row that fits a wrong result or gradient is the right one, as below.
kit::Mistakes<&Impl::token_log_prob> log_prob_mistakes() {
  return {
      {"log_prob_half_gradient", "06.1",
       "only the id's own score has a gradient: the sum over all tokens needs one too, no detach()",
       [](T x, T ids) { return pick(x - logsumexp(x.detach(), {1}, true), ids); }},
      {"log_prob_probability", "06.1", "this is the probability; take its logarithm",
       [](T x, T ids) { return pick(softmax(x), ids); }},
      {"log_prob_scores", "06.1", "these are the scores of the ids: the log of the row's sum of e^x is missing", pick},
      {"log_prob_log_of_softmax", "06.1", "log of a probability that rounded to 0: use log_softmax",
       [](T x, T ids) { return pick(log(softmax(x)), ids); }},
      {"log_prob_overflows", "06.1",
       "e to a large score overflows: subtract the row's largest score first, or use log_softmax",
       [](T x, T ids) { return moved_log_prob(x, Tensor::scalar(0, x.dtype()), ids); }},
      {"log_prob_one_maximum", "06.1", "the largest score is that of all rows; each row needs its own",
       [](T x, T ids) { return x.numel() == 0 ? right_log_prob(x, ids) : moved_log_prob(x, amax(x.detach()), ids); }},
      {"log_prob_over_rows", "06.1", "the softmax is over the rows (dim 0); it is over the V tokens of each row",
       [](T x, T ids) { return pick(log_softmax(x, 0), ids); }},
      {"log_prob_base_2", "06.1", "this is log2: the logarithm of probabilities is log, of base e",
       [](T x, T ids) { return right_log_prob(x, ids) / std::log(2.0); }},
      {"log_prob_sum", "06.1", "one number for each row: do not add them up",
       [](T x, T ids) { return sum(right_log_prob(x, ids)); }},
      {"log_prob_mean", "06.1", "one number for each row: do not take their mean",
       [](T x, T ids) { return mean(right_log_prob(x, ids)); }}};
}

namespace {

Tensor kept(T mask, T x) { return where(mask, x, Tensor::scalar(0, x.dtype())); }
Tensor product(T lp, T a, T mask) { return kept(mask, lp) * kept(mask, a.detach()); }
double episodes(T lp) { return static_cast<double>(lp.size(0)); }
Tensor loss(T products, double divisor) { return sum(products) / -divisor; }
template <int correction>
Tensor whitened_loss(T lp, T a, T mask) {
  return loss(product(lp, (a - mean(a)) / sqrt(var(a, {}, correction)), mask), episodes(lp));
}

}  // namespace

kit::Mistakes<&Impl::reinforce_loss> loss_mistakes() {
  return {
      {"loss_half_masked", "06.2", "0 times infinity is nan: where(mask, ...) must choose the advantage too",
       [](T lp, T a, T mask) { return loss(kept(mask, lp) * a.detach(), episodes(lp)); }},
      {"loss_product_masked", "06.2",
       "the gradient of a product is the other factor, and 0 times infinity is nan: where(mask, ...) on both "
       "factors, before they are multiplied",
       [](T lp, T a, T mask) { return loss(kept(mask, lp * a.detach()), episodes(lp)); }},
      {"loss_mask_product", "06.2",
       "0 times infinity is nan: choose with where(mask, ...) in place of multiplying by the mask",
       [](T lp, T a, T mask) { return loss(lp * a.detach() * mask.to(lp.dtype()), episodes(lp)); }},
      {"loss_sign", "06.2", "the sign is flipped: a loss is minimised, so rewarded actions need a negative gradient",
       [](T lp, T a, T mask) { return loss(product(lp, a, mask), -episodes(lp)); }},
      {"loss_no_mask", "06.2", "the mask is not used",
       [](T lp, T a, T) { return loss(lp * a.detach(), episodes(lp)); }},
      {"loss_inverted", "06.2", "the mask is used the wrong way round: 1 means that the step counts",
       [](T lp, T a, T mask) { return loss(product(lp, a, eq(mask, zeros_like(mask))), episodes(lp)); }},
      {"loss_token_mean", "06.2",
       "divided by the number of steps, so long episodes count less; divide by the episodes B",
       [](T lp, T a, T mask) { return loss(product(lp, a, mask), sum(mask.to(f64)).item()); }},
      {"loss_by_steps_of_row", "06.2",
       "each episode is divided by its own number of steps, so steps of long episodes count less; divide by B",
       [](T lp, T a, T mask) { return neg(mean(sum(product(lp, a, mask), {1}) / sum(mask.to(lp.dtype()), {1}))); }},
      {"loss_episodes_with_steps", "06.2", "B is the number of all episodes, of those without a step too",
       [](T lp, T a, T mask) {
         return loss(product(lp, a, mask), lp.numel() == 0 ? episodes(lp) : sum(amax(mask.to(f64), {1})).item());
       }},
      {"loss_all_slots", "06.2", "divided by B·T in place of B",
       [](T lp, T a, T mask) { return loss(product(lp, a, mask), static_cast<double>(lp.numel())); }},
      {"loss_by_time", "06.2", "divided by T in place of B",
       [](T lp, T a, T mask) { return loss(product(lp, a, mask), static_cast<double>(lp.size(1))); }},
      {"loss_not_divided", "06.2", "not divided by the number of episodes",
       [](T lp, T a, T mask) { return loss(product(lp, a, mask), 1); }},
      {"loss_exp", "06.2", "this is the gradient of the probability: multiply A by log_prob, not by exp(log_prob)",
       [](T lp, T a, T mask) { return loss(product(exp(lp), a, mask), episodes(lp)); }},
      {"loss_ratio", "06.2",
       "each A is multiplied by π / π, which is 1: the gradient is right, the value is not that of A·log_prob",
       [](T lp, T a, T mask) {
         const Tensor log_prob = kept(mask, lp);
         return loss(exp(log_prob - log_prob.detach()) * kept(mask, a.detach()), episodes(lp));
       }},
      {"loss_whitened_population", "06.2", "the advantages are scaled to mean 0 and deviation 1: take them as they are",
       whitened_loss<0>},
      {"loss_whitened", "06.2", "the advantages are scaled to mean 0 and deviation 1: take them as they are",
       whitened_loss<1>},
      {"loss_each_episode", "06.2", "one loss for each episode: divide their sum by B",
       [](T lp, T a, T mask) { return neg(sum(product(lp, a, mask), {1})); }},
      {"loss_not_detached", "06.2", "a gradient flows into the advantage: detach() it",
       [](T lp, T a, T mask) { return loss(kept(mask, lp) * kept(mask, a), episodes(lp)); }}};
}

namespace {

// With weight(gamma, t, k) as the share of reward k in the result of step t.
template <auto weight>
Tensor sums(T rewards, double gamma) {
  return weighted_sums(rewards, [=](int64_t t, int64_t k) { return weight(gamma, t, k); });
}

}  // namespace

kit::Mistakes<&Impl::return_to_go> return_mistakes() {
  return {
      {"return_total", "06.3", "every step gets the whole return; an action did not cause what came before it",
       sums<[](double gamma, int64_t, int64_t k) { return std::pow(gamma, k); }>},
      {"return_no_gamma", "06.3", "gamma is ignored", sums<[](double, int64_t t, int64_t k) { return k < t ? 0 : 1; }>},
      {"return_past", "06.3", "this sums the past; credit goes to what comes after",
       sums<[](double gamma, int64_t t, int64_t k) { return t < k ? 0 : std::pow(gamma, t - k); }>},
      {"return_not_own", "06.3", "the step's own reward is missing",
       sums<[](double gamma, int64_t t, int64_t k) { return k <= t ? 0 : std::pow(gamma, k - t); }>},
      {"return_from_start", "06.3", "discounted by the distance from the start, not from the step",
       sums<[](double gamma, int64_t t, int64_t k) { return k < t ? 0 : std::pow(gamma, k); }>},
      {"return_late", "06.3", "the step's own reward is multiplied by gamma too; it comes at once",
       sums<[](double gamma, int64_t t, int64_t k) { return k < t ? 0 : std::pow(gamma, k - t + 1); }>},
      {"return_next_alone", "06.3", "only the next reward is added; add gamma times the next return",
       sums<[](double gamma, int64_t t, int64_t k) { return (k == t) + gamma * (k == t + 1); }>},
      {"return_across_rows", "06.3",
       "the last step of a row gets the first return of the next row: each row is an episode of its own",
       [](T r, double gamma) {
         const Tensor row = r.clone().view_reshape({1, -1});
         return sums<[](double g, int64_t t, int64_t k) { return k < t ? 0 : std::pow(g, k - t); }>(row, gamma)
             .view_reshape(r.shape());
       }}};
}

namespace {

double usual(const Baseline& b) { return b.weight > 0 ? b.sum / b.weight : 0; }
double batch_mean(T x) { return mean(x.detach()).item(); }
// The returns minus `baseline`; then the baseline has the new state.
Tensor judged(Baseline& b, T x, double baseline, double new_sum, double new_weight) {
  b.sum = new_sum, b.weight = new_weight;
  return x.detach() - baseline;
}
double next_sum(const Baseline& b, T x) { return b.decay * b.sum + batch_mean(x); }
double next_weight(const Baseline& b) { return b.decay * b.weight + 1; }

}  // namespace

kit::Mistakes<&Impl::advantage> advantage_mistakes() {
  using B = Baseline&;
  return {
      {"advantage_own_batch", "06.4",
       "the batch is in its own baseline: then the baseline depends on the action it judges",
       [](B b, T x) { return judged(b, x, next_sum(b, x) / next_weight(b), next_sum(b, x), next_weight(b)); }},
      {"advantage_plain_mean", "06.4", "the plain mean of all batches; older ones must count less",
       [](B b, T x) { return judged(b, x, usual(b), b.sum + batch_mean(x), b.weight + 1); }},
      {"advantage_no_weight", "06.4", "sum is not divided by weight",
       [](B b, T x) { return judged(b, x, b.sum, next_sum(b, x), next_weight(b)); }},
      {"advantage_plus", "06.4", "plus the baseline; subtract it",
       [](B b, T x) { return judged(b, x, -usual(b), next_sum(b, x), next_weight(b)); }},
      {"advantage_weight_first", "06.4", "weight learns before the result is computed: compute the result first",
       [](B b, T x) { return judged(b, x, b.sum / next_weight(b), next_sum(b, x), next_weight(b)); }},
      {"advantage_moving_mean", "06.4",
       "sum = decay·sum + (1 - decay)·mean begins at 0 and is too small at first: decay·sum + mean, divided by weight",
       [](B b, T x) { return judged(b, x, b.sum, b.decay * b.sum + (1 - b.decay) * batch_mean(x), next_weight(b)); }},
      {"advantage_exponential_mean", "06.4",
       "b = decay·b + (1 - decay)·mean begins at 0 and is too small at first: sum = decay·sum + mean, divided by "
       "weight",
       [](B b, T x) { return judged(b, x, b.sum, b.decay * b.sum + (1 - b.decay) * batch_mean(x), b.weight); }},
      {"advantage_sum_stays", "06.4", "decay is missing at sum",
       [](B b, T x) { return judged(b, x, usual(b), b.sum + batch_mean(x), next_weight(b)); }},
      {"advantage_last_batch", "06.4", "this is the mean of the last batch alone: sum keeps decay times what it was",
       [](B b, T x) { return judged(b, x, b.sum, batch_mean(x), next_weight(b)); }},
      {"advantage_learns_nothing", "06.4",
       "the baseline has learned nothing: change sum and weight of the baseline that is passed",
       [](B b, T x) { return judged(b, x, usual(b), b.sum, b.weight); }},
      {"advantage_decay_fixed", "06.4", "decay is 0.9 whatever the baseline says: use baseline.decay",
       [](B b, T x) { return judged(b, x, usual(b), 0.9 * b.sum + batch_mean(x), 0.9 * b.weight + 1); }},
      {"advantage_sum", "06.4",
       "the sum of the returns; sum learns their mean, so that the size of a batch does not matter",
       [](B b, T x) { return judged(b, x, usual(b), b.decay * b.sum + sum(x.detach()).item(), next_weight(b)); }}};
}

namespace {

// Right estimates of d = log ref - log π.
Tensor right_k1(T lp, T ref) { return lp - ref; }
Tensor right_k2(T lp, T ref) { return (lp - ref) * (lp - ref) * 0.5; }
Tensor right_k3(T lp, T ref) { return expm1(ref - lp) - (ref - lp); }
template <Tensor (*k)(T, T)>
Tensor mean_of(T lp, T ref) {
  return mean(k(lp, ref));
}
template <Tensor (*k)(T, T)>
Tensor weighted(T lp, T ref) {
  return exp(lp) * k(lp, ref);
}

}  // namespace

kit::Mistakes<&Impl::k1> k1_mistakes() {
  return {
      {"k1_sign", "06.5", "reference minus policy; it is policy minus reference", [](T lp, T ref) { return ref - lp; }},
      {"k1_absolute", "06.5", "the absolute value: k1 may be negative, and must be, to be right on average",
       [](T lp, T ref) { return abs(lp - ref); }},
      {"k1_positive", "06.5", "the absolute value: k1 may be negative, and must be, to be right on average",
       [](T lp, T ref) { return relu(lp - ref); }},
      {"k1_is_k2", "06.5", "this is k2", right_k2},
      {"k1_is_k3", "06.5", "this is k3", right_k3},
      {"k1_mean", "06.5", "the mean over all elements; give one estimate for each element", mean_of<right_k1>},
      {"k1_weighted", "06.5", "weighted by π: the samples come from π, so their plain mean has these weights already",
       weighted<right_k1>}};
}
kit::Mistakes<&Impl::k2> k2_mistakes() {
  return {
      {"k2_no_half", "06.5", "the factor 1/2 is missing", [](T lp, T ref) { return (lp - ref) * (lp - ref); }},
      {"k2_quarter", "06.5", "the 1/2 is squared too: (k1/2)² is k1²/4",
       [](T lp, T ref) { return right_k2(lp, ref) * 0.5; }},
      {"k2_absolute", "06.5", "the absolute value, not the square", [](T lp, T ref) { return abs(lp - ref) * 0.5; }},
      {"k2_is_k3", "06.5", "this is k3", right_k3},
      {"k2_mean", "06.5", "the mean over all elements; give one estimate for each element", mean_of<right_k2>},
      {"k2_weighted", "06.5", "weighted by π: the samples come from π, so their plain mean has these weights already",
       weighted<right_k2>}};
}
kit::Mistakes<&Impl::k3> k3_mistakes() {
  return {
      {"k3_exchanged", "06.5", "the two are exchanged: the ratio is ref/π, not π/ref",
       [](T lp, T ref) { return right_k3(ref, lp); }},
      {"k3_plus", "06.5", "d is added; it is subtracted", [](T lp, T ref) { return expm1(ref - lp) + (ref - lp); }},
      {"k3_no_one", "06.5", "the 1 is not subtracted", [](T lp, T ref) { return exp(ref - lp) - (ref - lp); }},
      {"k3_minus_twice", "06.5", "the 1 is subtracted twice: expm1(d) is e^d - 1 already",
       [](T lp, T ref) { return right_k3(lp, ref) - 1.0; }},
      {"k3_no_d", "06.5", "d is not subtracted", [](T lp, T ref) { return expm1(ref - lp); }},
      {"k3_is_ratio", "06.5", "this is the ratio itself", [](T lp, T ref) { return exp(ref - lp); }},
      {"k3_is_k2", "06.5", "this is k2", right_k2},
      {"k3_is_k1", "06.5", "this is k1", right_k1},
      {"k3_mean", "06.5", "the mean over all elements; give one estimate for each element", mean_of<right_k3>},
      {"k3_weighted", "06.5", "weighted by π: the samples come from π, so their plain mean has these weights already",
       weighted<right_k3>}};
}

}  // namespace pg::lesson06
