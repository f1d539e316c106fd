// The parts of the CUDA runtime API that need no stream: devices, memory, attributes, names of errors.
#include "tensor/sim/api.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

#include "tensor/base/error.h"
#include "tensor/sim/memory.h"
#include "tensor/sim/pinned.h"
#include "tensor/sim/shared.h"
#include "tensor/sim/sim.h"
#include "tensor/sim/stream.h"
#include "tensor/sim/symbols.h"

using namespace pg::sim;

namespace {

constinit thread_local int current = 0;  // device

struct ErrorText {
  cudaError_t error;
  const char *name, *text;
};
constexpr ErrorText kErrors[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInitializationError, "cudaErrorInitializationError", "initialization error"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {cudaErrorIllegalState, "cudaErrorIllegalState", "the operation cannot be performed in the present state"},
    {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    {cudaErrorIllegalAddress, "cudaErrorIllegalAddress", "an illegal memory access was encountered"},
    {cudaErrorMisalignedAddress, "cudaErrorMisalignedAddress", "misaligned address"},
    {cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "unspecified launch failure"},
    {cudaErrorStreamCaptureUnsupported, "cudaErrorStreamCaptureUnsupported",
     "operation not permitted when stream is capturing"},
    {cudaErrorStreamCaptureInvalidated, "cudaErrorStreamCaptureInvalidated",
     "operation failed due to a previous error during capture"},
    {cudaErrorStreamCaptureMerge, "cudaErrorStreamCaptureMerge",
     "operation would result in a merge of separate capture sequences"},
    {cudaErrorStreamCaptureUnmatched, "cudaErrorStreamCaptureUnmatched",
     "capture was not ended in the same stream as it began"},
    {cudaErrorStreamCaptureUnjoined, "cudaErrorStreamCaptureUnjoined", "capturing stream has unjoined work"},
    {cudaErrorStreamCaptureImplicit, "cudaErrorStreamCaptureImplicit",
     "operation would make the legacy stream depend on a capturing blocking stream"},
};

// As on the GPU, a process that was forked from one that has used devices cannot use them.
cudaError_t check_process() {
  static const pid_t first = getpid();
  return getpid() == first ? cudaSuccess : remember(cudaErrorInitializationError);
}

cudaError_t allocate_for(void** memory, size_t bytes, MemoryKind kind) {
  if (!memory) return remember(cudaErrorInvalidValue);
  *memory = nullptr;
  if (const auto error = check_process()) return error;
  if (const auto error = seen_fault()) return error;
  if (kind == MemoryKind::device) {
    if (const auto error = forbid_while_capturing()) return error;
  }
  if (bytes == 0) return cudaSuccess;
  *memory = allocate(bytes, kind, current_device());
  return *memory ? cudaSuccess : remember(cudaErrorMemoryAllocation);
}

cudaError_t free_of(void* memory, MemoryKind kind) {
  if (!memory) return cudaSuccess;
  if (const auto error = forbid_while_capturing()) return error;
  const Allocation found = find_allocation(reinterpret_cast<uintptr_t>(memory));
  const int before = current;  // as on the GPU, the call waits for the device of the memory
  current = found.device;
  const cudaError_t fault = cudaDeviceSynchronize();
  current = before;
  forget_pinned_memory(found.begin, found.size);
  release(memory, kind);
  return fault;
}

void use(const void* pointer, size_t bytes, bool write) {
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  const Allocation found = find_allocation(address);
  if (found.size == 0 || bytes == 0) return;
  Uses uses;
  add_use(&uses, found.number, {address, address + bytes, write});
  add_uses_of_running_work(uses);
}

bool to_device(cudaMemcpyKind kind) { return kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice; }
bool from_device(cudaMemcpyKind kind) { return kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice; }

std::atomic<uint64_t> pinned_copies{0}, pageable_copies{0}, copies_from_devices{0};

void count_copy(const void* to, const void* from) {
  const auto memory = [](const void* p) { return find_allocation(reinterpret_cast<uintptr_t>(p)); };
  const auto on_device = [](const Allocation& a) { return a.size > 0 && a.kind == MemoryKind::device; };
  if (on_device(memory(to)) == on_device(memory(from))) return;
  ++(on_device(memory(from)) ? copies_from_devices : memory(from).size > 0 ? pinned_copies : pageable_copies);
}

void copy(const char* name, void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  const auto known = [](const void* p) { return find_allocation(reinterpret_cast<uintptr_t>(p)).size > 0; };
  if (to_device(kind) || known(to)) require_allocated(fmt::format("{}, destination", name).c_str(), to, bytes);
  if (from_device(kind) || known(from)) require_allocated(fmt::format("{}, source", name).c_str(), from, bytes);
  std::memmove(to, from, bytes);
  count_copy(to, from);
  use(from, bytes, false);
  use(to, bytes, true);
}

void fill(const char* name, void* memory, int value, size_t bytes) {
  require_allocated(name, memory, bytes);
  std::memset(memory, value, bytes);
  use(memory, bytes, true);
}

}  // namespace

const char* cudaGetErrorName(cudaError_t error) {
  for (const auto& e : kErrors) {
    if (e.error == error) return e.name;
  }
  return "unrecognized error code";
}
const char* cudaGetErrorString(cudaError_t error) {
  for (const auto& e : kErrors) {
    if (e.error == error) return e.text;
  }
  return "unrecognized error code";
}

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 0;
  if (const auto error = check_process()) return error;
  *count = kDevices;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  if (const auto error = check_process()) return error;
  if (device < 0 || device >= kDevices) return remember(cudaErrorInvalidDevice);
  current = device;
  return seen_fault();
}
cudaError_t cudaGetDevice(int* device) {
  *device = current;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = 0;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (device < 0 || device >= kDevices) return remember(cudaErrorInvalidDevice);
  *properties = {};
  std::snprintf(properties->name, sizeof(properties->name), "policygrad CUDA simulator");
  properties->totalGlobalMem = device_bytes();
  properties->sharedMemPerBlock = 48 << 10;
  properties->sharedMemPerBlockOptin = SharedMemory::kDynamicLimit;
  properties->sharedMemPerMultiprocessor = SharedMemory::kDynamicLimit + 1024;
  properties->major = 9;
  properties->multiProcessorCount = 4;  // few, so that grids sized by it stay small
  properties->warpSize = 32;
  properties->maxThreadsPerBlock = 1024;
  properties->maxThreadsPerMultiProcessor = 2048;
  properties->regsPerBlock = 65536;
  properties->l2CacheSize = 50 << 20;
  properties->memoryBusWidth = 5120;
  std::copy_n(std::begin({1024, 1024, 64}), 3, properties->maxThreadsDim);
  std::copy_n(std::begin({2147483647, 65535, 65535}), 3, properties->maxGridSize);
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  cudaDeviceProp properties;
  if (const auto error = cudaGetDeviceProperties(&properties, device)) return error;
  switch (attribute) {
    case cudaDevAttrMultiProcessorCount:
      *value = properties.multiProcessorCount;
      return cudaSuccess;
    case cudaDevAttrComputeCapabilityMajor:
      *value = properties.major;
      return cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *value = static_cast<int>(properties.sharedMemPerBlockOptin);
      return cudaSuccess;
  }
  return remember(cudaErrorInvalidValue);
}

cudaError_t cudaFuncGetName(const char** name, const void* function) {
  static std::mutex mutex;
  static auto& names = *new std::map<const void*, std::string>;
  std::lock_guard lock(mutex);
  std::string& text = names[function];
  if (text.empty()) text = function_name(function);
  *name = text.c_str();
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** memory, size_t bytes) { return allocate_for(memory, bytes, MemoryKind::device); }
cudaError_t cudaFree(void* memory) { return free_of(memory, MemoryKind::device); }
cudaError_t cudaMallocHost(void** memory, size_t bytes) { return allocate_for(memory, bytes, MemoryKind::pinned); }
cudaError_t cudaFreeHost(void* memory) { return free_of(memory, MemoryKind::pinned); }

cudaError_t cudaMemGetInfo(size_t* available, size_t* total) {
  *total = device_bytes();
  *available = *total - std::min(*total, allocated_bytes(current));
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  return give(stream, {"cudaMemcpyAsync", [=] { copy("cudaMemcpyAsync", to, from, bytes, kind); }});
}
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  if (const auto error = forbid_while_capturing()) return error;
  const auto error = give(nullptr, {"cudaMemcpy", [=] { copy("cudaMemcpy", to, from, bytes, kind); }});
  return error ? error : cudaStreamSynchronize(nullptr);
}
cudaError_t cudaMemsetAsync(void* memory, int value, size_t bytes, cudaStream_t stream) {
  return give(stream, {"cudaMemsetAsync", [=] { fill("cudaMemsetAsync", memory, value, bytes); }});
}
cudaError_t cudaMemset(void* memory, int value, size_t bytes) {
  if (const auto error = forbid_while_capturing()) return error;
  return give(nullptr, {"cudaMemset", [=] { fill("cudaMemset", memory, value, bytes); }});
}

namespace pg::sim {

int current_device() { return current; }

CopiesToDevice copies_to_device() { return {pinned_copies, pageable_copies}; }
uint64_t copies_to_host() { return copies_from_devices; }

cudaError_t copy_to_symbol(void* symbol, size_t size, const void* from, size_t bytes, size_t offset) {
  if (offset > size || bytes > size - offset) return remember(cudaErrorInvalidValue);
  if (const auto error = forbid_while_capturing()) return error;
  return give(nullptr, {"cudaMemcpyToSymbol", [=] { std::memcpy(static_cast<char*>(symbol) + offset, from, bytes); }});
}

cudaError_t set_attribute(const void* function, cudaFuncAttribute attribute, int value) {
  if (attribute == cudaFuncAttributePreferredSharedMemoryCarveout) return cudaSuccess;  // a hint only
  if (value < 0 || static_cast<size_t>(value) > SharedMemory::kDynamicLimit) return remember(cudaErrorInvalidValue);
  set_dynamic_shared_limit(function, static_cast<size_t>(value));
  return cudaSuccess;
}

cudaError_t occupancy(int* blocks, int threads, size_t shared_bytes) {
  if (threads < 1 || threads > 1024) return remember(cudaErrorInvalidValue);
  const size_t by_threads = 2048 / ((threads + 31) / 32 * 32);
  const size_t by_shared = (SharedMemory::kDynamicLimit + 1024) / (shared_bytes + 1024);  // the system reserves 1 KiB
  *blocks = static_cast<int>(std::min<size_t>({by_threads, by_shared, 32}));
  return cudaSuccess;
}

}  // namespace pg::sim
