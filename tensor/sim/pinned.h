#pragma once
// Finds page-locked host memory that the host changes while a device may still read it. On a GPU the device then reads
// old or new bytes; in the simulator, where a copy is complete when its call returns, it would go unnoticed.
#include <cstddef>
#include <cstdint>
#include <string>

#include "tensor/sim/order.h"

namespace pg::sim {

// An operation has made these uses of memory; `now` is the clock of its stream, with the operation as its latest tick.
// Remembers the content of the page-locked memory that it read.
void follow_pinned_memory(const Uses& uses, const std::string& name, int stream, const Clock& now);
// The host has waited for these operations: what they read must have the content of then. Throws pg::Error otherwise.
void check_pinned_memory(const Clock& host);
// The memory is freed, after a wait for its device.
void forget_pinned_memory(uintptr_t begin, size_t bytes);

}  // namespace pg::sim
