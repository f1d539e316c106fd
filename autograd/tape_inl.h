#pragma once
// Templates of tape.h.
#include <optional>

#include "autograd/tape.h"

namespace pg {
namespace detail {

template <class F>
struct OpNode final : Node {
  template <class G>
  explicit OpNode(G&& f) : backward(std::forward<G>(f)) {}
  void run(const Tensor& dy, Grads& grads) override { (*backward)(dy, grads); }
  void drop() override { backward.reset(); }
  std::optional<F> backward;
};

bool wants_record(const Tensor* const* inputs, size_t count);
bool wants_record(const std::vector<Tensor>& inputs);
// Sets the node's id, op, dtype, device and output shapes, and attaches the node to the outputs (out1 may be null).
void attach(Node* node, Op op, Tensor& out0, Tensor* out1);
void add_edge(Node& node, const Tensor& input);
// Records how often the memory of each tensor has been written so far. The closure must hold the tensors. Null pointers
// are skipped.
void keep(Node& node, TensorList kept);

}  // namespace detail

template <class F>
Tensor record(Op op, Tensor out, TensorList inputs, TensorList kept, F&& backward) {
  if (!detail::wants_record(inputs.begin(), inputs.size())) return out;
  auto* node = new detail::OpNode<std::decay_t<F>>(std::forward<F>(backward));
  for (const Tensor* input : inputs) detail::add_edge(*node, *input);
  detail::keep(*node, kept);
  detail::attach(node, op, out, nullptr);
  return out;
}

template <class F>
Tensor record(Op op, Tensor out, const std::vector<Tensor>& inputs, F&& backward) {
  if (!detail::wants_record(inputs)) return out;
  auto* node = new detail::OpNode<std::decay_t<F>>(std::forward<F>(backward));
  for (const Tensor& input : inputs) detail::add_edge(*node, input);
  detail::attach(node, op, out, nullptr);
  return out;
}

template <class F>
std::pair<Tensor, Tensor> record2(Op op, Tensor out0, Tensor out1, TensorList inputs, TensorList kept, F&& backward) {
  if (!detail::wants_record(inputs.begin(), inputs.size())) return {std::move(out0), std::move(out1)};
  auto* node = new detail::OpNode<std::decay_t<F>>(std::forward<F>(backward));
  for (const Tensor* input : inputs) detail::add_edge(*node, *input);
  detail::keep(*node, kept);
  detail::attach(node, op, out0, &out1);
  return {std::move(out0), std::move(out1)};
}

}  // namespace pg
