#include "tensor/format.h"

namespace pg::cuda {

[[noreturn]] void fail_pair(const char* op, DType result, DType input) {
  fail("{}: no CUDA kernel reads {} and writes {}", op, input, result);
}

}  // namespace pg::cuda
