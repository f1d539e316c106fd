#pragma once
// A tensor is a value, cheap to copy: a reference to its storage, an offset, a shape, strides and a dtype, and, if it
// requires a gradient, a reference to its node of the tape. Copies share storage. Views (reshape, transpose, slice,
// expand) never copy elements. autograd/ops.h has the differentiable operations; this file has what needs no tape.
#include <span>
#include <string>
#include <vector>

#include "tensor/base/random.h"
#include "tensor/base/ref.h"
#include "tensor/device.h"
#include "tensor/dtype.h"
#include "tensor/format.h"
#include "tensor/shape.h"
#include "tensor/storage.h"
#include "tensor/view.h"

namespace pg {

// The node that autograd/tape.h attaches to a tensor that requires a gradient; opaque to tensor/.
struct GradNode : RefCounted {
  virtual ~GradNode() = default;
  static void release(GradNode* node);  // iterative: releases a graph of a million ops without deep recursion
};

class Tensor {
 public:
  // Undefined: numel 0, no storage. Operations on it throw Error; to(), detach() and contiguous_copy() return it.
  Tensor() = default;

  static Tensor empty(const Shape& shape, DType dtype = f32, Device device = {});
  static Tensor zeros(const Shape& shape, DType dtype = f32, Device device = {});
  static Tensor ones(const Shape& shape, DType dtype = f32, Device device = {});
  static Tensor full(const Shape& shape, double value, DType dtype = f32, Device device = {});
  static Tensor scalar(double value, DType dtype = f32, Device device = {});  // rank 0
  static Tensor arange(int64_t n, DType dtype = f32, Device device = {});     // 0, 1, …, n-1
  static Tensor normal(const Shape& shape, double mean, double std, Generator& generator, DType dtype = f32,
                       Device device = {});
  static Tensor uniform(const Shape& shape, double low, double high, Generator& generator, DType dtype = f32,
                        Device device = {});
  // Copies `values` in row-major order; Error unless values.size() == numel(shape).
  template <class T>
  static Tensor from(std::span<const T> values, const Shape& shape);
  template <class T>
  static Tensor from(const std::vector<T>& values, const Shape& shape) {
    return from(std::span<const T>(values), shape);
  }
  // A view of memory that the caller keeps alive through `storage`; offset in elements.
  static Tensor view_of(Ref<Storage> storage, int64_t offset, const Shape& shape, const Strides& strides, DType dtype) {
    return Tensor(std::move(storage), offset, shape, strides, dtype);
  }

  bool defined() const { return bool(storage_); }
  const Shape& shape() const { return shape_; }
  const Strides& strides() const { return strides_; }
  int rank() const { return shape_.rank(); }
  int64_t size(int dim) const { return shape_[normalize_dim(dim, rank(), "size")]; }  // negative counts from the end
  int64_t numel() const { return defined() ? pg::numel(shape_) : 0; }
  int64_t offset() const { return offset_; }
  DType dtype() const { return dtype_; }
  Device device() const { return storage_ ? storage_->device : Device{}; }
  bool contiguous() const { return is_contiguous(shape_, strides_); }
  const Ref<Storage>& storage() const { return storage_; }
  View view() const {
    char* data =
        storage_ ? static_cast<char*>(storage_->data) + static_cast<size_t>(offset_) * size_of(dtype_) : nullptr;
    return {data, dtype_, shape_, strides_};
  }
  operator View() const { return view(); }

  // The elements, row-major. Error unless T matches the dtype and the tensor is contiguous and on the CPU.
  // data<const T>() only reads. data<T>() counts as a write: if an operation was recorded before it and its backward
  // reads this memory, backward() throws Error instead of computing a wrong gradient. Call data() again for every
  // write: a write through a span that is older than the operation is not detected, except for ids on the CPU, which
  // are compared with a copy.
  template <class T>
  std::span<T> data() const;
  // The only element, as a double; Error unless numel() == 1.
  double item() const;
  // All elements in row-major order, converted.
  std::vector<double> to_vector() const;
  // "tensor([[1, 2], [3, 4]], f32)"; long dimensions are abbreviated.
  std::string to_string() const;

  Tensor clone() const;            // contiguous copy, no tape
  Tensor contiguous_copy() const;  // itself when already contiguous
  Tensor to(DType dtype) const;    // converted copy, itself when the dtype is equal; no gradient (see cast in ops.h)
  Tensor to(Device device) const;
  // Writes `source` into this memory, broadcast to this shape and converted to this dtype. The two may share memory.
  // Error if this tensor repeats elements (a view made by expand): it is not defined which of the values would remain.
  void copy_from(const Tensor& source) const;
  void fill(double value) const;

  // Views without a tape (autograd/ops.h has the differentiable ones).
  Tensor view_reshape(const Shape& shape) const;  // one size may be -1; Error if it would need a copy
  Tensor view_transpose(int dim0, int dim1) const;
  Tensor view_permute(const std::vector<int>& dims) const;
  Tensor view_slice(int dim, int64_t start, int64_t end, int64_t step = 1) const;  // negative ends count from the end
  Tensor view_select(int dim, int64_t index) const;                                // removes `dim`
  Tensor view_expand(const Shape& shape) const;                                    // repeats sizes of 1 with stride 0
  bool can_view_reshape(const Shape& shape) const;

  // ---- autograd. The tape (autograd/tape.h) records which operation made a tensor, and from what. A leaf is a tensor
  // that no operation made, such as a parameter. backward(loss) computes the derivative of the loss by each element of
  // each leaf, and grad() returns it:
  //   w.set_requires_grad();  // w is now a leaf
  //   backward(sum(w * w));   // w.grad() is now 2·w
  bool requires_grad() const { return bool(node_); }
  Tensor detach() const { return Tensor(storage_, offset_, shape_, strides_, dtype_); }  // same storage, no tape
  Tensor& set_requires_grad(bool on = true);  // makes a leaf; Error on non-floating dtypes and on results of ops
  // The gradient of a leaf after backward(); undefined when it received none. It is the leaf's own buffer: the next
  // backward() adds to it, or overwrites it after zero_grad(). Use grad().clone() to keep the current values.
  Tensor grad() const;
  void zero_grad() const;  // the next backward overwrites the leaf's gradient
  const Ref<GradNode>& node() const { return node_; }
  int output() const { return output_; }  // which output of the node this is
  void set_node(Ref<GradNode> node, int output) {
    node_ = std::move(node);
    output_ = static_cast<uint8_t>(output);
  }

 private:
  Tensor(Ref<Storage> storage, int64_t offset, const Shape& shape, const Strides& strides, DType dtype)
      : shape_(shape), strides_(strides), offset_(offset), dtype_(dtype), storage_(std::move(storage)) {}

  void count_write() const {
    if (storage_) ++storage_->writes;
  }

  Shape shape_;
  Strides strides_;
  int64_t offset_ = 0;
  DType dtype_ = f32;
  uint8_t output_ = 0;
  Ref<Storage> storage_;
  Ref<GradNode> node_;
};

inline Tensor empty_like(const Tensor& x) { return Tensor::empty(x.shape(), x.dtype(), x.device()); }
inline Tensor zeros_like(const Tensor& x) { return Tensor::zeros(x.shape(), x.dtype(), x.device()); }

}  // namespace pg
