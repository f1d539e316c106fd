// The table of the plain kernels.
#include "tensor/plain/access.h"

namespace pg {

const Kernels& plain_kernels() {
  static constexpr Kernels table = {
#define KERNEL(name, parameters) .name = plain::name,
#include "tensor/kernels.def"
  };
  return table;
}

}  // namespace pg
