#pragma once
// Shared by tests of CUDA alone: there device() is a CUDA device.
#include "tests/kernels/device.h"

namespace pg::testing {

// Skips a test that needs recorded graphs.
inline void need_graphs() {
  if (!backend(device()).records()) SKIP_TEST("POLICYGRAD_CUDA_SYNC=1 records no graphs");
}

}  // namespace pg::testing
