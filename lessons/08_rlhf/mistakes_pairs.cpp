// The known mistakes of the losses of pairs, 08.2 and 08.6. In an order in which the first row that fits a wrong result
// is the right one.
#include "lessons/08_rlhf/checks.h"

namespace pg::lesson08 {
namespace {

using T = const Tensor&;

Tensor minus_log_sigmoid(T x) { return softplus(neg(x)); }
Tensor less(T x, T margin) { return margin.defined() ? x - margin.detach() : x; }
Tensor more(T x, T margin) { return margin.defined() ? x + margin.detach() : x; }
Tensor centre(T c, T r, double centring) { return centring * ((c + r) * (c + r)); }
// A right centring term beside a wrong loss of chosen - rejected - margin, and the reverse.
template <auto loss>
Tensor with_loss(T c, T r, T margin, double centring) {
  return loss(less(c - r, margin)) + centre(c, r, centring);
}
template <auto term>
Tensor with_centre(T c, T r, T margin, double centring) {
  return minus_log_sigmoid(less(c - r, margin)) + term(c, r, centring);
}
Tensor right_pair(T c, T r, T margin, double centring) { return with_loss<minus_log_sigmoid>(c, r, margin, centring); }

}  // namespace

kit::Mistakes<&Impl::bradley_terry_loss> pair_mistakes() {
  return {{"pair_centre_detached", "08.2", "the centring term has no gradient, so it changes nothing: do not detach it",
           with_centre<[](T c, T r, double k) { return centre(c, r, k).detach(); }>},
          {"pair_margin_not_detached", "08.2", "a gradient flows into the margin, which is a constant: detach() it",
           [](T c, T r, T m, double k) { return right_pair(m.defined() ? c - m : c, r, {}, 0) + centre(c, r, k); }},
          {"pair_sign", "08.2", "the sign of the difference: this teaches to prefer the rejected one",
           [](T c, T r, T m, double k) { return right_pair(r, c, m, k); }},
          {"pair_all_negative", "08.2", "the sign of the difference: this teaches to prefer the rejected one",
           with_loss<[](T x) { return minus_log_sigmoid(neg(x)); }>},
          {"pair_difference", "08.2", "the difference itself; the loss is -log σ of it",
           with_loss<[](T x) { return neg(x); }>},
          {"pair_probability", "08.2",
           "this is σ(chosen - rejected - margin), a probability: the loss is minus its logarithm",
           with_loss<[](T x) { return sigmoid(x); }>},
          {"pair_log", "08.2", "this is log σ; the loss is -log σ",
           with_loss<[](T x) { return neg(minus_log_sigmoid(x)); }>},
          {"pair_margin_added", "08.2", "the margin is added; subtracted it asks for more distance, added for less",
           [](T c, T r, T m, double k) { return minus_log_sigmoid(more(c - r, m)) + centre(c, r, k); }},
          {"pair_no_margin", "08.2", "the margin is not used",
           [](T c, T r, T, double k) { return right_pair(c, r, {}, k); }},
          {"pair_margin_outside", "08.2", "the margin is outside of the sigmoid",
           [](T c, T r, T m, double k) { return less(right_pair(c, r, {}, k), m); }},
          {"pair_margin_added_outside", "08.2", "the margin is outside of the sigmoid",
           [](T c, T r, T m, double k) { return more(right_pair(c, r, {}, k), m); }},
          {"pair_margin_first", "08.2", "the margin of the first pair is used for all",
           [](T c, T r, T m, double k) {
             return right_pair(c, r, m.defined() && m.numel() > 0 ? expand(slice(m, 0, 0, 1), m.shape()) : m, k);
           }},
          {"pair_no_centring", "08.2", "the centring term is missing: scores may drift anywhere together",
           [](T c, T r, T m, double) { return right_pair(c, r, m, 0); }},
          {"pair_centre_difference", "08.2", "the difference is centred; that pulls the two together. Centre their sum",
           with_centre<[](T c, T r, double k) { return centre(c, neg(r), k); }>},
          {"pair_centre_linear", "08.2", "the sum is not squared: this only pushes scores down",
           with_centre<[](T c, T r, double k) { return k * (c + r); }>},
          {"pair_centre_squares", "08.2", "c² + r² pulls each score to 0; centring·(c + r)² pulls only their sum",
           with_centre<[](T c, T r, double k) { return k * (c * c + r * r); }>},
          {"pair_centre_squared", "08.2", "centring is squared too: centring·(c + r)²",
           [](T c, T r, T m, double k) { return right_pair(c, r, m, k * k); }},
          {"pair_centre_inside", "08.2", "the centring term is inside of -log σ; add it outside",
           [](T c, T r, T m, double k) { return minus_log_sigmoid(less(c - r, m) - centre(c, r, k)); }},
          {"pair_centre_added_inside", "08.2", "the centring term is inside of -log σ; add it outside",
           [](T c, T r, T m, double k) { return minus_log_sigmoid(less(c - r, m) + centre(c, r, k)); }},
          {"pair_log_sigmoid", "08.2",
           "σ(x) rounds to 0, and log 0 is -infinity, or e^-x overflows: -log σ(x) is softplus(-x)",
           with_loss<[](T x) { return neg(log(sigmoid(x))); }>},
          {"pair_overflows", "08.2",
           "σ(x) rounds to 0, and log 0 is -infinity, or e^-x overflows: -log σ(x) is softplus(-x)",
           with_loss<[](T x) { return log(exp(neg(x)) + 1.0); }>},
          {"pair_mean", "08.2", "one loss for each pair; the mean is taken later",
           [](T c, T r, T m, double k) { return mean(right_pair(c, r, m, k)); }}};
}

namespace {

using O = const DpoOptions&;

DpoLoss with_rewards(T loss, T chosen_reward, T rejected_reward) {
  return {loss, chosen_reward.detach(), rejected_reward.detach()};
}
// A wrong loss beside right rewards: the loss, or that of c, r and β.
DpoLoss of_loss(T loss, T c, T r, T rc, T rr, O o) { return with_rewards(loss, o.beta * (c - rc), o.beta * (r - rr)); }
template <auto loss>
DpoLoss dpo_of(T c, T r, T rc, T rr, O o) {
  return of_loss(loss(c - rc.detach(), r - rr.detach(), o.beta), c, r, rc, rr, o);
}
constexpr auto kRightLoss = [](T c, T r, double beta) { return minus_log_sigmoid(beta * (c - r)); };
constexpr auto right_dpo = dpo_of<kRightLoss>;
// The loss of β·Δ.
template <auto loss>
constexpr auto dpo_of_delta = dpo_of<[](T c, T r, double beta) { return loss(beta * (c - r)); }>;

}  // namespace

kit::Mistakes<&Impl::dpo_loss> dpo_mistakes() {
  return {
      {"dpo_kink", "08.6", "at Δ = 0, where training begins, this form of -log σ has no slope: use softplus(-x)",
       dpo_of_delta<[](T x) { return relu(neg(x)) + log1p(exp(neg(abs(x)))); }>},
      {"dpo_reference_gradient", "08.6", "a gradient flows into the reference, which must stay as it is: detach() it",
       [](T c, T r, T rc, T rr, O o) { return of_loss(kRightLoss(c - rc, r - rr, o.beta), c, r, rc, rr, o); }},
      {"dpo_sign", "08.6", "the sign of Δ: this makes the rejected response likelier",
       dpo_of_delta<[](T x) { return softplus(x); }>},
      {"dpo_no_reference", "08.6", "the reference is not used: before the first step the loss is ln 2 for every pair",
       [](T c, T r, T rc, T rr, O o) { return of_loss(kRightLoss(c, r, o.beta), c, r, rc, rr, o); }},
      {"dpo_chosen_reference", "08.6", "the rejected response has no reference: r = rejected - ref_rejected",
       [](T c, T r, T rc, T rr, O o) { return of_loss(kRightLoss(c - rc.detach(), r, o.beta), c, r, rc, rr, o); }},
      {"dpo_rejected_reference", "08.6", "the chosen response has no reference: c = chosen - ref_chosen",
       [](T c, T r, T rc, T rr, O o) { return of_loss(kRightLoss(c, r - rr.detach(), o.beta), c, r, rc, rr, o); }},
      {"dpo_reference_added", "08.6",
       "the reference's log-probabilities are added, or the two references are exchanged: c = chosen - ref_chosen, r "
       "= rejected - ref_rejected",
       [](T c, T r, T rc, T rr, O o) {
         return of_loss(kRightLoss(c + rc.detach(), r + rr.detach(), o.beta), c, r, rc, rr, o);
       }},
      {"dpo_references_exchanged", "08.6",
       "the reference's log-probabilities are added, or the two references are exchanged: c = chosen - ref_chosen, r "
       "= rejected - ref_rejected",
       [](T c, T r, T rc, T rr, O o) { return of_loss(right_dpo(c, r, rr, rc, o).loss, c, r, rc, rr, o); }},
      {"dpo_sum", "08.6", "c and r are added; Δ = c - r",
       dpo_of<[](T c, T r, double beta) { return kRightLoss(c, neg(r), beta); }>},
      {"dpo_chosen_alone", "08.6", "only the chosen response is used; Δ = c - r",
       dpo_of<[](T c, T, double beta) { return minus_log_sigmoid(beta * c); }>},
      {"dpo_no_beta", "08.6", "β is forgotten", dpo_of<[](T c, T r, double) { return kRightLoss(c, r, 1); }>},
      {"dpo_beta_twice", "08.6", "β is applied twice",
       dpo_of<[](T c, T r, double beta) { return kRightLoss(c, r, beta * beta); }>},
      {"dpo_by_beta", "08.6", "divided by β", dpo_of<[](T c, T r, double beta) { return kRightLoss(c, r, 1 / beta); }>},
      {"dpo_beta_outside", "08.6", "β is outside of -log σ",
       dpo_of<[](T c, T r, double beta) { return beta * kRightLoss(c, r, 1); }>},
      {"dpo_beta_fixed", "08.6", "β is 0.1 whatever the options say: use options.beta",
       dpo_of<[](T c, T r, double) { return kRightLoss(c, r, 0.1); }>},
      {"dpo_exp", "08.6", "the ratios are not logarithms any more: c = chosen - ref_chosen, without exp",
       dpo_of<[](T c, T r, double beta) { return kRightLoss(exp(c), exp(r), beta); }>},
      {"dpo_probability", "08.6", "this is σ, a probability: the loss is minus its logarithm",
       dpo_of_delta<[](T x) { return sigmoid(x); }>},
      {"dpo_log", "08.6", "this is log σ; the loss is -log σ",
       dpo_of_delta<[](T x) { return neg(minus_log_sigmoid(x)); }>},
      {"dpo_log_sigmoid", "08.6",
       "σ(x) rounds to 0, and log 0 is -infinity, or e^-x overflows: -log σ(x) is softplus(-x)",
       dpo_of_delta<[](T x) { return neg(log(sigmoid(x))); }>},
      {"dpo_overflows", "08.6",
       "σ(x) rounds to 0, and log 0 is -infinity, or e^-x overflows: -log σ(x) is softplus(-x)",
       dpo_of_delta<[](T x) { return log(exp(neg(x)) + 1.0); }>},
      {"dpo_mean", "08.6", "one loss for each pair; the mean is taken later",
       dpo_of_delta<[](T x) { return mean(minus_log_sigmoid(x)); }>},
      {"dpo_rewards_no_beta", "08.6", "β is forgotten in the implicit rewards",
       [](T c, T r, T rc, T rr, O o) { return with_rewards(right_dpo(c, r, rc, rr, o).loss, c - rc, r - rr); }},
      {"dpo_rewards_exchanged", "08.6", "the two rewards are exchanged",
       [](T c, T r, T rc, T rr, O o) {
         const DpoLoss all = right_dpo(c, r, rc, rr, o);
         return with_rewards(all.loss, all.rejected_reward, all.chosen_reward);
       }},
      {"dpo_rewards_no_reference", "08.6", "the reference is missing in the implicit rewards",
       [](T c, T r, T rc, T rr, O o) {
         return with_rewards(right_dpo(c, r, rc, rr, o).loss, o.beta * c, o.beta * r);
       }}};
}

}  // namespace pg::lesson08
