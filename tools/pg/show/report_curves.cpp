// Bands over seeds.
#include "tools/pg/show/report_curves.h"

#include <algorithm>

namespace pg::tools {

Band band_of(const std::vector<const CurvePoints*>& runs) {
  std::map<int64_t, std::vector<double>> at;
  for (const CurvePoints* run : runs) {
    for (const auto& [step, value] : *run) at[step].push_back(value);
  }
  Band band;
  for (const auto& [step, values] : at) {
    double mean = 0;
    for (const double value : values) mean += value / static_cast<double>(values.size());
    band.x.push_back(step);
    band.mean.push_back(mean);
    band.low.push_back(*std::ranges::min_element(values));
    band.high.push_back(*std::ranges::max_element(values));
    band.runs.push_back(std::ssize(values));
  }
  return band;
}

Band thinned(const Band& band, size_t most) {
  const size_t count = band.x.size();
  if (count <= most) return band;
  const size_t width = (count + most - 1) / most;
  Band all;
  all.steps_per_point = band.steps_per_point * static_cast<int64_t>(width);
  for (size_t begin = 0; begin < count; begin += width) {
    const size_t end = std::min(count, begin + width);
    double mean = 0;
    for (size_t i = begin; i < end; ++i) mean += band.mean[i] / static_cast<double>(end - begin);
    const auto from = static_cast<int64_t>(begin), to = static_cast<int64_t>(end);
    all.x.push_back(band.x[end - 1]);
    all.mean.push_back(mean);
    all.low.push_back(*std::min_element(band.low.begin() + from, band.low.begin() + to));
    all.high.push_back(*std::max_element(band.high.begin() + from, band.high.begin() + to));
    all.runs.push_back(*std::max_element(band.runs.begin() + from, band.runs.begin() + to));
  }
  return all;
}

std::vector<std::vector<size_t>> seed_groups(const std::vector<RunValues>& configs) {
  std::vector<std::vector<size_t>> groups;
  std::map<RunValues, size_t> known;
  for (size_t i = 0; i < configs.size(); ++i) {
    RunValues rest = configs[i];
    for (const char* key : kSeedKeys) rest.erase(key);
    const auto [found, is_new] = known.try_emplace(rest, groups.size());
    if (is_new || rest.empty()) {
      groups.push_back({i});
    } else {
      groups[found->second].push_back(i);
    }
  }
  return groups;
}

}  // namespace pg::tools
