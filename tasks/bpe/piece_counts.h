#pragma once
// How often each piece of a text occurs, for the training of BPE, and where a long text can be cut into parts.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tasks/bpe/added_tokens.h"
#include "tasks/bpe/pretokenizer.h"
#include "tasks/bpe/regex.h"

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

// Whether "\r\n" ends a line too. A text that is cut there must be encoded with LF in its place (unix_text).
enum class LineEnds { lf, lf_or_crlf };

// The first place after byte `from` that follows a line end between a character that is no white space and a letter or
// digit; the size of the text if there is none. Every row of split_patterns() splits the text there
// (Pretokenizer::splits_at_line_cuts).
size_t line_cut(std::string_view text, size_t from, RegexScratch& scratch, LineEnds ends = LineEnds::lf);

}  // namespace pg
