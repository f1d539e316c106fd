#pragma once
// Wrong answers to 09.5 to 09.7: ratios and aggregations with one mistake of many.
#include "lessons/09_grpo/lesson.h"

namespace pg::lesson09 {

enum class Ratio {
  detached,
  exchanged,
  mask_last,
  mask_product,
  no_clamp,
  no_exp,
  no_mask,
  of_logs,
  ratio_clamped,
  upper_only
};
template <Ratio mistake>
Tensor wrong_ratio(const Tensor& given, const Tensor& old_log_prob, const Tensor& mask) {
  const double most = rl::kMaxLogRatio;
  const Tensor log_prob = mistake == Ratio::detached ? given.detach() : given;
  const Tensor zero = Tensor::scalar(0, given.dtype()), one = Tensor::scalar(1, given.dtype());
  const Tensor d = mistake == Ratio::exchanged ? old_log_prob - log_prob : log_prob - old_log_prob;
  if (mistake == Ratio::of_logs) return where(mask, log_prob / old_log_prob, one);
  if (mistake == Ratio::mask_last) return where(mask, exp(clamp(d, -most, most)), zero);
  Tensor log_ratio = where(mask, d, zero);
  if (mistake == Ratio::no_mask) log_ratio = d;
  if (mistake == Ratio::mask_product) log_ratio = d * mask.to(given.dtype());
  if (mistake == Ratio::no_exp) return log_ratio;
  if (mistake == Ratio::no_clamp) return exp(log_ratio);
  if (mistake == Ratio::ratio_clamped) return clamp(exp(log_ratio), 0, most);
  return exp(clamp(log_ratio, mistake == Ratio::upper_only ? -INFINITY : -most, most));
}

enum class Whole {
  all_steps,
  empty,
  exchanged,
  mask_length_only,
  mean_of_ratios,
  padding,
  sum,
  no_clamp,
  tokens_clamped,
  flat,
  mask_product
};
template <Whole mistake>
Tensor wrong_whole(const Tensor& log_prob, const Tensor& old_log_prob, const Tensor& mask) {
  const double most = rl::kMaxLogRatio;
  const Tensor zero = Tensor::scalar(0, log_prob.dtype()), kept = mask.to(log_prob.dtype());
  const Tensor d = mistake == Whole::exchanged ? old_log_prob - log_prob : log_prob - old_log_prob;
  Tensor log_ratio = where(mask, d, zero);
  if (mistake == Whole::mask_length_only || mistake == Whole::padding) log_ratio = d;
  if (mistake == Whole::mask_product) log_ratio = d * kept;
  if (mistake == Whole::tokens_clamped) log_ratio = clamp(log_ratio, -most, most);
  Tensor length = sum(kept, {1}, true);
  if (mistake != Whole::empty) length = maximum(length, Tensor::ones({1, 1}, log_prob.dtype()));
  if (mistake == Whole::mean_of_ratios) return sum(where(mask, exp(d), zero), {1}, true) / length;
  Tensor middle = sum(log_ratio, {1}, true) / length;
  if (mistake == Whole::all_steps || mistake == Whole::padding) middle = mean(log_ratio, {1}, true);
  if (mistake == Whole::sum) middle = sum(log_ratio, {1}, true);
  if (mistake == Whole::no_clamp) return exp(middle);
  const Tensor ratio = exp(clamp(middle, -most, most));
  return mistake == Whole::flat ? squeeze(ratio, 1) : ratio;
}

enum class Sum {
  empty,
  longest_here,
  mask_late,
  mask_product,
  micro_batch,
  micro_sequences,
  mixed_up,
  no_mask,
  sequence_as_token,
  sum_micro,
  sum_not_divided,
  sum_product,
  whole_numbers,
  constant_untaped,
  width_5
};
template <Sum mistake>
Tensor wrong_sum(const Tensor& given, const Tensor& mask, Aggregation how, const Denominators& total) {
  using enum Aggregation;
  const Tensor zero = Tensor::scalar(0, given.dtype()), counts = mask.to(given.dtype());
  const Tensor loss = mistake == Sum::constant_untaped && how != sequence_mean ? given.detach() : given;
  const bool product = mistake == Sum::mask_product || (mistake == Sum::sum_product && how == sequence_sum);
  const Tensor kept = mistake == Sum::no_mask ? loss : product ? loss * counts : where(mask, loss, zero);
  if (mistake == Sum::mixed_up && (how == token_mean || how == sequence_mean))
    how = how == token_mean ? sequence_mean : token_mean;
  if (mistake == Sum::sequence_as_token && how == sequence_mean) how = token_mean;
  const double tokens = mistake == Sum::micro_batch ? sum(mask.to(f64)).item() : total.tokens;
  if (how == token_mean && mistake == Sum::whole_numbers)
    return sum(kept) * static_cast<double>(1 / static_cast<int>(tokens));
  if (how == token_mean) return sum(kept) / tokens;
  if (how == constant) {
    return sum(kept) /
           (total.sequences * (mistake == Sum::longest_here ? static_cast<double>(loss.size(1)) : total.max_length));
  }
  if (how == sequence_sum) {
    if (mistake == Sum::sum_not_divided) return sum(kept);
    return sum(kept) / (mistake == Sum::sum_micro ? static_cast<double>(loss.size(0)) : total.sequences);
  }
  if (mistake == Sum::mask_late) return sum(mean(kept, {1}, true)) / total.sequences;
  if (mistake == Sum::width_5) {  // the sum of a row, written out for five steps
    Tensor rows = kept.view_slice(1, 0, 1), lengths = counts.view_slice(1, 0, 1);
    rows = slice(kept, 1, 0, 1);
    for (int64_t t = 1; t < std::min<int64_t>(5, loss.size(1)); ++t) {
      rows = rows + slice(kept, 1, t, t + 1);
      lengths = lengths + counts.view_slice(1, t, t + 1);
    }
    return sum(rows / maximum(lengths, Tensor::ones({1, 1}, loss.dtype()))) / total.sequences;
  }
  Tensor length = sum(counts, {1}, true);
  if (mistake != Sum::empty) length = maximum(length, Tensor::ones({1, 1}, loss.dtype()));
  const Tensor means = sum(kept, {1}, true) / length;
  return mistake == Sum::micro_sequences ? mean(means) : sum(means) / total.sequences;
}

}  // namespace pg::lesson09
