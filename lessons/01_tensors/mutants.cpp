// Wrong answers to lesson 1. The checks must call each WRONG and say why; everything else must
// stay ok. The last rows are right answers.
// Full optimisation: a check measures them beside the naive loop.
#include "lessons/kit/mutants.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "lessons/01_tensors/answers.h"
#include "lessons/01_tensors/wrong.h"

namespace pg::lesson01 {
namespace {

template <Name mistake>
Tensor wrong_transpose(const Tensor& x, int dim0, int dim1) {
  const int rank = x.rank();
  const auto dim_of = [rank](int dim) {
    if (mistake == "wraps_around") return rank ? (dim % rank + rank) % rank : 0;
    if (mistake == "clamped") return std::clamp(dim < 0 ? dim + rank : dim, 0, std::max(0, rank - 1));
    if (mistake == "raw_dims") return dim < 0 ? 0 : normalize_dim(dim, rank, "transpose");
    if (mistake == "one_past" && dim == rank) return rank;
    return normalize_dim(dim, rank, "transpose");
  };
  int a = dim_of(dim0), b = dim_of(dim1);
  if (mistake == "last_for_all" && dim1 < 0) b = rank - 1;
  if (mistake == "first_for_all" && dim0 < 0) a = rank > 1 ? rank - 2 : 0;
  if (mistake == "last_two") a = std::max(0, rank - 2), b = rank - 1;
  if (mistake == "empty_made_anew" && x.numel() == 0) return Tensor::zeros({0}, x.dtype());
  if (mistake == "copies" || (mistake == "copies_views" && !x.contiguous())) return x.clone().view_transpose(a, b);
  Shape shape = x.shape();
  Strides strides = mistake == "from_sizes" ? contiguous_strides(x.shape()) : x.strides();
  if (mistake == "reversed") {
    for (int i = 0; i < rank / 2; ++i) {
      std::swap(shape[i], shape[rank - 1 - i]);
      std::swap(strides[i], strides[rank - 1 - i]);
    }
  } else {
    std::swap(shape[a], shape[b]);
    if (mistake != "shape_only") std::swap(strides[a], strides[b]);
  }
  if (mistake == "fresh_strides") strides = contiguous_strides(shape);
  if (mistake == "sorted") {
    std::vector<int64_t> steps(strides.begin(), strides.end());
    std::sort(steps.begin(), steps.end(), std::greater<>());
    strides = Strides(steps);
  }
  int64_t offset = mistake == "no_offset" ? 0 : x.offset();
  if (mistake == "bytes") offset *= static_cast<int64_t>(size_of(x.dtype()));
  return Tensor::view_of(x.storage(), offset, shape, strides, mistake == "f32_always" ? f32 : x.dtype());
}

// ---- right but unusual answers: the checks must accept them

// An error in words of its own.
Tensor right_own_words(const Tensor& x, int a, int b) {
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
Shape right_backwards(const Shape& a, const Shape& b, const char* op) {
  std::vector<int64_t> sizes;
  for (int i = 1; i <= std::max(a.rank(), b.rank()); ++i) {
    const int64_t x = i > a.rank() ? 1 : a[a.rank() - i], y = i > b.rank() ? 1 : b[b.rank() - i];
    if (x != y && x != 1 && y != 1) fail("in {}: the shapes {} and {} are too different", op, a, b);
    sizes.push_back(x != 1 ? x : y);
  }
  return Shape(std::vector<int64_t>(sizes.rbegin(), sizes.rend()));
}

// From the first dimension on: whole blocks first.
int64_t right_from_the_front(int64_t n, const Shape& shape, const Strides& strides) {
  int64_t offset = 0;
  const Strides blocks = contiguous_strides(shape);
  for (int d = 0; d < shape.rank(); ++d) {
    offset += n / blocks[d] * strides[d];
    n %= blocks[d];
  }
  return offset;
}

// No blocks: rows of c, with the innermost loop along a row of b.
void right_rows(View c, View a, View b) {
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

}  // namespace

const kit::Mutants<Impl> of_broadcast_shapes(
    &Impl::broadcast_shapes, broadcast_mistakes(),
    {{"broadcast_accepts_all", "01.2", "such shapes must be refused", wrong_broadcast<"accepts_all">},
     {"broadcast_last_column", "01.2", "refuse what does not fit in any column", wrong_broadcast<"last_column">},
     {"broadcast_zero_stretches", "01.2", "0 and 3 differ", wrong_broadcast<"zero_stretches">},
     {"broadcast_empty_wins", "01.2", "this is only a's shape", wrong_broadcast<"empty_wins">},
     {"broadcast_multiples", "01.2", "a multiple does not fit", wrong_broadcast<"multiples">},
     {"broadcast_a_only", "01.2", "these two shapes fit", wrong_broadcast<"a_only">},
     {"broadcast_equal_ranks", "01.2", "these two shapes fit", wrong_broadcast<"equal_ranks">},
     {"broadcast_foreign", "01.2", "not of this type: use fail(", wrong_broadcast<"foreign">},
     {"broadcast_no_words", "01.2", "its text must name", wrong_broadcast<"no_words">},
     {"broadcast_exchanged_words", "01.2", "its text must name", wrong_broadcast<"exchanged_words">},
     {"broadcast_always_add", "01.2", "its text must name", wrong_broadcast<"always_add">},
     {"right_backwards", "01.2", "ok", right_backwards}});
const kit::Mutants<Impl> of_matmul(
    &Impl::matmul, matmul_mistakes(),
    {{"matmul_border", "01.4", "and these are 0: does a loop end", wrong_matmul<"border">},
     {"matmul_crashes", "01.4", "an index outside its memory",
      [](View c, View, View) -> void {
        for (int64_t i = 0;; ++i) c.as<float>()[i << 20] = 0;  // walks off the end
      }},
     {"matmul_unblocked", "01.4", "as slow as the naive loop", matmul_naive, "", "speed"},
     {"matmul_nothing_large", "01.4", "nothing is written at this size", wrong_matmul<"does_nothing_large">},
     {"matmul_whole_k", "01.4", "no whole block fits", wrong_matmul<"whole_k_only">},
     {"matmul_skips_zeros", "01.4", "0 times infinity", wrong_matmul<"skips_zeros">},
     {"matmul_no_k", "01.4", "nothing is written", wrong_matmul<"no_k_nothing">},
     {"matmul_beyond", "01.4", "past the end of c", wrong_matmul<"writes_beyond">},
     {"matmul_turns_b", "01.4", "a factor was overwritten", wrong_matmul<"turns_b">},
     {"matmul_keeps_b", "01.4", "something is kept between calls", wrong_matmul<"keeps_first">},
     {"matmul_halves", "01.4", "right for the small sizes only", wrong_matmul<"halves">},
     {"right_rows", "01.4", "ok", right_rows},
     {"right_packed", "01.4", "ok", matmul_packed}});
const kit::Mutants<Impl> of_offset_of(&Impl::offset_of, offset_mistakes(),
                                      {{"offset_narrow", "01.3", "count in int64_t", wrong_offset<"narrow_offset">},
                                       {"offset_narrow_index", "01.3", "count in int64_t",
                                        wrong_offset<"narrow_index">},
                                       {"right_from_the_front", "01.3", "ok", right_from_the_front}});
const kit::Mutants<Impl> of_view_transpose(
    &Impl::view_transpose,
    {{"transpose_copies", "01.1", "a view shares its storage", wrong_transpose<"copies">},
     {"transpose_fresh_strides", "01.1", "strides of a fresh copy", wrong_transpose<"fresh_strides">},
     {"transpose_no_offset", "01.1", "beginning is lost", wrong_transpose<"no_offset">},
     {"transpose_shape_only", "01.1", "the strides are not", wrong_transpose<"shape_only">},
     {"transpose_from_sizes", "01.1", "computed from the sizes", wrong_transpose<"from_sizes">},
     {"transpose_last_two", "01.1", "these are the last two dims", wrong_transpose<"last_two">},
     {"transpose_reversed", "01.1", "all dims are in reversed order", wrong_transpose<"reversed">},
     {"transpose_raw_dims", "01.1", "a negative dim counts from the end", wrong_transpose<"raw_dims">},
     {"transpose_last_for_all", "01.1", "a negative dim counts from the end", wrong_transpose<"last_for_all">},
     {"transpose_first_for_all", "01.1", "a negative dim counts from the end", wrong_transpose<"first_for_all">},
     {"transpose_wraps_around", "01.1", "a dim that does not exist is accepted", wrong_transpose<"wraps_around">},
     {"transpose_one_past", "01.1", "a dim that does not exist is accepted", wrong_transpose<"one_past">},
     {"transpose_clamped", "01.1", "a dim that does not exist is accepted", wrong_transpose<"clamped">},
     {"transpose_bytes", "01.1", "counts elements, not bytes", wrong_transpose<"bytes">},
     {"transpose_f32", "01.1", "pass x.dtype() on", wrong_transpose<"f32_always">},
     {"transpose_empty", "01.1", "without elements", wrong_transpose<"empty_made_anew">},
     {"transpose_copies_views", "01.1", "a view shares its storage", wrong_transpose<"copies_views">},
     {"transpose_sorted", "01.1", "the strides are not", wrong_transpose<"sorted">},
     {"right_own_words", "01.1", "ok", right_own_words}});

}  // namespace pg::lesson01
