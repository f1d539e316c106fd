#pragma once
// Scratch memory of kernels that run in two launches.
#include <cstddef>

namespace pg::cuda {

// At least `bytes` of device memory, aligned to 256 bytes, with unknown contents. One buffer for the whole process:
// what a launch leaves there, later launches of the same operation may read, and the next operation overwrites it. That
// is safe because everything runs on one stream, in order, and is launched by one thread at a time. It only grows, and
// growing waits for the stream. Throws pg::Error if there is not enough memory.
void* workspace(size_t bytes);

}  // namespace pg::cuda
