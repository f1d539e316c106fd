// Selections of tokens by entropy and by the covariance of log-probability and advantage.
#include "rl/methods/token_selection.h"

#include <algorithm>
#include <cmath>

#include "rl/rows.h"
#include "tensor/base/random.h"

namespace pg::rl {
namespace {

// u8 [B, T] with 1 at these flat indices.
Tensor flags(const Shape& shape, const std::vector<size_t>& indices) {
  const Tensor result = Tensor::zeros(shape, u8);
  for (const size_t i : indices) result.data<uint8_t>()[i] = 1;
  return result;
}

std::vector<size_t> unmasked(const Rows& rows) {
  std::vector<size_t> all;
  for (size_t i = 0; i < rows.keep.size(); ++i) {
    if (rows.keep[i]) all.push_back(i);
  }
  return all;
}

void check_share(double share, const char* what) {
  check(share > 0 && share <= 1, "{}: the share must be above 0 and at most 1, got {}", what, share);
}

size_t count_of(double share, size_t tokens) {
  return std::max<size_t>(1, static_cast<size_t>(share * static_cast<double>(tokens)));
}

}  // namespace

Tensor high_entropy_tokens(const Tensor& entropy, const Tensor& mask, double share) {
  check_share(share, "high_entropy_tokens");
  const Rows h(entropy, mask, "high_entropy_tokens");
  std::vector<size_t> tokens = unmasked(h);
  if (tokens.empty()) return flags(entropy.shape(), {});
  std::vector<double> sorted;
  for (const size_t i : tokens) sorted.push_back(h.value[i]);
  std::sort(sorted.begin(), sorted.end());
  const double at = (1 - share) * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(at);
  const double next = sorted[std::min(below + 1, sorted.size() - 1)];
  const double threshold = sorted[below] + (at - std::floor(at)) * (next - sorted[below]);
  std::erase_if(tokens, [&](size_t i) { return h.value[i] < threshold; });
  return flags(entropy.shape(), tokens);
}

Tensor token_covariance(const Tensor& log_prob, const Tensor& advantage, const Tensor& mask) {
  Rows lp(log_prob, mask, "token_covariance");
  const Rows a(advantage, mask, "token_covariance: advantage");
  check(a.shape == lp.shape, "token_covariance: advantage must be {}, got {}", lp.shape, a.shape);
  const std::vector<size_t> tokens = unmasked(lp);
  const auto mean = [&](const std::vector<double>& x) {
    double sum = 0;
    for (const size_t i : tokens) sum += x[i];
    return sum / static_cast<double>(std::max<size_t>(1, tokens.size()));
  };
  const double mean_lp = mean(lp.value), mean_a = mean(a.value);
  for (const size_t i : tokens) lp.value[i] = (lp.value[i] - mean_lp) * (a.value[i] - mean_a);
  return lp.tensor();
}

Tensor clip_cov_tokens(const Tensor& log_prob, const Tensor& advantage, const Tensor& mask, double share, double low,
                       double high, Generator& generator) {
  check_share(share, "clip_cov_tokens");
  const Rows cov(token_covariance(log_prob, advantage, mask), mask, "clip_cov_tokens");
  std::vector<size_t> candidates = unmasked(cov);
  const size_t count = count_of(share, candidates.size());
  std::erase_if(candidates, [&](size_t i) { return cov.value[i] <= low || cov.value[i] >= high; });
  shuffle(candidates, generator);
  candidates.resize(std::min(count, candidates.size()));
  return flags(cov.shape, candidates);
}

Tensor kl_cov_tokens(const Tensor& log_prob, const Tensor& advantage, const Tensor& mask, double share) {
  check_share(share, "kl_cov_tokens");
  const Rows cov(token_covariance(log_prob, advantage, mask), mask, "kl_cov_tokens");
  std::vector<size_t> tokens = unmasked(cov);
  std::stable_sort(tokens.begin(), tokens.end(), [&](size_t a, size_t b) { return cov.value[a] > cov.value[b]; });
  tokens.resize(std::min(count_of(share, tokens.size()), tokens.size()));
  return flags(cov.shape, tokens);
}

}  // namespace pg::rl
