#pragma once
// How often each piece of a text occurs, for the training of BPE.
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tasks/bpe/added_tokens.h"
#include "tasks/bpe/pretokenizer.h"

namespace pg {

// A hash table from pieces to counts. Its memory is proportional to the distinct pieces.
class PieceCounts {
 public:
  void add(std::string_view piece, int64_t count = 1);
  // Adds the counts of another table.
  void add(const PieceCounts& other);
  size_t size() const { return used_; }
  // Calls f(piece, count) for each, in no particular order.
  template <class F>
  void for_each(F&& f) const {
    for (const Slot& slot : slots_) {
      if (slot.count > 0) f(piece_of(slot), slot.count);
    }
  }

 private:
  struct Slot {
    uint64_t hash = 0;
    size_t begin = 0;  // in bytes_
    uint32_t size = 0;
    int64_t count = 0;  // 0: free
  };
  std::string_view piece_of(const Slot& slot) const { return std::string_view(bytes_).substr(slot.begin, slot.size); }
  Slot& slot_of(std::string_view piece, uint64_t hash);
  void grow();

  std::vector<Slot> slots_ = std::vector<Slot>(1024);  // open addressing, a power of two
  size_t used_ = 0;
  std::string bytes_;
};

// The pieces of all texts, on all cores. Texts are taken apart at the tokens `special`, which are not counted,
// normalized and split. A long text is cut into chunks where every row of split_patterns() splits it: after a newline
// between a character that is no white space and a letter or digit.
PieceCounts count_pieces(std::span<const std::string_view> texts, const std::vector<AddedToken>& special,
                         const Normalizer& normalizer, const Pretokenizer& pretokenizer);

}  // namespace pg
