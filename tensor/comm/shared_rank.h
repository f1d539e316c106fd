#pragma once
// The Comm of one rank of a SharedGroup.
#include <memory>

#include "tensor/comm/comm.h"
#include "tensor/comm/shared_group.h"

namespace pg {

// The group must outlive the result.
std::unique_ptr<Comm> shared_memory_rank(SharedGroup& group, int rank);

}  // namespace pg
