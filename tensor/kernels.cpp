#include "tensor/kernels.h"

#include "tensor/cuda/runtime/runtime.h"
#include "tensor/profile.h"

namespace pg {

const Kernels& kernels(Device device) {
  if (device.kind != Device::Kind::cpu) return cuda::table();
  const Kernels* profiled = profiled_kernels();
  return profiled ? *profiled : cpu_kernels();
}

}  // namespace pg
