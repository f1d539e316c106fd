#pragma once
// Temporary device memory for a kernel, from the memory pool of the tensors.
#include "tensor/cuda/runtime/launch.h"
#include "tensor/storage.h"

namespace pg::cuda {

// Memory for n elements of T, uninitialised, on the current device. It may be released as soon as the kernels that use
// it are launched: the next user of the memory comes later in the stream.
template <class T>
class Scratch {
 public:
  explicit Scratch(int64_t n) : storage_(allocate_here(static_cast<size_t>(n) * sizeof(T))) {}
  T* data() const { return static_cast<T*>(storage_->data); }

 private:
  static Ref<Storage> allocate_here(size_t bytes) {
    int device;
    check(cudaGetDevice(&device), "cudaGetDevice");
    return pg::allocate(bytes, {Device::Kind::cuda, static_cast<unsigned char>(device)});
  }
  Ref<Storage> storage_;
};

}  // namespace pg::cuda
