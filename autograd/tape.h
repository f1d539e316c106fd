#pragma once
// The tape. An operation whose input requires a gradient makes a Node. The Node has an Edge to the node of each input,
// and a closure, the backward of the operation. A leaf (a parameter) has a Node without a closure. For
// loss = sum(exp(x)) the nodes are: x (leaf) <- exp <- sum.
// backward(loss) runs the closures from the newest node to the oldest. Each gets dy, the gradient of its output, and
// writes the gradients of its inputs. A node is newer than the nodes of its inputs, so this order is a topological one,
// and backward() is a loop over a max-heap, without recursion.
// The forward and the backward of an operation are written in one function: record() attaches the backward to the
// result. There are no second derivatives: backward kernels write in place, and nothing records them.
#include <array>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

#include "autograd/op.h"
#include "tensor/tensor.h"

namespace pg {

struct Node;

// An input of a recorded op: which output of which node. No node: the input needs no gradient.
struct Edge {
  Ref<GradNode> node;
  int output = 0;
};

// Where a backward kernel writes: the gradient buffer of one input, and whether to overwrite (beta 0) or add (beta 1).
struct GradSlot {
  const Tensor* into = nullptr;
  double beta = 0;
  explicit operator bool() const { return into != nullptr; }
};

// The gradients of a node's inputs, as its backward accesses them.
class Grads {
 public:
  explicit Grads(Node& node) : node_(node) {}
  bool wants(int input) const;  // whether the input needs a gradient
  // The dtype of the gradient of an input that needs one: the input's dtype, but f32 for a bf16 leaf, whose gradient is
  // a sum.
  DType dtype(int input) const;
  Device device(int input) const;
  // A contiguous buffer of the input's shape to write into; false when this input needs no gradient.
  GradSlot operator[](int input);
  // Passes a finished gradient of the input's shape: its memory is shared if it is the first gradient, otherwise it is
  // added.
  void pass(int input, const Tensor& gradient);
  // The gradient of output `i`; undefined when nothing used that output.
  const Tensor& output(int i) const;
  // The gradient of output `i`, which must be defined, in memory that the caller may write: in its own if nothing else
  // uses that, otherwise a copy.
  Tensor writable_output(int i) const;

 private:
  Node& node_;
};

struct Node : GradNode {
  uint64_t id = 0;
  Op op = Op::leaf;
  bool queued = false;    // waits in the heap of backward(); for a leaf: is in the list of leaves that it has reached
  bool spent = false;     // backward has run: closure and inputs are released
  bool has_grad = false;  // read for leaves only: first.grad has received a gradient since zero_grad()
  uint8_t num_kept = 0;
  int num_inputs = 0;
  std::array<Edge, 4> first_inputs;  // nearly every op has at most four
  std::vector<Edge> more_inputs;
  DType dtype = f32;  // of the gradients
  Device device;
  struct Output {
    Shape shape;
    Tensor grad;
  };
  Output first;
  std::unique_ptr<Output> second;  // for the few ops with two outputs, else null
  // Memory that the closure reads and callers can write, with its count of writes when the op was recorded.
  struct Kept {
    const Storage* storage;
    uint64_t writes;
  };
  std::array<Kept, 8> kept;
  Output& output(int i) { return i == 0 ? first : *second; }
  Edge& input(int i) { return i < 4 ? first_inputs[i] : more_inputs[i - 4]; }
  // Allocated from a free list per size, because nodes are created and released by the million.
  static void* operator new(size_t bytes);
  static void operator delete(void* node, size_t bytes);
  ~Node() override;
  virtual void run(const Tensor& dy, Grads& grads) = 0;
  virtual void drop() = 0;  // frees what the closure saved
};

using TensorList = std::initializer_list<const Tensor*>;

// Attaches `backward` to `out` when no NoGrad is alive and an input requires a gradient; else returns `out` as it is.
// backward(const Tensor& dy, Grads& g) gets the output's gradient, of any strides, and writes g[i] for input i.
// An undefined input is an absent option: it never needs a gradient.
// `kept`: the tensors, at most eight, whose elements `backward` reads and which a caller can write (inputs and
// outputs). If one of them has been written by the time backward() reaches the node, that is an Error naming `op`.
template <class F>
Tensor record(Op op, Tensor out, TensorList inputs, TensorList kept, F&& backward);
template <class F>
Tensor record(Op op, Tensor out, TensorList inputs, F&& backward) {
  return record(op, std::move(out), inputs, {}, std::forward<F>(backward));
}
template <class F>
Tensor record(Op op, Tensor out, const std::vector<Tensor>& inputs, F&& backward);
// For ops with two outputs: `dy` is the gradient of the first, g.output(1) of the second; each is undefined if nothing
// used that output.
template <class F>
std::pair<Tensor, Tensor> record2(Op op, Tensor out0, Tensor out1, TensorList inputs, TensorList kept, F&& backward);
template <class F>
std::pair<Tensor, Tensor> record2(Op op, Tensor out0, Tensor out1, TensorList inputs, F&& backward) {
  return record2(op, std::move(out0), std::move(out1), inputs, {}, std::forward<F>(backward));
}

// Computes the gradients of a scalar `loss` in every leaf it depends on (added to the leaf's gradient unless zero_grad
// was called since). Frees the graph on the way; a second call on the same graph is an Error. Between the forward pass
// and backward() nothing may write to a tensor whose values a backward needs (ids, weights, activations): that is an
// Error too. After any exception no leaf that backward() had reached has a gradient, not even an earlier one to which
// it was being added.
void backward(const Tensor& loss);
// backward() for an output of any shape, from a given gradient of `output`.
void backward(const Tensor& output, const Tensor& gradient);

// Gives a leaf the memory its gradient is written to (a slice of a gradient slab). Shape and dtype must match. The next
// backward() overwrites it, or adds to it if it `holds_grad`.
void set_grad_buffer(const Tensor& leaf, const Tensor& buffer, bool holds_grad = false);
bool has_grad(const Tensor& leaf);  // received a gradient since zero_grad
// backward() calls `ready` as soon as the gradient of the leaf is complete: it has received one, and everything
// recorded that reads the leaf has run its backward or is gone. If a graph that reads it still exists and is not part
// of that backward(), it is not called. An empty function ends this.
void on_grad_ready(const Tensor& leaf, std::function<void()> ready);

// While alive, ops on this thread record nothing.
class NoGrad {
 public:
  NoGrad();
  ~NoGrad();
  NoGrad(const NoGrad&) = delete;

 private:
  bool previous_;
};
// The opposite of NoGrad: while alive, ops on this thread are recorded. For recomputation inside a backward.
class EnableGrad {
 public:
  EnableGrad();
  ~EnableGrad();
  EnableGrad(const EnableGrad&) = delete;

 private:
  bool previous_;
};
bool grad_enabled();

// Activation checkpointing (a checkpoint in nn/files/ is something else: a file with the state of training).
// Returns f(x) and stores only x: the activations inside f are computed again during backward (Chen et al. 2016,
// "Training Deep Nets with Sublinear Memory Cost"). For the second call `stream`, which dropout
// in f draws from, has the state that it had before the first. Leaves that f captures get their gradients too. Error
// when more than 256 calls are nested in one another.
Tensor checkpoint(std::function<Tensor(const Tensor&)> f, const Tensor& x, std::shared_ptr<Generator> stream = {});

// Returns x, with shared memory. A backward() through the result calls `hook` before it runs what x was computed by.
Tensor before_backward(const Tensor& x, std::function<void()> hook);

}  // namespace pg

#include "autograd/tape_inl.h"
