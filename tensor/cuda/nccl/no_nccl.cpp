// The functions of tensor/comm/nccl_rank.h in a build without NCCL.
#include "tensor/base/error.h"
#include "tensor/comm/nccl_rank.h"

namespace pg {

std::unique_ptr<Comm> nccl_rank(Comm&, int, const NcclOptions&) {
  fail("nccl: this build has no NCCL; make CUDA=1 finds it where libnccl-dev is installed, make CUDA=sim simulates it");
}

std::string nccl_version() { return ""; }

}  // namespace pg
