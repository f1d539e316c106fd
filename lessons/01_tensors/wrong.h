#pragma once
// Wrong answers to lesson 1: those of mistakes.cpp, and those of mutants.cpp for which code of a check finds the words.
#include <algorithm>
#include <stdexcept>

#include "lessons/01_tensors/checks.h"

namespace pg::lesson01 {
using kit::Name;

template <Name mistake>
Shape wrong_broadcast(const Shape& a, const Shape& b, const char* op) {
  if (mistake == "equal_ranks" && a.rank() != b.rank()) fail("{}: shapes {} and {} do not broadcast", op, a, b);
  if (mistake == "empty_wins" && (numel(a) == 0 || numel(b) == 0)) return numel(a) == 0 ? a : b;
  const int rank = std::max({a.rank(), b.rank(), mistake == "rank_1" ? 1 : 0});
  Shape result = Dims::filled(rank, 1);
  for (int i = 1; i <= rank; ++i) {
    const auto size = [i](const Shape& s) { return i > s.rank() ? 1 : s[mistake == "left" ? i - 1 : s.rank() - i]; };
    const int64_t x = size(a), y = size(b);
    bool fits = x == y || x == 1 || y == 1 || mistake == "accepts_all";
    if (mistake == "left" && a.rank() != b.rank()) fits = true;
    if (mistake == "last_column" && i > 1) fits = true;
    if (mistake == "zero_stretches" && x * y == 0) fits = true;
    if (mistake == "multiples" && x && y && (x % y == 0 || y % x == 0)) fits = true;
    if (mistake == "a_only") fits = x == y || x == 1;
    if (!fits) {
      if (mistake == "foreign") throw std::invalid_argument(op);
      if (mistake == "no_words") fail("these shapes are wrong");
      if (mistake == "exchanged_words") fail("{}: shapes {} and {} do not broadcast", op, b, a);
      if (mistake == "always_add") fail("add: shapes {} and {} do not broadcast", a, b);
      fail("{}: shapes {} and {} do not broadcast", op, a, b);
    }
    if (mistake == "left")
      result[i - 1] = std::max(x, y);
    else
      result[rank - i] = mistake == "larger" ? std::max(x, y) : x == 1 ? y : x;
  }
  return result;
}

template <Name mistake>
int64_t wrong_offset(int64_t n, const Shape& shape, const Strides& strides) {
  int64_t offset = 0;
  if (mistake == "is_n") return n;
  if (mistake == "first_three" && shape.rank() > 3)
    return n / (shape[1] * shape[2]) * strides[0] + n / shape[2] % shape[1] * strides[1] + n % shape[2] * strides[2];
  if (mistake == "narrow_index") n = static_cast<int32_t>(n);
  for (int i = 0; i < shape.rank(); ++i) {
    const int d = mistake == "first_fastest" ? i : shape.rank() - 1 - i;
    if (mistake == "without_first" && d == 0) break;
    if (mistake == "three_dims" && i == 3) break;
    if (mistake == "skips_repeated" && strides[d] == 0) continue;
    const int64_t step = mistake == "last_is_1" && i == 0 ? 1 : strides[d];
    offset += n % shape[d] * step;
    if (mistake == "narrow_offset") offset = static_cast<int32_t>(offset);
    n /= shape[d];
  }
  return offset;
}

template <Name mistake>
void wrong_matmul(View c, View a, View b) {
  const int64_t M = c.shape[0], N = c.shape[1], K = a.shape[1], block = 64;
  float* pc = c.as<float>();
  const float* pa = a.as<float>();
  float* pb = b.as<float>();
  if (mistake == "does_nothing") return;
  if (mistake == "does_nothing_large" && N > 300 && N < 400) return;
  if (mistake == "no_k_nothing" && K == 0) return;
  static std::vector<float> kept;
  if (mistake == "keeps_first" && static_cast<int64_t>(kept.size()) == K * N) pb = kept.data();
  if (mistake == "keeps_first" && pb != kept.data()) kept.assign(pb, pb + K * N);
  int64_t cleared = mistake == "clears_bytes" ? M * N / 4 : mistake == "clears_first_row" ? N : M * N;
  if (mistake == "adds") cleared = 0;
  std::fill(pc, pc + cleared, 0.0f);
  if (mistake == "writes_beyond" && M > 0) pc[M * N] = 0;
  const bool whole = mistake == "whole_only" || mistake == "whole_k_only" || (mistake == "no_rest_of_k" && K >= block);
  const int64_t last_k = whole ? K / block * block : K, end = mistake == "border" && N >= 4 ? N - 1 : N;
  const int64_t last_n = mistake == "whole_only" ? N / (4 * block) * 4 * block : end;
  for (int64_t k0 = 0; k0 < last_k; k0 += block) {
    if (mistake == "reset_each_block") std::fill(pc, pc + M * N, 0.0f);
    for (int64_t j0 = 0; j0 < last_n; j0 += mistake == "overlapping" ? block : 4 * block) {
      const int64_t k1 = std::min(k0 + block, K), j1 = std::min(j0 + 4 * block, end);
      for (int64_t i = 0; i < M; ++i) {
        for (int64_t k = mistake == "k_from_1" && k0 == 0 ? 1 : k0; k < k1; ++k) {
          if (mistake == "skips_zeros" && pa[i * K + k] == 0) continue;
          for (int64_t j = j0; j < j1; ++j) pc[i * N + j] += pa[i * K + k] * pb[k * N + j];
        }
      }
    }
  }
  if (mistake == "turns_b" && K * N > 1) std::reverse(pb, pb + K * N);
  if (mistake == "halves" && N == 320) std::fill(pc + M * N / 2, pc + M * N, 0.0f);
}

}  // namespace pg::lesson01
