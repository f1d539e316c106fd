// The known mistakes of lesson 9. In an order in which the first row that fits a wrong result is the right one.
#include <algorithm>
#include <cmath>

#include "lessons/09_grpo/checks.h"

namespace pg::lesson09 {
namespace {

using T = const Tensor&;
using Dims = std::vector<int>;

double size(T r) { return static_cast<double>(r.size(1)); }
// Minus the first of each row.
Tensor moved(T r) { return r - r.view_slice(1, 0, 1); }
Tensor off_mean(T r, const Dims& dims = {1}) { return r - mean(r, dims, true); }
Tensor sums(T r) { return sum(r, {1}, true); }
Tensor unless_small(T off, T x) {
  return where(gt(abs(off), Tensor::scalar(1e-6, x.dtype())), x, Tensor::scalar(0, x.dtype()));
}

}  // namespace

kit::Mistakes<&Impl::group_mean_advantage> mean_mistakes() {
  return {{"mean_threshold", "09.1", "a threshold swallows small differences: rewards that differ at all teach",
           [](T r) { return unless_small(off_mean(r), off_mean(r)); }},
          {"mean_transposed", "09.1",
           "compared across prompts: a row is the group. An easy prompt must not make a hard one look bad",
           [](T r) { return off_mean(r, {0}); }},
          {"mean_of_batch", "09.1", "compared with the whole batch: each row has its own mean",
           [](T r) {
             return off_mean(r, {0, 1});
           }},
          {"mean_of_others", "09.1", "the mean of the others, itself left out: that is leave-one-out",
           [](T r) { return off_mean(r) * (size(r) / std::max(size(r) - 1, 1.0)); }},
          {"mean_sum", "09.1", "the sum of the group is subtracted: its mean, not the sum",
           [](T r) { return r - sums(r); }},
          {"mean_sign", "09.1", "mean minus reward; it is reward minus mean", [](T r) { return neg(off_mean(r)); }},
          {"mean_of_three", "09.1", "divided by 3: that was the last group's size; divide by rewards.size(1)",
           [](T r) { return moved(r) - sums(moved(r)) / 3.0; }},
          {"mean_of_three_not_moved", "09.1", "divided by 3: that was the last group's size; divide by rewards.size(1)",
           [](T r) { return r - sums(r) / 3.0; }}};
}

namespace {

double count(T r, int ddof) { return std::max(size(r) - ddof, 1.0); }
Tensor deviation(T r, double n, const Dims& dims = {1}) {
  return sqrt(sum(off_mean(r, dims) * off_mean(r, dims), dims, true) / n);
}
Tensor standard(T r, double eps, double n, const Dims& dims = {1}) {
  return off_mean(r, dims) / (deviation(r, n, dims) + eps);
}

}  // namespace

kit::Mistakes<&Impl::group_std_advantage> std_mistakes() {
  return {{"std_threshold", "09.2", "a threshold swallows small differences: rewards that differ at all teach",
           [](T r, double eps, int ddof) { return unless_small(off_mean(r), standard(r, eps, count(r, ddof))); }},
          {"std_singleton", "09.2", "a group of one gives 0/0: divide by at least 1",
           [](T r, double eps, int ddof) { return standard(r, eps, size(r) - ddof); }},
          {"std_population", "09.2", "the variance is divided by G, not by G - ddof: population for sample",
           [](T r, double eps, int) { return standard(r, eps, count(r, 0)); }},
          {"std_sample", "09.2", "the variance is divided by G - 1, not by G - ddof: sample for population",
           [](T r, double eps, int) { return standard(r, eps, count(r, 1)); }},
          {"std_rewards", "09.2", "divided by the deviation, but the mean is still in it",
           [](T r, double eps, int ddof) { return r / (deviation(r, count(r, ddof)) + eps); }},
          {"std_not_centred", "09.2", "the deviation is not centred: subtract the mean before you square",
           [](T r, double eps, int ddof) { return off_mean(r) / (sqrt(sums(r * r) / count(r, ddof)) + eps); }},
          {"std_variance", "09.2", "divided by the variance: take its root",
           [](T r, double eps, int ddof) { return off_mean(r) / (pow(deviation(r, count(r, ddof)), 2) + eps); }},
          {"std_eps_inside", "09.2", "eps is inside the root; it stands beside the deviation",
           [](T r, double eps, int ddof) { return off_mean(r) / sqrt(pow(deviation(r, count(r, ddof)), 2) + eps); }},
          {"std_no_eps", "09.2", "eps is missing, or only the larger of std and eps is taken: add it to the std",
           [](T r, double, int ddof) { return off_mean(r) / deviation(r, count(r, ddof)); }},
          {"std_larger", "09.2", "eps is missing, or only the larger of std and eps is taken: add it to the std",
           [](T r, double eps, int ddof) {
             return off_mean(r) / maximum(deviation(r, count(r, ddof)), Tensor::scalar(eps, r.dtype()));
           }},
          {"std_absolute", "09.2", "divided by the mean of the absolute distances: std is the root of the mean square",
           [](T r, double eps, int) { return off_mean(r) / (mean(abs(off_mean(r)), {1}, true) + eps); }},
          {"std_transposed", "09.2",
           "compared across prompts: a row is the group. An easy prompt must not make a hard one look bad",
           [](T r, double eps, int ddof) { return standard(r, eps, static_cast<double>(r.size(0)) - ddof, {0}); }},
          {"std_of_batch", "09.2", "compared with the whole batch: each row has its own mean",
           [](T r, double eps, int ddof) {
             return standard(r, eps, static_cast<double>(r.numel()) - ddof, {0, 1});
           }},
          {"std_of_three", "09.2", "the variance is divided by 3 - ddof, as for the last group: G is rewards.size(1)",
           [](T r, double eps, int ddof) { return standard(r, eps, 3 - ddof); }}};
}

namespace {

// The others' sum, divided by n, is subtracted.
Tensor off_others(T r, double n) { return r - (sums(r) - r) / n; }

}  // namespace

kit::Mistakes<&Impl::leave_one_out_advantage> others_mistakes() {
  return {{"loo_singleton", "09.3", "a group of one has no others: 0/0. Give it 0",
           [](T r) { return off_others(r, size(r) - 1); }},
          {"loo_singleton_reward", "09.3", "a group of one is compared with nothing, so it is worth 0",
           [](T r) { return r.size(1) == 1 ? r.clone() : off_others(r, size(r) - 1); }},
          {"loo_self", "09.3", "the mean includes the reward itself: that is (G-1)/G of leave-one-out, and biased",
           [](T r) { return off_mean(r); }},
          {"loo_by_group", "09.3", "the others are summed, but divided by G: there are G - 1 of them",
           [](T r) { return off_others(r, size(r)); }},
          {"loo_inverse", "09.3", "multiplied by (G-1)/G: leave-one-out is G/(G-1)·(r - mean)",
           [](T r) { return off_mean(r) * ((size(r) - 1) / size(r)); }},
          {"loo_sum", "09.3", "their sum, not their mean", [](T r) { return off_others(r, 1); }},
          {"loo_transposed", "09.3",
           "compared across prompts: a row is the group. An easy prompt must not make a hard one look bad",
           [](T r) { return r - (sum(r, {0}, true) - r) / static_cast<double>(r.size(0) - 1); }},
          {"loo_of_batch", "09.3", "compared with the whole batch: each row has its own mean",
           [](T r) { return r - (sum(r) - r) / static_cast<double>(r.numel() - 1); }},
          {"loo_of_two", "09.3", "divided by 2, as for the last group: there are G - 1 others",
           [](T r) { return off_others(moved(r), 2); }}};
}

namespace {

Tensor none(T x) { return Tensor::scalar(0, x.dtype()); }
Tensor farthest(T r) { return amax(abs(moved(r)), {1}); }
Tensor differ(T r, int64_t i, int64_t k) {
  return ne(r.view_select(1, static_cast<int>(i)), r.view_select(1, static_cast<int>(k)));
}

}  // namespace

kit::Mistakes<&Impl::groups_with_signal> signal_mistakes() {
  return {
      {"signal_threshold", "09.4", "a threshold swallows small differences: rewards that differ at all teach",
       [](T r) { return gt(farthest(r), Tensor::scalar(1e-6, r.dtype())); }},
      {"signal_variance", "09.4",
       "the variance of equal rewards is not exactly 0, because their mean is rounded: compare the rewards with each "
       "other, not with their mean",
       [](T r) { return gt(sum(off_mean(r) * off_mean(r), {1}), none(r)); }},
      {"signal_inverted", "09.4", "the other way round: 1 is for groups that teach",
       [](T r) { return eq(farthest(r), none(r)); }},
      {"signal_unsolved", "09.4", "a group that is solved by all has no signal either",
       [](T r) { return ne(amax(abs(r), {1}), none(r)); }},
      {"signal_zero_or_one", "09.4", "a group without signal need not be all 0 or all 1: any equal rewards will do",
       [](T r) { return ne(mean(r, {1}) * (mean(r, {1}) - 1.0), none(r)); }},
      {"signal_first_two", "09.4", "only the first two are compared, and the others may differ",
       [](T r) { return differ(r, 0, std::min<int64_t>(r.size(1) - 1, 1)); }},
      {"signal_first_and_last", "09.4", "only the first and the last are compared, and those between may differ",
       [](T r) { return differ(r, 0, r.size(1) - 1); }},
      {"signal_columns", "09.4",
       "compared across prompts: a row is the group. An easy prompt must not make a hard one look bad",
       [](T r) { return ne(amax(abs(r - r.view_slice(0, 0, 1)), {0}), none(r)); }}};
}

namespace {

constexpr double kMost = rl::kMaxLogRatio;

Tensor held(T log_ratio) { return clamp(log_ratio, -kMost, kMost); }
Tensor kept(T mask, T x, double otherwise = 0) { return where(mask, x, Tensor::scalar(otherwise, x.dtype())); }
Tensor product(T mask, T x) { return x * mask.to(x.dtype()); }

}  // namespace

kit::Mistakes<&Impl::token_ratio> ratio_mistakes() {
  return {{"ratio_upper_only", "09.5", "held from above, not from below: the log-ratio is at least -20",
           [](T now, T old, T mask) { return exp(clamp(kept(mask, now - old), -INFINITY, kMost)); }},
          {"ratio_mask_product", "09.5",
           "-inf minus -inf is no number: choose with where(mask, ...) instead of multiplying by the mask",
           [](T now, T old, T mask) { return exp(held(product(mask, now - old))); }},
          {"ratio_exchanged", "09.5", "the two are exchanged: new over old",
           [](T now, T old, T mask) { return exp(held(kept(mask, old - now))); }},
          {"ratio_of_logs", "09.5", "one log-probability divided by the other: subtract them, then take exp",
           [](T now, T old, T mask) { return kept(mask, now / old, 1); }},
          {"ratio_no_exp", "09.5", "this is the log of the ratio: exp is missing",
           [](T now, T old, T mask) { return kept(mask, now - old); }},
          {"ratio_no_exp_masked_1", "09.5", "this is the log of the ratio: exp is missing",
           [](T now, T old, T mask) { return kept(mask, now - old, 1); }},
          {"ratio_no_mask", "09.5", "the mask is not used", [](T now, T old, T) { return exp(held(now - old)); }},
          {"ratio_mask_last", "09.5", "masked places are 0: mask the log-ratio, before exp, and they are 1",
           [](T now, T old, T mask) { return kept(mask, exp(held(now - old))); }},
          {"ratio_no_clamp", "09.5",
           "not held within ±20: e^100 is infinite in f32, and infinity times advantage 0 is no number",
           [](T now, T old, T mask) { return exp(kept(mask, now - old)); }},
          {"ratio_masked_behind", "09.5",
           "0 times infinity, in the gradient: mask the log-ratio, before exp, not the ratio behind it",
           [](T now, T old, T mask) { return kept(mask, exp(now - old), 1); }},
          {"ratio_exp_clamped", "09.5",
           "0 times infinity, in the gradient: hold the log-ratio before exp, not the ratio behind it",
           [](T now, T old, T mask) { return clamp(exp(kept(mask, now - old)), std::exp(-kMost), std::exp(kMost)); }},
          {"ratio_ratio_clamped", "09.5", "the ratio is held within ±20: hold the log-ratio, not the ratio",
           [](T now, T old, T mask) { return clamp(exp(kept(mask, now - old)), 0, kMost); }},
          {"ratio_both_clamped", "09.5", "the ratio is held within ±20: hold the log-ratio, not the ratio",
           [](T now, T old, T mask) { return clamp(exp(held(kept(mask, now - old))), 0, kMost); }}};
}

namespace {

Tensor length(T mask, T x, double least = 1) {
  return maximum(sums(mask.to(x.dtype())), Tensor::full({1, 1}, least, x.dtype()));
}
Tensor of_sums(T log_ratio, T divisor) { return exp(held(sums(log_ratio) / divisor)); }

}  // namespace

kit::Mistakes<&Impl::sequence_ratio> sequence_mistakes() {
  return {
      {"sequence_mask_product", "09.6",
       "-inf minus -inf is no number: choose with where(mask, ...) instead of multiplying by the mask",
       [](T now, T old, T mask) { return of_sums(product(mask, now - old), length(mask, now)); }},
      {"sequence_sum", "09.6", "the log-ratios are summed; take their mean, or long responses leave every clip range",
       [](T now, T old, T mask) { return exp(held(sums(kept(mask, now - old)))); }},
      {"sequence_all_steps", "09.6", "divided by T in place of the response's own length",
       [](T now, T old, T mask) { return exp(held(mean(kept(mask, now - old), {1}, true))); }},
      {"sequence_padding", "09.6", "padding is in the mean: mask the log-ratios first",
       [](T now, T old, T) { return exp(held(mean(now - old, {1}, true))); }},
      {"sequence_mask_length_only", "09.6", "padding is in the sum: mask the log-ratios first",
       [](T now, T old, T mask) { return of_sums(now - old, length(mask, now)); }},
      {"sequence_mean_of_ratios", "09.6",
       "the mean of the ratios; it is exp of the mean log-ratio, their geometric mean",
       [](T now, T old, T mask) { return sums(kept(mask, exp(now - old))) / length(mask, now); }},
      {"sequence_mean_of_ratios_or_1", "09.6",
       "the mean of the ratios; it is exp of the mean log-ratio, their geometric mean",
       [](T now, T old, T mask) {
         const Tensor means = sums(kept(mask, exp(now - old))) / length(mask, now);
         return means + eq(means, Tensor::scalar(0, means.dtype())).to(means.dtype());
       }},
      {"sequence_exchanged", "09.6", "the two are exchanged: new over old",
       [](T now, T old, T mask) { return of_sums(kept(mask, old - now), length(mask, now)); }},
      {"sequence_empty", "09.6", "a response without a token gives 0/0: divide by at least 1",
       [](T now, T old, T mask) { return of_sums(kept(mask, now - old), length(mask, now, 0)); }},
      {"sequence_no_clamp", "09.6",
       "not held within ±20: hold the mean log-ratio before exp, or the ratio may be infinite",
       [](T now, T old, T mask) { return exp(sums(kept(mask, now - old)) / length(mask, now)); }},
      {"sequence_exp_clamped", "09.6",
       "0 times infinity, in the gradient: hold the mean log-ratio before exp, not the ratio behind it",
       [](T now, T old, T mask) {
         const Tensor means = sums(kept(mask, now - old)) / length(mask, now);
         return clamp(exp(means), std::exp(-kMost), std::exp(kMost));
       }},
      {"sequence_tokens_clamped", "09.6", "each token's log-ratio is held within ±20: hold the mean",
       [](T now, T old, T mask) { return of_sums(held(kept(mask, now - old)), length(mask, now)); }}};
}

namespace {

using enum Aggregation;

// By length [B, 1], which sequence_mean divides by.
Tensor added_up(T x, T length, Aggregation how, const Denominators& total) {
  if (how == sequence_mean) return sum(sums(x) / length) / total.sequences;
  return sum(x) / (how == token_mean ? total.tokens
                   : how == constant ? total.sequences * total.max_length
                                     : total.sequences);
}
Tensor right(T loss, T mask, Aggregation how, const Denominators& total) {
  return added_up(kept(mask, loss), length(mask, loss), how, total);
}
// The totals of what is here, and this number of responses.
Denominators here(T mask, double sequences, const Denominators& total) {
  return {.tokens = sum(mask.to(f64)).item(), .sequences = sequences, .max_length = total.max_length};
}

}  // namespace

kit::Mistakes<&Impl::aggregate> aggregate_mistakes() {
  using D = const Denominators&;
  return {
      {"aggregate_mask_product", "09.7",
       "0 times infinity is no number: choose with where(mask, ...) instead of multiplying by the mask",
       [](T x, T mask, Aggregation how, D total) { return added_up(product(mask, x), length(mask, x), how, total); }},
      {"aggregate_no_mask", "09.7", "the mask is not used",
       [](T x, T mask, Aggregation how, D total) { return added_up(x, length(mask, x), how, total); }},
      {"aggregate_mask_late", "09.7", "the mask comes after the mean: divide by the response's own tokens, not by T",
       [](T x, T mask, Aggregation how, D total) {
         return added_up(kept(mask, x), Tensor::full({1, 1}, size(x), x.dtype()), how, total);
       }},
      {"aggregate_micro_batch", "09.7",
       "divided by what is in this micro-batch; then eight small ones are not one large one: divide by `total`",
       [](T x, T mask, Aggregation how, D total) {
         return right(x, mask, how, here(mask, static_cast<double>(x.size(0)), total));
       }},
      {"aggregate_micro_batch_filled", "09.7",
       "divided by what is in this micro-batch; then eight small ones are not one large one: divide by `total`",
       [](T x, T mask, Aggregation how, D total) {
         return right(x, mask, how, here(mask, sum(amax(mask.to(f64), {1})).item(), total));
       }},
      {"aggregate_whole_numbers", "09.7",
       "0: is 1 / tokens a division of whole numbers? Divide the sum by total.tokens",
       [](T x, T mask, Aggregation how, D total) {
         return right(x, mask, how, total) * (how == token_mean ? std::floor(1 / total.tokens) : 1);
       }},
      {"aggregate_whole_share", "09.7",
       "0: rows / sequences is a division of whole numbers, 3 / 7 is 0: divide the sum by total.sequences",
       [](T x, T mask, Aggregation how, D total) {
         const auto share = static_cast<double>(x.size(0) / static_cast<int64_t>(total.sequences));
         return how == sequence_mean ? sum(sums(kept(mask, x)) / length(mask, x)) * share : right(x, mask, how, total);
       }},
      {"aggregate_mixed_up", "09.7", "this is the sequence mean: token_mean gives every token the same weight",
       [](T x, T mask, Aggregation how, D total) {
         return right(x, mask, how == token_mean ? sequence_mean : how, total);
       }},
      {"aggregate_sequence_as_token", "09.7",
       "this is the token mean: sequence_mean gives every response the same weight",
       [](T x, T mask, Aggregation how, D total) {
         return right(x, mask, how == sequence_mean ? token_mean : how, total);
       }},
      {"aggregate_by_places", "09.7", "divided by all places, padding too",
       [](T x, T mask, Aggregation how, D total) {
         return how == token_mean ? mean(kept(mask, x)) : right(x, mask, how, total);
       }},
      {"aggregate_empty", "09.7", "a response without a token gives 0/0: divide by at least 1",
       [](T x, T mask, Aggregation how, D total) { return added_up(kept(mask, x), length(mask, x, 0), how, total); }},
      {"aggregate_longest_here", "09.7", "divided by the longest response here; max_length is the same for every batch",
       [](T x, T mask, Aggregation how, D total) {
         return right(x, mask, how, {.tokens = total.tokens, .sequences = total.sequences, .max_length = size(x)});
       }},
      {"aggregate_sum_not_divided", "09.7", "not divided: divide the sum by total.sequences",
       [](T x, T mask, Aggregation how, D total) {
         return how == sequence_sum ? sum(kept(mask, x)) : right(x, mask, how, total);
       }},
      {"aggregate_width_5", "09.7", "only the first 5 steps are summed: T is loss.size(1)",
       [](T x, T mask, Aggregation how, D total) {
         if (how != sequence_mean) return right(x, mask, how, total);
         const int64_t end = std::min<int64_t>(5, x.size(1));
         return right(slice(x, 1, 0, end), mask.view_slice(1, 0, end), how, total);
       }}};
}

}  // namespace pg::lesson09
