// Advantages: returns, moving baselines, and the estimators that compare a group. Those of single methods are in
// rl/methods/advantages_methods.cpp.
#include "rl/advantages.h"

#include <cmath>

#include "rl/rows.h"

namespace pg::rl {
Tensor return_to_go(const Tensor& rewards, double gamma, const Tensor& mask) {
  Rows r(rewards, mask, "return_to_go");
  for (size_t b = 0; b < r.rows; ++b) {
    double after = 0;
    for (size_t t = r.columns; t-- > 0;) {
      if (r.kept(b, t)) after = r.at(b, t) += gamma * after;
    }
  }
  return r.tensor();
}

MovingBaseline::MovingBaseline(double decay, double sum, double weight) : decay_(decay), sum_(sum), weight_(weight) {
  check(decay >= 0 && decay < 1, "MovingBaseline: decay must be in [0, 1), got {}", decay);
}

Tensor MovingBaseline::advantage(const Tensor& returns, const Tensor& mask) {
  const double b = value();
  return as_one_group(returns, mask, "MovingBaseline", [&](auto x, auto keep, auto out, size_t) {
    for (size_t i = 0; i < x.size(); ++i) out[i] = x[i] - b;
    const Moments m = moments(x, keep, 0);
    if (m.count == 0) return;
    sum_ = decay_ * sum_ + m.mean;
    weight_ = decay_ * weight_ + 1;
  });
}

Tensor group_mean_advantage(const Tensor& rewards, const Tensor& mask) {
  return by_group(rewards, mask, "group_mean_advantage", [](auto x, auto keep, auto out, size_t) {
    const Moments m = moments(x, keep, 0);
    for (size_t i = 0; i < x.size(); ++i) out[i] = x[i] - m.mean;
  });
}

Tensor leave_one_out_advantage(const Tensor& rewards, const Tensor& mask) {
  return by_group(rewards, mask, "leave_one_out_advantage", [](auto x, auto keep, auto out, size_t) {
    const Moments m = moments(x, keep, 0);
    const auto n = static_cast<double>(m.count);
    for (size_t i = 0; i < x.size(); ++i) out[i] = m.count > 1 ? n / (n - 1) * (x[i] - m.mean) : 0;
  });
}

Tensor group_std_advantage(const Tensor& rewards, double eps, int ddof, const Tensor& mask) {
  check_ddof(ddof, "group_std_advantage");
  return by_group(rewards, mask, "group_std_advantage", [&](auto x, auto keep, auto out, size_t) {
    const Moments m = moments(x, keep, ddof);
    for (size_t i = 0; i < x.size(); ++i) out[i] = m.equal ? 0 : (x[i] - m.mean) / (m.std + eps);
  });
}

Tensor batch_std_advantage(const Tensor& rewards, double eps, int ddof, const Tensor& mask) {
  check_ddof(ddof, "batch_std_advantage");
  const Rows r(rewards, mask, "batch_std_advantage");
  const Moments batch = moments(r.value, r.keep, ddof);
  return by_group(rewards, mask, "batch_std_advantage", [&](auto x, auto keep, auto out, size_t) {
    const Moments m = moments(x, keep, 0);
    for (size_t i = 0; i < x.size(); ++i) out[i] = m.equal ? 0 : (x[i] - m.mean) / (batch.std + eps);
  });
}

Tensor groups_with_signal(const Tensor& rewards, const Tensor& mask) {
  const Rows r(rewards, mask, "groups_with_signal");
  const Tensor result = Tensor::zeros({rewards.size(0)}, u8);
  for (size_t n = 0; n < r.rows; ++n) {
    const size_t begin = n * r.columns;
    result.data<uint8_t>()[n] =
        !moments({r.value.data() + begin, r.columns}, {r.keep.data() + begin, r.columns}, 0).equal;
  }
  return result;
}

Tensor whiten(const Tensor& x, const Tensor& mask, int ddof, bool shift_mean, double eps) {
  check_ddof(ddof, "whiten");
  return as_one_group(x, mask, "whiten", [&](auto values, auto keep, auto out, size_t) {
    const Moments m = moments(values, keep, ddof);
    for (size_t i = 0; i < values.size(); ++i) {
      out[i] = (values[i] - m.mean) / std::sqrt(m.std * m.std + eps) + (shift_mean ? 0 : m.mean);
    }
  });
}

Gae gae(const Tensor& rewards, const Tensor& values, const Tensor& next_values, const GaeOptions& o) {
  Rows r(rewards, o.mask, "gae: rewards"), v(values, o.mask, "gae: values");
  check(values.shape() == rewards.shape(), "gae: rewards are {}, values {}", rewards.shape(), values.shape());
  check(next_values.rank() == 1 && next_values.size(0) == rewards.size(0), "gae: next_values must be [{}], got {}",
        rewards.size(0), next_values.shape());
  check(!o.truncated.defined() || o.final_values.defined(),
        "gae: truncated episodes need final_values: the value of the state each was cut in");
  const auto optional = [&](const Tensor& x, const char* name) {
    if (!x.defined()) return std::vector<double>(r.value.size());
    check(x.shape() == rewards.shape(), "gae: {} must be {}, got {}", name, rewards.shape(), x.shape());
    return x.to_vector();
  };
  const std::vector<double> terminated = optional(o.terminated, "terminated");
  const std::vector<double> truncated = optional(o.truncated, "truncated");
  const std::vector<double> final_values = optional(o.final_values, "final_values");
  const std::vector<double> last = next_values.to_vector();
  std::vector<double> advantages(r.value.size()), returns(r.value.size());
  for (size_t b = 0; b < r.rows; ++b) {
    double next_value = last[b], next_advantage = 0;
    for (size_t t = r.columns; t-- > 0;) {
      if (!r.kept(b, t)) continue;
      const size_t i = b * r.columns + t;
      const bool cut = terminated[i] != 0 || truncated[i] != 0;
      if (cut) next_value = terminated[i] != 0 ? 0 : final_values[i];
      const double delta = r.value[i] + o.gamma * next_value - v.value[i];
      advantages[i] = delta + (cut ? 0 : o.gamma * o.lambda * next_advantage);
      returns[i] = advantages[i] + v.value[i];
      next_value = v.value[i];
      next_advantage = advantages[i];
    }
  }
  return {r.tensor(advantages), r.tensor(returns)};
}

}  // namespace pg::rl
