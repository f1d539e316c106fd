#pragma once
// KV cache: keys and values of earlier positions, so that a new token costs one position instead of all of them. With
// latent attention (nn/variants/latent_attention.h) one tensor serves as both.
#include <vector>

#include "autograd/ops.h"
#include "tensor/tensor.h"

namespace pg {

// One layer's part of a cache for one forward pass.
struct KvSlot {
  Tensor k, v;    // [B, H, S, D]; one and the same tensor if the values are the keys
  Tensor before;  // i32 [B], on the device of k: positions in use, the index of the first new one
  Tensor after;   // i32 [B], on the device of k: positions in use after the new ones are stored

  // Copies new keys and values [B, H, T, D] into the cache.
  void store(const Tensor& new_k, const Tensor& new_v) const;
  // store(), then attention() of the queries q [B, heads, T, D] of the new positions over the positions in use.
  Tensor attention(const Tensor& q, const Tensor& new_k, const Tensor& new_v, AttentionOptions options = {}) const;

 private:
  void check_new(const Tensor& new_k, const Tensor& new_v) const;
};

// Rows have different lengths without padding. Copies of a KvCache share the memory.
struct KvCache {
  std::vector<Tensor> k, v;  // per layer [B, H, S, D] with room for S positions; v is k if the values are the keys
  Tensor lengths;            // i32 [B], on the CPU: positions in use

  // values_are_keys: v[i] is k[i], without memory of its own.
  KvCache(int64_t rows, int64_t layers, int64_t heads, int64_t room, int64_t head_size, DType dtype, Device device = {},
          bool values_are_keys = false);
  int64_t rows() const { return lengths.size(0); }
  int64_t room() const { return k[0].size(2); }
  // Rows [begin, end); shares the memory.
  KvCache slice(int64_t begin, int64_t end) const;
  // Overwrites row `to` with row `from`.
  void copy_row(int64_t from, int64_t to) const;

  // The slots of a pass that appends `count` positions to every row. Error if a row has no room for them.
  std::vector<KvSlot> slots(int64_t count) const;
  // The slots with lengths that the caller keeps on the device of the keys.
  std::vector<KvSlot> slots(const Tensor& before, const Tensor& after) const;
  // Adds the `count` positions of that pass to the length of every row.
  void advance(int64_t count) const;

 private:
  KvCache() = default;
};

}  // namespace pg
