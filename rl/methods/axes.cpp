// The axes of an algorithm: one table per choice. A row is a name, a formula, a source and a function.
#include <cmath>

#include "autograd/ops.h"
#include "rl/masked.h"
#include "rl/methods/algorithm.h"
#include "rl/methods/kl.h"
#include "rl/methods/token_selection.h"

namespace pg::rl {

const std::vector<Credit>& Credit::table() {
  static const std::vector<Credit> rows = {
      {"response", "R = sum of the response's rewards, equal for each of its tokens",
       [](const Tensor& reward, const Tensor&, double) { return sum(reward, {1}, true); }, true},
      {"to_go", "R_t = sum over t' >= t of gamma^(t'-t) r_t', gamma = {gamma}",
       [](const Tensor& reward, const Tensor& mask, double gamma) { return return_to_go(reward, gamma, mask); }},
      {"token", "R_t = r_t, the token's own reward",
       [](const Tensor& reward, const Tensor&, double) { return reward; }}};
  return rows;
}

namespace {

Tensor credit_of(const Batch& b, const Algorithm& a) { return a.credit.compute(b.reward, b.mask, a.gamma); }

Tensor credit_itself(Batch& b, const Algorithm& a, MovingBaseline&) { return credit_of(b, a); }

Tensor above_earlier_batches(Batch& b, const Algorithm& a, MovingBaseline& moving) {
  return moving.advantage(credit_of(b, a), a.credit.whole_response ? Tensor{} : b.mask);
}

Tensor by_critic(Batch& b, const Algorithm& a, MovingBaseline&) {
  const Gae g = gae(b.reward, b.value, Tensor::zeros({b.size()}, f64), {a.gamma, a.lambda, b.mask});
  b.returns = g.returns;
  return g.advantages;
}

Tensor by_gdpo(Batch& b, const Algorithm& a, MovingBaseline&) {
  check(!b.parts.empty(), "baseline gdpo: the reward has no parts; take another baseline");
  std::vector<Tensor> groups;
  for (const Tensor& part : b.parts) groups.push_back(part.view_reshape({-1, b.samples}));
  return gdpo_advantage(groups, part_weights(a, b.part_names), a.eps, a.ddof).view_reshape({b.size(), 1});
}

// One function for an estimator that needs the credits alone.
template <Tensor (*F)(const Tensor& credit, const Tensor& mask)>
Tensor of_credit(const Groups& g, const Algorithm&) {
  return F(g.credit, g.mask);
}
// And for one that divides by a standard deviation.
template <Tensor (*F)(const Tensor& credit, double eps, int ddof, const Tensor& mask)>
Tensor of_deviation(const Groups& g, const Algorithm& a) {
  return F(g.credit, a.eps, a.ddof, g.mask);
}

}  // namespace

const std::vector<Baseline>& Baseline::table() {
  constexpr Needs group{.group = true}, whole{.group = true, .response = true};
  static const std::vector<Baseline> rows = {
      {"none", "A = R", "Williams 1992", credit_itself},
      {"moving", "A = R - b, b the mean of earlier batches (decay {baseline-decay}); this batch is not in it",
       "Williams 1992", above_earlier_batches},
      {"batch_mean",
       "A = R - mean over the batch",
       "Williams 1992",
       compared(of_credit<group_mean_advantage>, /*over_batch=*/true),
       {.batch = true}},
      {"group_mean", "A = R - mean over the group", "Liu et al. 2025, arXiv:2503.20783",
       compared(of_credit<group_mean_advantage>), group},
      {"leave_one_out", "A = R - mean over the others of the group = G/(G-1) (R - mean)",
       "Ahmadian et al. 2024, arXiv:2402.14740", compared(of_credit<leave_one_out_advantage>), group},
      {"group_std",
       "A = (R - mean) / (std + {eps}) over the group, variance divided by n - {ddof}; equal rewards: A = 0",
       "Shao et al. 2024, arXiv:2402.03300", compared(of_deviation<group_std_advantage>), group},
      {"batch_std", "A = (R - group mean) / (batch std + {eps}), variance divided by n - {ddof}",
       "Liu et al. 2025, arXiv:2508.08221", compared(of_deviation<batch_std_advantage>), group},
      {"opo", "A = R - sum(len R) / sum(len) over the group", "Hao et al. 2025, arXiv:2505.23585",
       compared([](const Groups& g, const Algorithm&) { return opo_advantage(g.credit, g.lengths, g.mask); }), whole},
      {"remax",
       "A = R - R of the greedy response",
       "Li et al. 2023, arXiv:2310.10505",
       compared([](const Groups& g, const Algorithm&) { return remax_advantage(g.credit, g.greedy, g.mask); }),
       {.response = true, .greedy = true}},
      {"maxrl", "A = (R - mean) / mean over the group, 0 where the mean is 0", "arXiv:2602.02710",
       compared(of_credit<maxrl_advantage>), group},
      {"gpg", "A = alpha (R - group mean), alpha = responses / responses in groups with different rewards",
       "Chu et al. 2025, arXiv:2504.02546", compared(of_credit<gpg_advantage>), group},
      {"best_only", "A = R - second best R for the best of the group, 0 for the others",
       "Tang, Zheng, Synnaeve and Munos 2025, arXiv:2503.19595", compared(of_credit<best_only_advantage>), group,
       /*sparse=*/true},
      {"pass_at_k",
       "A = (R - second best R) / (std + {eps}) for the best of the group, 0 for the others, variance divided by n - "
       "{ddof}",
       "Tang, Zheng, Synnaeve and Munos 2025, arXiv:2503.19595; divided by the deviation as in verl",
       compared(of_deviation<pass_at_k_advantage>), group, /*sparse=*/true},
      {"pkpo",
       "A = n / C(n, {best-of}) sum over the sets of {best-of} of the group's n responses that contain this one of "
       "(best R of the set - best R of its others)",
       "Walder and Karkhanis 2025, arXiv:2505.15201",
       compared([](const Groups& g, const Algorithm& a) { return pkpo_advantage(g.credit, a.best_of, g.mask); }), whole,
       /*sparse=*/true},
      {"gdpo",
       "A = sum over the reward's parts of w (R_part - mean) / (std + {eps}) over the group, then normalised over the "
       "batch, variances divided by n - {ddof}; w from reward-weights \"{reward-weights}\", 1 each if that is empty",
       "Liu et al. 2026, arXiv:2601.05242",
       by_gdpo,
       {.group = true, .response = true, .parts = true}},
      {"critic",
       "A_t = delta_t + gamma lambda A_t+1, delta_t = r_t + gamma V_t+1 - V_t, gamma = {gamma}, lambda = {lambda}; "
       "nothing follows the last token",
       "Schulman et al. 2015, arXiv:1506.02438",
       by_critic,
       {.critic = true}}};
  return rows;
}

const std::vector<Ratio>& Ratio::table() {
  static const std::vector<Ratio> rows = {
      {"none", "none: the samples are the policy's own", {}},
      {"token", "rho_t = pi(token) / old(token)", token_ratio},
      {"sequence", "rho = exp(mean over the response of log pi - log old), one for all its tokens",
       [](const Tensor& log_prob, const Tensor& old_log_prob, const Tensor& mask) {
         return expand(sequence_ratio(log_prob, old_log_prob, mask), log_prob.shape());
       },
       true},
      {"sequence_token", "rho = that of the sequence as a constant, times pi / sg(pi) for each token's gradient",
       sequence_token_ratio, true}};
  return rows;
}

// Surrogate::stopped of the clip to [1 - clip_low, 1 + clip_high], and of losses that have a bound for bad actions too.
namespace {

int stopped_by_clip(double log_ratio, double advantage, const Algorithm& a) {
  const double ratio = std::exp(log_ratio);
  if (advantage < 0 && ratio < 1 - a.clip_low) return -1;
  return advantage > 0 && ratio > 1 + a.clip_high ? 1 : 0;
}

template <double Algorithm::*Bound>
int stopped_by_clip_or(double log_ratio, double advantage, const Algorithm& a) {
  if (advantage < 0 && std::exp(log_ratio) > a.*Bound) return 1;
  return stopped_by_clip(log_ratio, advantage, a);
}

// The range of GMPO is one of log(ratio).
int stopped_by_log_clip(double log_ratio, double advantage, const Algorithm& a) {
  if (advantage < 0 && log_ratio < -a.clip_low) return -1;
  return advantage > 0 && log_ratio > a.clip_high ? 1 : 0;
}

}  // namespace

const std::vector<Surrogate>& Surrogate::table() {
  static const std::vector<Surrogate> rows = {
      {"log_prob", "l = -A log pi", "Williams 1992",
       [](const TokenInputs& in, const Algorithm&) { return log_prob_loss(in.log_prob, in.advantage, in.mask); },
       /*needs_ratio=*/false},
      {"ratio", "l = -rho A", "Schulman et al. 2017, arXiv:1707.06347",
       [](const TokenInputs& in, const Algorithm&) { return ratio_loss(in.ratio, in.advantage); }},
      {"clip", "l = -min(rho A, clip(rho, 1 - {clip-low}, 1 + {clip-high}) A)",
       "Schulman et al. 2017, arXiv:1707.06347",
       [](const TokenInputs& in, const Algorithm& a) {
         return clip_loss(in.ratio, in.advantage, a.clip_low, a.clip_high);
       },
       /*needs_ratio=*/true, /*of_tokens=*/false, stopped_by_clip},
      {"dual_clip",
       "l = -min(rho A, clip(rho, 1 - {clip-low}, 1 + {clip-high}) A), at most {dual-clip} |A| where A < 0",
       "Ye et al. 2019, arXiv:1912.09729",
       [](const TokenInputs& in, const Algorithm& a) {
         return dual_clip_loss(in.ratio, in.advantage, a.clip_low, a.clip_high, a.dual_clip);
       },
       /*needs_ratio=*/true, /*of_tokens=*/false, stopped_by_clip_or<&Algorithm::dual_clip>},
      {"two_sided_clip", "l = -min(min(rho, {delta}) A, clip(rho, 1 - {clip-low}, 1 + {clip-high}) A)",
       "Prime Intellect 2025, arXiv:2505.07291",
       [](const TokenInputs& in, const Algorithm& a) {
         return two_sided_clip_loss(in.ratio, in.advantage, a.clip_low, a.clip_high, a.delta);
       },
       /*needs_ratio=*/true, /*of_tokens=*/false, stopped_by_clip_or<&Algorithm::delta>},
      {"sapo", "l = -(4/tau) sigmoid(tau (rho - 1)) A, tau = {tau-positive} where A > 0, else {tau-negative}",
       "Gao et al. 2025, arXiv:2511.20347",
       [](const TokenInputs& in, const Algorithm& a) {
         return sapo_loss(in.ratio, in.advantage, a.tau_positive, a.tau_negative);
       }},
      {"gmpo",
       "l = -A exp(mean over the response of clip(log rho, -{clip-low}, {clip-high}), where that lowers sign(A) log "
       "rho)",
       "Zhao et al. 2025, arXiv:2507.20673; weights multiply it token by token, verl takes their geometric mean",
       [](const TokenInputs& in, const Algorithm& a) {
         const Tensor loss = gmpo_loss(in.log_prob, in.old_log_prob, in.advantage, a.clip_low, a.clip_high, in.mask);
         return expand(loss, in.log_prob.shape());
       },
       /*needs_ratio=*/true, /*of_tokens=*/true, stopped_by_log_clip},
      {"cispo", "l = -sg(clip(rho, 1 - {clip-low}, 1 + {clip-high})) A log pi", "MiniMax 2025, arXiv:2506.13585",
       [](const TokenInputs& in, const Algorithm& a) {
         return cispo_loss(in.log_prob, in.ratio, in.advantage, a.clip_low, a.clip_high, in.mask);
       },
       /*needs_ratio=*/true, /*of_tokens=*/true}};
  return rows;
}

const std::vector<Weight>& Weight::table() {
  static const std::vector<Weight> rows = {
      {"none", "none", "", {}},
      {"truncate", "l times the constant min(old / sampler, {weight-cap}), by token; on the CPU it is exactly 1",
       "Yao et al. 2025, \"Your efficient RL framework secretly brings you off-policy RL training\"",
       [](const Tensor& old_log_prob, const Tensor& sampler_log_prob, const Tensor& mask, const Algorithm& a) {
         return truncated_weight(old_log_prob, sampler_log_prob, a.weight_cap, mask);
       }},
      {"full", "l times the constant old / sampler, by token", "Hilton et al. 2021, arXiv:2110.00641",
       [](const Tensor& old_log_prob, const Tensor& sampler_log_prob, const Tensor& mask, const Algorithm&) {
         return importance_weight(old_log_prob, sampler_log_prob, mask);
       }},
      {"mask", "l times the constant old / sampler, by token; 0 outside {weight-floor} to {weight-cap}",
       "Ling Team 2025, arXiv:2510.18855",
       [](const Tensor& old_log_prob, const Tensor& sampler_log_prob, const Tensor& mask, const Algorithm& a) {
         return masked_weight(old_log_prob, sampler_log_prob, a.weight_floor, a.weight_cap, mask);
       }},
      {"sequence_truncate", "l times the constant min(product over the response of old / sampler, {weight-cap})",
       "Yao et al. 2025, as truncate",
       [](const Tensor& old_log_prob, const Tensor& sampler_log_prob, const Tensor& mask, const Algorithm& a) {
         return sequence_truncated_weight(old_log_prob, sampler_log_prob, a.weight_cap, mask);
       }},
      {"sequence_mask", "l times the constant product over the response of old / sampler; 0 above {weight-cap}",
       "Yao et al. 2025, as truncate",
       [](const Tensor& old_log_prob, const Tensor& sampler_log_prob, const Tensor& mask, const Algorithm& a) {
         return sequence_masked_weight(old_log_prob, sampler_log_prob, a.weight_cap, mask);
       }}};
  return rows;
}

namespace {

Tensor zero_of(const Tensor& x) { return Tensor::scalar(0, x.dtype(), x.device()); }

Tensor only_selected(const Tensor& loss, const Tensor& selected, const TokenInputs&, const Algorithm&) {
  return where(selected, loss, zero_of(loss));
}

Tensor without_selected(const Tensor& loss, const Tensor& selected, const TokenInputs&, const Algorithm&) {
  return where(selected, zero_of(loss), loss);
}

Tensor penalty_on_selected(const Tensor& loss, const Tensor& selected, const TokenInputs& in, const Algorithm& a) {
  const Tensor distance = abs(masked(in.log_prob - in.old_log_prob, in.mask, 0, "kl_cov"));
  return loss + a.covariance_coef * where(selected, distance, zero_of(distance));
}

}  // namespace

const std::vector<TokenSelection>& TokenSelection::table() {
  static const std::vector<TokenSelection> rows = {
      {"all", "all tokens", "", {}, {}},
      {"high_entropy",
       "l = 0 except for the share {token-share} of the tokens with the highest entropy; selected once per rollout, by "
       "the policy before the update",
       "Wang et al. 2025, arXiv:2506.01939",
       [](const Batch& b, const Algorithm& a, Generator&) {
         return high_entropy_tokens(b.entropy, b.mask, a.token_share);
       },
       only_selected, /*needs_entropy=*/true},
      {"clip_cov",
       "l = 0 for a share {token-share} of the tokens, drawn once per rollout among those whose covariance of log old "
       "and A is between {covariance-low} and {covariance-high}",
       "Cui et al. 2025, arXiv:2505.22617",
       [](const Batch& b, const Algorithm& a, Generator& generator) {
         return clip_cov_tokens(b.old_log_prob, b.advantage, b.mask, a.token_share, a.covariance_low, a.covariance_high,
                                generator);
       },
       without_selected},
      {"kl_cov",
       "l += {covariance-coef} |log pi - log old| for the share {token-share} of the tokens with the largest "
       "covariance of log old and A, selected once per rollout",
       "Cui et al. 2025, arXiv:2505.22617",
       [](const Batch& b, const Algorithm& a, Generator&) {
         return kl_cov_tokens(b.old_log_prob, b.advantage, b.mask, a.token_share);
       },
       penalty_on_selected}};
  return rows;
}

const std::vector<Aggregation>& Aggregation::table() {
  static const std::vector<Aggregation> rows = {
      {"token_mean", "sum of l over all tokens / number of tokens in the mini-batch", token_mean},
      {"sequence_mean", "mean over the mini-batch's responses of (mean of l over the response's tokens)",
       sequence_mean},
      {"constant", "sum of l over all tokens / (responses in the mini-batch times the longest possible length)",
       constant_length_mean},
      {"sequence_sum", "mean over the mini-batch's responses of (sum of l over the response's tokens)", sequence_sum}};
  return rows;
}

Tensor subtract_kl(const Tensor& reward, const KlInputs& in, double beta) {
  return reward - beta * k1(in.log_prob, in.ref_log_prob, in.mask).detach();
}

const std::vector<KlPlace>& KlPlace::table() {
  static const std::vector<KlPlace> rows = {{"none", "none"},
                                            {"reward", "r_t -= beta KL_t, a constant", true, false, subtract_kl},
                                            {"loss", "loss += beta KL, aggregated like l", false, true}};
  return rows;
}

const std::vector<KlEstimator>& KlEstimator::table() {
  static const std::vector<KlEstimator> rows = {
      {"k1", "k1 = log pi - log ref", [](const KlInputs& in) { return k1(in.log_prob, in.ref_log_prob, in.mask); },
       false, /*in_reward=*/true},
      {"k2", "k2 = (log pi - log ref)^2 / 2",
       [](const KlInputs& in) { return k2(in.log_prob, in.ref_log_prob, in.mask); }},
      {"k3", "k3 = ref/pi - 1 - log(ref/pi)",
       [](const KlInputs& in) { return k3(in.log_prob, in.ref_log_prob, in.mask); }},
      {"weighted_k3", "rho k3, k3 = ref/pi - 1 - log(ref/pi), rho with its gradient",
       [](const KlInputs& in) { return weighted_k3(in.log_prob, in.ref_log_prob, in.old_log_prob, in.mask); }},
      {"full", "KL = sum over the vocabulary of pi (log pi - log ref)", [](const KlInputs& in) { return in.full_kl; },
       /*needs_logits=*/true}};
  return rows;
}

Tensor advantages(const Algorithm& a, Batch& batch, MovingBaseline& moving) {
  const std::vector<double> tokens = response_lengths(batch.mask).to_vector();
  for (size_t b = 0; b < tokens.size(); ++b) {
    check(tokens[b] > 0, "advantages: the policy sampled no token of response {}, which would still count in its group",
          b);
  }
  batch.reward = carried_rewards(batch.reward, batch);
  const Tensor of_baseline = a.baseline.advantage(batch, a, moving);
  const Tensor each = contiguous(expand(of_baseline, batch.mask.shape()));
  const Tensor counted = batch.signal.defined()
                             ? where(expand(batch.signal, batch.mask.shape()), batch.mask, Tensor::zeros({1}, u8))
                             : batch.mask;
  const Tensor kept = masked(each, counted, 0, "advantages");
  return a.whiten ? whiten(kept, counted, a.ddof) : kept;
}

Tensor token_losses(const Algorithm& a, const Tensor& log_prob, const Batch& b) {
  const Tensor ratio = a.ratio.compute ? a.ratio.compute(log_prob, b.old_log_prob, b.mask) : Tensor{};
  const TokenInputs in{log_prob, b.old_log_prob, ratio, b.advantage, b.mask};
  Tensor loss = a.surrogate.loss(in, a);
  if (a.tokens.apply) loss = a.tokens.apply(loss, b.selected, in, a);
  if (a.weight.compute) loss = loss * a.weight.compute(b.old_log_prob, b.sampler_log_prob, b.mask, a);
  return loss;
}

}  // namespace pg::rl
