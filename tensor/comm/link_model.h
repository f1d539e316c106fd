#pragma once
// The α-β model of a link (Hockney 1994): a message of S bytes takes α + S/β. A model, not a measurement: it knows
// neither other traffic nor the shape of the network.
#include <algorithm>
#include <cstdint>
#include <vector>

namespace pg {

struct LinkModel {
  double alpha = 5e-6;  // seconds that each message takes, however short
  double beta = 25e9;   // bytes per second

  double message_seconds(double bytes) const { return alpha + bytes / beta; }
  // In a ring of n ranks, in seconds: 2·(n - 1) steps, in each of which S/n bytes pass every link. This is
  // 2·(n - 1)·α + 2·(n - 1)/n·S/β.
  double all_reduce_seconds(double bytes, int ranks) const {
    const auto n = static_cast<double>(ranks);
    return 2 * ((n - 1) * alpha + (n - 1) / n * bytes / beta);
  }
};

// When a bucket of gradients is complete, and when its all-reduce begins and ends: seconds since backward began.
struct BucketTimes {
  double ready = 0, begin = 0, end = 0;
};
// The buckets of a step in the order in which backward completes them: backward takes backward[i] seconds for bucket i
// of bytes[i] bytes. One all-reduce runs at a time, in this order, while backward goes on. Both have one length.
inline std::vector<BucketTimes> overlapped_times(const LinkModel& link, int ranks, const std::vector<double>& backward,
                                                 const std::vector<double>& bytes) {
  std::vector<BucketTimes> times;
  double ready = 0, free = 0;
  for (size_t i = 0; i < std::min(backward.size(), bytes.size()); ++i) {
    ready += backward[i];
    const double begin = std::max(ready, free);
    free = begin + link.all_reduce_seconds(bytes[i], ranks);
    times.push_back({ready, begin, free});
  }
  return times;
}

}  // namespace pg
