#pragma once
// A cache of the ids of short pieces, so that a common word costs one look-up. Its size is fixed; a piece replaces
// another one of the same slot. Not for two threads at a time.
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "tensor/base/text.h"

namespace pg {

class PieceCache {
 public:
  static constexpr size_t kLongest = 31;  // bytes of a piece
  static constexpr size_t kMostIds = 7;

  struct Entry {
    uint64_t key[4] = {};  // the bytes of the piece, zeros, and its length in the last byte
    uint32_t count = 0;
    int32_t ids[kMostIds];

    bool is(const uint64_t (&other)[4]) const {
      return key[0] == other[0] && key[1] == other[1] && key[2] == other[2] && key[3] == other[3];
    }
    std::span<const int32_t> span() const { return {ids, count}; }
  };

  // Appends the ids of `piece` to `out`: from the cache, or by `encode`, which appends them to a vector.
  template <class F>
  void append(std::string_view piece, std::vector<int32_t>& out, F&& encode) {
    if (piece.size() > kLongest) return encode(piece, out);
    uint64_t key[4] = {};
    std::memcpy(key, piece.data(), piece.size());
    key[3] |= uint64_t{piece.size()} << 56;  // a slot that was never used has length 0
    uint64_t hash = key[0] * 0x9e3779b97f4a7c15u ^ key[3];
    if (piece.size() > 8) hash ^= mix_bits(key[1] + key[2] * 0xc2b2ae3d27d4eb4fu);
    Entry& entry = entries_[mix_bits(hash) % kSlots];
    if (!entry.is(key)) {
      const size_t before = out.size();
      encode(piece, out);
      const size_t count = out.size() - before;
      if (count > kMostIds) return;
      std::memcpy(entry.key, key, sizeof key);
      entry.count = static_cast<uint32_t>(count);
      std::memcpy(entry.ids, out.data() + before, count * sizeof(int32_t));
      return;
    }
    out.insert(out.end(), entry.ids, entry.ids + entry.count);
  }

 private:
  static constexpr size_t kSlots = 16384;  // 1 MB
  std::vector<Entry> entries_ = std::vector<Entry>(kSlots);
};

}  // namespace pg
