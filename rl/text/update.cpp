// The loss of a micro-batch of responses.
#include "rl/text/update.h"

#include <algorithm>

#include "nn/gradient_sum.h"
#include "rl/value_loss.h"

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
    x = merge == Merge::sum ? x + y : merge == Merge::least ? std::min(x, y) : std::max(x, y);
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

Tensor micro_batch_loss(const Update& u, const Batch& cpu, LossSums& sums) {
  const Algorithm& a = u.algorithm;
  const Tensor hidden = u.policy.hidden(cpu.packed);
  const bool full = a.kl.in_loss && a.kl_estimator.needs_logits;
  const TokenScores scores = score_hidden(u.policy, hidden, cpu, u.temperature, full ? u.reference : nullptr);
  const Batch b = moved_to(cpu, scores.log_prob.dtype(), u.policy.device());
  const auto aggregate = [&](const Tensor& of_tokens) { return a.aggregation.aggregate(of_tokens, b.mask, u.total); };

  Tensor loss = aggregate(token_losses(a, scores.log_prob, b));
  sums.policy_loss += loss.item();
  sums.positions += static_cast<double>(cpu.packed.ids.numel());
  if (a.entropy_bonus != 0) loss = loss - a.entropy_bonus * aggregate(scores.entropy);
  if (a.kl.in_loss) {
    const Tensor kl =
        aggregate(a.kl_estimator.estimate({scores.log_prob, b.ref_log_prob, b.old_log_prob, scores.full_kl, b.mask}));
    sums.kl_loss += kl.item();
    loss = loss + u.beta * kl;
  }
  sums.loss += loss.item();
  if (u.critic || u.value_head) {
    const Tensor predicted = u.critic ? (*u.critic)(cpu.packed) : scalar_at_positions(*u.value_head, hidden);
    const Tensor error = value_loss(predicted, b.returns, b.value, a.value_clip, b.mask);
    const Tensor of_critic = token_mean(error, b.mask, u.total);
    sums.value_loss += of_critic.item();
    sums.values += static_cast<double>(cpu.indices.numel());
    sums.clipped_values += clipped_values(predicted.detach(), b.returns, b.value, a.value_clip, b.mask);
    loss = loss + a.value_coef * of_critic;
  }
  {
    NoGrad no_grad;
    sums.stats.add(a, scores.log_prob.detach(), b.old_log_prob, scores.entropy.detach(), b.advantage, cpu);
    const Tensor difference = abs(b.old_log_prob - b.sampler_log_prob);
    sums.max_log_prob_difference = std::max(sums.max_log_prob_difference, amax(difference).item());
  }
  return loss;
}

}  // namespace pg::rl
