// The table of the CPU's kernels.
#include "tensor/cpu/kernels_cpu.h"

namespace pg {

const Kernels& cpu_kernels() {
  static constexpr Kernels table = {
#define KERNEL(name, parameters) .name = cpu::name,
#include "tensor/kernels.def"
  };
  return table;
}

}  // namespace pg
