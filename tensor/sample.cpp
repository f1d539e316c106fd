// Draws a token from logits: temperature, top-k, top-p, min-p.
#include "tensor/sample.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "tensor/base/error.h"

namespace pg {
namespace {

// Ids by decreasing logit, equal logits by increasing id; only the first `count` are sorted.
std::vector<int32_t> ranked(std::span<const double> logits, size_t count) {
  std::vector<int32_t> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  const auto before = [&](int32_t a, int32_t b) { return logits[a] > logits[b] || (logits[a] == logits[b] && a < b); };
  std::partial_sort(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(count), ids.end(), before);
  return ids;
}

void divide_by_sum(std::vector<double>& values) {
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  for (double& value : values) value /= sum;
}

}  // namespace

void check_sample_options(const SampleOptions& o) {
  check(o.temperature > 0 && std::isfinite(o.temperature),
        "sampling: temperature must be positive, got {}; use greedy for the most probable token", o.temperature);
  check(o.top_k >= 0, "sampling: top_k must be 0 (all) or more, got {}", o.top_k);
  check(o.top_p > 0 && o.top_p <= 1, "sampling: top_p must be in (0, 1], got {}", o.top_p);
  check(o.min_p >= 0 && o.min_p <= 1, "sampling: min_p must be in [0, 1], got {}", o.min_p);
}

std::vector<double> filtered_probs(std::span<const double> logits, const SampleOptions& o) {
  check_sample_options(o);
  check(!logits.empty(), "sampling: the logits are empty");
  const double largest = *std::max_element(logits.begin(), logits.end());
  const bool finite =
      std::none_of(logits.begin(), logits.end(), [](double x) { return std::isnan(x) || x == INFINITY; });
  check(finite && std::isfinite(largest), "sampling: the logits are not finite");

  const size_t k = o.top_k == 0 ? logits.size() : std::min(logits.size(), static_cast<size_t>(o.top_k));
  double threshold = -INFINITY;
  if (k < logits.size()) {
    std::vector<double> copy(logits.begin(), logits.end());
    const auto kth = copy.begin() + static_cast<std::ptrdiff_t>(k - 1);
    std::nth_element(copy.begin(), kth, copy.end(), std::greater<>());
    threshold = *kth;
  }
  std::vector<double> probs(logits.size());
  std::transform(logits.begin(), logits.end(), probs.begin(),
                 [&](double logit) { return logit < threshold ? 0 : std::exp((logit - largest) / o.temperature); });
  divide_by_sum(probs);

  if (o.top_p < 1) {
    const auto kept = static_cast<size_t>(std::count_if(probs.begin(), probs.end(), [](double p) { return p > 0; }));
    double mass = 0;
    for (int32_t id : ranked(logits, kept)) {  // the ids after the first `kept` are of tokens already removed
      if (mass >= o.top_p) probs[id] = 0;
      mass += probs[id];
    }
    divide_by_sum(probs);
  }
  if (o.min_p > 0) {
    const double floor = o.min_p * *std::max_element(probs.begin(), probs.end());
    for (double& p : probs) p = p < floor ? 0 : p;
    divide_by_sum(probs);
  }
  return probs;
}

int32_t sample_token(std::span<const double> probs, double u) {
  double mass = 0;
  size_t last = 0;
  for (size_t i = 0; i < probs.size(); ++i) {
    if (probs[i] <= 0) continue;
    mass += probs[i];
    last = i;
    if (u < mass) return static_cast<int32_t>(i);
  }
  return static_cast<int32_t>(last);  // the probabilities summed to a little less than 1
}

}  // namespace pg
