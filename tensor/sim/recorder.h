#pragma once
// Counts, for a Report, how the warps of a block use memory. The lanes of a warp run one after another here, so the
// accesses that a GPU would make together are reconstructed: the n-th accesses of the lanes by one instruction, counted
// from the last point where the whole warp synchronised, are one access of the warp.
#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "tensor/sim/checker.h"
#include "tensor/sim/sim.h"

namespace pg::sim {

struct InstructionStats {
  uint64_t accesses = 0, narrow = 0, bytes = 0, sectors = 0, ideal_sectors = 0;
  uint64_t shared_accesses = 0, wavefronts = 0, ideal_wavefronts = 0;
  int worst_ways = 0;
  void add(const InstructionStats& other);
};

struct Report::Data {
  std::map<std::pair<std::string, const void*>, InstructionStats> instructions;  // by kernel and return address
  std::map<std::string, KernelStats> kernels;
  Report::Data* outer = nullptr;
};
// The data of the innermost Report that exists; nullptr if there is none.
Report::Data* report_data();

class Recorder {
 public:
  void begin_block(int threads);
  void record(const Access& access, Space space, size_t shared_position);
  void warp_met(int warp);  // all lanes of the warp synchronised
  // Adds the counts of the blocks since the last call. May be called from several threads at once.
  void add_to(Report::Data& data, const std::string& kernel, uint64_t barriers);

 private:
  // One access of a warp.
  struct WarpAccess {
    uint32_t lanes = 0;
    uint32_t bytes = 0;  // per lane
    Space space = Space::none;
    std::array<uintptr_t, 32> address;
  };
  // The accesses by one instruction that are not counted yet: the first of `waiting` is number `first`.
  struct Instruction {
    std::array<uint32_t, 32> count{};  // accesses of each lane
    uint32_t first = 0;
    std::deque<WarpAccess> waiting;
  };
  void count(int warp, const void* pc, const WarpAccess& access);

  std::vector<std::unordered_map<const void*, Instruction>> warps_;
  std::vector<uint32_t> all_lanes_;        // per warp, the lanes that exist
  std::vector<uint64_t> global_accesses_;  // of each warp of this block
  uint64_t busiest_warp_ = 0;              // the most, over the blocks since add_to
  std::unordered_map<const void*, InstructionStats> totals_;
};

// Counts the sectors that a warp's access to global memory moves, and the fewest that could hold the same distinct
// bytes; `bytes` per lane.
void count_sectors(const std::vector<uintptr_t>& addresses, size_t bytes, InstructionStats* stats);
// Counts passes over the 32 banks of 4 bytes: accesses of 8 or 16 bytes per lane are made in two or four parts of the
// warp.
void count_banks(const std::array<uintptr_t, 32>& positions, uint32_t lanes, size_t bytes, InstructionStats* stats);

}  // namespace pg::sim
