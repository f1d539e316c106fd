// The loss of a micro-batch of responses, and the sums for the metrics.
#include "rl/text/update.h"

#include <algorithm>

#include "nn/ranks/gradient_sum.h"
#include "rl/methods/batch.h"
#include "rl/methods/other_losses.h"
#include "rl/methods/statistics.h"

namespace pg::rl {

namespace {

std::vector<double> values_of(LossSums sums) {
  std::vector<double> values;
  sums.each([&](double x, Merge) { values.push_back(x); });
  return values;
}

}  // namespace

void LossSums::add(LossSums part) {
  const std::vector<double> others = values_of(std::move(part));
  auto other = others.begin();
  each([&](double& x, Merge merge) {
    const double y = *other++;
    x = merge == Merge::sum ? x + y : merge == Merge::least ? std::min(x, y) : max_with_nan(x, y);
  });
}

std::vector<LossSums> gathered(Comm& comm, std::vector<LossSums> parts) {
  std::vector<std::vector<double>> values;
  for (const LossSums& part : parts) values.push_back(values_of(part));
  gather_parts(comm, values);
  for (size_t i = 0; i < parts.size(); ++i) {
    auto next = values[i].begin();
    parts[i].each([&](double& x, Merge) { x = *next++; });
  }
  return parts;
}

Tensor micro_batch_loss(const Update& u, const Batch& cpu, LossTerms& terms) {
  const Algorithm& a = u.algorithm;
  const Tensor hidden = u.policy.hidden(cpu.packed);
  const bool full = a.kl.in_loss && a.kl_estimator.needs_logits;
  const TokenScores scores = score_hidden(u.policy, hidden, cpu, u.temperature, full ? u.reference : nullptr);
  const Batch b = moved_to(cpu, scores.log_prob.dtype(), u.policy.device());
  const auto aggregate = [&](const Tensor& of_tokens) { return a.aggregation.aggregate(of_tokens, b.mask, u.total); };

  Tensor loss = aggregate(token_losses(a, scores.log_prob, b));
  terms = {};
  terms.batch = cpu;
  terms.policy_loss = loss.detach();
  terms.log_prob = scores.log_prob.detach();
  terms.entropy = scores.entropy.detach();
  if (a.entropy_bonus != 0) loss = loss - a.entropy_bonus * aggregate(scores.entropy);
  if (a.kl.in_loss) {
    const Tensor kl =
        aggregate(a.kl_estimator.estimate({scores.log_prob, b.ref_log_prob, b.old_log_prob, scores.full_kl, b.mask}));
    terms.kl_loss = kl.detach();
    loss = loss + u.beta * kl;
  }
  terms.loss = loss.detach();
  if (u.critic || u.value_head) {
    const Tensor predicted = u.critic ? (*u.critic)(cpu.packed) : scalar_at_positions(*u.value_head, hidden);
    const Tensor error = value_loss(predicted, b.returns, b.value, a.value_clip, b.mask);
    const Tensor of_critic = token_mean(error, b.mask, u.total);
    terms.values = predicted.detach();
    terms.value_loss = of_critic.detach();
    loss = loss + a.value_coef * of_critic;
  }
  return loss;
}

std::vector<LossSums> read_sums(const Algorithm& a, const std::vector<LossTerms>& terms) {
  constexpr Tensor LossTerms::*kOnDevice[] = {&LossTerms::loss,       &LossTerms::policy_loss, &LossTerms::kl_loss,
                                              &LossTerms::value_loss, &LossTerms::log_prob,    &LossTerms::entropy,
                                              &LossTerms::values};
  std::vector<Tensor> on_device;
  for (const LossTerms& t : terms) {
    for (Tensor LossTerms::*member : kOnDevice) on_device.push_back(t.*member);
  }
  const std::vector<Tensor> on_host = read_back(on_device);
  auto next = on_host.begin();
  NoGrad no_grad;
  std::vector<LossSums> all;
  for (LossTerms t : terms) {
    for (Tensor LossTerms::*member : kOnDevice) t.*member = *next++;
    const Batch b = moved_to(t.batch, t.log_prob.dtype(), Device{});
    LossSums& sums = all.emplace_back();
    sums.loss = t.loss.item();
    sums.policy_loss = t.policy_loss.item();
    if (t.kl_loss.defined()) sums.kl_loss = t.kl_loss.item();
    sums.positions = static_cast<double>(b.packed.ids.numel());
    if (t.values.defined()) {
      sums.value_loss = t.value_loss.item();
      sums.values = static_cast<double>(b.indices.numel());
      sums.clipped_values = clipped_values(t.values, b.returns, b.value, a.value_clip, b.mask);
    }
    sums.stats.add(a, t.log_prob, b.old_log_prob, t.entropy, b.advantage, b);
    sums.max_log_prob_difference = max_with_nan(0, amax(abs(b.old_log_prob - b.sampler_log_prob)).item());
  }
  return all;
}

}  // namespace pg::rl
