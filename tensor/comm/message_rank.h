#pragma once
// The Comm of a rank that exchanges messages with the others.
#include <memory>

#include "tensor/comm/comm.h"
#include "tensor/comm/links.h"

namespace pg {

struct MessageOptions {
  // Seconds that a rank waits in a collective for another one that does nothing, if it is on this machine
  // (tensor/comm/activity.h) or the links tell (Links::idle_seconds); for one of which neither is known, and which
  // sends nothing; for one that works.
  double timeout = 10, remote_timeout = 600, longest = 1800;
  bool sees_processes = true;     // false: as if every rank were on a machine of its own, for tests
  int64_t piece_bytes = 1 << 20;  // about as much is exchanged between two ranks at a time; equal on all ranks
};

std::unique_ptr<Comm> message_rank(std::unique_ptr<Links> links, const MessageOptions& options = {});

}  // namespace pg
