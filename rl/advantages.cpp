#include "rl/advantages.h"

#include "autograd/ops.h"

namespace pg::rl {

Tensor return_to_go(const Tensor& rewards, double gamma) {
  check(rewards.rank() == 2, "return_to_go: expected rewards [B, T], got {}", rewards.shape());
  const Tensor result = rewards.to(Device{}).clone();
  visit_floating(rewards.dtype(), "return_to_go", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto g = result.data<T>();
    const int64_t steps = rewards.size(1);
    for (int64_t b = 0; b < rewards.size(0); ++b) {
      for (int64_t t = steps - 2; t >= 0; --t) {
        g[static_cast<size_t>(b * steps + t)] += static_cast<T>(gamma) * g[static_cast<size_t>(b * steps + t + 1)];
      }
    }
  });
  return result.to(rewards.device());
}

MovingBaseline::MovingBaseline(double decay, double sum, double weight) : decay_(decay), sum_(sum), weight_(weight) {
  check(decay >= 0 && decay < 1, "MovingBaseline: decay must be in [0, 1), got {}", decay);
}

Tensor MovingBaseline::advantage(const Tensor& returns) {
  NoGrad guard;
  const Tensor result = returns.detach() - value();
  sum_ = decay_ * sum_ + mean(returns.detach()).item();
  weight_ = decay_ * weight_ + 1;
  return result;
}

}  // namespace pg::rl
