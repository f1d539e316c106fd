#pragma once
// Wrong answers to 08.2 and 08.6: those of answers.h, each with one mistake, the mutant of that name.

#include "lessons/08_rlhf/lesson.h"

namespace pg::lesson08 {

enum PairMistake {
  pair_centre_detached,
  pair_centre_difference,
  pair_centre_inside,
  pair_centre_linear,
  pair_centre_squared,
  pair_centre_squares,
  pair_difference,
  pair_log,
  pair_log_sigmoid,
  pair_margin_added,
  pair_margin_first,
  pair_margin_not_detached,
  pair_margin_outside,
  pair_mean,
  pair_no_centring,
  pair_no_margin,
  pair_overflows,
  pair_probability,
  pair_sign,
};

template <PairMistake mistake>
Tensor bradley_terry_loss_with(const Tensor& chosen, const Tensor& rejected, const Tensor& margin, double centring) {
  Tensor difference = mistake == pair_sign ? rejected - chosen : chosen - rejected;
  const bool outside = mistake == pair_margin_outside;
  if (margin.defined() && mistake != pair_no_margin && !outside) {
    Tensor m = mistake == pair_margin_not_detached ? margin : margin.detach();
    if (mistake == pair_margin_first && m.numel() > 0) m = expand(slice(m, 0, 0, 1), m.shape());
    difference = mistake == pair_margin_added ? difference + m : difference - m;
  }
  const Tensor term = mistake == pair_centre_difference ? chosen - rejected : chosen + rejected;
  Tensor centre = term * term * (mistake == pair_centre_squared ? centring * centring : centring);
  if (mistake == pair_centre_squares) centre = centring * (chosen * chosen + rejected * rejected);
  if (mistake == pair_centre_linear) centre = centring * term;
  if (mistake == pair_centre_detached) centre = centre.detach();
  if (mistake == pair_centre_inside) return softplus(neg(difference - centre));
  const Tensor loss = mistake == pair_log_sigmoid   ? neg(log(sigmoid(difference)))
                      : mistake == pair_probability ? sigmoid(difference)
                      : mistake == pair_difference  ? neg(difference)
                      : mistake == pair_log         ? neg(softplus(neg(difference)))
                      : mistake == pair_overflows   ? log(exp(neg(difference)) + 1.0)
                                                    : softplus(neg(difference));
  if (mistake == pair_no_centring) return loss;
  const Tensor total = loss + centre;
  if (outside && margin.defined()) return total - margin.detach();
  return mistake == pair_mean ? mean(total) : total;
}

enum DpoMistake {
  dpo_beta_fixed,
  dpo_beta_outside,
  dpo_beta_twice,
  dpo_chosen_alone,
  dpo_exp,
  dpo_kink,
  dpo_log,
  dpo_log_sigmoid,
  dpo_mean,
  dpo_no_beta,
  dpo_no_reference,
  dpo_overflows,
  dpo_policy_detached,
  dpo_probability,
  dpo_reference_added,
  dpo_reference_gradient,
  dpo_references_exchanged,
  dpo_rewards_exchanged,
  dpo_rewards_no_beta,
  dpo_rewards_no_reference,
  dpo_rewards_with_gradient,
  dpo_sign,
  dpo_sum,
};

template <DpoMistake mistake>
DpoLoss dpo_loss_with(const Tensor& chosen, const Tensor& rejected, const Tensor& ref_chosen,
                      const Tensor& ref_rejected, const DpoOptions& options) {
  const double beta = mistake == dpo_no_beta || mistake == dpo_beta_outside ? 1
                      : mistake == dpo_beta_fixed                           ? 0.1
                      : mistake == dpo_beta_twice                           ? options.beta * options.beta
                                                                            : options.beta;
  const bool swapped = mistake == dpo_references_exchanged;
  const auto log_ratio = [](const Tensor& x, const Tensor& ref) {
    if (mistake == dpo_no_reference) return x;
    const Tensor now = mistake == dpo_policy_detached ? x.detach() + 0.0 * x : x;
    const Tensor ratio = now - (mistake == dpo_reference_gradient ? ref : ref.detach());
    return mistake == dpo_exp ? exp(ratio) : ratio;
  };
  const Tensor c = log_ratio(chosen, swapped ? ref_rejected : ref_chosen);
  const Tensor r = log_ratio(rejected, swapped ? ref_chosen : ref_rejected);
  const Tensor difference = mistake == dpo_reference_added
                                ? beta * (chosen + ref_chosen.detach()) - beta * (rejected + ref_rejected.detach())
                            : mistake == dpo_sum          ? beta * c + beta * r
                            : mistake == dpo_chosen_alone ? beta * c
                                                          : beta * c - beta * r;
  Tensor loss = mistake == dpo_log_sigmoid   ? neg(log(sigmoid(difference)))
                : mistake == dpo_probability ? sigmoid(difference)
                : mistake == dpo_log         ? neg(softplus(neg(difference)))
                : mistake == dpo_overflows   ? log(exp(neg(difference)) + 1.0)
                : mistake == dpo_sign        ? softplus(difference)
                                             : softplus(neg(difference));
  if (mistake == dpo_kink) loss = relu(neg(difference)) + log1p(exp(neg(abs(difference))));
  if (mistake == dpo_beta_outside) loss = loss * options.beta;
  if (mistake == dpo_mean) loss = mean(loss);
  const auto reward = [&](const Tensor& ratio, const Tensor& policy) {
    const Tensor used = mistake == dpo_rewards_no_reference ? policy : ratio;
    const Tensor scaled = mistake == dpo_rewards_no_beta ? used : options.beta * used;
    return mistake == dpo_rewards_with_gradient ? scaled : scaled.detach();
  };
  if (mistake == dpo_rewards_exchanged) return {loss, reward(r, rejected), reward(c, chosen)};
  return {loss, reward(c, chosen), reward(r, rejected)};
}

template <PairMistake mistake>
void wrong_pair_loss(Impl& m) {
  m.bradley_terry_loss = bradley_terry_loss_with<mistake>;
}
template <DpoMistake mistake>
void wrong_dpo_loss(Impl& m) {
  m.dpo_loss = dpo_loss_with<mistake>;
}

}  // namespace pg::lesson08
