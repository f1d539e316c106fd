#pragma once
// The Comm of one rank of a SharedGroup.
#include <memory>

#include "tensor/comm/comm.h"
#include "tensor/comm/shared_group.h"

namespace pg {

// The group must outlive the result, unless that owns it: then its end tells the other ranks that this one has left,
// and destroys the memory of this process.
std::unique_ptr<Comm> shared_memory_rank(SharedGroup& group, int rank, bool owns = false);

}  // namespace pg
