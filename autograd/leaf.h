#pragma once
// Leaves as the tape keeps them, and what checkpoint() reads of them. For tape.cpp and checkpoint.cpp only.
#include <functional>
#include <utility>
#include <vector>

#include "autograd/tape.h"

namespace pg::detail {

struct Leaf final : Node {
  int uses = 0;  // edges that end here, and checkpoints that will read it again
  std::function<void()> ready;
  void run(const Tensor&, Grads&) override {}
  void drop() override {}
};

inline Node* node_of(const Ref<GradNode>& ref) { return static_cast<Node*>(ref.get()); }
inline Leaf* leaf_of(const Ref<GradNode>& ref) {
  return ref && node_of(ref)->op == Op::leaf ? static_cast<Leaf*>(node_of(ref)) : nullptr;
}

// Ends one use of a leaf by a backward that has run.
inline void finish_use(Leaf& leaf) {
  if (--leaf.uses == 0 && leaf.has_grad && leaf.ready) leaf.ready();
}

// Error naming `op` if the memory was written since it had `writes` writes.
void check_unwritten(Op op, const Storage& storage, uint64_t writes);

// The weights and other leaves that the function of a checkpoint() captures and reads, with their write counts at that
// time.
class CapturedLeaves {
 public:
  void note(const Tensor& t);
  // A use of each leaf, from the forward pass until the backward that reads it again has run.
  class Uses {
   public:
    explicit Uses(const CapturedLeaves& captured) : leaves_(captured.leaves_) {
      for (const auto& leaf : leaves_) ++leaf_of(leaf)->uses;
    }
    Uses(Uses&& other) noexcept : leaves_(std::exchange(other.leaves_, {})) {}
    ~Uses() {
      for (const auto& leaf : leaves_) --leaf_of(leaf)->uses;
    }
    void finish() {
      for (const auto& leaf : std::exchange(leaves_, {})) finish_use(*leaf_of(leaf));
    }

   private:
    std::vector<Ref<GradNode>> leaves_;
  };
  void check_unwritten() const {
    for (const auto& [storage, writes] : entries_) detail::check_unwritten(Op::checkpoint, *storage, writes);
  }

 private:
  std::vector<std::pair<Ref<Storage>, uint64_t>> entries_;
  std::vector<Ref<GradNode>> leaves_;
};
extern constinit thread_local CapturedLeaves* read_in_checkpoint;  // while a checkpoint() runs without a tape

}  // namespace pg::detail
