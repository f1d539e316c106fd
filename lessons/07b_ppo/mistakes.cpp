// The known mistakes of the losses and of the Gaussian policy. In an order in which the first row that fits a wrong
// result is the right one.
#include <cmath>
#include <limits>
#include <numbers>

#include "lessons/07b_ppo/checks.h"

namespace pg::lesson07b {
namespace {

using T = const Tensor&;

constexpr double kInf = std::numeric_limits<double>::infinity();

Tensor smaller(T a, T b) { return where(le(a, b), a, b); }
Tensor larger(T a, T b) { return where(ge(a, b), a, b); }
// The loss with the ratio clipped to bottom ... top.
Tensor clipped(T ratio, T advantage, double bottom, double top) {
  return neg(smaller(ratio * advantage.detach(), clamp(ratio, bottom, top) * advantage.detach()));
}
Tensor inside(T ratio, double low, double high) { return clamp(ratio, 1 - low, 1 + high); }

}  // namespace

kit::Mistakes<&Impl::clip_loss> clip_mistakes() {
  return {
      {"clip_maximum", "07.5", "the maximum in place of the minimum: it rewards ratios outside the clip range",
       [](T ratio, T a, double low, double high) {
         return neg(larger(ratio * a.detach(), inside(ratio, low, high) * a.detach()));
       }},
      {"clip_alone", "07.5",
       "the clipped term alone: take the minimum with the unclipped one, or a ratio that moved in the wrong direction "
       "has no gradient",
       [](T ratio, T a, double low, double high) { return neg(inside(ratio, low, high) * a.detach()); }},
      {"clip_wrong_side", "07.5",
       "the clip is on the wrong side for negative A: the minimum is of the products with A, not of the ratios",
       [](T ratio, T a, double low, double high) {
         return neg(smaller(ratio, inside(ratio, low, high)) * a.detach());
       }},
      {"clip_none", "07.5", "nothing is clipped", [](T ratio, T a, double, double) { return neg(ratio * a.detach()); }},
      {"clip_exchanged", "07.5", "low and high are exchanged: the range is 1 - low to 1 + high",
       [](T ratio, T a, double low, double high) { return clipped(ratio, a, 1 - high, 1 + low); }},
      {"clip_low_ignored", "07.5", "low is not used: the range begins at 1 - low",
       [](T ratio, T a, double, double high) { return clipped(ratio, a, 1 - high, 1 + high); }},
      {"clip_high_ignored", "07.5", "high is not used: the range ends at 1 + high",
       [](T ratio, T a, double low, double) { return clipped(ratio, a, 1 - low, 1 + low); }},
      {"clip_only_above", "07.5", "the ratio is clipped only above: where A is negative, 1 - low matters",
       [](T ratio, T a, double, double high) { return clipped(ratio, a, -kInf, 1 + high); }},
      {"clip_only_below", "07.5", "the ratio is clipped only below: where A is positive, 1 + high matters",
       [](T ratio, T a, double low, double) { return clipped(ratio, a, 1 - low, kInf); }},
      {"clip_about_zero", "07.5", "clipped to the range -low to high; the range is about 1",
       [](T ratio, T a, double low, double high) { return clipped(ratio, a, -low, high); }},
      {"clip_exponential", "07.5", "the range is the same on the scale of logarithms; PPO's is 1 - low to 1 + high",
       [](T ratio, T a, double low, double high) { return clipped(ratio, a, std::exp(-low), std::exp(high)); }},
      {"clip_sign", "07.5", "the sign is flipped: the loss is minimised",
       [](T ratio, T a, double low, double high) { return neg(clipped(ratio, a, 1 - low, 1 + high)); }},
      {"clip_mean", "07.5", "one loss for each step; the mean is taken later, over the steps that count",
       [](T ratio, T a, double low, double high) { return mean(clipped(ratio, a, 1 - low, 1 + high)); }},
      {"clip_detached", "07.5", "inside of the range there is no gradient: do not detach the clipped ratio",
       [](T ratio, T a, double low, double high) {
         const Tensor free = ratio * a.detach(), held = inside(ratio, low, high) * a.detach();
         return neg(where(lt(free, held), free, held.detach()));
       }},
      {"clip_not_detached", "07.5", "a gradient flows into the advantage: detach() it",
       [](T ratio, T a, double low, double high) { return neg(smaller(ratio * a, inside(ratio, low, high) * a)); }}};
}

namespace {

// The value loss with a switch for each mistake. `late`: the mask comes after the squares.
struct Critic {
  bool no_half = false, absolute = false, minimum = false, bounded_alone = false, no_clip = false, zero_clips = false;
  bool about_returns = false, old_not_added = false, clips_itself = false, old_alone = false;
  bool no_mask = false, product = false, late = false, mean = false, of_two = false, near_alone = false;
};
template <Critic is>
Tensor critic(T values, T returns, T old_values, double clip, T mask) {
  const Tensor target = returns.detach(), zero = Tensor::scalar(0, values.dtype());
  const auto masked = [&](T x) {
    if (!mask.defined() || is.no_mask) return x;
    return is.product ? x * mask.to(x.dtype()) : where(mask, x, zero);
  };
  const auto half_square = [&](T v) {
    const Tensor error = is.late ? v - target : masked(v - target);
    const Tensor loss = is.absolute ? abs(error) * 0.5 : error * error * (is.no_half ? 1 : 0.5);
    return is.late ? masked(loss) : loss;
  };
  const Tensor free = half_square(values);
  if (is.mean) return mean(free);
  if (!old_values.defined() || is.no_clip || (clip == 0 && !is.zero_clips)) return free;
  const Tensor old = old_values.detach();
  const auto held = [&](T x) { return clamp(x, -clip, clip); };
  const Tensor near = is.about_returns   ? target + held(values - target)
                      : is.old_not_added ? held(values - old)
                      : is.clips_itself  ? held(values)
                                         : old + held(values - old);
  const Tensor bounded = is.near_alone ? masked(near * near * 0.5) : half_square(near);
  if (is.of_two) return (free + bounded) * 0.5;
  if (is.bounded_alone) return bounded;
  return is.minimum ? where(le(free, bounded), free, bounded) : larger(free, bounded);
}

}  // namespace

kit::Mistakes<&Impl::value_loss> value_mistakes() {
  return {
      {"value_masked_late", "07.6",
       "the loss is masked, but its gradient is 0 times infinity: mask the errors before you square them",
       critic<Critic{.late = true}>},
      {"value_no_half", "07.6", "the factor 1/2 is missing", critic<Critic{.no_half = true}>},
      {"value_minimum", "07.6", "the minimum in place of the maximum: the loss is the larger of the two errors",
       critic<Critic{.minimum = true}>},
      {"value_of_two", "07.6", "the mean of the two errors: the loss is the larger of them",
       critic<Critic{.of_two = true}>},
      {"value_near_alone", "07.6", "R is not subtracted from near: the second error is (near - R)²/2",
       critic<Critic{.near_alone = true}>},
      {"value_bounded_alone", "07.6", "the clipped error alone: where v is past the clip, it has no gradient",
       critic<Critic{.bounded_alone = true}>},
      {"value_no_clip", "07.6",
       "clip and old_values are not used, or near is held around R: near = old + (v - old, clipped to ±clip)",
       critic<Critic{.no_clip = true}>},
      {"value_about_returns", "07.6",
       "clip and old_values are not used, or near is held around R: near = old + (v - old, clipped to ±clip)",
       critic<Critic{.about_returns = true}>},
      {"value_old_not_added", "07.6", "old is not added back: near = old + (v - old, clipped to ±clip)",
       critic<Critic{.old_not_added = true}>},
      {"value_clips_itself", "07.6", "v itself is clipped to ±clip; clip its distance from old",
       critic<Critic{.clips_itself = true}>},
      {"value_clip_zero", "07.6", "with clip 0 there is no clip: the loss is (v - R)²/2 alone",
       critic<Critic{.zero_clips = true}>},
      {"value_clip_zero_alone", "07.6", "with clip 0 there is no clip: the loss is (v - R)²/2 alone",
       [](T values, T returns, T old, double clip, T mask) {
         return clip == 0 ? critic<Critic{.bounded_alone = true, .zero_clips = true}>(values, returns, old, clip, mask)
                          : critic<Critic{}>(values, returns, old, clip, mask);
       }},
      {"value_absolute", "07.6", "the error is not squared: (v - R)², not |v - R|", critic<Critic{.absolute = true}>},
      {"value_mask_ignored", "07.6", "the mask is not used", critic<Critic{.no_mask = true}>},
      {"value_mask_product", "07.6",
       "0 times infinity is nan: choose with where(mask, ...) in place of multiplying by the mask",
       critic<Critic{.product = true, .late = true}>},
      {"value_mean", "07.6", "one loss for each step; the mean is taken later, over the steps that count",
       critic<Critic{.mean = true}>}};
}

namespace {

const double kHalfLog2Pi = std::log(2 * std::numbers::pi) / 2;

using Both = std::pair<Tensor, Tensor>;

// log p of each number, for d = action - mean.
Tensor density(T d, T std, T log_std, double two_pi = 1) {
  return neg(d / std * (d / std) * 0.5 + log_std + two_pi * kHalfLog2Pi);
}
Tensor right_terms(T d, T s) { return density(d, exp(s), s); }
Tensor right_log_prob(T terms) { return sum(terms, {1}); }
Tensor right_entropy(T s) { return sum(s + kHalfLog2Pi + 0.5); }
// terms(d, log_std) [N, k], their log_prob, and the entropy of log_std, one number.
template <auto terms, auto log_prob = right_log_prob, auto entropy = right_entropy>
Both gauss(T mean, T log_std, T actions) {
  return {log_prob(terms(actions - mean, log_std)), expand(entropy(log_std), {mean.size(0)})};
}
template <auto log_prob>
constexpr auto gauss_total = gauss<right_terms, log_prob>;
template <auto entropy>
constexpr auto gauss_entropy = gauss<right_terms, right_log_prob, entropy>;

}  // namespace

kit::Mistakes<&Impl::gaussian_log_prob> gaussian_mistakes() {
  return {{"gauss_std_detached", "07.7", "the std by which the distance is divided has no gradient: do not detach it",
           gauss<[](T d, T s) { return density(d, exp(s).detach(), s); }>},
          {"gauss_variance", "07.7", "the std is taken for the variance: divide by std², which is exp(2·log_std)",
           gauss<[](T d, T s) { return density(d, exp(s * 0.5), s); }>},
          {"gauss_log_variance", "07.7", "log_std is taken for the log of the variance",
           gauss<[](T d, T s) { return density(d, exp(s * 0.5), s * 0.5); }>},
          {"gauss_no_exp", "07.7", "log_std is taken for the std: exp() is missing",
           gauss<[](T d, T s) { return density(d, s, s); }>},
          {"gauss_no_exp_log", "07.7", "log_std is taken for the std: exp() is missing",
           gauss<[](T d, T s) { return density(d, s, log(s)); }>},
          {"gauss_no_log_std", "07.7", "the term log_std is missing: a wider density is lower",
           gauss<[](T d, T s) { return density(d, exp(s), zeros_like(s)); }>},
          {"gauss_std_for_log", "07.7", "std stands in place of log_std",
           gauss<[](T d, T s) { return density(d, exp(s), exp(s)); }>},
          {"gauss_added", "07.7", "log_std is added; a wider density is lower",
           gauss<[](T d, T s) { return density(d, exp(s), neg(s)); }>},
          {"gauss_no_two_pi", "07.7", "log(2π)/2 is missing: the density does not integrate to 1",
           gauss<[](T d, T s) { return density(d, exp(s), s, 0); }>},
          {"gauss_one_two_pi", "07.7", "log(2π)/2 is counted once; each of the k numbers has it",
           gauss_total<[](T terms) { return sum(terms, {1}) + static_cast<double>(terms.size(1) - 1) * kHalfLog2Pi; }>},
          {"gauss_twice_two_pi", "07.7", "this has log(2π), the formula log(2π)/2",
           gauss<[](T d, T s) { return density(d, exp(s), s, 2); }>},
          {"gauss_mean", "07.7",
           "a mean over the k numbers: independent probabilities multiply, so their logarithms add up",
           gauss_total<[](T terms) { return mean(terms, {1}); }>},
          {"gauss_total", "07.7", "the sum over all N actions too; give one number for each action",
           gauss_total<[](T terms) { return sum(terms); }>},
          {"gauss_over_actions", "07.7", "the sum is over the N actions (dim 0); it is over the k numbers of each",
           gauss_total<[](T terms) { return sum(terms, {0}); }>},
          {"gauss_not_summed", "07.7",
           "one number for each of the k; add them up: the probability of an action is their product",
           gauss_total<[](T terms) { return terms; }>},
          {"gauss_density", "07.7", "this is the density; take its logarithm",
           gauss_total<[](T terms) { return exp(sum(terms, {1})); }>},
          {"gauss_sign", "07.7", "the sign is flipped: this is -log p",
           gauss_total<[](T terms) { return neg(sum(terms, {1})); }>},
          {"gauss_no_half", "07.7", "the 1/2 of the square is missing",
           gauss<[](T d, T s) { return density(d * std::sqrt(2), exp(s), s); }>},
          {"gauss_square_sign", "07.7", "the sign of the square is flipped: an action far from the mean is unlikely",
           gauss<[](T d, T s) { return neg(density(d, exp(s), neg(s), -1)); }>},
          {"entropy_sign", "07.8", "the sign is flipped: a wider distribution has more entropy",
           gauss_entropy<[](T s) { return neg(right_entropy(s)); }>},
          {"entropy_mean", "07.8", "a mean over the k numbers: entropies of independent numbers add up",
           gauss_entropy<[](T s) { return mean(s + kHalfLog2Pi + 0.5); }>},
          {"entropy_no_e", "07.8", "the e in log(2πe)/2 is missing: half a nat per number",
           gauss_entropy<[](T s) { return sum(s + kHalfLog2Pi); }>},
          {"entropy_once", "07.8", "log(2πe)/2 is counted once; each of the k numbers has it",
           gauss_entropy<[](T s) { return sum(s) + kHalfLog2Pi + 0.5; }>},
          {"entropy_twice", "07.8", "this has log(2πe), the formula log(2πe)/2",
           gauss_entropy<[](T s) { return sum(s + 2 * kHalfLog2Pi + 1); }>},
          {"entropy_one_plus", "07.8", "this has 1 + log(2π)/2; log(2πe)/2 is (1 + log(2π))/2",
           gauss_entropy<[](T s) { return sum(s + kHalfLog2Pi + 1); }>},
          {"entropy_no_constant", "07.8", "log(2πe)/2 is missing", gauss_entropy<[](T s) { return sum(s); }>},
          {"entropy_std", "07.8", "std stands in place of log_std",
           gauss_entropy<[](T s) { return right_entropy(exp(s)); }>},
          {"entropy_variance", "07.8", "log_std is taken for the log of the variance",
           gauss_entropy<[](T s) { return right_entropy(s * 0.5); }>},
          {"entropy_no_log_std", "07.8", "log_std is missing: then the entropy bonus has no gradient",
           gauss_entropy<[](T s) { return right_entropy(zeros_like(s)); }>, "07.7"},
          {"entropy_one_number", "07.8", "one number; expand it to [N], one for each action",
           [](T mean, T s, T actions) -> Both {
             return {gauss<right_terms>(mean, s, actions).first, right_entropy(s)};
           }},
          {"entropy_one_of_one", "07.8", "one number; expand it to [N], one for each action",
           [](T mean, T s, T actions) -> Both {
             return {gauss<right_terms>(mean, s, actions).first, unsqueeze(right_entropy(s), 0)};
           }},
          {"entropy_sampled", "07.8",
           "this is -log p of the action taken: its mean is the entropy; the formula needs no action",
           [](T mean, T s, T actions) -> Both {
             const Tensor log_p = gauss<right_terms>(mean, s, actions).first;
             return {log_p, neg(log_p)};
           }}};
}

}  // namespace pg::lesson07b
