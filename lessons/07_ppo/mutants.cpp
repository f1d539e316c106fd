// Wrong answers to lesson 7. The checks must call each WRONG and say why; everything else must stay ok.
#include "lessons/kit/mutants.h"

#include "lessons/07_ppo/answers.h"

namespace pg::lesson07 {
namespace {

// The answers of answers.h, each with one mistake: the mutant of that name.

enum GaeMistake {
  cut_carried,
  cut_ignored,
  cut_is_end,
  cut_next_row,
  cut_wins,
  end_bootstrapped,
  end_carried,
  end_early,
  end_ignored,
  end_late,
  gae_delta_alone,
  gae_lambda_alone,
  gae_no_gamma,
  gae_no_lambda,
  gae_no_next,
  gae_returns_advantages,
  gae_returns_whitened,
  gae_whitened,
  mask_hands_value,
  mask_ignored,
  mask_loses_advantage,
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
  const double gamma = options.gamma, lambda = options.lambda;
  const double next_factor = mistake == gae_no_gamma ? 1 : gamma;
  const double after_factor = mistake == gae_delta_alone    ? 0
                              : mistake == gae_lambda_alone ? lambda
                              : mistake == gae_no_lambda    ? gamma
                                                            : gamma * lambda;
  std::vector<double> advantages(r.size()), returns(r.size());
  for (int64_t b = 0; b < rows; ++b) {
    double next = mistake == gae_no_next ? 0 : last[static_cast<size_t>(b)], after = 0;
    for (int64_t t = steps - 1; t >= 0; --t) {
      const size_t i = static_cast<size_t>(b * steps + t);
      if (mistake == mask_returns) returns[i] = v[i];
      if (mask[i] == 0) {
        if (mistake == mask_hands_value) next = v[i];
        if (mistake == mask_loses_advantage) after = 0;
        continue;
      }
      const bool cut = truncated[i] != 0;
      const bool end = mistake == end_early  ? t + 1 < steps && terminated[i + 1] != 0
                       : mistake == end_late ? t > 0 && terminated[i - 1] != 0
                                             : terminated[i] != 0;
      if (cut && mistake != cut_next_row) next = mistake == cut_is_end ? 0 : final_values[i];
      if (cut && mistake != cut_carried) after = 0;
      const bool end_wins = mistake != cut_wins || !cut;
      if (end && end_wins && mistake != end_bootstrapped) next = 0;
      if (end && mistake != end_carried) after = 0;
      advantages[i] = after = r[i] + next_factor * next - v[i] + after_factor * after;
      returns[i] = advantages[i] + (mistake == gae_returns_advantages ? 0 : v[i]);
      next = v[i];
    }
  }
  if (mistake == gae_returns_whitened) {
    returns = whitened(advantages);
    for (size_t i = 0; i < v.size(); ++i) returns[i] += v[i];
  }
  if (mistake == gae_whitened) advantages = whitened(advantages);
  const auto tensor = [&](const std::vector<double>& x) {
    return Tensor::from(x, rewards.shape()).to(rewards.dtype());
  };
  return {tensor(advantages), tensor(returns)};
}

enum ClipMistake {
  clip_about_zero,
  clip_alone,
  clip_exchanged,
  clip_maximum,
  clip_no_tape,
  clip_none,
  clip_not_detached,
  clip_sign,
  clip_wrong_side,
};

template <ClipMistake mistake>
Tensor clip_loss_with(const Tensor& ratio, const Tensor& advantage, double low, double high) {
  if (mistake == clip_exchanged) std::swap(low, high);
  const double middle = mistake == clip_about_zero ? 0 : 1;
  const Tensor a = mistake == clip_not_detached ? advantage : advantage.detach();
  const Tensor rho = mistake == clip_no_tape ? ratio.detach() : ratio;
  const Tensor inside = clamp(rho, middle - low, middle + high);
  if (mistake == clip_wrong_side) return neg(where(le(rho, inside), rho, inside) * a);
  const Tensor free = rho * a, clipped = inside * a;
  if (mistake == clip_alone) return neg(clipped);
  if (mistake == clip_none) return neg(free);
  const Tensor bound = where(mistake == clip_maximum ? ge(free, clipped) : le(free, clipped), free, clipped);
  return mistake == clip_sign ? bound : neg(bound);
}

enum ValueMistake {
  value_bounded_alone,
  value_masked_late,
  value_minimum,
  value_no_clip,
  value_no_half,
  value_old_not_detached,
  value_returns_not_detached,
};

template <ValueMistake mistake>
Tensor value_loss_with(const Tensor& values, const Tensor& returns, const Tensor& old_values, double clip,
                       const Tensor& mask) {
  const Tensor target = mistake == value_returns_not_detached ? returns : returns.detach();
  const Tensor zero = Tensor::scalar(0, values.dtype());
  const auto masked = [&](const Tensor& x) { return mask.defined() ? where(mask, x, zero) : x; };
  const auto half_square = [&](const Tensor& v) {
    const Tensor error = mistake == value_masked_late ? v - target : masked(v - target);
    const Tensor loss = mistake == value_no_half ? error * error : error * error * 0.5;
    return mistake == value_masked_late ? masked(loss) : loss;
  };
  const Tensor free = half_square(values);
  if (clip == 0 || mistake == value_no_clip) return free;
  const Tensor old = mistake == value_old_not_detached ? old_values : old_values.detach();
  const Tensor bounded = half_square(old + clamp(values - old, -clip, clip));
  if (mistake == value_bounded_alone) return bounded;
  return where(mistake == value_minimum ? le(free, bounded) : ge(free, bounded), free, bounded);
}

enum GaussianMistake {
  entropy_mean,
  entropy_no_constant,
  entropy_no_e,
  entropy_no_log_std,
  entropy_sampled,
  entropy_sign,
  gauss_log_variance,
  gauss_mean,
  gauss_no_exp,
  gauss_no_half,
  gauss_no_log_std,
  gauss_no_two_pi,
  gauss_one_two_pi,
  gauss_square_sign,
  gauss_variance,
};

template <GaussianMistake mistake>
std::pair<Tensor, Tensor> gaussian_log_prob_with(const Tensor& mean, const Tensor& log_std, const Tensor& actions) {
  const double half_log_2pi = 0.5 * std::log(2 * std::numbers::pi);
  const Tensor none = zeros_like(log_std), half = log_std * 0.5;

  const bool variance = mistake == gauss_variance || mistake == gauss_log_variance;
  const Tensor z = (actions - mean) / (mistake == gauss_no_exp ? log_std : exp(variance ? half : log_std));
  const double square_factor = mistake == gauss_no_half ? 1 : mistake == gauss_square_sign ? -0.5 : 0.5;
  const Tensor log_width = mistake == gauss_no_log_std ? none : mistake == gauss_log_variance ? half : log_std;
  const bool constant_in_sum = mistake != gauss_no_two_pi && mistake != gauss_one_two_pi;
  const Tensor terms = z * z * square_factor + log_width + (constant_in_sum ? half_log_2pi : 0);
  const Tensor total = mistake == gauss_mean ? pg::mean(terms, {1}) : sum(terms, {1});
  const Tensor log_prob = neg(mistake == gauss_one_two_pi ? total + half_log_2pi : total);
  if (mistake == entropy_sampled) return {log_prob, neg(log_prob)};

  const double constant = mistake == entropy_no_constant ? 0 : half_log_2pi + (mistake == entropy_no_e ? 0 : 0.5);
  const Tensor parts = (mistake == entropy_no_log_std ? none : log_std) + constant;
  const Tensor entropy = mistake == entropy_mean ? pg::mean(parts) : sum(parts);
  return {log_prob, expand(mistake == entropy_sign ? neg(entropy) : entropy, {mean.size(0)})};
}

template <GaeMistake mistake>
void wrong_gae(Impl& m) {
  m.gae = gae_with<mistake>;
}
template <ClipMistake mistake>
void wrong_clip_loss(Impl& m) {
  m.clip_loss = clip_loss_with<mistake>;
}
template <ValueMistake mistake>
void wrong_value_loss(Impl& m) {
  m.value_loss = value_loss_with<mistake>;
}
template <GaussianMistake mistake>
void wrong_gaussian(Impl& m) {
  m.gaussian_log_prob = gaussian_log_prob_with<mistake>;
}

}  // namespace

const kit::Mutants<Impl> mutants = {
    {"clip_about_zero", "07.5", "the range is about 1", wrong_clip_loss<clip_about_zero>},
    {"clip_alone", "07.5", "the clipped term alone", wrong_clip_loss<clip_alone>},
    {"clip_exchanged", "07.5", "low and high are exchanged", wrong_clip_loss<clip_exchanged>},
    {"clip_maximum", "07.5", "the maximum in place of the minimum", wrong_clip_loss<clip_maximum>},
    {"clip_no_tape", "07.5", "without a gradient nothing is learned", wrong_clip_loss<clip_no_tape>},
    {"clip_none", "07.5", "nothing is clipped", wrong_clip_loss<clip_none>},
    {"clip_not_detached", "07.5", "a gradient flows into the advantage", wrong_clip_loss<clip_not_detached>},
    {"clip_sign", "07.5", "the sign is flipped", wrong_clip_loss<clip_sign>},
    {"clip_wrong_side", "07.5", "on the wrong side for negative A", wrong_clip_loss<clip_wrong_side>},
    {"cut_carried", "07.3", "A is carried across the truncation", wrong_gae<cut_carried>},
    {"cut_ignored", "07.3", "truncated is not used", wrong_gae<cut_ignored>},
    {"cut_is_end", "07.3", "truncation is treated as termination", wrong_gae<cut_is_end>},
    {"cut_next_row", "07.3", "use final_values", wrong_gae<cut_next_row>},
    {"cut_wins", "07.3", "where both flags are 1", wrong_gae<cut_wins>},
    {"end_bootstrapped", "07.2", "V of the next step is used after a termination", wrong_gae<end_bootstrapped>, "07.3"},
    {"end_carried", "07.2", "credited to this one", wrong_gae<end_carried>, "07.3"},
    {"end_early", "07.2", "one step early", wrong_gae<end_early>, "07.3"},
    {"end_ignored", "07.2", "terminated is not used", wrong_gae<end_ignored>, "07.3"},
    {"end_late", "07.2", "one step late", wrong_gae<end_late>, "07.3"},
    {"entropy_mean", "07.8", "a mean over the k numbers", wrong_gaussian<entropy_mean>},
    {"entropy_no_constant", "07.8", "log(2πe)/2 is missing", wrong_gaussian<entropy_no_constant>},
    {"entropy_no_e", "07.8", "half a nat", wrong_gaussian<entropy_no_e>},
    {"entropy_no_log_std", "07.8", "log_std is missing", wrong_gaussian<entropy_no_log_std>, "07.7"},
    {"entropy_sampled", "07.8", "of the action taken", wrong_gaussian<entropy_sampled>},
    {"entropy_sign", "07.8", "the sign is flipped", wrong_gaussian<entropy_sign>},
    {"gae_delta_alone", "07.1", "this is delta alone", wrong_gae<gae_delta_alone>, "07.2 07.3 07.4"},
    {"gae_lambda_alone", "07.1", "gamma is forgotten where A is carried on", wrong_gae<gae_lambda_alone>,
     "07.2 07.3 07.4"},
    {"gae_no_gamma", "07.1", "gamma is forgotten in delta", wrong_gae<gae_no_gamma>, "07.2 07.3 07.4"},
    {"gae_no_lambda", "07.1", "lambda is forgotten", wrong_gae<gae_no_lambda>, "07.2 07.3 07.4"},
    {"gae_no_next", "07.1", "next_values is not used", wrong_gae<gae_no_next>, "07.2 07.3 07.4"},
    {"gae_returns_advantages", "07.1", "the returns are A + V", wrong_gae<gae_returns_advantages>, "07.4"},
    {"gae_returns_whitened", "07.1", "the returns are made from whitened advantages", wrong_gae<gae_returns_whitened>,
     "07.4"},
    {"gae_whitened", "07.1", "these are whitened", wrong_gae<gae_whitened>, "07.2 07.3 07.4"},
    {"gauss_log_variance", "07.7", "log of the variance", wrong_gaussian<gauss_log_variance>},
    {"gauss_mean", "07.7", "a mean over the k numbers", wrong_gaussian<gauss_mean>},
    {"gauss_no_exp", "07.7", "exp() is missing", wrong_gaussian<gauss_no_exp>},
    {"gauss_no_half", "07.7", "the 1/2 of the square", wrong_gaussian<gauss_no_half>},
    {"gauss_no_log_std", "07.7", "a wider density is lower", wrong_gaussian<gauss_no_log_std>},
    {"gauss_no_two_pi", "07.7", "does not integrate to 1", wrong_gaussian<gauss_no_two_pi>},
    {"gauss_one_two_pi", "07.7", "counted once", wrong_gaussian<gauss_one_two_pi>},
    {"gauss_square_sign", "07.7", "far from the mean is unlikely", wrong_gaussian<gauss_square_sign>},
    {"gauss_variance", "07.7", "taken for the variance", wrong_gaussian<gauss_variance>},
    {"mask_hands_value", "07.4", "the slot before a masked slot uses its V", wrong_gae<mask_hands_value>},
    {"mask_ignored", "07.4", "the mask is not used", wrong_gae<mask_ignored>},
    {"mask_loses_advantage", "07.4", "A is lost at a masked slot", wrong_gae<mask_loses_advantage>},
    {"mask_returns", "07.4", "masked slots must be 0 in the results", wrong_gae<mask_returns>},
    {"value_bounded_alone", "07.6", "the clipped error alone", wrong_value_loss<value_bounded_alone>},
    {"value_masked_late", "07.6", "mask the errors before", wrong_value_loss<value_masked_late>},
    {"value_minimum", "07.6", "the minimum in place of the maximum", wrong_value_loss<value_minimum>},
    {"value_no_clip", "07.6", "clip and old_values are not used", wrong_value_loss<value_no_clip>},
    {"value_no_half", "07.6", "the factor 1/2 is missing", wrong_value_loss<value_no_half>},
    {"value_old_not_detached", "07.6", "flows into what is a constant", wrong_value_loss<value_old_not_detached>},
    {"value_returns_not_detached", "07.6", "flows into what is a constant",
     wrong_value_loss<value_returns_not_detached>},
};

}  // namespace pg::lesson07
