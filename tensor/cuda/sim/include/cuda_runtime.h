#pragma once
// Found instead of NVIDIA's header of this name when .cu files are compiled for the simulator.
#define POLICYGRAD_CUDA_SIMULATOR 1
#include "tensor/cuda/sim/api.h"
#include "tensor/cuda/sim/device.h"
#include "tensor/cuda/sim/kernel.h"
#include "tensor/cuda/sim/math.h"
#include "tensor/cuda/sim/vector_types.h"
