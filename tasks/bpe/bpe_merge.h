#pragma once
// The merges of byte-pair encoding (Sennrich et al., 2016): of all adjacent pairs of symbols that have a merge, the one
// of the lowest rank is replaced, the leftmost first, until no pair has one.
#include <cstdint>
#include <span>
#include <vector>

namespace pg {

class MergeTable {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;  // the rank of a pair without a merge
  struct Merge {
    uint32_t rank = kNone;
    int32_t id = -1;  // of the token that replaces the pair
  };

  // Room for `count` merges.
  explicit MergeTable(size_t count = 0);
  // Ids are not negative. A second merge of the same pair replaces the first.
  void set(int32_t left, int32_t right, Merge merge);
  Merge find(int32_t left, int32_t right) const;

  // Memory that calls reuse.
  struct Scratch {
    struct Part {
      int32_t id;
      Merge merge;  // with the next part
    };
    std::vector<Part> parts;
    std::vector<uint32_t> previous, next;
    std::vector<uint64_t> heap;
  };
  // Replaces `ids`, the symbols of one piece, with its tokens: by `scan` if they are few, else by `heap`.
  void apply(std::vector<int32_t>& ids, Scratch& scratch) const;
  // Both give the same ids. scan looks through all pairs for each merge, n^2 steps for n symbols; heap has a priority
  // queue over a linked list, n log n steps. At most 2^32 - 2 symbols.
  void scan(std::vector<int32_t>& ids, Scratch& scratch) const;
  void heap(std::vector<int32_t>& ids, Scratch& scratch) const;

 private:
  static constexpr uint64_t kFree = UINT64_MAX;
  struct Slot {
    uint64_t key = kFree;  // left << 32 | right
    Merge merge;
  };
  size_t place(uint64_t key) const;

  std::vector<Slot> slots_;  // open addressing, a power of two
  size_t used_ = 0;
};

}  // namespace pg
