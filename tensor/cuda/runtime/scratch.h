#pragma once
// Device memory that a kernel needs while it runs, from the pool of the tensors.
#include "tensor/cuda/runtime/launch.h"
#include "tensor/storage.h"

namespace pg::cuda {

// Room for n elements of T, uninitialised, on the device in use. It may be given back as soon as the kernels that use
// it are launched: whoever gets it next comes later in the stream.
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
