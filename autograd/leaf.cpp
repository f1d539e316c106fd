// Leaves: tensors that no operation made, which hold the gradients after backward().
#include "autograd/leaf.h"

namespace pg {

using detail::Leaf;
using detail::leaf_of;
using detail::node_of;

Tensor& Tensor::set_requires_grad(bool on) {
  check(defined(), "set_requires_grad: the tensor is undefined");
  check(!node_ || node_of(node_)->op == Op::leaf,
        "set_requires_grad: this is the result of {}, not a leaf; use detach() to cut it off",
        node_ ? name_of(node_of(node_)->op) : "");
  if (!on) {
    node_ = {};
  } else if (!node_) {
    check(is_floating(dtype_), "set_requires_grad: only f32, f64 and bf16 have gradients, this is {}", dtype_);
    auto* leaf = new Leaf;
    leaf->dtype = sum_type(dtype_);
    leaf->device = device();
    leaf->first.shape = shape_;
    node_ = Ref<GradNode>(leaf);
    output_ = 0;
  }
  return *this;
}

Tensor Tensor::grad() const { return has_grad(*this) ? node_of(node_)->first.grad : Tensor{}; }

void Tensor::zero_grad() const {
  if (node_) node_of(node_)->has_grad = false;
}

void set_grad_buffer(const Tensor& leaf, const Tensor& buffer, bool holds_grad) {
  check(leaf.requires_grad() && node_of(leaf.node())->op == Op::leaf,
        "set_grad_buffer: expected a leaf that requires a gradient");
  check(buffer.defined(), "set_grad_buffer: the buffer is undefined");
  check(buffer.shape() == leaf.shape() && buffer.dtype() == sum_type(leaf.dtype()) && buffer.contiguous(),
        "set_grad_buffer: expected a contiguous {} {}, got {} {}", sum_type(leaf.dtype()), leaf.shape(), buffer.dtype(),
        buffer.shape());
  check(buffer.device() == leaf.device(), "set_grad_buffer: the buffer is on {}, the leaf on {}",
        to_string(buffer.device()), to_string(leaf.device()));
  Node& node = *node_of(leaf.node());
  node.first.grad = buffer;
  node.has_grad = holds_grad;
}

void on_grad_ready(const Tensor& leaf, std::function<void()> ready) {
  Leaf* node = leaf_of(leaf.node());
  check(node, "on_grad_ready: expected a leaf that requires a gradient");
  node->ready = std::move(ready);
}

bool has_grad(const Tensor& leaf) {
  return leaf.requires_grad() && node_of(leaf.node())->op == Op::leaf && node_of(leaf.node())->has_grad;
}

}  // namespace pg
