// The known mistakes of GAE.
#include <cmath>

#include "lessons/07_gae/checks.h"

namespace pg::lesson07 {
namespace {

// The answer with a switch for each mistake.
struct Switches {
  bool cut_carried = false, cut_final_late = false, cut_first_row = false, cut_ignored = false, cut_is_end = false,
       cut_last_slot = false, cut_next_row = false, cut_own_value = false, cut_wins = false, end_bootstrapped = false,
       end_carried = false, end_early = false, end_first_row = false, end_ignored = false, end_last_slot = false,
       end_late = false, gae_across_rows = false, gae_advantages_returns = false, gae_delta_alone = false,
       gae_first_next = false, gae_fixed = false, gae_lambda_alone = false, gae_next_everywhere = false,
       gae_no_gamma = false, gae_no_lambda = false, gae_no_next = false, gae_own_value = false,
       gae_returns_advantages = false, gae_returns_at_ends = false, gae_returns_minus = false, gae_returns_next = false,
       gae_returns_whitened = false, gae_whitened = false, mask_blank = false, mask_flags = false,
       mask_hands_value = false, mask_ignored = false, mask_loses_advantage = false, mask_product = false,
       mask_product_carried = false, mask_returns = false;
};

std::vector<double> whitened(std::vector<double> x) {
  const double count = static_cast<double>(x.size());
  double mean = 0, squares = 0;
  for (double e : x) mean += e / count;
  for (double e : x) squares += (e - mean) * (e - mean);
  for (double& e : x) e = (e - mean) / std::sqrt(squares / (count - 1));
  return x;
}

template <Switches is>
Gae gae_with(const Tensor& rewards, const Tensor& values, const Tensor& next_values, const GaeOptions& options) {
  const int64_t rows = rewards.size(0), steps = rewards.size(1), count = rows * steps;
  const auto r = rewards.to_vector(), v = values.to_vector(), last = next_values.to_vector();
  const auto unless = [&](bool ignored, const Tensor& x) { return ignored ? Tensor{} : x; };
  const auto mask = numbers(unless(is.mask_ignored, options.mask), count, 1);
  const auto terminated = numbers(unless(is.end_ignored, options.terminated), count, 0);
  const auto truncated = numbers(unless(is.cut_ignored, options.truncated), count, 0);
  const auto final_values = numbers(options.final_values, count, 0);
  const double gamma = is.gae_fixed ? 0.99 : options.gamma, lambda = is.gae_fixed ? 0.95 : options.lambda;
  const double next_factor = is.gae_no_gamma ? 1 : gamma;
  const double after_factor = is.gae_delta_alone    ? 0
                              : is.gae_lambda_alone ? lambda
                              : is.gae_no_lambda    ? gamma
                                                    : gamma * lambda;
  std::vector<double> advantages(r.size()), returns(r.size());
  double after = 0;
  for (int64_t b = rows - 1; b >= 0; --b) {
    const double last_value = last[is.gae_first_next ? 0 : static_cast<size_t>(b)];
    double next = is.gae_no_next ? 0 : last_value;
    if (!is.gae_across_rows) after = 0;
    for (int64_t t = steps - 1; t >= 0; --t) {
      const size_t i = static_cast<size_t>(b * steps + t), at = static_cast<size_t>(t);
      const bool ends_row = t + 1 == steps;
      if (is.mask_returns) returns[i] = v[i];
      if (mask[i] == 0) {
        if (is.mask_hands_value) next = v[i];
        if (is.mask_loses_advantage) after = 0;
        const double product = 0 * (r[i] - v[i]);
        if (is.mask_product || is.mask_product_carried) advantages[i] = returns[i] = product;
        if (is.mask_product_carried) after += product;
        if (is.mask_flags && terminated[i] != 0) next = after = 0;
        if (is.mask_blank) {
          after = terminated[i] != 0 ? 0 : gamma * next + gamma * lambda * after;
          next = 0;
        }
        continue;
      }
      const bool cut = truncated[i] != 0;
      const bool end = is.end_early       ? !ends_row && terminated[i + 1] != 0
                       : is.end_late      ? t > 0 && terminated[i - 1] != 0
                       : is.end_last_slot ? !ends_row && terminated[i] != 0
                       : is.end_first_row ? terminated[at] != 0
                                          : terminated[i] != 0;
      const bool keeps_next = is.cut_next_row || (is.cut_last_slot && ends_row);
      if (cut && !keeps_next) {
        next = is.cut_is_end       ? 0
               : is.cut_own_value  ? v[i]
               : is.cut_first_row  ? final_values[at]
               : is.cut_final_late ? (ends_row ? 0 : final_values[i + 1])
                                   : final_values[i];
      }
      if (cut && !is.cut_carried) after = 0;
      const bool end_wins = !is.cut_wins || !cut;
      if (end && end_wins && !is.end_bootstrapped) next = 0;
      if (end && !is.end_carried) after = 0;
      if (is.gae_own_value) next = v[i];
      if (is.gae_next_everywhere) next = last_value;
      advantages[i] = after = r[i] + next_factor * next - v[i] + after_factor * after;
      const double next_value = next;
      const bool without_value = is.gae_returns_advantages || (is.gae_returns_at_ends && (end || cut));
      returns[i] = advantages[i] + (without_value          ? 0
                                    : is.gae_returns_minus ? -v[i]
                                    : is.gae_returns_next  ? next_value
                                                           : v[i]);
      next = v[i];
    }
  }
  if (is.gae_returns_whitened) {
    returns = whitened(advantages);
    for (size_t i = 0; i < v.size(); ++i) returns[i] += v[i];
  }
  if (is.gae_whitened) advantages = whitened(advantages);
  if (is.gae_advantages_returns) advantages = returns;
  const auto tensor = [&](const std::vector<double>& x) {
    return Tensor::from(x, rewards.shape()).to(rewards.dtype());
  };
  return {tensor(advantages), tensor(returns)};
}

}  // namespace

kit::Mistakes<&Impl::gae> gae_mistakes() {
  kit::Mistakes<& Impl::gae> rows = {
      {"gae_no_lambda", "07.1", "lambda is forgotten: this is the return minus V, as for lambda = 1",
       gae_with<Switches{.gae_no_lambda = true}>},
      {"gae_lambda_alone", "07.1", "gamma is forgotten where A is carried on: the factor of A[t+1] is gamma·lambda",
       gae_with<Switches{.gae_lambda_alone = true}>},
      {"gae_no_gamma", "07.1", "gamma is forgotten in delta", gae_with<Switches{.gae_no_gamma = true}>},
      {"gae_delta_alone", "07.1", "this is delta alone: the advantage of the next step is not added",
       gae_with<Switches{.gae_delta_alone = true}>},
      {"gae_fixed", "07.1", "gamma and lambda are those of the usual setting: use options.gamma and options.lambda",
       gae_with<Switches{.gae_fixed = true}>},
      {"gae_no_next", "07.1", "next_values is not used: the rollout ends here, but the episode continues",
       gae_with<Switches{.gae_no_next = true}>},
      {"gae_next_everywhere", "07.1", "next_values is used at every step; before the last one `next` is V[t+1]",
       gae_with<Switches{.gae_next_everywhere = true}>},
      {"gae_first_next", "07.1", "every row uses the first of next_values: row b has next_values[b]",
       gae_with<Switches{.gae_first_next = true}>},
      {"gae_own_value", "07.1", "delta uses V[t] where V[t+1] belongs", gae_with<Switches{.gae_own_value = true}>},
      {"gae_across_rows", "07.1", "A of the next row is carried into this one: each row begins with A = 0 at its end",
       gae_with<Switches{.gae_across_rows = true}>},
      {"gae_whitened", "07.1",
       "these are scaled to mean 0 and deviation 1; do that later, in the loss, after the returns are computed",
       gae_with<Switches{.gae_whitened = true}>},
      {"gae_advantages_returns", "07.1", "these are the returns; subtract V",
       gae_with<Switches{.gae_advantages_returns = true}>},
      {"gae_returns_advantages", "07.1", "these are the advantages; the returns are A + V",
       gae_with<Switches{.gae_returns_advantages = true}>},
      {"gae_returns_whitened", "07.1",
       "the returns are made from advantages scaled to mean 0 and deviation 1: the critic would learn targets of a "
       "wrong scale",
       gae_with<Switches{.gae_returns_whitened = true}>},
      {"gae_returns_next", "07.1", "V[t+1] is added; the returns are A + V[t]",
       gae_with<Switches{.gae_returns_next = true}>},
      {"gae_returns_minus", "07.1", "V is subtracted; the returns are A + V",
       gae_with<Switches{.gae_returns_minus = true}>},
      {"gae_returns_at_ends", "07.2", "at the end of an episode too the return is A + V",
       gae_with<Switches{.gae_returns_at_ends = true}>},
      {"end_bootstrapped", "07.2",
       "V of the next step is used after a termination: that is another episode's first state",
       gae_with<Switches{.end_bootstrapped = true}>},
      {"end_carried", "07.2",
       "A is carried across the episode's end: rewards of the next episode are credited to this one",
       gae_with<Switches{.end_carried = true}>},
      {"end_late", "07.2", "terminated is read one step late: terminated[t] says that step t was the last",
       gae_with<Switches{.end_late = true}>},
      {"end_early", "07.2", "terminated is read one step early: terminated[t] says that step t was the last",
       gae_with<Switches{.end_early = true}>},
      {"end_last_slot", "07.2",
       "a termination at the last step of the row is overlooked: there next_values is not used either",
       gae_with<Switches{.end_last_slot = true}>, "07.3"},
      {"end_first_row", "07.2", "the flags of row 0 are used for every row", gae_with<Switches{.end_first_row = true}>},
      {"end_ignored", "07.2", "terminated is not used", gae_with<Switches{.end_ignored = true}>},
      {"cut_is_end", "07.3",
       "truncation is treated as termination: without the time limit, more rewards would have followed",
       gae_with<Switches{.cut_is_end = true}>},
      {"cut_next_row", "07.3",
       "V of the next step is used after a truncation: that is the next episode's first state; use final_values",
       gae_with<Switches{.cut_next_row = true}>},
      {"cut_own_value", "07.3", "after a truncation V[t] is used, of the state before the step; use final_values",
       gae_with<Switches{.cut_own_value = true}>},
      {"cut_final_late", "07.3",
       "final_values are those of the next step: final_values[t] belongs to a truncation at step t",
       gae_with<Switches{.cut_final_late = true}>},
      {"cut_first_row", "07.3", "the final values of row 0 are used for every row",
       gae_with<Switches{.cut_first_row = true}>},
      {"cut_last_slot", "07.3",
       "at the last step of the row next_values is used; where that step is truncated, use final_values",
       gae_with<Switches{.cut_last_slot = true}>},
      {"cut_carried", "07.3", "A is carried across the truncation: the next step belongs to another episode",
       gae_with<Switches{.cut_carried = true}>},
      {"cut_wins", "07.3", "where both flags are 1 the episode has terminated: next is 0",
       gae_with<Switches{.cut_wins = true}>},
      {"cut_ignored", "07.3", "truncated is not used", gae_with<Switches{.cut_ignored = true}>},
      {"mask_product", "07.4",
       "a masked slot may hold anything, and 0 times infinity is nan: skip it, do not multiply by 0",
       gae_with<Switches{.mask_product = true}>},
      {"mask_product_carried", "07.4",
       "a masked slot may hold anything, and 0 times infinity is nan: skip it, do not multiply by 0",
       gae_with<Switches{.mask_product_carried = true}>},
      {"mask_ignored", "07.4", "the mask is not used", gae_with<Switches{.mask_ignored = true}>},
      {"mask_hands_value", "07.4",
       "the slot before a masked slot uses its V; skip masked slots with `continue` at the start of the loop",
       gae_with<Switches{.mask_hands_value = true}>},
      {"mask_loses_advantage", "07.4", "A is lost at a masked slot: the slot before it needs A of the slot after it",
       gae_with<Switches{.mask_loses_advantage = true}>},
      {"mask_blank", "07.4",
       "a masked slot is treated as a step with reward 0 and V 0; skip it, as if it did not exist",
       gae_with<Switches{.mask_blank = true}>},
      {"mask_flags", "07.4", "a flag in a masked slot ends the episode: skip the slot before its flags are read",
       gae_with<Switches{.mask_flags = true}>},
      {"mask_returns", "07.4", "masked slots must be 0 in the results", gae_with<Switches{.mask_returns = true}>}};
  // What one check finds, those after it find too.
  for (auto& row : rows) {
    const std::string check = row.check, also = row.also;
    if (also.empty() && check <= "07.2") row.also = check == "07.1" ? "07.2 07.3 07.4" : "07.3 07.4";
  }
  return rows;
}

}  // namespace pg::lesson07
