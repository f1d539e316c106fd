#pragma once
// Right but unusual answers to lesson 3: the checks must accept them. mutants.cpp has the table.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "lessons/03_language_model/lesson.h"

namespace pg::lesson03 {

inline Tensor right_softmax(const Tensor& x) { return exp(x - logsumexp(x, {-1}, true)); }

// The maximum without a gradient: the gradient through it is 0.
inline Tensor right_detached_maximum(const Tensor& x) {
  const Tensor e = exp(x - amax(x.detach(), {-1}, true));
  return e * (1.0 / sum(e, {-1}, true));
}

inline Tensor right_cross_entropy(const Tensor& logits, const Tensor& targets) {
  const double share = 1 / static_cast<double>(logits.size(0));
  return exp(log_softmax(logits)) * share - one_hot(targets, logits.size(1), logits.dtype()) * share;
}

// The corrections as one step size, as in the first paper; eps is scaled to match.
inline void right_adamw(std::span<double> p, std::span<const double> g, std::span<double> m, std::span<double> v,
                        const AdamWArgs& a) {
  const double root = std::sqrt(a.bias_correction2), rate = a.lr * root / a.bias_correction1;
  for (size_t i = 0; i < p.size(); ++i) {
    const double d = g[i] * a.grad_scale;
    m[i] += (1 - a.beta1) * (d - m[i]);
    v[i] += (1 - a.beta2) * (d * d - v[i]);
    p[i] = p[i] * (1 - a.lr * a.weight_decay) - rate * m[i] / (std::sqrt(v[i]) + a.eps * root);
  }
}

// Ranked pairs of logit and id.
inline std::vector<double> right_filter(std::span<const double> logits, const SampleOptions& o) {
  std::vector<std::pair<double, size_t>> ranked;
  for (size_t i = 0; i < logits.size(); ++i) ranked.emplace_back(-logits[i], i);
  std::sort(ranked.begin(), ranked.end());
  size_t kept = ranked.size();
  if (o.top_k > 0 && static_cast<size_t>(o.top_k) < kept) {
    kept = static_cast<size_t>(o.top_k);
    while (kept < ranked.size() && ranked[kept].first == ranked[kept - 1].first) ++kept;
  }
  const auto weight = [&](size_t r) { return std::exp((ranked[0].first - ranked[r].first) / o.temperature); };
  double total = 0, mass = 0;
  for (size_t r = 0; r < kept; ++r) total += weight(r);
  std::vector<double> p(logits.size());
  for (size_t r = 0; r < kept; ++r) {
    if (o.top_p < 1 && mass / total >= o.top_p) break;
    p[ranked[r].second] = weight(r);
    mass += weight(r);
  }
  for (double& x : p) x /= mass;
  return p;
}

// Binary search in the partial sums.
inline int32_t right_draw(std::span<const double> probs, double u) {
  std::vector<double> sums(probs.size());
  std::partial_sum(probs.begin(), probs.end(), sums.begin());
  auto at = std::upper_bound(sums.begin(), sums.end(), u);
  if (at == sums.end()) at = std::lower_bound(sums.begin(), sums.end(), sums.back());
  return static_cast<int32_t>(at - sums.begin());
}

}  // namespace pg::lesson03
