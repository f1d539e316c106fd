#pragma once
// Device memory for the steps between kernels, from the pool of tensors. It goes back when the launches are given, not
// when they have run: whoever takes it next writes to it in the same stream, behind them.
#include "tensor/cuda/launch.h"
#include "tensor/storage.h"

namespace pg::cuda {

// Room for n elements of T on the device in use, uninitialised.
template <class T>
class Scratch {
 public:
  explicit Scratch(int64_t n) : storage_(allocate(static_cast<size_t>(n) * sizeof(T), device())) {}
  T* get() const { return static_cast<T*>(storage_->data); }

 private:
  static Device device() {
    int index = 0;
    check(cudaGetDevice(&index), "cudaGetDevice");
    return {Device::Kind::cuda, static_cast<unsigned char>(index)};
  }
  Ref<Storage> storage_;
};

}  // namespace pg::cuda
