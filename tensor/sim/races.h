#pragma once
// Finds two threads of a block that access one word of memory, at least one of them writing, without an order between
// them. Two accesses are ordered if a barrier separates them or, inside a warp, a __syncwarp of both lanes. A warp's
// shuffles and votes do not order memory accesses (CUDA guarantees it for __syncwarp only).
#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace pg::sim {

// Vector clocks of the lanes of each warp: lane i comes after what lane j did up to known[i][j].
class WarpClocks {
 public:
  void begin_block(int warps) {
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
  uint32_t now(int thread) const { return warps_[thread / 32].known[thread % 32][thread % 32]; }
  // Whether `thread` comes after what `other`, of the same warp, did at `clock`.
  bool after(int thread, int other, uint32_t clock) const {
    return warps_[thread / 32].known[thread % 32][other % 32] >= clock;
  }
  void syncwarp(int warp, uint32_t mask) {
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

 private:
  struct Warp {
    std::array<std::array<uint32_t, 32>, 32> known;
    bool synced = true;
  };
  std::vector<Warp> warps_;
};

// One access to a word of 4 bytes.
struct Touch {
  enum : uint8_t { read, write, atomic };
  uint32_t line;   // return address, relative to the program
  uint32_t epoch;  // of the block: grows at each of its barriers. Touches of older epochs do not matter.
  uint32_t clock;  // of the thread
  uint16_t thread;
  uint8_t bytes;  // one bit for each of the four
  uint8_t kind;
};

// Compares `now` with the last accesses to the same word and stores it among them. Returns the access that it races
// with, or nullptr. With more accesses than slots, the oldest reads are dropped first.
template <int n>
const Touch* find_race(Touch (&last)[n], const Touch& now, const WarpClocks& clocks) {
  int slot = -1, oldest_read = -1;
  for (int i = 0; i < n; ++i) {
    Touch& old = last[i];
    if (old.epoch != now.epoch) {
      if (slot < 0) slot = i;
      continue;
    }
    if (old.thread == now.thread) {
      // Keep only the newer of two accesses with the same clock order. A write conflicts with everything that a read
      // conflicts with; an atomic does not.
      const bool covers = (old.bytes & ~now.bytes) == 0 &&
                          (old.kind == now.kind || (old.kind == Touch::read && now.kind == Touch::write));
      const bool covered = (now.bytes & ~old.bytes) == 0 && old.clock == now.clock && now.kind == Touch::read &&
                           old.kind == Touch::write;
      if (covers || covered) {
        if (covers) old = now;
        slot = n;
      }
      continue;
    }
    if (old.kind == Touch::read) oldest_read = i;
    if ((old.bytes & now.bytes) == 0) continue;
    if (old.kind == Touch::read && now.kind == Touch::read) continue;
    if (old.kind == Touch::atomic && now.kind == Touch::atomic) continue;
    const bool same_warp = old.thread / 32 == now.thread / 32;
    if (!same_warp || !clocks.after(now.thread, old.thread, old.clock)) return &old;
  }
  if (slot < 0) slot = oldest_read >= 0 ? oldest_read : now.kind == Touch::read ? n : 0;
  if (slot < n) last[slot] = now;
  return nullptr;
}

}  // namespace pg::sim
