#pragma once
// Right but unusual answers to lesson 1: the checks must accept them. mutants.cpp has the table.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "lessons/01_tensors/lesson.h"

namespace pg::lesson01 {

// An error in words of its own.
inline Tensor right_own_words(const Tensor& x, int a, int b) {
  const int rank = x.rank();
  for (int* dim : {&a, &b}) {
    if (*dim < -rank || *dim >= rank) fail("the axis is out of range");
    *dim = (*dim + rank) % rank;
  }
  std::vector<int> order(static_cast<size_t>(rank));
  for (int i = 0; i < rank; ++i) order[static_cast<size_t>(i)] = i == a ? b : i == b ? a : i;
  return x.view_permute(order);
}

// Reads the shapes as lists from their ends; the error has more words than the exercise gives.
inline Shape right_backwards(const Shape& a, const Shape& b, const char* op) {
  std::vector<int64_t> sizes;
  for (int i = 1; i <= std::max(a.rank(), b.rank()); ++i) {
    const int64_t x = i > a.rank() ? 1 : a[a.rank() - i], y = i > b.rank() ? 1 : b[b.rank() - i];
    if (x != y && x != 1 && y != 1) fail("in {}: the shapes {} and {} are too different", op, a, b);
    sizes.push_back(x != 1 ? x : y);
  }
  return Shape(std::vector<int64_t>(sizes.rbegin(), sizes.rend()));
}

// From the first dimension on: whole blocks first.
inline int64_t right_from_the_front(int64_t n, const Shape& shape, const Strides& strides) {
  int64_t offset = 0;
  const Strides blocks = contiguous_strides(shape);
  for (int d = 0; d < shape.rank(); ++d) {
    offset += n / blocks[d] * strides[d];
    n %= blocks[d];
  }
  return offset;
}

// No blocks: rows of c, with the innermost loop along a row of b.
inline void right_rows(View c, View a, View b) {
  const int64_t M = c.shape[0], N = c.shape[1], K = a.shape[1];
  for (int64_t i = 0; i < M; ++i) {
    float* row = c.as<float>() + i * N;
    std::fill_n(row, N, 0.0f);
    for (int64_t k = 0; k < K; ++k) {
      const float x = a.as<float>()[i * K + k];
      for (int64_t j = 0; j < N; ++j) row[j] += x * b.as<float>()[k * N + j];
    }
  }
}

}  // namespace pg::lesson01
