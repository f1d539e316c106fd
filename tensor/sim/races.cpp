// Finds accesses to one address that no barrier orders.
#include "tensor/sim/races.h"

#include <algorithm>

namespace pg::sim {

void WarpClocks::begin_block(int warps) {
  if (static_cast<int>(warps_.size()) < warps) warps_.resize(warps);
  for (int w = 0; w < warps; ++w) {
    Warp& warp = warps_[w];
    if (!warp.synced) continue;
    for (int lane = 0; lane < 32; ++lane) {
      warp.known[lane].fill(0);
      warp.known[lane][lane] = 1;
    }
    warp.synced = false;
  }
}

void WarpClocks::syncwarp(int warp, uint32_t mask) {
  Warp& w = warps_[warp];
  w.synced = true;
  std::array<uint32_t, 32> joined{};
  for (int lane = 0; lane < 32; ++lane) {
    if (!(mask >> lane & 1)) continue;
    for (int i = 0; i < 32; ++i) joined[i] = std::max(joined[i], w.known[lane][i]);
  }
  for (int lane = 0; lane < 32; ++lane) {
    if (!(mask >> lane & 1)) continue;
    w.known[lane] = joined;
    ++w.known[lane][lane];
  }
}

}  // namespace pg::sim
