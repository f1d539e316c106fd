// The results of operations in which the lanes of a warp exchange values.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "tensor/sim/block.h"

namespace pg::sim {

const char* name_of(Meeting meeting) {
  static const char* const names[] = {"__syncthreads()",
                                      "__syncthreads_count()",
                                      "__syncthreads_and()",
                                      "__syncthreads_or()",
                                      "__syncwarp()",
                                      "__shfl_sync()",
                                      "__shfl_up_sync()",
                                      "__shfl_down_sync()",
                                      "__shfl_xor_sync()",
                                      "__ballot_sync()",
                                      "__any_sync()",
                                      "__all_sync()",
                                      "__reduce_add_sync()",
                                      "__reduce_min_sync()",
                                      "__reduce_max_sync()",
                                      "__reduce_min_sync()",
                                      "__reduce_max_sync()",
                                      "__reduce_and_sync()",
                                      "__reduce_or_sync()",
                                      "__reduce_xor_sync()",
                                      "mma.sync",
                                      "ldmatrix",
                                      "ldmatrix.trans"};
  return names[static_cast<int>(meeting)];
}

namespace {

uint32_t combine(Meeting meeting, uint32_t a, uint32_t b) {
  const auto x = static_cast<int32_t>(a), y = static_cast<int32_t>(b);
  switch (meeting) {
    case Meeting::reduce_add:
      return a + b;
    case Meeting::reduce_min:
      return static_cast<uint32_t>(std::min(x, y));
    case Meeting::reduce_max:
      return static_cast<uint32_t>(std::max(x, y));
    case Meeting::reduce_min_unsigned:
      return std::min(a, b);
    case Meeting::reduce_max_unsigned:
      return std::max(a, b);
    case Meeting::reduce_and:
      return a & b;
    case Meeting::reduce_or:
      return a | b;
    default:
      return a ^ b;
  }
}

}  // namespace

void Block::resolve_warp(int w, unsigned mask) {
  Warp& warp = warps_[w];
  Thread* lanes = &threads_[w * 32];
  const Meeting meeting = lanes[std::countr_zero(mask)].meeting;
  uint64_t same_for_all = 0;
  if (meeting == Meeting::ballot || meeting == Meeting::any || meeting == Meeting::all) {
    for (unsigned rest = mask; rest; rest &= rest - 1) {
      const int lane = std::countr_zero(rest);
      same_for_all |= lanes[lane].value << lane;
    }
    if (meeting == Meeting::any) same_for_all = same_for_all != 0;
    if (meeting == Meeting::all) same_for_all = same_for_all == mask;
  } else if (meeting >= Meeting::mma) {
    exchange_fragments(meeting, w);
  } else if (meeting >= Meeting::reduce_add) {
    uint32_t value = static_cast<uint32_t>(lanes[std::countr_zero(mask)].value);
    for (unsigned rest = mask & (mask - 1); rest; rest &= rest - 1)
      value = combine(meeting, value, static_cast<uint32_t>(lanes[std::countr_zero(rest)].value));
    same_for_all = value;
  }
  const bool shuffle = meeting >= Meeting::shfl && meeting <= Meeting::shfl_xor;
  for (unsigned rest = mask; rest; rest &= rest - 1) {
    Thread& t = lanes[std::countr_zero(rest)];
    t.result = same_for_all;
    if (!shuffle) continue;
    if (!(mask >> (t.source & 31) & 1)) {
      fault_ = Fault{t.pc, static_cast<int>(&t - threads_.data()),
                     fmt::format("{}: reads the value of lane {}, which {}", name_of(meeting), t.source,
                                 warp.exists >> (t.source & 31) & 1 ? fmt::format("mask {:#010x} does not name", t.mask)
                                                                    : "does not exist in this block")};
      return leave_thread(true);
    }
    t.result = lanes[t.source & 31].value;
  }
  warp.waiting &= ~mask;
  warp.ready |= mask;
  if (meeting == Meeting::syncwarp) checker_.syncwarp(w, mask);
  if (report_ && (mask | warp.done) == warp.exists) recorder_.warp_met(w);
}

}  // namespace pg::sim
