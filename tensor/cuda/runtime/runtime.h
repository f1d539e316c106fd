#pragma once
// Functions of the CUDA devices (documented in tensor/backend.h); tensor/cuda/runtime/runtime.cu makes a Backend of
// them.
#include "tensor/backend.h"

namespace pg::cuda {

const Kernels& table();
DeviceInfo device_info(int device);
bool exact();
void synchronize();
std::unique_ptr<RecordedWork> record(const std::function<void()>& work);
std::unique_ptr<AsyncCopy> async_copy(size_t bytes);
std::unique_ptr<DeviceEvent> record_event();

}  // namespace pg::cuda
