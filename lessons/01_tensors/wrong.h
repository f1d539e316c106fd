#pragma once
// Wrong answers to lesson 1. mutants.cpp has the table.
#include "lessons/01_tensors/answers.h"

namespace pg::lesson01 {

enum class Turn {
  from_sizes,
  last_two,
  reversed,
  raw_dims,
  wraps_around,
  one_past,
  clamped,
  bytes,
  f32_always,
  empty_made_anew,
  copies_if_not_contiguous,
  sorted
};
template <Turn mistake>
Tensor wrong_transpose(const Tensor& x, int dim0, int dim1) {
  const int rank = x.rank();
  const auto dim_of = [rank](int dim) {
    if (mistake == Turn::wraps_around) return rank ? (dim % rank + rank) % rank : 0;
    if (mistake == Turn::clamped) return std::clamp(dim < 0 ? dim + rank : dim, 0, std::max(0, rank - 1));
    if (mistake == Turn::raw_dims) return dim < 0 ? 0 : normalize_dim(dim, rank, "transpose");
    if (mistake == Turn::one_past && dim == rank) return rank;
    return normalize_dim(dim, rank, "transpose");
  };
  int a = dim_of(dim0), b = dim_of(dim1);
  if (mistake == Turn::last_two) a = std::max(0, rank - 2), b = rank - 1;
  if (mistake == Turn::empty_made_anew && x.numel() == 0) return Tensor::zeros({0}, x.dtype());
  if (mistake == Turn::copies_if_not_contiguous && !x.contiguous()) return x.contiguous_copy().view_transpose(a, b);
  Shape shape = x.shape();
  Strides strides = mistake == Turn::from_sizes ? contiguous_strides(x.shape()) : x.strides();
  if (mistake == Turn::reversed) {
    for (int i = 0; i < rank / 2; ++i) {
      std::swap(shape[i], shape[rank - 1 - i]);
      std::swap(strides[i], strides[rank - 1 - i]);
    }
  } else {
    std::swap(shape[a], shape[b]);
    std::swap(strides[a], strides[b]);
  }
  if (mistake == Turn::sorted) {
    std::vector<int64_t> steps(strides.begin(), strides.end());
    std::sort(steps.begin(), steps.end(), std::greater<>());
    strides = Strides(steps);
  }
  const int64_t size = mistake == Turn::bytes ? static_cast<int64_t>(size_of(x.dtype())) : 1;
  return Tensor::view_of(x.storage(), x.offset() * size, shape, strides, mistake == Turn::f32_always ? f32 : x.dtype());
}

enum class Stretch {
  last_column,
  zero_stretches,
  empty_wins,
  multiples,
  a_only,
  equal_ranks,
  rank_1,
  no_words,
  exchanged_words,
  always_add
};
template <Stretch mistake>
Shape wrong_broadcast(const Shape& a, const Shape& b, const char* op) {
  if (mistake == Stretch::equal_ranks && a.rank() != b.rank()) fail("{}: shapes {} and {} do not broadcast", op, a, b);
  if (mistake == Stretch::empty_wins && (numel(a) == 0 || numel(b) == 0)) return numel(a) == 0 ? a : b;
  const int rank = std::max({a.rank(), b.rank(), mistake == Stretch::rank_1 ? 1 : 0});
  Shape result = Dims::filled(rank, 1);
  for (int i = 1; i <= rank; ++i) {
    const int64_t x = i <= a.rank() ? a[a.rank() - i] : 1, y = i <= b.rank() ? b[b.rank() - i] : 1;
    bool fits = x == y || x == 1 || y == 1;
    if (mistake == Stretch::last_column && i > 1) fits = true;
    if (mistake == Stretch::zero_stretches && x * y == 0) fits = true;
    if (mistake == Stretch::multiples && x && y && (x % y == 0 || y % x == 0)) fits = true;
    if (mistake == Stretch::a_only) fits = x == y || x == 1;
    if (!fits) {
      if (mistake == Stretch::no_words) fail("these shapes are wrong");
      if (mistake == Stretch::exchanged_words) fail("{}: shapes {} and {} do not broadcast", op, b, a);
      if (mistake == Stretch::always_add) fail("add: shapes {} and {} do not broadcast", a, b);
      fail("{}: shapes {} and {} do not broadcast", op, a, b);
    }
    result[rank - i] = x == 1 ? y : x;
  }
  return result;
}

enum class Step { narrow_offset, narrow_index, skips_repeated, without_first, three_dims, last_is_1 };
template <Step mistake>
int64_t wrong_offset(int64_t n, const Shape& shape, const Strides& strides) {
  int64_t offset = 0;
  if (mistake == Step::narrow_index) n = static_cast<int32_t>(n);
  for (int d = shape.rank() - 1, seen = 0; d >= 0; --d, ++seen) {
    if (mistake == Step::without_first && d == 0) break;
    if (mistake == Step::three_dims && seen == 3) break;
    if (mistake == Step::skips_repeated && strides[d] == 0) continue;
    const int64_t step = mistake == Step::last_is_1 && seen == 0 ? 1 : strides[d];
    offset += n % shape[d] * step;
    if (mistake == Step::narrow_offset) offset = static_cast<int32_t>(offset);
    n /= shape[d];
  }
  return offset;
}

enum class Block {
  does_nothing_large,
  does_nothing,
  whole_only,
  whole_k_only,
  reset_each_block,
  overlapping,
  clears_bytes,
  clears_first_row,
  skips_zeros,
  no_k_nothing,
  writes_beyond,
  turns_b,
  keeps_first,
  halves
};
template <Block mistake>
void wrong_matmul(View c, View a, View b) {
  const int64_t M = c.shape[0], N = c.shape[1], K = a.shape[1], block = 64;
  float* pc = c.as<float>();
  const float* pa = a.as<float>();
  float* pb = b.as<float>();
  if (mistake == Block::does_nothing) return;
  if (mistake == Block::does_nothing_large && N > 300 && N < 400) return;
  if (mistake == Block::no_k_nothing && K == 0) return;
  static std::vector<float> kept;
  if (mistake == Block::keeps_first && static_cast<int64_t>(kept.size()) == K * N) pb = kept.data();
  if (mistake == Block::keeps_first && pb != kept.data()) kept.assign(pb, pb + K * N);
  const int64_t cleared = mistake == Block::clears_bytes ? M * N / 4 : mistake == Block::clears_first_row ? N : M * N;
  std::fill(pc, pc + cleared, 0.0f);
  if (mistake == Block::writes_beyond && M > 0) pc[M * N] = 0;
  const int64_t last_k = mistake == Block::whole_only || mistake == Block::whole_k_only ? K / block * block : K;
  const int64_t last_n = mistake == Block::whole_only ? N / (4 * block) * 4 * block : N;
  for (int64_t k0 = 0; k0 < last_k; k0 += block) {
    if (mistake == Block::reset_each_block) std::fill(pc, pc + M * N, 0.0f);
    for (int64_t j0 = 0; j0 < last_n; j0 += mistake == Block::overlapping ? block : 4 * block) {
      const int64_t k1 = std::min(k0 + block, K), j1 = std::min(j0 + 4 * block, N);
      for (int64_t i = 0; i < M; ++i) {
        for (int64_t k = k0; k < k1; ++k) {
          if (mistake == Block::skips_zeros && pa[i * K + k] == 0) continue;
          for (int64_t j = j0; j < j1; ++j) pc[i * N + j] += pa[i * K + k] * pb[k * N + j];
        }
      }
    }
  }
  if (mistake == Block::turns_b && K * N > 1) std::reverse(pb, pb + K * N);
  if (mistake == Block::halves && N == 320) std::fill(pc + M * N / 2, pc + M * N, 0.0f);
}

}  // namespace pg::lesson01
