// The estimators of advantages that single papers have proposed.
#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

#include "autograd/ops.h"
#include "rl/advantages.h"
#include "rl/rows.h"

namespace pg::rl {

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

}  // namespace pg::rl
