#pragma once
// The CUDA devices: the functions that tensor/cuda/backend.cu makes a Backend of (documented in
// tensor/backend.h), the stream that all work of a device runs on, and temporary memory for kernels.
#include "tensor/backend.h"
#include "tensor/cuda/runtime/context.h"
#include "tensor/kernels.h"
#include "tensor/storage.h"

namespace pg::cuda {

DeviceInfo device_info(int device);
// What kernels of the current device may use.
struct Limits {
  explicit Limits(int device);
  int multiprocessors;
  int major;        // of the compute capability
  int block_bytes;  // of shared memory that one block can have
};
const Limits& limits();
bool exact();
void synchronize();
// Copies from the host to the current device, after everything in stream(). `from` may change when it returns.
void copy_to_device(void* to, const void* from, size_t bytes);
std::unique_ptr<RecordedWork> record(const std::function<void()>& work);
std::unique_ptr<AsyncCopy> async_copy(size_t bytes);
std::unique_ptr<DeviceEvent> record_event();

// The stream of the current device that all its kernels and copies run on, in order; that of OnStream while one exists.
cudaStream_t stream();
// While an object of this class exists, this thread launches kernels on another stream of the current device.
class OnStream {
 public:
  explicit OnStream(cudaStream_t stream);
  ~OnStream();
  OnStream(const OnStream&) = delete;
};
// Whether work submitted to the stream is being captured for a graph.
bool capturing();
[[noreturn]] void fail_copy_in_graph();
[[noreturn]] void fail_record();

// Temporary memory for n elements of T from the memory pool of the tensors, uninitialised, on the current device. It
// may be released as soon as the kernels that use it are launched: the next user of the memory comes later in the
// stream.
template <class T>
class Scratch {
 public:
  explicit Scratch(int64_t n) : storage_(allocate_here(static_cast<size_t>(n) * sizeof(T))) {}
  T* data() const { return static_cast<T*>(storage_->data); }

 private:
  static Ref<Storage> allocate_here(size_t bytes) {
    return pg::allocate(bytes, {Device::Kind::cuda, static_cast<unsigned char>(current_device())});
  }
  Ref<Storage> storage_;
};

}  // namespace pg::cuda
