// checkpoint(): the backward pass computes the function again and keeps only its input.
#include <algorithm>

#include "autograd/leaf.h"
#include "tensor/base/random.h"

namespace pg {
namespace detail {

void CapturedLeaves::note(const Tensor& t) {
  if (!t.requires_grad()) return;
  const auto same = [&](const auto& entry) { return entry.first == t.storage(); };
  if (std::none_of(entries_.begin(), entries_.end(), same)) entries_.emplace_back(t.storage(), t.storage()->writes);
  if (leaf_of(t.node()) && std::find(leaves_.begin(), leaves_.end(), t.node()) == leaves_.end()) {
    leaves_.push_back(t.node());
  }
}

}  // namespace detail

namespace {

constexpr int kDeepestCheckpoint = 256;  // calls nested in one another: each takes a few kilobytes of stack
thread_local int checkpoint_depth = 0;

class CheckpointDepth {
 public:
  CheckpointDepth() {
    check(checkpoint_depth < kDeepestCheckpoint, "checkpoint: more than {} calls are nested in one another",
          kDeepestCheckpoint);
    ++checkpoint_depth;
  }
  CheckpointDepth(const CheckpointDepth&) = delete;
  ~CheckpointDepth() { --checkpoint_depth; }
};

// While it exists, ops record nothing, and the leaves that they read are noted in `leaves`.
class Noting {
 public:
  explicit Noting(detail::CapturedLeaves& leaves) : outer_(std::exchange(detail::read_in_checkpoint, &leaves)) {}
  Noting(const Noting&) = delete;
  ~Noting() { detail::read_in_checkpoint = outer_; }

 private:
  NoGrad no_grad_;
  detail::CapturedLeaves* const outer_;
};

// Sets `stream` to the state `to` while it exists, and restores the current state afterwards, also when an exception is
// thrown.
class Rewound {
 public:
  Rewound(Generator& stream, const Generator& to) : stream_(stream), after_(std::exchange(stream, to)) {}
  Rewound(const Rewound&) = delete;
  ~Rewound() { stream_ = after_; }

 private:
  Generator& stream_;
  const Generator after_;
};

}  // namespace

Tensor checkpoint(std::function<Tensor(const Tensor&)> f, const Tensor& x, std::shared_ptr<Generator> stream) {
  check(bool(f), "checkpoint: the function is empty");
  check(x.defined(), "checkpoint: the tensor is undefined");
  const CheckpointDepth depth;
  if (!grad_enabled()) return f(x.detach()).detach();
  const Generator before = stream ? *stream : Generator();
  Tensor y;
  detail::CapturedLeaves captured;
  {
    const Noting noting(captured);
    y = f(x.detach()).detach();
  }
  check(y.defined(), "checkpoint: the function's result is undefined");
  auto backward_of = [f = std::move(f), x, stream, before, captured, uses = detail::CapturedLeaves::Uses(captured)](
                         const Tensor& dy, Grads& g) mutable {
    captured.check_unwritten();
    EnableGrad enable;
    Tensor input = x.detach();
    if (g.wants(0)) input.set_requires_grad();
    const Tensor again = [&] {
      if (!stream) return f(input);
      const Rewound rewound(*stream, before);
      return f(input);
    }();
    const CheckpointDepth nested;  // a checkpoint() inside f runs in the next line
    if (again.requires_grad()) backward(again, dy);
    if (g.wants(0) && has_grad(input)) g.pass(0, input.grad());
    uses.finish();
  };
  // Always recorded: leaves that f captures may need gradients even when x does not.
  auto* node = new detail::OpNode<decltype(backward_of)>(std::move(backward_of));
  detail::add_edge(*node, x);
  detail::keep(*node, {&x});
  detail::attach(node, Op::checkpoint, y, nullptr);
  return y;
}

}  // namespace pg
