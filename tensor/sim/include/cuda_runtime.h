#pragma once
// Included in place of NVIDIA's header of this name when .cu files are compiled for the simulator.
#define POLICYGRAD_CUDA_SIMULATOR 1
#include "tensor/sim/api.h"
#include "tensor/sim/device.h"
#include "tensor/sim/kernel.h"
#include "tensor/sim/math.h"
#include "tensor/sim/vector_types.h"
