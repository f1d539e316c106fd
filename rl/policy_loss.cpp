#include "rl/policy_loss.h"

namespace pg::rl {

Tensor reinforce_loss(const Tensor& log_prob, const Tensor& advantage, const Tensor& mask) {
  check(log_prob.rank() == 2 && log_prob.size(0) > 0, "reinforce_loss: expected log_prob [B, T], got {}",
        log_prob.shape());
  check(advantage.rank() == 2 && advantage.size(0) == log_prob.size(0) &&
            (advantage.size(1) == log_prob.size(1) || advantage.size(1) == 1),
        "reinforce_loss: advantage must be {} or [{}, 1], got {}", log_prob.shape(), log_prob.size(0),
        advantage.shape());
  Tensor weighted = log_prob * advantage.detach();
  if (mask.defined()) {
    check(mask.shape() == log_prob.shape(), "reinforce_loss: mask must be {}, got {}", log_prob.shape(), mask.shape());
    weighted = where(mask, weighted,
                     Tensor::scalar(0, log_prob.dtype(), log_prob.device()));  // a masked slot may hold anything
  }
  return sum(weighted) / -static_cast<double>(log_prob.size(0));
}

}  // namespace pg::rl
