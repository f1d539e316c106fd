#pragma once
// Fibers: a thread of a block is a function with its own stack that can be suspended in the middle and continued later.
#include <cstddef>

namespace pg::sim {

// Suspends the running fiber, stores in *save where it can be continued, and continues `load`.
void switch_fiber(void** save, void* load);

// A fiber that will call entry() on the given stack; entry must never return. The result is for switch_fiber.
void* prepare_fiber(char* stack, size_t bytes, void (*entry)());

}  // namespace pg::sim
