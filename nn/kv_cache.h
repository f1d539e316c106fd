#pragma once
// Keys and values of the positions already seen, so that a new token costs one position instead of all of them.
#include <vector>

#include "tensor/tensor.h"

namespace pg {

// One layer's part of a cache, for one forward pass.
struct KvSlot {
  Tensor k, v;    // [B, H, S, D]
  Tensor before;  // i32 [B], beside k: positions in use, where the new ones go
  Tensor after;   // the same once they are in

  // Copies new keys and values [B, H, T, D] into place.
  void store(const Tensor& new_k, const Tensor& new_v) const;
};

// Rows of different lengths, none padded. Copies share the memory.
struct KvCache {
  std::vector<Tensor> k, v;  // per layer [B, H, S, D], S positions of room
  Tensor lengths;            // i32 [B], on the CPU: positions in use

  KvCache(int64_t rows, int64_t layers, int64_t heads, int64_t room, int64_t head_size, DType dtype,
          Device device = {});
  int64_t rows() const { return lengths.size(0); }
  int64_t room() const { return k[0].size(2); }
  // Rows [begin, end), sharing the memory.
  KvCache slice(int64_t begin, int64_t end) const;
  // Overwrites row `to` with row `from`.
  void copy_row(int64_t from, int64_t to) const;

  // The slots of a pass that appends `count` positions to every row. Error when a row has no room for them.
  std::vector<KvSlot> slots(int64_t count) const;
  // The same with lengths that the caller keeps beside the keys.
  std::vector<KvSlot> slots(const Tensor& before, const Tensor& after) const;
  // Makes the positions of that pass part of the rows.
  void advance(int64_t count) const;

 private:
  KvCache() = default;
};

}  // namespace pg
