#pragma once
// The simulated GPU's memory: ordinary memory, filled with NaN bytes when allocated, and a list of the allocations.
#include <cstddef>
#include <cstdint>
#include <string>

namespace pg::sim {

constexpr int kDevices = 8;

enum class MemoryKind { device, pinned };

struct Allocation {
  uintptr_t begin = 0;
  size_t size = 0;
  uint64_t number = 0;  // 1 for the program's first allocation
  MemoryKind kind = MemoryKind::device;
  int device = 0;  // that was current
  bool contains(uintptr_t address, size_t bytes) const {
    return address - begin < size && bytes <= size - (address - begin);
  }
};

// The size of each device's memory: that of this machine, or what DeviceLimit or POLICYGRAD_SIM_MEMORY says.
size_t device_bytes();
// Memory whose bytes are 0xff: a NaN as f32, f64 and bf16, -1 as an integer. nullptr if the device, or for pinned
// memory this machine, has not enough.
void* allocate(size_t bytes, MemoryKind kind, int device = 0);
// Throws pg::Error unless `memory` came from allocate() with this kind and has not been released.
void release(void* memory, MemoryKind kind);

// The allocation that holds this address; size 0 if there is none.
Allocation find_allocation(uintptr_t address);
// The total size of the allocations on a device.
size_t allocated_bytes(int device);

// Describes, for a message, the location of an address that must not be accessed: "an address 8 bytes past the
// end of a device allocation of 1024 bytes".
std::string describe_address(uintptr_t address);
// Throws pg::Error unless all bytes from `pointer` on are in one allocation. `operation` begins the message.
void require_allocated(const char* operation, const void* pointer, size_t bytes);

}  // namespace pg::sim
