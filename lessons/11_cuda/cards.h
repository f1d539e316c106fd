#pragma once
// Data sheet values of GPUs, and the lower bound on a kernel's time that follows from them: the roofline.
#include <algorithm>

namespace pg::lesson11 {

// Peak rates from the data sheets: memory, and f32 without tensor cores. Each multiprocessor makes one pass over the
// banks of its shared memory per clock.
struct Card {
  const char* name;
  double gigabytes_per_second, teraflops;
  int multiprocessors;
  double gigahertz;  // boost clock: teraflops / (multiprocessors · 128 lanes · 2)
};
inline constexpr Card kCards[] = {
    {"H100 SXM", 3350, 67, 132, 1.98},
    {"H200 SXM", 4800, 67, 132, 1.98},
    {"RTX 4090", 1008, 82.6, 128, 2.52},
    {"L4", 300, 30.3, 58, 2.04},
};
inline constexpr const Card& kCard = kCards[0];

struct Bound {
  double seconds;
  const char* limit;  // the resource that sets this bound
};
// No kernel that moves this many bytes and makes this many FLOPs and passes over shared memory can be faster.
inline Bound bound_on(const Card& card, double bytes, double flops, double passes) {
  const double memory = bytes / (card.gigabytes_per_second * 1e9), compute = flops / (card.teraflops * 1e12);
  const double shared = passes / (card.multiprocessors * card.gigahertz * 1e9);
  const double worst = std::max({memory, compute, shared});
  return {worst, worst == memory ? "memory" : worst == compute ? "FLOPs" : "shared"};
}

}  // namespace pg::lesson11
