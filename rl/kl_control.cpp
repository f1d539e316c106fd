#include "rl/kl_control.h"

#include <algorithm>
#include <cmath>

#include "tensor/error.h"

namespace pg::rl {

KlControl::KlControl(const KlControlOptions& options) : options_(options), state_{.beta = options.beta} {
  check(options.beta >= 0, "KlControl: beta must not be negative, got {}", options.beta);
  check(options.schedule != KlSchedule::warmup || options.warmup_tokens > 0,
        "KlControl: warmup_tokens must be positive, got {}", options.warmup_tokens);
  check(options.schedule != KlSchedule::adaptive || (options.target > 0 && options.horizon > 0),
        "KlControl: target and horizon must be positive, got {} and {}", options.target, options.horizon);
}

double KlControl::beta() const {
  if (options_.schedule != KlSchedule::warmup) return state_.beta;
  return options_.beta * std::min(1.0, state_.tokens / options_.warmup_tokens);
}

void KlControl::update(double kl, double responses, double tokens) {
  state_.tokens += tokens;
  if (options_.schedule != KlSchedule::adaptive) return;
  check(std::isfinite(kl), "KlControl: the KL is {}: beta would never be a number again", kl);
  check(0.2 * responses < options_.horizon,
        "KlControl: a horizon of {} with {} responses per update can make beta negative; it must be above {}",
        options_.horizon, responses, 0.2 * responses);
  const double error = std::clamp(kl / options_.target - 1, -0.2, 0.2);
  state_.beta *= 1 + error * responses / options_.horizon;
}

}  // namespace pg::rl
