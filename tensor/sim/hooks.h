#pragma once
// The interface between compiled kernels and the simulator. Kernels are compiled with -fsanitize=thread, which puts a
// call of a __tsan_… function before every access to memory; hooks.cpp defines those functions in place of
// ThreadSanitizer's.

namespace pg::sim {

class Block;

// The block that runs on this host thread, or ran last.
extern constinit thread_local Block* running_block;
// The block that runs on this host thread and observes accesses; nullptr: no block does.
extern constinit thread_local Block* observed_block;

}  // namespace pg::sim
