// The loss of a micro-batch of responses.
#include "rl/text/update.h"

#include <algorithm>
#include <cmath>

#include "rl/kl.h"
#include "rl/value_loss.h"
#include "tensor/base/error.h"

namespace pg::rl {
namespace {

Tensor surrogate_loss(const Algorithm& a, const Tensor& log_prob, const Tensor& old_log_prob, const Tensor& advantage,
                      const Tensor& mask) {
  Tensor ratio;
  switch (a.ratio) {
    case Ratio::none:
      return log_prob_loss(log_prob, advantage, mask);
    case Ratio::token:
      ratio = token_ratio(log_prob, old_log_prob, mask);
      break;
    case Ratio::sequence:
      ratio = expand(sequence_ratio(log_prob, old_log_prob, mask), log_prob.shape());
      break;
    case Ratio::sequence_token:
      ratio = sequence_token_ratio(log_prob, old_log_prob, mask);
      break;
  }
  switch (a.surrogate) {
    case Surrogate::ratio:
      return ratio_loss(ratio, advantage);
    case Surrogate::clip:
      return clip_loss(ratio, advantage, a.clip_low, a.clip_high);
    case Surrogate::dual_clip:
      return dual_clip_loss(ratio, advantage, a.clip_low, a.clip_high, a.dual_clip);
    case Surrogate::cispo:
      return cispo_loss(log_prob, ratio, advantage, a.clip_low, a.clip_high, mask);
    case Surrogate::log_prob:
      break;
  }
  throw Error("update: surrogate log_prob has no ratio");
}

Tensor kl_of_tokens(const Algorithm& a, const TokenScores& scores, const Tensor& ref_log_prob,
                    const Tensor& old_log_prob, const Tensor& mask) {
  switch (a.kl_estimator) {
    case KlEstimator::k1:
      return k1(scores.log_prob, ref_log_prob, mask);
    case KlEstimator::k2:
      return k2(scores.log_prob, ref_log_prob, mask);
    case KlEstimator::k3:
      return k3(scores.log_prob, ref_log_prob, mask);
    case KlEstimator::weighted_k3:
      return weighted_k3(scores.log_prob, ref_log_prob, old_log_prob, mask);
    case KlEstimator::full:
      break;
  }
  return scores.full_kl;
}

}  // namespace

Tensor micro_batch_loss(const Update& u, std::span<const Response* const> responses, LossSums& sums) {
  const Algorithm& a = u.algorithm;
  const TokenRows rows = token_rows(responses);
  const Device device = u.policy.device();
  const Tensor mask = rows.mask.to(device);
  const Tensor hidden = u.policy.hidden(rows.packed);
  const bool kl_in_loss = a.kl == KlPlace::loss, full = kl_in_loss && a.kl_estimator == KlEstimator::full;
  const TokenScores scores = score_hidden(u.policy, hidden, rows, u.temperature, full ? u.reference : nullptr);
  const DType dtype = scores.log_prob.dtype();
  const auto values = [&](std::vector<double> Response::*member) {
    return token_values(responses, member, dtype).to(device);
  };
  const Tensor old_log_prob = values(&Response::old_log_probs), advantage = values(&Response::advantages);
  const Tensor sampler_log_prob = values(&Response::sampler_log_probs);

  Tensor per_token = surrogate_loss(a, scores.log_prob, old_log_prob, advantage, mask);
  if (a.weight_cap > 0) {
    per_token = per_token * truncated_weight(old_log_prob, sampler_log_prob, a.weight_cap, mask);
  }
  Tensor loss = aggregate(per_token, mask, a.aggregation, u.total);
  sums.policy_loss += loss.item();
  if (a.entropy_bonus != 0) {
    loss = loss - a.entropy_bonus * aggregate(scores.entropy, mask, a.aggregation, u.total);
  }
  if (kl_in_loss) {
    const Tensor of_tokens = kl_of_tokens(a, scores, values(&Response::ref_log_probs), old_log_prob, mask);
    const Tensor kl = aggregate(of_tokens, mask, a.aggregation, u.total);
    sums.kl_loss += kl.item();
    loss = loss + u.beta * kl;
  }
  sums.loss += loss.item();
  if (u.critic || u.value_head) {
    const Tensor predicted = u.critic ? (*u.critic)(rows.packed) : scalar_at_positions(*u.value_head, hidden);
    const Tensor returns = values(&Response::returns), old_values = values(&Response::values);
    const Tensor error = value_loss(predicted, returns, old_values, a.value_clip, mask);
    const Tensor of_critic = aggregate(error, mask, Aggregation::token_mean, u.total);
    sums.value_loss += of_critic.item();
    sums.values += static_cast<double>(rows.places.numel());
    sums.clipped_values += clipped_values(predicted.detach(), returns, old_values, a.value_clip, mask);
    loss = loss + a.value_coef * of_critic;
  }
  {
    NoGrad no_grad;
    sums.stats.add(a, scores.log_prob.detach(), old_log_prob, scores.entropy.detach(), advantage, rows);
    const Tensor difference = where(mask, old_log_prob - sampler_log_prob, Tensor::scalar(0, dtype, device));
    sums.max_log_prob_difference = std::max(sums.max_log_prob_difference, amax(abs(difference)).item());
  }
  return loss;
}

}  // namespace pg::rl
