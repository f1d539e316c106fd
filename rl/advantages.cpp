// Advantages: GAE, returns, and the estimators that compare a group.
#include "rl/advantages.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

#include "autograd/ops.h"
#include "rl/rows.h"

namespace pg::rl {
namespace {

// Differences of this share of a reward are rounding: sums of the same parts in another order differ by it.
constexpr double kRounding = 1e-12;

// Mean and standard deviation over unmasked values. Accumulates x - x[0] in f64, so that equal rewards give exactly
// zero variance.
struct Moments {
  double mean = 0, std = 0;
  size_t count = 0;
  bool equal = true;  // up to rounding
};
Moments moments(std::span<const double> x, std::span<const uint8_t> keep, int ddof) {
  Moments m;
  double first = 0, sum = 0, squares = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    if (!keep[i]) continue;
    if (m.count++ == 0) first = x[i];
    m.equal = m.equal && std::abs(x[i] - first) <= kRounding * std::max(std::abs(x[i]), std::abs(first));
    sum += x[i] - first;
  }
  if (m.count == 0) return m;
  m.mean = first + sum / static_cast<double>(m.count);
  for (size_t i = 0; i < x.size(); ++i) squares += keep[i] ? (x[i] - m.mean) * (x[i] - m.mean) : 0;
  if (static_cast<int64_t>(m.count) > ddof)
    m.std = std::sqrt(squares / static_cast<double>(m.count - static_cast<size_t>(ddof)));
  return m;
}

void check_ddof(int ddof, const char* what) {
  check(ddof == 0 || ddof == 1, "{}: ddof must be 0 or 1, got {}", what, ddof);
}

// Applies f(rewards of the group, keep flags, output, group index) to each group of `rewards`.
template <class F>
Tensor by_group(const Tensor& rewards, const Tensor& mask, const char* what, F f) {
  Rows r(rewards, mask, what);
  std::vector<double> result(r.value.size());
  for (size_t n = 0; n < r.rows; ++n) {
    const size_t begin = n * r.columns;
    const std::span<const double> x(r.value.data() + begin, r.columns);
    const std::span<const uint8_t> keep(r.keep.data() + begin, r.columns);
    f(x, keep, std::span<double>(result.data() + begin, r.columns), n);
    for (size_t g = 0; g < r.columns; ++g) {
      if (!keep[g]) result[begin + g] = 0;
    }
  }
  return r.tensor(result);
}

// by_group() with x of any shape as one group.
template <class F>
Tensor as_one_group(const Tensor& x, const Tensor& mask, const char* what, F f) {
  if (mask.defined())
    check(mask.shape() == x.shape(), "{}: the mask must be {}, got {}", what, x.shape(), mask.shape());
  const auto flat = [&](const Tensor& t) {
    return t.defined() ? t.detach().contiguous_copy().view_reshape({1, x.numel()}) : t;
  };
  return by_group(flat(x), flat(mask), what, f).view_reshape(x.shape());
}

}  // namespace

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

Tensor opo_advantage(const Tensor& rewards, const Tensor& lengths, const Tensor& mask) {
  check(lengths.shape() == rewards.shape(), "opo_advantage: lengths must be {}, got {}", rewards.shape(),
        lengths.shape());
  const std::vector<double> length = lengths.to_vector();
  return by_group(rewards, mask, "opo_advantage", [&](auto x, auto keep, auto out, size_t n) {
    double tokens = 0, weighted = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      if (!keep[i]) continue;
      tokens += length[n * x.size() + i];
      weighted += length[n * x.size() + i] * x[i];
    }
    const bool equal = moments(x, keep, 0).equal;
    for (size_t i = 0; i < x.size(); ++i) out[i] = equal || tokens == 0 ? 0 : x[i] - weighted / tokens;
  });
}

Tensor remax_advantage(const Tensor& rewards, const Tensor& greedy, const Tensor& mask) {
  check(rewards.rank() == 2 && greedy.shape() == Shape({rewards.size(0), 1}),
        "remax_advantage: expected rewards [N, G] and greedy [N, 1], got {} and {}", rewards.shape(), greedy.shape());
  const std::vector<double> baseline = greedy.to_vector();
  return by_group(rewards, mask, "remax_advantage", [&](auto x, auto, auto out, size_t n) {
    for (size_t i = 0; i < x.size(); ++i) out[i] = x[i] - baseline[n];
  });
}

Tensor maxrl_advantage(const Tensor& rewards, const Tensor& mask) {
  return by_group(rewards, mask, "maxrl_advantage", [](auto x, auto keep, auto out, size_t) {
    const Moments m = moments(x, keep, 0);
    for (size_t i = 0; i < x.size(); ++i) out[i] = m.mean == 0 ? 0 : (x[i] - m.mean) / m.mean;
  });
}

Tensor gpg_advantage(const Tensor& rewards, const Tensor& mask) {
  Rows mean(group_mean_advantage(rewards, mask), mask, "gpg_advantage");
  const std::vector<double> signal = groups_with_signal(rewards, mask).to_vector();
  double responses = 0, valid = 0;
  for (size_t n = 0; n < mean.rows; ++n) {
    for (size_t g = 0; g < mean.columns; ++g) {
      responses += mean.kept(n, g);
      valid += mean.kept(n, g) && signal[n] != 0;
    }
  }
  for (double& a : mean.value) a *= valid > 0 ? responses / valid : 0;
  return mean.tensor();
}

namespace {

// The best response of a group and how much better it is than the second best; nullopt for a group without two
// responses.
struct Lead {
  size_t best;
  double by;
};
std::optional<Lead> lead_of(std::span<const double> x, std::span<const uint8_t> keep) {
  size_t best = x.size();
  for (size_t i = 0; i < x.size(); ++i) {
    if (keep[i] && (best == x.size() || x[i] > x[best])) best = i;
  }
  double second = -INFINITY;
  for (size_t i = 0; i < x.size(); ++i) {
    if (keep[i] && i != best) second = std::max(second, x[i]);
  }
  if (second == -INFINITY) return std::nullopt;
  return Lead{best, x[best] - second};
}

}  // namespace

Tensor best_only_advantage(const Tensor& rewards, const Tensor& mask) {
  return by_group(rewards, mask, "best_only_advantage", [](auto x, auto keep, auto out, size_t) {
    const auto lead = lead_of(x, keep);
    if (lead && !moments(x, keep, 0).equal) out[lead->best] = lead->by;
  });
}

Tensor pass_at_k_advantage(const Tensor& rewards, double eps, int ddof, const Tensor& mask) {
  check_ddof(ddof, "pass_at_k_advantage");
  return by_group(rewards, mask, "pass_at_k_advantage", [&](auto x, auto keep, auto out, size_t) {
    const Moments m = moments(x, keep, ddof);
    const auto lead = lead_of(x, keep);
    if (lead) out[lead->best] = m.equal ? 0 : lead->by / (m.std + eps);
  });
}

// With rewards in increasing order g_1 … g_n, the sets of k whose best is g_p and whose second best is g_q are C(q-1,
// k-2), so A_p = Σ_{q<p} w_q (g_p - g_q), w_q = n C(q-1, k-2) / C(n, k), and A_p = A_{p-1} + (g_p - g_{p-1}) Σ_{q<p}
// w_q.
Tensor pkpo_advantage(const Tensor& rewards, int64_t k, const Tensor& mask) {
  check(k >= 2, "pkpo_advantage: k must be at least 2, got {}; leave_one_out is k = 1", k);
  return by_group(rewards, mask, "pkpo_advantage", [&](auto x, auto keep, auto out, size_t) {
    std::vector<size_t> order;
    for (size_t i = 0; i < x.size(); ++i) {
      if (keep[i]) order.push_back(i);
    }
    const auto n = std::ssize(order);
    if (n < k || moments(x, keep, 0).equal) return;
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return x[a] < x[b]; });
    // From w_{n-1} down, so that no binomial coefficient overflows: w_{q-1} = w_q (q - k + 1) / (q - 1).
    std::vector<double> w(order.size());
    w[static_cast<size_t>(n - 1)] = static_cast<double>(k * (k - 1)) / static_cast<double>(n - 1);
    for (int64_t q = n - 1; q >= k; --q) {
      w[static_cast<size_t>(q - 1)] =
          w[static_cast<size_t>(q)] * static_cast<double>(q - k + 1) / static_cast<double>(q - 1);
    }
    double advantage = 0, weight = 0;
    for (size_t p = 1; p < order.size(); ++p) {  // order[p] is the response of g_{p+1}
      weight += w[p];
      advantage += (x[order[p]] - x[order[p - 1]]) * weight;
      out[order[p]] = advantage;
    }
  });
}

Tensor gdpo_advantage(const std::vector<Tensor>& rewards, const std::vector<double>& weights, double eps, int ddof) {
  check(!rewards.empty() && rewards.size() == weights.size(), "gdpo_advantage: {} rewards need as many weights, got {}",
        rewards.size(), weights.size());
  Tensor total;
  for (size_t k = 0; k < rewards.size(); ++k) {
    check(rewards[k].shape() == rewards[0].shape(), "gdpo_advantage: reward {} must be {}, got {}", k,
          rewards[0].shape(), rewards[k].shape());
    const Tensor each = group_std_advantage(rewards[k], eps, ddof) * weights[k];
    total = total.defined() ? total + each : each;
  }
  const Tensor batch = total.view_reshape({1, total.numel()});
  return group_std_advantage(batch, eps, ddof).view_reshape(rewards[0].shape());
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
