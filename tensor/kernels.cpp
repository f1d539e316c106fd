// The kernel table of a device.
#include "tensor/kernels.h"

#include "tensor/backend.h"
#include "tensor/profile.h"

namespace pg {

const Kernels& kernels(Device device) {
  if (!device.on_host()) return backend(device).kernels();
  const Kernels* profiled = profiled_kernels();
  return profiled ? *profiled : cpu_kernels();
}

}  // namespace pg
