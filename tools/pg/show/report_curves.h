#pragma once
// Curves of a report: the values of runs by step, and bands over runs that differ in their seed only.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace pg::tools {

// One run's values of one metric by step, ascending.
using CurvePoints = std::map<int64_t, double>;

// A line with a band: at step x[i] the mean, least and greatest value of runs[i] runs. After thinned() a point stands
// for `steps_per_point` neighbouring steps: x is their last one, mean the mean of the means, low and high the extremes.
struct Band {
  std::vector<int64_t> x;
  std::vector<double> mean, low, high;
  std::vector<int64_t> runs;
  int64_t steps_per_point = 1;
};
// At each step at which any of the runs has a value.
Band band_of(const std::vector<const CurvePoints*>& runs);
// At most `most` points.
Band thinned(const Band& band, size_t most);

// Runs whose configurations are equal but for the keys below, in the order of their first ones: indices of runs.
// A run without a configuration is alone.
using RunValues = std::map<std::string, std::string>;
inline constexpr const char* kSeedKeys[] = {"seed", "name", "out", "threads", "device"};
std::vector<std::vector<size_t>> seed_groups(const std::vector<RunValues>& configs);

}  // namespace pg::tools
