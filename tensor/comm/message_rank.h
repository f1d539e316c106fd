#pragma once
// The Comm of a rank that exchanges messages with the others.
#include <memory>

#include "tensor/comm/comm.h"
#include "tensor/comm/links.h"

namespace pg {

struct MessageOptions {
  double timeout = 10;            // seconds that a rank waits for another one in a collective
  int64_t piece_bytes = 1 << 20;  // about so many are exchanged between two ranks at a time; equal on all ranks
};

std::unique_ptr<Comm> message_rank(std::unique_ptr<Links> links, const MessageOptions& options = {});

}  // namespace pg
