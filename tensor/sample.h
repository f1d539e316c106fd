#pragma once
// Sampling of a token from logits.
#include <cstdint>
#include <span>
#include <vector>

namespace pg {

// The options are applied in this order, which is that of Hugging Face transformers; each sees only the tokens that the
// one before kept.
struct SampleOptions {
  double temperature = 1;  // logits / temperature, > 0
  int64_t top_k = 0;       // keep the k largest logits and those equal to the k-th; 0: all
  double top_p = 1;        // keep the smallest set of most probable tokens whose mass reaches p, in (0, 1]; 1: all
  double min_p = 0;        // keep tokens with at least min_p times the probability of the most probable, in [0, 1]

  bool operator==(const SampleOptions&) const = default;
};

// Error naming the option that is out of range.
void check_sample_options(const SampleOptions& options);
// Probabilities after the filters, [V], summing to 1. Equal logits are ranked by id. The result depends on this row
// alone.
std::vector<double> filtered_probs(std::span<const double> logits, const SampleOptions& options);
// The first token at which the cumulative probability exceeds u in [0, 1); never one of probability 0.
int32_t sample_token(std::span<const double> probs, double u);

}  // namespace pg
