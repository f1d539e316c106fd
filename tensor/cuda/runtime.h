#pragma once
// What the engine asks of CUDA, in plain C++: device memory, copies, waiting, and the kernel table. A build without
// CUDA answers from none.cpp.
#include <cstddef>
#include <string>

#include "tensor/device.h"
#include "tensor/kernels.h"

namespace pg::cuda {

// Devices that kernels can run on; 0 where the build has no CUDA or the machine no card.
int device_count();
// Why there is none, as the end of a sentence: "this build has no CUDA; …".
std::string why_none();

// Device memory, aligned to at least 256 bytes; nullptr if there is not enough. release() waits for its users.
void* allocate(size_t bytes, int device);
void release(void* data, int device);

// Copies bytes between devices, either of which may be the CPU, behind everything that was launched before. A copy to
// the CPU has arrived on return; one from the CPU has left: `from` may change.
void copy(void* to, Device to_device, const void* from, Device from_device, size_t bytes);
// Waits for all that was launched.
void synchronize();

// The kernels of a device (shapes and meaning in tensor/kernels.h); an operation without an entry says so.
const Kernels& table();

}  // namespace pg::cuda
