#pragma once
// A ring whose ranks are threads of this process.
#include <functional>

#include "tensor/comm/ring.h"

namespace pg {

// Runs `work` in `ranks` new threads, each with its place in the ring, and returns once all have ended. The first
// exception of a rank is thrown again here; the ranks that wait then, or later, throw an Error.
//
// A rank that has waited for `timeout` seconds looks whom it waits for. If that rank waits too, and so on around the
// ring, it throws an Error that names the rank, the step (how many messages it has sent or received before) and "both
// wait: deadlock". It also gives up if the neighbour has ended, and after ten times as long for one that computes.
// Error if ranks is not from 1 to 64.
void run_ring(int ranks, const std::function<void(Ring&)>& work, double timeout = 1);

}  // namespace pg
