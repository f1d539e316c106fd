// The log-probability and entropy of Gaussian actions.
#include "rl/control/gaussian.h"

#include <cmath>
#include <numbers>

namespace pg::rl {

std::pair<Tensor, Tensor> gaussian_log_prob(const Tensor& mean, const Tensor& log_std, const Tensor& actions) {
  check(mean.rank() == 2 && actions.shape() == mean.shape() && log_std.shape() == Shape({mean.size(1)}),
        "gaussian_log_prob: expected mean and actions [N, k] and log_std [k], got {}, {} and {}", mean.shape(),
        actions.shape(), log_std.shape());
  const double log_tau = std::log(2 * std::numbers::pi), k = static_cast<double>(mean.size(1));
  const Tensor z = (actions - mean) * exp(neg(log_std));
  const Tensor log_volume = sum(log_std);
  const Tensor log_prob = sum(z * z, {1}) * -0.5 - (log_volume + k / 2 * log_tau);
  return {log_prob, expand(log_volume + k / 2 * (log_tau + 1), {mean.size(0)})};
}

}  // namespace pg::rl
