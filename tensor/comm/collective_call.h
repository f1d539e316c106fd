#pragma once
// A call of a collective as numbers. The ranks send each other theirs, to see that they are equal, and check the
// numbers of the others before they use them.
#include <cstdint>
#include <string>

namespace pg {

// It has no padding and no pointers, so that ranks may exchange its bytes.
struct CollectiveCall {
  enum class Op : int32_t { all_reduce, reduce_scatter, all_gather, broadcast, barrier };
  Op op = Op::barrier;
  int32_t dtype = 0, root = 0, terms = 0;
  int64_t n = 0, unit = 1, add = 0;
  bool operator==(const CollectiveCall&) const = default;
};

// Whether the operation adds up elements, which excludes u8. False for a number that is no operation.
bool adds_up(CollectiveCall::Op op);
// "all_reduce"; "?" for a number that is no operation.
const char* name_of(CollectiveCall::Op op);
// "all_reduce of 5 f32". It may be called with any numbers.
std::string name_of(const CollectiveCall& call);
// The first number that no call in a group of this size can have, "operation 7, expected 0 to 4"; empty if there is
// none. A call from another process is checked by this function before anything else reads it.
std::string defect_of(const CollectiveCall& call, int ranks);

}  // namespace pg
