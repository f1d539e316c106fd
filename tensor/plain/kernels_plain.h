#pragma once
// The plain backend: every kernel of tensor/kernels.def as loops over indices, with arithmetic in double and one
// rounding at the end. It is the definition of each kernel: read it first, and test the fast backends against it. It
// uses one thread, and a training step takes 20 times as long as on the CPU's own backend, or more.
#include "tensor/kernels.h"

namespace pg::plain {

#define KERNEL(name, parameters) void name parameters;
#include "tensor/kernels.def"

}  // namespace pg::plain
