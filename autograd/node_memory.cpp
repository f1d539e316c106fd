// The memory of nodes: free lists per thread, and the release of a graph without recursion.
#include "autograd/tape.h"

namespace pg {

namespace {
constexpr size_t kStep = 64, kClasses = 32;
using FreeLists = std::array<std::vector<void*>, kClasses>;

// The free nodes of this thread by size, until the thread ends. Plain values, because a tensor with static lifetime may
// release its node after that.
constinit thread_local FreeLists* free_lists = nullptr;
constinit thread_local bool thread_ended = false;

struct FreeListsOwner {
  FreeListsOwner() { free_lists = &lists; }
  ~FreeListsOwner() {
    thread_ended = true;
    free_lists = nullptr;
    for (auto& list : lists) {
      for (void* node : list) ::operator delete(node);
    }
  }
  FreeLists lists;
};

// The free list for nodes of this size; null if such nodes are not kept or the thread has ended.
std::vector<void*>* dropped(size_t bytes) {
  if (bytes > (kClasses - 1) * kStep) return nullptr;
  if (!free_lists) [[unlikely]] {
    if (thread_ended) return nullptr;
    static thread_local FreeListsOwner owner;
  }
  return &(*free_lists)[(bytes + kStep - 1) / kStep];
}
}  // namespace

void* Node::operator new(size_t bytes) {
  std::vector<void*>* const list = dropped(bytes);
  if (!list || list->empty()) return ::operator new((bytes + kStep - 1) / kStep * kStep);
  void* node = list->back();
  list->pop_back();
  return node;
}

void Node::operator delete(void* node, size_t bytes) {
  if (std::vector<void*>* const list = dropped(bytes)) return list->push_back(node);
  ::operator delete(node);
}

void GradNode::release(GradNode* node) {
  constinit static thread_local std::vector<GradNode*>* pending = nullptr;  // not null while a node is released
  if (pending) return pending->push_back(node);
  std::vector<GradNode*> nodes;
  pending = &nodes;
  delete node;
  while (!nodes.empty()) {
    GradNode* next = nodes.back();
    nodes.pop_back();
    delete next;
  }
  pending = nullptr;
}

}  // namespace pg
