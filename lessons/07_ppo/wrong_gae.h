#pragma once
// Wrong answers of GAE: that of answers.h, each with one mistake, the mutant of that name.
#include <cmath>

#include "lessons/07_ppo/lesson.h"

namespace pg::lesson07 {

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
  gae_delta_alone,
  gae_f64,
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
  mask_returns,
};

inline std::vector<double> whitened(std::vector<double> x) {
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
        if (mistake == mask_product) advantages[i] = returns[i] = 0 * (r[i] - v[i]);
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
  const auto tensor = [&](const std::vector<double>& x) {
    const Tensor result = Tensor::from(x, rewards.shape());
    return mistake == gae_f64 ? result : result.to(rewards.dtype());
  };
  return {tensor(advantages), tensor(returns)};
}

template <GaeMistake mistake>
void wrong_gae(Impl& m) {
  m.gae = gae_with<mistake>;
}

}  // namespace pg::lesson07
