// Controllers of the KL penalty's weight.
#include "rl/kl_control.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tensor/base/error.h"

namespace pg::rl {

KlControl::KlControl(const KlControlOptions& options) : options_(options), state_{.beta = options.beta, .tokens = 0} {
  check(options.beta >= 0, "KlControl: beta must not be negative, got {}", options.beta);
  check(options.schedule != KlSchedule::warmup || options.warmup_tokens > 0,
        "KlControl: warmup_tokens must be positive, got {}", options.warmup_tokens);
  const bool aims = options.schedule == KlSchedule::adaptive || options.schedule == KlSchedule::stepped;
  check(!aims || (options.target > 0 && options.horizon > 0),
        "KlControl: target and horizon must be positive, got {} and {}", options.target, options.horizon);
}

double KlControl::beta() const {
  if (options_.schedule != KlSchedule::warmup) return state_.beta;
  return options_.beta * std::min(1.0, state_.tokens / options_.warmup_tokens);
}

void KlControl::update(double kl, double responses, double tokens) {
  state_.tokens += tokens;
  if (options_.schedule != KlSchedule::adaptive && options_.schedule != KlSchedule::stepped) return;
  check(std::isfinite(kl), "KlControl: the KL is {}: beta would never be a number again", kl);
  if (options_.schedule == KlSchedule::stepped) return step_towards_target(kl);
  check(0.2 * responses < options_.horizon,
        "KlControl: a horizon of {} with {} responses per update can make beta negative; it must be above {}",
        options_.horizon, responses, 0.2 * responses);
  const double error = std::clamp(kl / options_.target - 1, -0.2, 0.2);
  state_.beta *= 1 + error * responses / options_.horizon;
}

void KlControl::step_towards_target(double kl) {
  constexpr size_t kWindow = 10;
  std::vector<double>& recent = state_.recent;
  recent.push_back(kl);
  if (recent.size() > kWindow) recent.erase(recent.begin());
  if (recent.size() < kWindow) return;
  const double ratio = std::accumulate(recent.begin(), recent.end(), 0.0) / kWindow / options_.target;
  const double factor = ratio > 2 ? 1.5 : ratio > 1.5 ? 1.1 : ratio < 0.5 ? 0.7 : ratio < 0.75 ? 0.9 : 1;
  state_.beta = std::clamp(state_.beta * factor, 1e-5, 1.0);
}

}  // namespace pg::rl
