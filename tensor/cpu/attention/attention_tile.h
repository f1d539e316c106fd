#pragma once
// Shared by the forward and the backward pass of attention: sizes, the keys that a row attends to, and products of
// tiles.
//
// Keys are processed in blocks of kKeys at fixed positions 0, kKeys, 2·kKeys, …, queries in tiles of at most kMaxRows
// rows. The values of a row depend only on its own blocks, in their order, and not on its tile, the other rows, T or S.
#include <algorithm>
#include <limits>

#include "tensor/base/parallel.h"
#include "tensor/cpu/gemm/gemm.h"
#include "tensor/cpu/gemm/kernel.h"
#include "tensor/cpu/simd/vec_math.h"
#include "tensor/kernels.h"

namespace pg::cpu {

inline constexpr int kKeys = 64;
// A tile of scores or probabilities is [rows, kKeys]: the left operand of a product as stored, or transposed.
using ScoresA = LayoutA<kKeys, 1>;
using ScoresTransposedA = LayoutA<1, kKeys>;

inline constexpr int64_t round_up(int64_t n, int64_t step) { return (n + step - 1) / step * step; }

template <class T>
struct AttentionSizes {
  AttentionSizes(const View& q, const View& k, const AttentionArgs& args)
      : batch(q.shape[0]),
        heads(q.shape[1]),
        kv_heads(k.shape[1]),
        queries(q.shape[2]),
        keys(k.shape[2]),
        size(q.shape[3]),
        padded(round_up(size, simd::Vec<T>::size)),
        args(args) {}
  int64_t group() const { return heads / kv_heads; }  // query heads that share a head of k and v
  // Number of keys in use in row b.
  int64_t length(int64_t b) const {
    if (!args.kv_len) return keys;
    return std::clamp<int64_t>(args.kv_len.as<int32_t>()[b * args.kv_len.strides[0]], 0, keys);
  }
  // Query t attends to those keys of [0, visible) that the key mask allows.
  int64_t visible(int64_t t, int64_t length) const {
    return args.causal ? std::clamp<int64_t>(length - queries + t + 1, 0, length) : length;
  }

  int64_t batch, heads, kv_heads, queries, keys, size, padded;
  const AttentionArgs& args;
};

// Calls run(begin, end) over all items, which together take about `seconds` on one thread.
template <class F>
void run_items(int64_t items, double seconds, F run) {
  if (seconds < kWorthThreads) return run(0, items);
  parallel_for(items, static_cast<int64_t>(kWorthThreads / 2 * static_cast<double>(items) / seconds) + 1, run);
}

// Row t of head h of batch row b. x holds S, which is T, or bf16 if T is float.
template <class S>
S* row_of(const View& x, int64_t b, int64_t h, int64_t t) {
  return x.as<S>() + b * x.strides[0] + h * x.strides[1] + t * x.strides[2];
}

// c [rows, columns] = beta·c + a·b for rows <= kMaxRows; rows of b are padded to whole vectors.
template <class Layout, class T>
inline void multiply_tile(int64_t rows, int64_t columns, int64_t depth, const T* a, const T* b, int64_t ldb, T* c,
                          int64_t ldc, T beta) {
  constexpr int64_t wide = 8 * simd::Vec<T>::size;  // for one row: the chains of two vectors would wait
  int64_t j = 0;
  for (; rows == 1 && j + wide <= columns; j += wide) {
    micro_kernel<T, Layout, false, 1, 8>(depth, a, rows, b + j, ldb, c + j, ldc, wide, beta, nullptr, 0);
  }
  for (; j < columns; j += kPanel<T>) {
    const int64_t n = std::min(kPanel<T>, columns - j);
    micro_kernels<T, Layout>[n > simd::Vec<T>::size][rows - 1](depth, a, rows, b + j, ldb, c + j, ldc, n, beta, nullptr,
                                                               0);
  }
}

// Rows of k or v, padded to whole vectors.
template <class T>
struct Rows {
  const T* data;
  int64_t ld;
};

// The keys in use of one block of one batch row.
template <class T>
struct KeyBlock {
  int64_t first, count;
  const uint8_t* mask;  // ? the key mask, elements `mask_step` apart
  int64_t mask_step;
  int64_t masked_first = 0;  // number of masked keys at the start of the block

  KeyBlock(const AttentionSizes<T>& s, int64_t b, int64_t first, int64_t length)
      : first(first), count(std::min<int64_t>(kKeys, length - first)), mask(nullptr), mask_step(0) {
    const View& m = s.args.key_mask;
    if (!m) return;
    mask_step = m.strides[1];
    mask = m.as<uint8_t>() + b * m.strides[0] + first * mask_step;
    while (masked_first < count && !attends(masked_first)) ++masked_first;
  }
  bool attends(int64_t key) const { return !mask || mask[key * mask_step]; }
  // Number of keys of this block among the first visible(t); 0 if all of these are masked.
  int64_t seen(const AttentionSizes<T>& s, int64_t t, int64_t length) const {
    const int64_t n = std::clamp<int64_t>(s.visible(t, length) - first, 0, count);
    return n > masked_first ? n : 0;
  }

  // The block of k or v by rows: in place if rows consist of whole vectors, else a copy in `space` [kKeys, padded].
  // Masked keys are replaced by 0, because their values, which may be NaN, are multiplied by a probability of 0.
  template <class S>
  Rows<T> rows(const AttentionSizes<T>& s, const View& x, int64_t b, int64_t h, T* space) const {
    const S* from = row_of<S>(x, b, h, first);
    if constexpr (std::is_same_v<S, T>) {
      if (s.size == s.padded && !mask) return {from, x.strides[2]};
    }
    if (s.size != s.padded || mask) std::fill(space, space + count * s.padded, T(0));
    for (int64_t i = 0; i < count; ++i) {
      if (attends(i)) simd::convert(space + i * s.padded, from + i * x.strides[2], s.size);
    }
    return {space, s.padded};
  }
  // The block transposed, [size, kKeys]: `count` columns, padded with 0 to whole vectors. The elements of a row of x
  // are contiguous.
  template <class S>
  void transposed(const AttentionSizes<T>& s, const View& x, int64_t b, int64_t h, T* space) const {
    constexpr int64_t vector = simd::Vec<T>::size;
    for (int64_t i = 0; i < count; i += vector) {
      pack_across(space + i, kKeys, row_of<S>(x, b, h, first + i), x.strides[2], std::min(vector, count - i), s.size);
    }
  }
  // 1 for keys that the mask allows, 0 for others, in `space` [kKeys]; nullptr without a mask.
  const T* keep(T* space) const {
    if (!mask) return nullptr;
    for (int64_t i = 0; i < kKeys; ++i) space[i] = i < count && attends(i) ? T(1) : T(0);
    return space;
  }
};

// Among the keys [i, i + size) of the block, those that a row with `seen` keys attends to.
template <class T>
inline simd::Mask<T> attended(int64_t i, int64_t seen, const T* keep) {
  static constexpr auto index = []<int... I>(std::integer_sequence<int, I...>) {
    return std::array{static_cast<T>(I)...};
  }
  (std::make_integer_sequence<int, kKeys>());
  const simd::Mask<T> before = simd::load(&index[i]) < simd::Vec<T>(static_cast<T>(seen));
  return keep ? before & (simd::load(keep + i) > T(0)) : before;
}

}  // namespace pg::cpu
