// Controllers of the KL penalty's weight.
#include "rl/methods/kl_control.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tensor/base/error.h"

namespace pg::rl {

namespace {

using Options = KlControlOptions;
using State = KlControlState;

void any_options(const Options&) {}

void need_warmup(const Options& o) {
  check(o.warmup_tokens > 0, "KlControl: warmup_tokens must be positive, got {}", o.warmup_tokens);
}

void need_target(const Options& o) {
  check(o.target > 0 && o.horizon > 0, "KlControl: target and horizon must be positive, got {} and {}", o.target,
        o.horizon);
}

double warmed_up(const Options& o, const State& s) { return o.beta * std::min(1.0, s.tokens / o.warmup_tokens); }

// e = clip(KL/target - 1, ±0.2), β ← β·(1 + e·n/horizon) (Ziegler et al. 2019, arXiv:1909.08593).
void adapt(const Options& o, State& s, double kl, double responses) {
  check(0.2 * responses < o.horizon,
        "KlControl: a horizon of {} with {} responses per update can make beta negative; it must be above {}",
        o.horizon, responses, 0.2 * responses);
  const double error = std::clamp(kl / o.target - 1, -0.2, 0.2);
  s.beta *= 1 + error * responses / o.horizon;
}

// By the mean of the last ten updates: above 2 or 1.5 times the target, β·1.5 or β·1.1; below 0.5 or 0.75 times the
// target, β·0.7 or β·0.9; β is clamped to [1e-5, 1]. β does not change before ten updates.
void step_towards_target(const Options& o, State& s, double kl, double) {
  constexpr size_t kWindow = 10;
  s.recent.push_back(kl);
  if (s.recent.size() > kWindow) s.recent.erase(s.recent.begin());
  if (s.recent.size() < kWindow) return;
  const double ratio = std::accumulate(s.recent.begin(), s.recent.end(), 0.0) / kWindow / o.target;
  const double factor = ratio > 2 ? 1.5 : ratio > 1.5 ? 1.1 : ratio < 0.5 ? 0.7 : ratio < 0.75 ? 0.9 : 1;
  s.beta = std::clamp(s.beta * factor, 1e-5, 1.0);
}

}  // namespace

const std::vector<KlSchedule>& KlSchedule::table() {
  static const std::vector<KlSchedule> rows = {
      {"fixed", "beta = {beta}", any_options, {}, {}},
      {"warmup", "beta rises linearly from 0 to {beta} over {kl-warmup-tokens} tokens", need_warmup, warmed_up, {}},
      {"adaptive",
       "beta = {beta} at first, then beta *= 1 + clip(KL / {kl-target} - 1, -0.2, 0.2) responses / {kl-horizon}",
       need_target,
       {},
       adapt,
       true},
      {"stepped",
       "beta = {beta} at first, then stepped to hold {kl-target} nats a response, the mean of ten updates",
       need_target,
       {},
       step_towards_target}};
  return rows;
}

KlControl::KlControl(const KlControlOptions& options) : options_(options), state_{.beta = options.beta, .tokens = 0} {
  check(options.beta >= 0, "KlControl: beta must not be negative, got {}", options.beta);
  options.schedule.check_options(options);
}

double KlControl::beta() const {
  return options_.schedule.beta ? options_.schedule.beta(options_, state_) : state_.beta;
}

void KlControl::update(double kl, double responses, double tokens) {
  state_.tokens += tokens;
  if (!options_.schedule.update) return;
  check(std::isfinite(kl), "KlControl: the KL is {}: beta would be NaN or infinite from then on", kl);
  options_.schedule.update(options_, state_, kl, responses);
}

double overlong_penalty(int64_t length, int64_t max_length, int64_t cache) {
  check(cache >= 1 && cache <= max_length, "overlong_penalty: the cache must be between 1 and {}, got {}", max_length,
        cache);
  if (length <= max_length - cache) return 0;
  if (length > max_length) return -1;
  return static_cast<double>(max_length - cache - length) / static_cast<double>(cache);
}

double adaptive_temperature(double base, double std, double target_std, double low, double high) {
  check(base > 0 && target_std > 0 && low > 0 && low <= high,
        "adaptive_temperature: expected positive numbers and low <= high, got base {}, target {}, {} to {}", base,
        target_std, low, high);
  if (std < 0) return base;
  return std == 0 ? high : std::clamp(base * target_std / std, low, high);
}

}  // namespace pg::rl
