#pragma once
// The mode that finds host code which reads or writes device memory, as it may not on a GPU: device memory comes from
// one range of addresses that can be accessed only while kernels and copies run. Elsewhere a signal handler names the
// address and ends the process. It is one range for all devices and threads, so an access while another thread runs a
// kernel goes unseen.
#include <cstddef>
#include <cstdint>

namespace pg::sim {

// Whether allocations are to come from the arena now: POLICYGRAD_SIM_PROTECT=1, or a ProtectedMemory exists (sim.h).
bool protects_memory();

// Memory from the arena, aligned to 256 bytes; nullptr if none of its free ranges is large enough.
void* arena_allocate(size_t bytes);
bool in_arena(const void* memory);
void arena_release(void* memory);

// While an object of this class exists, memory of the arena can be accessed. Without an arena it does nothing.
class OpenArena {
 public:
  OpenArena();
  ~OpenArena();
  OpenArena(const OpenArena&) = delete;
  OpenArena& operator=(const OpenArena&) = delete;
};

}  // namespace pg::sim
