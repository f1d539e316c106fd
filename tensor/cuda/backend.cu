// The CUDA backend: the table of its kernels, devices, memory, copies, and the streams of each device.
#include <algorithm>

#include "tensor/backend.h"
#include "tensor/cuda/base/kernels_cuda.h"
#include "tensor/cuda/gemm/blas.h"
#include "tensor/cuda/runtime/runtime.h"
#include "tensor/cuda/runtime/synchronous.h"

namespace pg::cuda {
namespace {

const Kernels& table(int device) {
  set_device(device);
  static constexpr Kernels table = {
#define KERNEL(name, parameters) .name = cuda::name,
#include "tensor/kernels.def"
  };
  return table;
}

constinit thread_local int current = 0;

cudaError_t select(int device) {
  if (current == device) return cudaSuccess;
  const cudaError_t status = cudaSetDevice(device);
  current = device;
  if (status != cudaSuccess) cudaGetDevice(&current);  // it may return an error of an earlier kernel and do its work
  return status;
}

cudaError_t count_devices(int* count) {
  *count = 0;
  const cudaError_t status = cudaGetDeviceCount(count);
  cudaGetLastError();  // clears the error: the next launch must not report a missing driver again
  return status;
}

bool exact_results = false;

void set_exact(bool on) { exact_results = on; }

int device_count() {
  static const int count = [] {
    int n;
    return count_devices(&n) == cudaSuccess ? std::min(n, kMostDevices) : 0;
  }();
  return count;
}

std::string why_none() {
  int n;
  const cudaError_t status = count_devices(&n);
  return std::string("no CUDA device was found: ") + cudaGetErrorString(status);
}

void* allocate(size_t bytes, int device) {
  const OnDevice there(device);
  void* data = nullptr;
  const cudaError_t status = cudaMalloc(&data, bytes);
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    return nullptr;
  }
  check(status, "cudaMalloc");
  return data;
}

// Destructors call it, also while an exception ends their functions.
void release(void* data, int device) {
  const int before = current;
  return_to_device(device);
  note(cudaFree(data), "cudaFree");
  return_to_device(before);
}

DeviceMemory memory(int device) {
  const OnDevice there(device);
  DeviceMemory memory;
  check(cudaMemGetInfo(&memory.free, &memory.total), "cudaMemGetInfo");
  return memory;
}

void copy_bytes(void* to, Device to_device, const void* from, Device from_device, size_t bytes) {
  if (bytes == 0) return;
  const bool between_devices = !to_device.on_host() && !from_device.on_host() && to_device != from_device;
  if (between_devices) {
    const OnDevice source(from_device.index);
    if (capturing()) fail_copy_in_graph();
    synchronize();  // the work that computes the bytes is in another stream
  }
  const OnDevice here(to_device.on_host() ? from_device.index : to_device.index);
  if (to_device != from_device && capturing()) fail_copy_in_graph();
  if (from_device.on_host()) return copy_to_device(to, from, bytes);
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream()), "cudaMemcpyAsync");
  if (to_device.on_host() || between_devices) synchronize();
}

}  // namespace

bool exact() { return exact_results; }

int current_device() { return current; }

void set_device(int device) { check(select(device), "cudaSetDevice"); }
void return_to_device(int device) noexcept { note(select(device), "cudaSetDevice"); }

Context::Context(int) {
  for (cudaStream_t* made : {&compute, &comm}) {
    check(cudaStreamCreateWithFlags(made, cudaStreamNonBlocking), "cudaStreamCreate");
  }
}

namespace {
constinit thread_local cudaStream_t other_stream = nullptr;
}
cudaStream_t stream() { return other_stream ? other_stream : of_current_device<Context>().compute; }
OnStream::OnStream(cudaStream_t stream) { other_stream = stream; }
OnStream::~OnStream() { other_stream = nullptr; }

bool capturing() {
  cudaStreamCaptureStatus status;
  check(cudaStreamIsCapturing(stream(), &status), "cudaStreamIsCapturing");
  return status != cudaStreamCaptureStatusNone;
}

DeviceInfo device_info(int device) {
  cudaDeviceProp properties;
  check(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
  DeviceInfo info{properties.name, properties.totalGlobalMem, static_cast<size_t>(properties.l2CacheSize)};
#if defined(POLICYGRAD_CUDA_SIMULATOR)
  info.simulated = true;
#endif
  return info;
}

Limits::Limits(int device) {
  const auto get = [&](int* value, cudaDeviceAttr attribute) {
    check(cudaDeviceGetAttribute(value, attribute, device), "cudaDeviceGetAttribute");
  };
  get(&multiprocessors, cudaDevAttrMultiProcessorCount);
  get(&major, cudaDevAttrComputeCapabilityMajor);
  get(&block_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin);
}
const Limits& limits() { return of_current_device<Limits>(); }

void synchronize() { check(cudaStreamSynchronize(stream()), "cudaStreamSynchronize"); }

}  // namespace pg::cuda

namespace pg {

const Backend& cuda_backend() {
  static constexpr Backend present = {
      .kernels = cuda::table,
      .device_count = cuda::device_count,
      .why_none = cuda::why_none,
      .device_info = cuda::device_info,
      .memory = cuda::memory,
      .allocate = cuda::allocate,
      .release = cuda::release,
      .copy = cuda::copy_bytes,
      .synchronize = cuda::synchronize,
      .exact = cuda::exact,
      .set_exact = cuda::set_exact,
      .last_matmul = cuda::last_matmul,
      .records = [] { return !cuda::synchronous(); },
      .record = cuda::record,
      .async_copy = cuda::async_copy,
      .record_event = cuda::record_event,
  };
  return present;
}

}  // namespace pg
