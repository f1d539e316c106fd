#pragma once
// The backend of CUDA devices, or in a build without CUDA one that has no device.
#include "tensor/backend.h"

namespace pg {

const Backend& cuda_backend();

}  // namespace pg
