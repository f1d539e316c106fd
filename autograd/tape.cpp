// The tape: records nodes, and runs backward newest first.
#include "autograd/tape.h"

#include <algorithm>

#include "autograd/leaf.h"
#include "tensor/kernels.h"

namespace pg {
namespace detail {

constinit thread_local CapturedLeaves* read_in_checkpoint = nullptr;

void check_unwritten(Op op, const Storage& storage, uint64_t writes) {
  check(storage.writes == writes,
        "backward of {}: a tensor that it needs was written after the forward pass; write to a clone(), or call "
        "backward first (data<T>() counts as a write; data<const T>() only reads)",
        name_of(op));
}

}  // namespace detail

namespace {

using detail::check_unwritten;
using detail::finish_use;
using detail::Leaf;
using detail::leaf_of;
using detail::node_of;

thread_local bool grad_mode = true;
thread_local uint64_t next_id = 1;

// The leaves that the running backward() has reached; if several are nested (checkpoint), those of the innermost one.
thread_local std::vector<Ref<GradNode>>* reached_leaves = nullptr;

// Called before the first write of a backward() to a leaf's gradient.
void reach(Node& leaf) {
  if (!reached_leaves || leaf.queued) return;
  leaf.queued = true;
  reached_leaves->push_back(Ref<GradNode>(&leaf));
}

// Exists while a backward() runs. If an exception ends it, the leaves that it had reached lose their gradients.
class Reached {
 public:
  Reached() : outer_(std::exchange(reached_leaves, &leaves_)) {}
  Reached(const Reached&) = delete;
  ~Reached() {
    reached_leaves = outer_;
    if (finished_ && outer_) {
      outer_->insert(outer_->end(), leaves_.begin(), leaves_.end());
      return;
    }
    for (auto& leaf : leaves_) {
      node_of(leaf)->queued = false;
      if (!finished_) node_of(leaf)->has_grad = false;
    }
  }
  void finish() { finished_ = true; }

 private:
  std::vector<Ref<GradNode>> leaves_;
  std::vector<Ref<GradNode>>* const outer_;
  bool finished_ = false;
};

void drop_grads(Node& node) {
  if (node.op == Op::leaf) return;
  node.first.grad = {};
  if (node.second) node.second->grad = {};
}

bool owned_alone(const Tensor& t) { return t.storage()->ref_count == 1 && t.contiguous(); }

// y = beta·y + x. The kernels add bf16 to f32; every other pair of dtypes is made equal first.
void accumulate(const Tensor& y, const Tensor& x, double beta) {
  const bool readable = x.dtype() == y.dtype() || (y.dtype() == f32 && x.dtype() == bf16);
  kernels(y.device()).accumulate(y, readable ? x : x.to(y.dtype()), beta);
}

// Adds `gradient` to output `output` of `node`, or stores it as the first gradient.
void give(Node& node, int output, const Tensor& gradient) {
  Tensor& held = node.output(output).grad;
  const Shape& shape = node.output(output).shape;
  check(gradient.defined(), "backward of {}: the gradient is undefined", name_of(node.op));
  check(gradient.shape() == shape, "backward of {}: gradient has shape {}, expected {}", name_of(node.op),
        gradient.shape(), shape);
  check(is_floating(gradient.dtype()), "backward of {}: the gradient is {}, expected {}", name_of(node.op),
        gradient.dtype(), node.dtype);
  check(gradient.device() == node.device, "backward of {}: the gradient is on {}, expected {}", name_of(node.op),
        to_string(gradient.device()), to_string(node.device));
  if (node.op == Op::leaf) {  // a leaf's gradient has its own memory
    if (!held.defined()) held = Tensor::empty(shape, node.dtype, node.device);
    reach(node);
    accumulate(held, gradient, node.has_grad ? 1 : 0);
    node.has_grad = true;
  } else if (!held.defined()) {
    held = gradient.to(node.dtype);  // may share memory with another tensor until something is added
  } else {
    if (!owned_alone(held)) held = held.clone();
    accumulate(held, gradient, 1);
  }
}

bool has_any_grad(const Node& node) {
  return node.first.grad.defined() || (node.second && node.second->grad.defined());
}

// Nodes that hold a gradient, newest first. Nodes that an exception leaves in the queue lose their gradients.
class Queue {
 public:
  ~Queue() {
    for (auto& ref : heap_) {
      node_of(ref)->queued = false;
      drop_grads(*node_of(ref));
    }
  }
  void push(const Ref<GradNode>& ref) {
    Node& node = *node_of(ref);
    if (node.queued || node.op == Op::leaf) return;
    check(!node.spent,
          "backward: the graph behind this {} was freed by an earlier backward; run the forward pass again, or add the "
          "losses and call backward once",
          name_of(node.op));
    node.queued = true;
    heap_.push_back(ref);
    std::push_heap(heap_.begin(), heap_.end(), older);
  }
  Ref<GradNode> pop() {
    std::pop_heap(heap_.begin(), heap_.end(), older);
    Ref<GradNode> ref = std::move(heap_.back());
    heap_.pop_back();
    node_of(ref)->queued = false;
    return ref;
  }
  bool empty() const { return heap_.empty(); }

 private:
  static bool older(const Ref<GradNode>& a, const Ref<GradNode>& b) { return node_of(a)->id < node_of(b)->id; }
  std::vector<Ref<GradNode>> heap_;
};

// Exists while a node's backward runs. finish() frees the closure and queues the inputs. Without it, after an
// exception, the destructor drops the gradients of the node and of its inputs, which may be written in part.
class Spending {
 public:
  explicit Spending(Node& node) : node_(node) {}
  Spending(const Spending&) = delete;
  void finish(Queue& queue) {
    node_.first.grad = {};
    node_.second.reset();
    node_.drop();
    node_.spent = true;
    for (int i = 0; i < node_.num_inputs; ++i) {
      Edge& edge = node_.input(i);
      if (edge.node && has_any_grad(*node_of(edge.node))) queue.push(edge.node);
      const Ref<GradNode> input = std::exchange(edge.node, {});
      if (Leaf* leaf = leaf_of(input)) finish_use(*leaf);
    }
    finished_ = true;
  }
  ~Spending() {
    if (finished_) return;
    drop_grads(node_);
    for (int i = 0; i < node_.num_inputs; ++i) {
      if (const Edge& edge = node_.input(i); edge.node) drop_grads(*node_of(edge.node));
    }
  }

 private:
  Node& node_;
  bool finished_ = false;
};

}  // namespace

Node::~Node() {
  for (int i = 0; i < num_inputs; ++i) {
    if (Leaf* leaf = leaf_of(input(i).node)) --leaf->uses;
  }
}

const char* name_of(Op op) {
  static constexpr const char* names[] = {
#define X(name) #name,
      POLICYGRAD_OPS(X)
#undef X
#define UNARY(name, ...) #name,
#include "tensor/elementwise.def"
  };
  return names[static_cast<int>(op)];
}

bool grad_enabled() { return grad_mode; }
NoGrad::NoGrad() : previous_(std::exchange(grad_mode, false)) {}
NoGrad::~NoGrad() { grad_mode = previous_; }
EnableGrad::EnableGrad() : previous_(std::exchange(grad_mode, true)) {}
EnableGrad::~EnableGrad() { grad_mode = previous_; }

namespace detail {

bool wants_record(const Tensor* const* inputs, size_t count) {
  if (grad_mode) return std::any_of(inputs, inputs + count, [](const Tensor* t) { return t->requires_grad(); });
  if (read_in_checkpoint) std::for_each(inputs, inputs + count, [](const Tensor* t) { read_in_checkpoint->note(*t); });
  return false;
}
bool wants_record(const std::vector<Tensor>& inputs) {
  if (grad_mode) return std::any_of(inputs.begin(), inputs.end(), [](const Tensor& t) { return t.requires_grad(); });
  if (read_in_checkpoint)
    std::for_each(inputs.begin(), inputs.end(), [](const Tensor& t) { read_in_checkpoint->note(t); });
  return false;
}
void add_edge(Node& node, const Tensor& input) {
  const int i = node.num_inputs++;
  if (i >= 4) node.more_inputs.emplace_back();
  node.input(i) = {input.node(), input.output()};
  if (Leaf* leaf = leaf_of(input.node())) ++leaf->uses;
}
void keep(Node& node, TensorList kept) {
  for (const Tensor* t : kept) {
    if (!t || !t->defined()) continue;
    check(node.num_kept < node.kept.size(), "record: at most {} tensors can be kept", node.kept.size());
    node.kept[node.num_kept++] = {t->storage().get(), t->storage()->writes};
  }
}
void attach(Node* node, Op op, Tensor& out0, Tensor* out1) {
  node->id = next_id++;
  node->op = op;
  node->dtype = out0.dtype();
  node->device = out0.device();
  node->first.shape = out0.shape();
  Ref<GradNode> ref(node);
  if (out1) {
    node->second = std::make_unique<Node::Output>(Node::Output{out1->shape(), {}});
    out1->set_node(ref, 1);
  }
  out0.set_node(std::move(ref), 0);
}

}  // namespace detail

bool Grads::wants(int input) const { return bool(node_.input(input).node); }

DType Grads::dtype(int input) const { return node_of(node_.input(input).node)->dtype; }
Device Grads::device(int input) const { return node_of(node_.input(input).node)->device; }

GradSlot Grads::operator[](int input) {
  Edge& edge = node_.input(input);
  if (!edge.node) return {};
  Node& source = *node_of(edge.node);
  Tensor& held = source.output(edge.output).grad;
  const bool first = source.op == Op::leaf ? !source.has_grad : !held.defined();
  if (!held.defined()) {
    held = Tensor::empty(source.output(edge.output).shape, source.dtype, source.device);
  } else if (!first && source.op != Op::leaf && !owned_alone(held)) {
    held = held.clone();
  }
  if (source.op == Op::leaf) reach(source);
  source.has_grad = true;
  return {&held, first ? 0.0 : 1.0};
}

void Grads::pass(int input, const Tensor& gradient) {
  Edge& edge = node_.input(input);
  if (edge.node) give(*node_of(edge.node), edge.output, gradient);
}

const Tensor& Grads::output(int i) const { return node_.output(i).grad; }
Tensor Grads::writable_output(int i) const {
  const Tensor& held = node_.output(i).grad;
  return owned_alone(held) ? held : held.clone();
}

void backward(const Tensor& loss) {
  check(loss.defined(), "backward: the loss is undefined");
  check(loss.numel() == 1,
        "backward: expected a scalar loss, got shape {}; reduce it with mean() or sum(), or give the gradient of the "
        "output",
        loss.shape());
  // The derivative of the loss by itself is 1.
  backward(loss, Tensor::ones(loss.shape(), loss.dtype(), loss.device()));
}

// A node is created after the nodes of its inputs, so its id is larger than theirs. When the newest node of the queue
// is popped, every node that reads its output has therefore run: its gradient is complete. Spending::finish() queues
// the nodes of the inputs. Reached and the destructors of Spending and Queue matter only after an exception.
void backward(const Tensor& output, const Tensor& gradient) {
  check(output.defined(), "backward: the output is undefined");
  check(gradient.defined(), "backward: the gradient is undefined");
  check(output.requires_grad(),
        "backward: this tensor depends on nothing that requires a gradient; call set_requires_grad() on a leaf before "
        "the forward pass, and keep the forward pass outside NoGrad");
  check(gradient.dtype() == output.dtype(), "backward: the gradient is {}, the output {}", gradient.dtype(),
        output.dtype());
  check(gradient.device() == output.device(), "backward: the gradient is on {}, the output on {}",
        to_string(gradient.device()), to_string(output.device()));
  NoGrad guard;
  Reached reached;
  Queue queue;
  queue.push(output.node());
  give(*node_of(output.node()), output.output(), gradient);
  while (!queue.empty()) {
    const Ref<GradNode> ref = queue.pop();
    Node& node = *node_of(ref);
    Spending spending(node);
    for (int i = 0; i < node.num_kept; ++i) check_unwritten(node.op, *node.kept[i].storage, node.kept[i].writes);
    Grads grads(node);
    node.run(node.first.grad, grads);
    spending.finish(queue);
  }
  reached.finish();
}

Tensor before_backward(const Tensor& x, std::function<void()> hook) {
  check(x.defined(), "before_backward: the tensor is undefined");
  check(bool(hook), "before_backward: the function is empty");
  return record(Op::before_backward, x.detach(), {&x}, [hook = std::move(hook)](const Tensor& dy, Grads& g) {
    hook();
    g.pass(0, dy);
  });
}

}  // namespace pg
