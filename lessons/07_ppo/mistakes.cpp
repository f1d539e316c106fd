// The known mistakes of lesson 7: the answers, each with one mistake.
#include <cmath>
#include <limits>

#include "lessons/07_ppo/checks.h"

namespace pg::lesson07 {
namespace {

enum GaeMistake {
  cut_carried,
  cut_final_late,
  cut_first_row,
  cut_ignored,
  cut_is_end,
  cut_last_slot,
  cut_next_row,
  cut_own_value,
  cut_wins,
  end_bootstrapped,
  end_carried,
  end_early,
  end_first_row,
  end_ignored,
  end_last_slot,
  end_late,
  gae_across_rows,
  gae_advantages_returns,
  gae_delta_alone,
  gae_first_next,
  gae_fixed,
  gae_lambda_alone,
  gae_next_everywhere,
  gae_no_gamma,
  gae_no_lambda,
  gae_no_next,
  gae_own_value,
  gae_returns_advantages,
  gae_returns_at_ends,
  gae_returns_minus,
  gae_returns_whitened,
  gae_whitened,
  mask_blank,
  mask_flags,
  mask_hands_value,
  mask_ignored,
  mask_loses_advantage,
  mask_product,
  mask_product_carried,
  mask_returns,
};

std::vector<double> whitened(std::vector<double> x) {
  const double count = static_cast<double>(x.size());
  double mean = 0, squares = 0;
  for (double e : x) mean += e / count;
  for (double e : x) squares += (e - mean) * (e - mean);
  for (double& e : x) e = (e - mean) / std::sqrt(squares / (count - 1));
  return x;
}

template <GaeMistake mistake>
Gae gae_with(const Tensor& rewards, const Tensor& values, const Tensor& next_values, const GaeOptions& options) {
  const int64_t rows = rewards.size(0), steps = rewards.size(1), count = rows * steps;
  const auto r = rewards.to_vector(), v = values.to_vector(), last = next_values.to_vector();
  const auto unless = [&](GaeMistake ignored, const Tensor& x) { return mistake == ignored ? Tensor{} : x; };
  const auto mask = numbers(unless(mask_ignored, options.mask), count, 1);
  const auto terminated = numbers(unless(end_ignored, options.terminated), count, 0);
  const auto truncated = numbers(unless(cut_ignored, options.truncated), count, 0);
  const auto final_values = numbers(options.final_values, count, 0);
  const bool fixed = mistake == gae_fixed;
  const double gamma = fixed ? 0.99 : options.gamma, lambda = fixed ? 0.95 : options.lambda;
  const double next_factor = mistake == gae_no_gamma ? 1 : gamma;
  const double after_factor = mistake == gae_delta_alone    ? 0
                              : mistake == gae_lambda_alone ? lambda
                              : mistake == gae_no_lambda    ? gamma
                                                            : gamma * lambda;
  std::vector<double> advantages(r.size()), returns(r.size());
  double after = 0;
  for (int64_t b = rows - 1; b >= 0; --b) {
    const double last_value = last[mistake == gae_first_next ? 0 : static_cast<size_t>(b)];
    double next = mistake == gae_no_next ? 0 : last_value;
    if (mistake != gae_across_rows) after = 0;
    for (int64_t t = steps - 1; t >= 0; --t) {
      const size_t i = static_cast<size_t>(b * steps + t), at = static_cast<size_t>(t);
      const bool ends_row = t + 1 == steps;
      if (mistake == mask_returns) returns[i] = v[i];
      if (mask[i] == 0) {
        if (mistake == mask_hands_value) next = v[i];
        if (mistake == mask_loses_advantage) after = 0;
        const double product = 0 * (r[i] - v[i]);
        if (mistake == mask_product || mistake == mask_product_carried) advantages[i] = returns[i] = product;
        if (mistake == mask_product_carried) after += product;
        if (mistake == mask_flags && terminated[i] != 0) next = after = 0;
        if (mistake == mask_blank) {
          after = terminated[i] != 0 ? 0 : gamma * next + gamma * lambda * after;
          next = 0;
        }
        continue;
      }
      const bool cut = truncated[i] != 0;
      const bool end = mistake == end_early       ? !ends_row && terminated[i + 1] != 0
                       : mistake == end_late      ? t > 0 && terminated[i - 1] != 0
                       : mistake == end_last_slot ? !ends_row && terminated[i] != 0
                       : mistake == end_first_row ? terminated[at] != 0
                                                  : terminated[i] != 0;
      const bool keeps_next = mistake == cut_next_row || (mistake == cut_last_slot && ends_row);
      if (cut && !keeps_next) {
        next = mistake == cut_is_end       ? 0
               : mistake == cut_own_value  ? v[i]
               : mistake == cut_first_row  ? final_values[at]
               : mistake == cut_final_late ? (ends_row ? 0 : final_values[i + 1])
                                           : final_values[i];
      }
      if (cut && mistake != cut_carried) after = 0;
      const bool end_wins = mistake != cut_wins || !cut;
      if (end && end_wins && mistake != end_bootstrapped) next = 0;
      if (end && mistake != end_carried) after = 0;
      if (mistake == gae_own_value) next = v[i];
      if (mistake == gae_next_everywhere) next = last_value;
      advantages[i] = after = r[i] + next_factor * next - v[i] + after_factor * after;
      const bool without_value = mistake == gae_returns_advantages || (mistake == gae_returns_at_ends && (end || cut));
      returns[i] = advantages[i] + (without_value ? 0 : mistake == gae_returns_minus ? -v[i] : v[i]);
      next = v[i];
    }
  }
  if (mistake == gae_returns_whitened) {
    returns = whitened(advantages);
    for (size_t i = 0; i < v.size(); ++i) returns[i] += v[i];
  }
  if (mistake == gae_whitened) advantages = whitened(advantages);
  if (mistake == gae_advantages_returns) advantages = returns;
  const auto tensor = [&](const std::vector<double>& x) {
    return Tensor::from(x, rewards.shape()).to(rewards.dtype());
  };
  return {tensor(advantages), tensor(returns)};
}

enum ClipMistake {
  clip_about_zero,
  clip_alone,
  clip_detached,
  clip_exchanged,
  clip_exponential,
  clip_high_ignored,
  clip_low_ignored,
  clip_maximum,
  clip_mean,
  clip_none,
  clip_not_detached,
  clip_only_above,
  clip_only_below,
  clip_sign,
  clip_wrong_side,
};

template <ClipMistake mistake>
Tensor clip_loss_with(const Tensor& ratio, const Tensor& advantage, double low, double high) {
  if (mistake == clip_exchanged) std::swap(low, high);
  if (mistake == clip_low_ignored) low = high;
  if (mistake == clip_high_ignored) high = low;
  const double inf = std::numeric_limits<double>::infinity(), middle = mistake == clip_about_zero ? 0 : 1;
  double bottom = middle - low, top = middle + high;
  if (mistake == clip_exponential) bottom = std::exp(-low), top = std::exp(high);
  if (mistake == clip_only_above) bottom = -inf;
  if (mistake == clip_only_below) top = inf;
  const Tensor a = mistake == clip_not_detached ? advantage : advantage.detach();
  const Tensor inside = clamp(ratio, bottom, top);
  if (mistake == clip_wrong_side) return neg(where(le(ratio, inside), ratio, inside) * a);
  const Tensor free = ratio * a, clipped = inside * a;
  if (mistake == clip_alone) return neg(clipped);
  if (mistake == clip_none) return neg(free);
  if (mistake == clip_detached) return neg(where(lt(free, clipped), free, clipped.detach()));
  const Tensor bound = where(mistake == clip_maximum ? ge(free, clipped) : le(free, clipped), free, clipped);
  if (mistake == clip_mean) return neg(mean(bound));
  return mistake == clip_sign ? bound : neg(bound);
}

}  // namespace

const GaeMistakes& gae_mistakes() {
  static const GaeMistakes rows = {
      {"gae_no_lambda", "07.1", "lambda is forgotten: this is the return minus V, as for lambda = 1",
       gae_with<gae_no_lambda>, "07.2 07.3 07.4"},
      {"gae_lambda_alone", "07.1", "gamma is forgotten where A is carried on: the factor of A[t+1] is gamma·lambda",
       gae_with<gae_lambda_alone>, "07.2 07.3 07.4"},
      {"gae_no_gamma", "07.1", "gamma is forgotten in delta", gae_with<gae_no_gamma>, "07.2 07.3 07.4"},
      {"gae_delta_alone", "07.1", "this is delta alone: the advantage of the next step is not added",
       gae_with<gae_delta_alone>, "07.2 07.3 07.4"},
      {"gae_fixed", "07.1", "gamma and lambda are those of the usual setting: use options.gamma and options.lambda",
       gae_with<gae_fixed>, "07.2 07.3 07.4"},
      {"gae_no_next", "07.1", "next_values is not used: the rollout ends here, but the episode continues",
       gae_with<gae_no_next>, "07.2 07.3 07.4"},
      {"gae_next_everywhere", "07.1", "next_values is used at every step; before the last one `next` is V[t+1]",
       gae_with<gae_next_everywhere>, "07.2 07.3 07.4"},
      {"gae_first_next", "07.1", "every row uses the first of next_values: row b has next_values[b]",
       gae_with<gae_first_next>, "07.2 07.3 07.4"},
      {"gae_own_value", "07.1", "delta uses V[t] where V[t+1] belongs", gae_with<gae_own_value>, "07.2 07.3 07.4"},
      {"gae_across_rows", "07.1", "A of the next row is carried into this one: each row begins with A = 0 at its end",
       gae_with<gae_across_rows>, "07.2 07.3 07.4"},
      {"gae_whitened", "07.1",
       "these are scaled to mean 0 and deviation 1; do that later, in the loss, after the returns are computed",
       gae_with<gae_whitened>, "07.2 07.3 07.4"},
      {"gae_advantages_returns", "07.1", "these are the returns; subtract V", gae_with<gae_advantages_returns>,
       "07.2 07.3 07.4"},
      {"gae_returns_advantages", "07.1", "these are the advantages; the returns are A + V",
       gae_with<gae_returns_advantages>, "07.2 07.3 07.4"},
      {"gae_returns_whitened", "07.1",
       "the returns are made from advantages scaled to mean 0 and deviation 1: the critic would learn targets of a "
       "wrong scale",
       gae_with<gae_returns_whitened>, "07.2 07.3 07.4"},
      {"gae_returns_minus", "07.1", "V is subtracted; the returns are A + V", gae_with<gae_returns_minus>,
       "07.2 07.3 07.4"},
      {"gae_returns_at_ends", "07.2", "at the end of an episode too the return is A + V", gae_with<gae_returns_at_ends>,
       "07.3 07.4"},
      {"end_bootstrapped", "07.2",
       "V of the next step is used after a termination: that is another episode's first state",
       gae_with<end_bootstrapped>, "07.3 07.4"},
      {"end_carried", "07.2",
       "A is carried across the episode's end: rewards of the next episode are credited to this one",
       gae_with<end_carried>, "07.3 07.4"},
      {"end_late", "07.2", "terminated is read one step late: terminated[t] says that step t was the last",
       gae_with<end_late>, "07.3 07.4"},
      {"end_early", "07.2", "terminated is read one step early: terminated[t] says that step t was the last",
       gae_with<end_early>, "07.3 07.4"},
      {"end_last_slot", "07.2",
       "a termination at the last step of the row is overlooked: there next_values is not used either",
       gae_with<end_last_slot>, "07.3"},
      {"end_first_row", "07.2", "the flags of row 0 are used for every row", gae_with<end_first_row>, "07.3 07.4"},
      {"end_ignored", "07.2", "terminated is not used", gae_with<end_ignored>, "07.3 07.4"},
      {"cut_is_end", "07.3",
       "truncation is treated as termination: without the time limit, more rewards would have followed",
       gae_with<cut_is_end>},
      {"cut_next_row", "07.3",
       "V of the next step is used after a truncation: that is the next episode's first state; use final_values",
       gae_with<cut_next_row>},
      {"cut_own_value", "07.3", "after a truncation V[t] is used, of the state before the step; use final_values",
       gae_with<cut_own_value>},
      {"cut_final_late", "07.3",
       "final_values are those of the next step: final_values[t] belongs to a truncation at step t",
       gae_with<cut_final_late>},
      {"cut_first_row", "07.3", "the final values of row 0 are used for every row", gae_with<cut_first_row>},
      {"cut_last_slot", "07.3",
       "at the last step of the row next_values is used; where that step is truncated, use final_values",
       gae_with<cut_last_slot>},
      {"cut_carried", "07.3", "A is carried across the truncation: the next step belongs to another episode",
       gae_with<cut_carried>},
      {"cut_wins", "07.3", "where both flags are 1 the episode has terminated: next is 0", gae_with<cut_wins>},
      {"cut_ignored", "07.3", "truncated is not used", gae_with<cut_ignored>},
      {"mask_product", "07.4",
       "a masked slot may hold anything, and 0 times infinity is nan: skip it, do not multiply by 0",
       gae_with<mask_product>},
      {"mask_product_carried", "07.4",
       "a masked slot may hold anything, and 0 times infinity is nan: skip it, do not multiply by 0",
       gae_with<mask_product_carried>},
      {"mask_ignored", "07.4", "the mask is not used", gae_with<mask_ignored>},
      {"mask_hands_value", "07.4",
       "the slot before a masked slot uses its V; skip masked slots with `continue` at the start of the loop",
       gae_with<mask_hands_value>},
      {"mask_loses_advantage", "07.4", "A is lost at a masked slot: the slot before it needs A of the slot after it",
       gae_with<mask_loses_advantage>},
      {"mask_blank", "07.4",
       "a masked slot is treated as a step with reward 0 and V 0; skip it, as if it did not exist",
       gae_with<mask_blank>},
      {"mask_flags", "07.4", "a flag in a masked slot ends the episode: skip the slot before its flags are read",
       gae_with<mask_flags>},
      {"mask_returns", "07.4", "masked slots must be 0 in the results", gae_with<mask_returns>}};
  return rows;
}

const ClipMistakes& clip_mistakes() {
  static const ClipMistakes rows = {
      {"clip_maximum", "07.5", "the maximum in place of the minimum: it rewards ratios outside the clip range",
       clip_loss_with<clip_maximum>},
      {"clip_alone", "07.5",
       "the clipped term alone: take the minimum with the unclipped one, or a ratio that moved in the wrong direction "
       "has no gradient",
       clip_loss_with<clip_alone>},
      {"clip_wrong_side", "07.5",
       "the clip is on the wrong side for negative A: the minimum is of the products with A, not of the ratios",
       clip_loss_with<clip_wrong_side>},
      {"clip_none", "07.5", "nothing is clipped", clip_loss_with<clip_none>},
      {"clip_exchanged", "07.5", "low and high are exchanged: the range is 1 - low to 1 + high",
       clip_loss_with<clip_exchanged>},
      {"clip_low_ignored", "07.5", "low is not used: the range begins at 1 - low", clip_loss_with<clip_low_ignored>},
      {"clip_high_ignored", "07.5", "high is not used: the range ends at 1 + high", clip_loss_with<clip_high_ignored>},
      {"clip_only_above", "07.5", "the ratio is clipped only above: where A is negative, 1 - low matters",
       clip_loss_with<clip_only_above>},
      {"clip_only_below", "07.5", "the ratio is clipped only below: where A is positive, 1 + high matters",
       clip_loss_with<clip_only_below>},
      {"clip_about_zero", "07.5", "clipped to the range -low to high; the range is about 1",
       clip_loss_with<clip_about_zero>},
      {"clip_exponential", "07.5", "the range is the same on the scale of logarithms; PPO's is 1 - low to 1 + high",
       clip_loss_with<clip_exponential>},
      {"clip_sign", "07.5", "the sign is flipped: the loss is minimised", clip_loss_with<clip_sign>},
      {"clip_mean", "07.5", "one loss for each step; the mean is taken later, over the steps that count",
       clip_loss_with<clip_mean>},
      {"clip_detached", "07.5", "inside of the range there is no gradient: do not detach the clipped ratio",
       clip_loss_with<clip_detached>},
      {"clip_not_detached", "07.5", "a gradient flows into the advantage: detach() it",
       clip_loss_with<clip_not_detached>}};
  return rows;
}

}  // namespace pg::lesson07
