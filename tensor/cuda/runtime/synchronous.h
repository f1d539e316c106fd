#pragma once
// How an error of a kernel is found. Kernels run later than their launch, so it is some later call that fails, and the
// device cannot be used any more.

namespace pg::cuda {

// Whether every launch waits for its kernel, so that the Error names it: on if the environment has
// POLICYGRAD_CUDA_SYNC=1. No graphs are recorded then. Several times slower.
bool synchronous();
void set_synchronous(bool on);  // for tests

}  // namespace pg::cuda
