#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace pg::rl {

// Mean and variance per component of all vectors seen so far, by Welford's recurrence (1962), which loses no precision
// when the mean is large.
struct RunningMoments {
  double count = 0;
  std::vector<double> mean, squares;  // squares: Σ (x - mean)²

  explicit RunningMoments(size_t size) : mean(size), squares(size) {}
  void add(std::span<const double> x) {
    ++count;
    for (size_t i = 0; i < mean.size(); ++i) {
      const double before = x[i] - mean[i];
      mean[i] += before / count;
      squares[i] += before * (x[i] - mean[i]);
    }
  }
  double variance(size_t i) const { return count > 0 ? squares[i] / count : 0; }  // divided by n, not n - 1
};

}  // namespace pg::rl
