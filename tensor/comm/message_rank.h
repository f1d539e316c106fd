#pragma once
// The Comm of a rank that exchanges messages with the others.
#include <memory>

#include "tensor/comm/comm.h"
#include "tensor/comm/links.h"

namespace pg {

struct MessageOptions {
  // Seconds that a rank waits in a collective for another one: of this machine that does nothing
  // (tensor/comm/activity.h); of another machine, which sends nothing; of this machine that works.
  double timeout = 10, remote_timeout = 600, longest = 1800;
  bool sees_processes = true;     // false: as if every rank were on a machine of its own, for tests
  int64_t piece_bytes = 1 << 20;  // about as much is exchanged between two ranks at a time; equal on all ranks
};

std::unique_ptr<Comm> message_rank(std::unique_ptr<Links> links, const MessageOptions& options = {});

}  // namespace pg
