#pragma once
// The backend of CUDA devices; in a build without CUDA, one that has no devices.
#include "tensor/backend.h"

namespace pg {

const Backend& cuda_backend();

}  // namespace pg
