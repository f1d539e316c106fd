#pragma once
// Reading results of a device with one wait.
#include <vector>

#include "tensor/tensor.h"

namespace pg::rl {

// The tensors on the CPU, without gradient. Those of one dtype and one device are joined there and copied at once, so
// that the host waits for the device once; their copies share memory. A tensor that is on the CPU shares its own
// memory, an undefined one stays undefined.
std::vector<Tensor> read_back(const std::vector<Tensor>& xs);

}  // namespace pg::rl
