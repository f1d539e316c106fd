// check: 07.1  says: lambda is forgotten  also: 07.2 07.3 07.4
#define MUTANT_gae
#include "lessons/07_ppo/mutants/answers.h"

namespace pg::lesson07 {

Gae gae(const Tensor& rewards, const Tensor& values, const Tensor& next_values, const GaeOptions& options) {
  const int64_t rows = rewards.size(0), steps = rewards.size(1), count = rows * steps;
  const auto r = rewards.to_vector(), v = values.to_vector(), last = next_values.to_vector();
  const auto mask = numbers(options.mask, count, 1), final_values = numbers(options.final_values, count, 0);
  const auto terminated = numbers(options.terminated, count, 0), truncated = numbers(options.truncated, count, 0);
  std::vector<double> advantages(r.size()), returns(r.size());
  for (int64_t b = 0; b < rows; ++b) {
    double next = last[static_cast<size_t>(b)], after = 0;
    for (int64_t t = steps - 1; t >= 0; --t) {
      const size_t i = static_cast<size_t>(b * steps + t);
      if (mask[i] == 0) continue;
      if (truncated[i] != 0) next = final_values[i], after = 0;
      if (terminated[i] != 0) next = after = 0;
      advantages[i] = after = r[i] + options.gamma * next - v[i] + options.gamma * after;
      returns[i] = advantages[i] + v[i];
      next = v[i];
    }
  }
  const auto tensor = [&](const std::vector<double>& x) {
    return Tensor::from(x, rewards.shape()).to(rewards.dtype());
  };
  return {tensor(advantages), tensor(returns)};
}

}  // namespace pg::lesson07
