#include "tensor/cpu/kernels_cpu.h"

namespace pg {

const Kernels& cpu_kernels() { return cpu::kTable; }

}  // namespace pg
