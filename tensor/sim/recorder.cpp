// Counts a kernel's memory traffic.
#include "tensor/sim/recorder.h"

#include <algorithm>
#include <mutex>

namespace pg::sim {

void InstructionStats::add(const InstructionStats& other) {
  accesses += other.accesses;
  narrow += other.narrow;
  bytes += other.bytes;
  sectors += other.sectors;
  ideal_sectors += other.ideal_sectors;
  shared_accesses += other.shared_accesses;
  wavefronts += other.wavefronts;
  ideal_wavefronts += other.ideal_wavefronts;
  worst_ways = std::max(worst_ways, other.worst_ways);
}

void count_sectors(const std::vector<uintptr_t>& addresses, size_t bytes, InstructionStats* stats) {
  std::vector<uintptr_t> sorted = addresses;
  std::sort(sorted.begin(), sorted.end());
  uint64_t distinct = 0, sectors = 0;
  uintptr_t covered = 0, next_sector = 0;  // everything below has been counted
  for (uintptr_t address : sorted) {
    const uintptr_t end = address + bytes;
    if (end > covered) distinct += end - std::max(address, covered);
    covered = std::max(covered, end);
    const uintptr_t first = std::max(address / 32, next_sector), behind = (end + 31) / 32;
    if (behind > first) sectors += behind - first;
    next_sector = std::max(next_sector, behind);
  }
  ++stats->accesses;
  if (bytes < 16) ++stats->narrow;
  stats->bytes += bytes * addresses.size();
  stats->sectors += sectors;
  stats->ideal_sectors += (distinct + 31) / 32;
}

void count_banks(const std::array<uintptr_t, 32>& positions, uint32_t lanes, size_t bytes, InstructionStats* stats) {
  const int parts = bytes <= 4 ? 1 : bytes <= 8 ? 2 : 4;
  const int lanes_per_part = 32 / parts;
  ++stats->shared_accesses;
  for (int part = 0; part < parts; ++part) {
    std::vector<uintptr_t> words;
    for (int lane = part * lanes_per_part; lane < (part + 1) * lanes_per_part; ++lane) {
      if (!(lanes >> lane & 1)) continue;
      for (uintptr_t word = positions[lane] / 4; word <= (positions[lane] + bytes - 1) / 4; ++word)
        words.push_back(word);
    }
    if (words.empty()) continue;
    std::sort(words.begin(), words.end());
    words.erase(std::unique(words.begin(), words.end()), words.end());
    std::array<int, 32> ways{};  // lanes that access the same word of a bank share a pass
    for (uintptr_t word : words) ++ways[word % 32];
    const int worst = *std::max_element(ways.begin(), ways.end());
    stats->wavefronts += worst;
    stats->ideal_wavefronts += 1;
    stats->worst_ways = std::max(stats->worst_ways, worst);
  }
}

void Recorder::begin_block(int threads) {
  warps_.resize((threads + 31) / 32);
  all_lanes_.assign(warps_.size(), 0xffffffffu);
  global_accesses_.assign(warps_.size(), 0);
  if (threads % 32) all_lanes_.back() = (1u << threads % 32) - 1;
}

void Recorder::record(const Access& access, Space space, size_t shared_position) {
  const int warp = access.thread / 32, lane = access.thread % 32;
  Instruction& instruction = warps_[warp][access.pc];
  const uint32_t index = instruction.count[lane]++ - instruction.first;
  if (index >= instruction.waiting.size()) instruction.waiting.resize(index + 1);
  WarpAccess& group = instruction.waiting[index];
  group.lanes |= 1u << lane;
  group.bytes = static_cast<uint32_t>(access.bytes);
  group.space = space;
  group.address[lane] = space == Space::shared ? shared_position : access.address;
  while (!instruction.waiting.empty() && instruction.waiting.front().lanes == all_lanes_[warp]) {
    count(warp, access.pc, instruction.waiting.front());
    instruction.waiting.pop_front();
    ++instruction.first;
  }
}

void Recorder::warp_met(int warp) {
  for (auto& [pc, instruction] : warps_[warp]) {
    for (const WarpAccess& access : instruction.waiting) {
      if (access.lanes) count(warp, pc, access);
    }
    instruction.waiting.clear();
    instruction.count.fill(0);
    instruction.first = 0;
  }
}

void Recorder::count(int warp, const void* pc, const WarpAccess& access) {
  InstructionStats& stats = totals_[pc];
  if (access.space == Space::shared) {
    count_banks(access.address, access.lanes, access.bytes, &stats);
    return;
  }
  std::vector<uintptr_t> addresses;
  for (int lane = 0; lane < 32; ++lane) {
    if (access.lanes >> lane & 1) addresses.push_back(access.address[lane]);
  }
  count_sectors(addresses, access.bytes, &stats);
  busiest_warp_ = std::max(busiest_warp_, ++global_accesses_[warp]);
}

void Recorder::add_to(Report::Data& data, const std::string& kernel, uint64_t barriers) {
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  KernelStats& sum = data.kernels[kernel];
  for (const auto& [pc, stats] : totals_) {
    data.instructions[{kernel, pc}].add(stats);
    sum.bytes_requested += stats.bytes;
    sum.bytes_moved += 32 * stats.sectors;
    sum.accesses += stats.accesses;
    sum.narrow += stats.narrow;
    sum.sectors += stats.sectors;
    sum.ideal_sectors += stats.ideal_sectors;
    sum.shared_accesses += stats.shared_accesses;
    sum.wavefronts += stats.wavefronts;
    sum.worst_ways = std::max(sum.worst_ways, stats.worst_ways);
  }
  sum.busiest_warp = std::max(sum.busiest_warp, busiest_warp_);
  busiest_warp_ = 0;
  sum.barriers += barriers;
  totals_.clear();
}

}  // namespace pg::sim
