// Length penalty and adaptive sampling temperature.
#include "rl/methods/shaping.h"

#include <algorithm>

#include "tensor/base/error.h"

namespace pg::rl {

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
