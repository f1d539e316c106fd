#pragma once
// Wrong losses and Gaussian policies: those of answers.h, each with one mistake, the mutant of that name.
#include <cmath>
#include <numbers>

#include "lessons/07_ppo/lesson.h"

namespace pg::lesson07 {

inline Tensor clip_no_tape(const Tensor& ratio, const Tensor& advantage, double low, double high) {
  return lesson07::clip_loss(ratio.detach(), advantage, low, high);
}
inline Gae gae_f64(const Tensor& rewards, const Tensor& values, const Tensor& next_values, const GaeOptions& options) {
  const Gae right = lesson07::gae(rewards, values, next_values, options);
  return {right.advantages.to(f64), right.returns.to(f64)};
}

enum ValueMistake {
  value_about_returns,
  value_absolute,
  value_bounded_alone,
  value_clip_zero,
  value_clips_itself,
  value_mask_ignored,
  value_mask_product,
  value_masked_late,
  value_mean,
  value_minimum,
  value_no_clip,
  value_no_half,
  value_old_not_added,
  value_old_not_detached,
  value_returns_not_detached,
};

template <ValueMistake mistake>
Tensor value_loss_with(const Tensor& values, const Tensor& returns, const Tensor& old_values, double clip,
                       const Tensor& mask) {
  const Tensor target = mistake == value_returns_not_detached ? returns : returns.detach();
  const Tensor zero = Tensor::scalar(0, values.dtype());
  const bool late = mistake == value_masked_late || mistake == value_mask_product;
  const auto masked = [&](const Tensor& x) {
    if (!mask.defined() || mistake == value_mask_ignored) return x;
    return mistake == value_mask_product ? x * mask.to(x.dtype()) : where(mask, x, zero);
  };
  const auto half_square = [&](const Tensor& v) {
    const Tensor error = late ? v - target : masked(v - target);
    const Tensor loss = mistake == value_no_half    ? error * error
                        : mistake == value_absolute ? abs(error) * 0.5
                                                    : error * error * 0.5;
    return late ? masked(loss) : loss;
  };
  const Tensor free = half_square(values);
  const bool unclipped = mistake == value_clip_zero ? !old_values.defined() : clip == 0;
  if (mistake == value_mean) return mean(free);
  if (unclipped || mistake == value_no_clip) return free;
  const Tensor old = mistake == value_old_not_detached ? old_values : old_values.detach();
  const auto held = [&](const Tensor& x) { return clamp(x, -clip, clip); };
  const Tensor near = mistake == value_about_returns   ? target + held(values - target)
                      : mistake == value_old_not_added ? held(values - old)
                      : mistake == value_clips_itself  ? held(values)
                                                       : old + held(values - old);
  const Tensor bounded = half_square(near);
  if (mistake == value_bounded_alone) return bounded;
  return where(mistake == value_minimum ? le(free, bounded) : ge(free, bounded), free, bounded);
}

enum GaussianMistake {
  entropy_mean,
  entropy_no_constant,
  entropy_no_e,
  entropy_no_log_std,
  entropy_once,
  entropy_one_number,
  entropy_one_plus,
  entropy_sampled,
  entropy_sign,
  entropy_std,
  entropy_twice,
  entropy_variance,
  gauss_added,
  gauss_density,
  gauss_log_variance,
  gauss_mean,
  gauss_no_exp,
  gauss_no_half,
  gauss_no_log_std,
  gauss_no_two_pi,
  gauss_not_summed,
  gauss_one_two_pi,
  gauss_over_actions,
  gauss_sign,
  gauss_square_sign,
  gauss_std_detached,
  gauss_std_for_log,
  gauss_total,
  gauss_twice_two_pi,
  gauss_variance,
};

template <GaussianMistake mistake>
std::pair<Tensor, Tensor> gaussian_log_prob_with(const Tensor& mean, const Tensor& log_std, const Tensor& actions) {
  const double half_log_2pi = 0.5 * std::log(2 * std::numbers::pi);
  const Tensor none = zeros_like(log_std), half = log_std * 0.5;

  const bool variance = mistake == gauss_variance || mistake == gauss_log_variance;
  const Tensor std = mistake == gauss_no_exp ? log_std : exp(variance ? half : log_std);
  const Tensor z = (actions - mean) / (mistake == gauss_std_detached ? std.detach() : std);
  const double square_factor = mistake == gauss_no_half ? 1 : mistake == gauss_square_sign ? -0.5 : 0.5;
  const Tensor log_width = mistake == gauss_no_log_std     ? none
                           : mistake == gauss_log_variance ? half
                           : mistake == gauss_added        ? neg(log_std)
                           : mistake == gauss_std_for_log  ? exp(log_std)
                                                           : log_std;
  const double constant_of_each = mistake == gauss_no_two_pi || mistake == gauss_one_two_pi ? 0
                                  : mistake == gauss_twice_two_pi                           ? 2 * half_log_2pi
                                                                                            : half_log_2pi;
  const Tensor terms = z * z * square_factor + log_width + constant_of_each;
  const Tensor total = mistake == gauss_mean           ? pg::mean(terms, {1})
                       : mistake == gauss_over_actions ? sum(terms, {0})
                       : mistake == gauss_total        ? sum(terms)
                       : mistake == gauss_not_summed   ? terms
                                                       : sum(terms, {1});
  Tensor log_prob = neg(mistake == gauss_one_two_pi ? total + half_log_2pi : total);
  if (mistake == gauss_sign) log_prob = neg(log_prob);
  if (mistake == gauss_density) log_prob = exp(log_prob);
  if (mistake == entropy_sampled) return {log_prob, neg(log_prob)};

  const double e = mistake == entropy_no_e ? 0 : mistake == entropy_one_plus ? 1 : 0.5;
  const double constant = mistake == entropy_no_constant ? 0 : (half_log_2pi + e) * (mistake == entropy_twice ? 2 : 1);
  const Tensor width = mistake == entropy_no_log_std ? none
                       : mistake == entropy_std      ? exp(log_std)
                       : mistake == entropy_variance ? half
                                                     : log_std;
  const Tensor parts = mistake == entropy_once ? width : width + constant;
  Tensor entropy = mistake == entropy_mean ? pg::mean(parts) : sum(parts);
  if (mistake == entropy_once) entropy = entropy + constant;
  if (mistake == entropy_one_number) return {log_prob, entropy};
  return {log_prob, expand(mistake == entropy_sign ? neg(entropy) : entropy, {mean.size(0)})};
}

template <ValueMistake mistake>
void wrong_value_loss(Impl& m) {
  m.value_loss = value_loss_with<mistake>;
}
template <GaussianMistake mistake>
void wrong_gaussian(Impl& m) {
  m.gaussian_log_prob = gaussian_log_prob_with<mistake>;
}

}  // namespace pg::lesson07
