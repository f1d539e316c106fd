// check: 03.4  says: inf or nan
#define MUTANT_filtered_probs
#include "lessons/03_language_model/mutants/answers.h"

namespace pg::lesson03 {

std::vector<double> filtered_probs(std::span<const double> logits, const SampleOptions& options) {
  const size_t n = logits.size();
  std::vector<size_t> order(n);  // most probable first
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return logits[a] > logits[b]; });
  const size_t k = options.top_k == 0 ? n : std::min(n, static_cast<size_t>(options.top_k));
  const double threshold = logits[order[k - 1]];

  std::vector<double> probs(n, 0);
  for (size_t i = 0; i < n; ++i) {
    if (logits[i] >= threshold) probs[i] = std::exp(logits[i] / options.temperature);
  }
  const double total = std::accumulate(probs.begin(), probs.end(), 0.0);
  double mass = 0;
  for (size_t i : order) {
    const double before = mass;
    mass += probs[i] / total;
    if (options.top_p < 1 && before >= options.top_p) probs[i] = 0;
  }
  const double kept = std::accumulate(probs.begin(), probs.end(), 0.0);
  for (double& p : probs) p /= kept;
  return probs;
}

}  // namespace pg::lesson03
