#pragma once
// The CUDA simulator: its interface for programs. docs/SIMULATOR.md describes how it works and what it can find.
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace pg::sim {

// Whether this build sees every access of a kernel. A build with AddressSanitizer or ThreadSanitizer does not: then
// bounds of shared memory, uninitialised reads and races go unnoticed and reports stay empty.
bool sees_accesses();

// While an object of this class exists, kernels run without checks of their accesses, several times faster. Barriers
// and shuffles are always checked.
class Unchecked {
 public:
  Unchecked();
  ~Unchecked();
  Unchecked(const Unchecked&) = delete;
  Unchecked& operator=(const Unchecked&) = delete;
};

// While an object of this class exists, each device has this many bytes of memory (never more than the machine):
// cudaMalloc fails for what does not fit beside the memory that is allocated on the device. The innermost object
// counts. The environment variable POLICYGRAD_SIM_MEMORY sets the bytes for a whole process.
class DeviceLimit {
 public:
  explicit DeviceLimit(size_t bytes);
  ~DeviceLimit();
  DeviceLimit(const DeviceLimit&) = delete;
  DeviceLimit& operator=(const DeviceLimit&) = delete;

 private:
  size_t before_;
};

// While an object of this class exists, device memory is allocated where host code cannot access it: a read or write of
// it ends the process with a message. Only kernels, copies and collectives can, while one of them runs. The environment
// variable POLICYGRAD_SIM_PROTECT=1 does so for a whole process.
class ProtectedMemory {
 public:
  ProtectedMemory();
  ~ProtectedMemory();
  ProtectedMemory(const ProtectedMemory&) = delete;
  ProtectedMemory& operator=(const ProtectedMemory&) = delete;
};

// While an object of this class exists, an error of a kernel or copy is seen as on a GPU and not as an Error of the
// launch: the launch succeeds, nothing more runs on that device, and the next call that waits for it returns
// cudaErrorIllegalAddress, as does every call after that. The end of the object makes the devices usable again.
class DeferredFaults {
 public:
  DeferredFaults();
  ~DeferredFaults();
  DeferredFaults(const DeferredFaults&) = delete;
  DeferredFaults& operator=(const DeferredFaults&) = delete;
};

// The copies from the host to all devices since the program began. A device reads page-locked memory by itself; for
// other memory, which is pageable, CUDA makes the host wait until a large copy's turn in the stream.
struct CopiesToDevice {
  uint64_t pinned = 0, pageable = 0;
};
CopiesToDevice copies_to_device();
// The copies from all devices to the host since the program began. The host waits for each before it reads the values.
uint64_t copies_to_host();

// How the warps of one kernel accessed memory in one source line. An access is one instruction of one warp.
struct LineStats {
  std::string kernel, file;
  int line = 0;
  uint64_t accesses = 0;       // to global memory
  uint64_t narrow = 0;         // of these, with fewer than 16 bytes per lane, the most of one instruction
  uint64_t bytes = 0;          // requested by all its lanes together
  uint64_t sectors = 0;        // of 32 bytes that had to be moved for them
  uint64_t ideal_sectors = 0;  // if the same distinct bytes were contiguous
  uint64_t shared_accesses = 0;
  uint64_t wavefronts = 0;        // passes that shared memory needed: one, plus one per further conflict
  uint64_t ideal_wavefronts = 0;  // without bank conflicts
  int worst_ways = 0;             // most distinct words of one bank in one pass; 1: no conflict
};

// Counts for one kernel, as a roofline needs them.
struct KernelStats {
  uint64_t launches = 0, blocks = 0, threads = 0;
  uint64_t bytes_requested = 0;  // of global memory, by all lanes
  uint64_t bytes_moved = 0;      // 32 per sector
  uint64_t accesses = 0;         // to global memory, of warps
  uint64_t busiest_warp = 0;     // most of them by one warp
  uint64_t narrow = 0;           // of these, with fewer than 16 bytes per lane
  uint64_t sectors = 0, ideal_sectors = 0;
  uint64_t shared_accesses = 0;  // of warps
  uint64_t wavefronts = 0;       // passes for them
  int worst_ways = 0;
  uint64_t barriers = 0;  // of blocks
};

// While a Report exists, every launch is counted in it (in the innermost one, if there are several). Launches are
// slower.
class Report {
 public:
  Report();
  ~Report();
  Report(const Report&) = delete;
  Report& operator=(const Report&) = delete;

  std::vector<LineStats> lines() const;  // by kernel, file and line
  const std::map<std::string, KernelStats>& kernels() const;
  std::string table() const;
  void print() const;  // the table, to standard output

  struct Data;

 private:
  Data* data_;
};

}  // namespace pg::sim
