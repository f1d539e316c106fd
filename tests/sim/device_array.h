#pragma once
// Device memory for a test: filled with a copy of host data, freed at the end.
#include <vector>

#include "tensor/cuda/runtime/launch.h"

namespace pg::testing {

template <class T>
class DeviceArray {
 public:
  explicit DeviceArray(size_t size) : size_(size) {
    cuda::check(cudaMalloc(reinterpret_cast<void**>(&data_), size * sizeof(T)), "cudaMalloc");
  }
  explicit DeviceArray(const std::vector<T>& host) : DeviceArray(host.size()) {
    cuda::check(cudaMemcpy(data_, host.data(), size_ * sizeof(T), cudaMemcpyHostToDevice), "cudaMemcpy");
  }
  ~DeviceArray() { cudaFree(data_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  T* data() const { return data_; }
  size_t size() const { return size_; }
  std::vector<T> host() const {
    std::vector<T> out(size_);
    cuda::check(cudaMemcpy(out.data(), data_, size_ * sizeof(T), cudaMemcpyDeviceToHost), "cudaMemcpy");
    return out;
  }

 private:
  T* data_ = nullptr;
  size_t size_;
};

}  // namespace pg::testing
