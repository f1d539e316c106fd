#pragma once
// The tensor argument of a kernel: where the elements are, without ownership.
#include <cstdint>

#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace pg {

struct View {
  void* data = nullptr;
  DType dtype = f32;
  Shape shape;
  Strides strides;

  explicit operator bool() const { return data != nullptr; }
  int rank() const { return shape.rank(); }
  int64_t numel() const { return pg::numel(shape); }
  bool contiguous() const { return is_contiguous(shape, strides); }
  template <class T>
  T* as() const {
    return static_cast<T*>(data);
  }
};

}  // namespace pg
