// Errors of the CUDA kernels; they need no device code.
#include "tensor/base/error.h"
#include "tensor/format.h"

namespace pg::cuda {

[[noreturn]] void fail_pair(const char* op, DType result, DType input) {
  fail("{}: no CUDA kernel reads {} and writes {}", op, input, result);
}

[[noreturn]] void fail_head_size(const char* op, int64_t size, int64_t most) {
  fail("{}: the CUDA kernels take head dimensions up to {}, got {}", op, most, size);
}

// A replay would read or write whatever is at the CPU address at that time.
[[noreturn]] void fail_copy_in_graph() {
  fail("cuda: a graph cannot hold a copy from or to the CPU; move the data before or after it is recorded");
}

[[noreturn]] void fail_record() {
  fail("cuda: a graph cannot be recorded under POLICYGRAD_CUDA_SYNC=1, where each launch waits for its kernel");
}

}  // namespace pg::cuda
