// Wrong answers to lesson 1. The checks must call each WRONG and say why; everything else must
// stay ok. The last rows are right answers.
// Full optimisation: a check measures them beside the naive loop.
#include "lessons/kit/mutants.h"

#include "lessons/01_tensors/right.h"
#include "lessons/01_tensors/wrong.h"

namespace pg::lesson01 {

const kit::Mutants<Impl> mutants = {
    {"broadcast_accepts_all", "01.2", "such shapes must be refused",
     [](Impl& m) {
       m.broadcast_shapes = [](const Shape& a, const Shape& b, const char*) -> Shape {
         const int rank = std::max(a.rank(), b.rank());
         Shape result = Dims::filled(rank, 1);
         for (int i = 1; i <= rank; ++i) {
           const int64_t x = i <= a.rank() ? a[a.rank() - i] : 1, y = i <= b.rank() ? b[b.rank() - i] : 1;
           result[rank - i] = x == 1 ? y : x;
         }
         return result;
       };
     }},
    {"broadcast_larger", "01.2", "gives way to any size",
     [](Impl& m) {
       m.broadcast_shapes = [](const Shape& a, const Shape& b, const char* op) -> Shape {
         const int rank = std::max(a.rank(), b.rank());
         Shape result = Dims::filled(rank, 1);
         for (int i = 1; i <= rank; ++i) {
           const int64_t x = i <= a.rank() ? a[a.rank() - i] : 1, y = i <= b.rank() ? b[b.rank() - i] : 1;
           if (x != y && x != 1 && y != 1) fail("{}: {} and {} do not broadcast", op, a, b);
           result[rank - i] = std::max(x, y);
         }
         return result;
       };
     }},
    {"broadcast_left", "01.2", "aligned at the last dimension",
     [](Impl& m) {
       m.broadcast_shapes = [](const Shape& a, const Shape& b, const char* op) -> Shape {
         const int rank = std::max(a.rank(), b.rank());
         Shape result = Dims::filled(rank, 1);
         for (int i = 0; i < rank; ++i) {
           const int64_t x = i < a.rank() ? a[i] : 1, y = i < b.rank() ? b[i] : 1;
           if (a.rank() == b.rank() && x != y && x != 1 && y != 1) fail("{}: {} and {} do not broadcast", op, a, b);
           result[i] = std::max(x, y);
         }
         return result;
       };
     }},
    {"matmul_adds", "01.4", "start from 0",
     [](Impl& m) {
       m.matmul = [](View c, View a, View b) -> void {
         const int64_t M = c.shape[0], N = c.shape[1], K = a.shape[1];
         float* pc = c.as<float>();
         const float *pa = a.as<float>(), *pb = b.as<float>();
         for (int64_t i = 0; i < M; ++i) {
           for (int64_t k = 0; k < K; ++k) {
             for (int64_t j = 0; j < N; ++j) pc[i * N + j] += pa[i * K + k] * pb[k * N + j];
           }
         }
       };
     }},
    {"matmul_border", "01.4", "are right: does a loop end",
     [](Impl& m) {
       m.matmul = [](View c, View a, View b) -> void {
         const int64_t M = c.shape[0], N = c.shape[1], K = a.shape[1];
         float* pc = c.as<float>();
         const float *pa = a.as<float>(), *pb = b.as<float>();
         std::fill(pc, pc + M * N, 0.0f);
         for (int64_t i = 0; i < M; ++i) {
           for (int64_t k = 0; k < K; ++k) {
             for (int64_t j = 0; j < (N < 4 ? N : N - 1); ++j) pc[i * N + j] += pa[i * K + k] * pb[k * N + j];
           }
         }
       };
     }},
    {"matmul_crashes", "01.4", "an index outside its memory",
     [](Impl& m) {
       m.matmul = [](View c, View, View) -> void {
         for (int64_t i = 0;; ++i) c.as<float>()[i << 20] = 0;  // walks off the end
       };
     }},
    {"matmul_unblocked", "01.4", "as slow as the naive loop",
     [](Impl& m) { m.matmul = [](View c, View a, View b) -> void { matmul_naive(c, a, b); }; }, "", "speed"},
    {"offset_first_fastest", "01.3", "the first index runs fastest",
     [](Impl& m) {
       m.offset_of = [](int64_t n, const Shape& shape, const Strides& strides) -> int64_t {
         int64_t offset = 0;
         for (int d = 0; d < shape.rank(); ++d) {
           offset += n % shape[d] * strides[d];
           n /= shape[d];
         }
         return offset;
       };
     }},
    {"offset_is_n", "01.3", "this is n itself",
     [](Impl& m) { m.offset_of = [](int64_t n, const Shape&, const Strides&) -> int64_t { return n; }; }},
    {"transpose_copies", "01.1", "a view shares its storage",
     [](Impl& m) {
       m.view_transpose = [](const Tensor& x, int dim0, int dim1) -> Tensor {
         const Tensor copy = x.clone();
         return copy.view_transpose(dim0, dim1);
       };
     }},
    {"transpose_fresh_strides", "01.1", "strides of a fresh copy",
     [](Impl& m) {
       m.view_transpose = [](const Tensor& x, int dim0, int dim1) -> Tensor {
         const int a = normalize_dim(dim0, x.rank(), "transpose"), b = normalize_dim(dim1, x.rank(), "transpose");
         Shape shape = x.shape();
         std::swap(shape[a], shape[b]);
         return Tensor::view_of(x.storage(), x.offset(), shape, contiguous_strides(shape), x.dtype());
       };
     }},
    {"transpose_no_offset", "01.1", "beginning is lost",
     [](Impl& m) {
       m.view_transpose = [](const Tensor& x, int dim0, int dim1) -> Tensor {
         const int a = normalize_dim(dim0, x.rank(), "transpose"), b = normalize_dim(dim1, x.rank(), "transpose");
         Shape shape = x.shape();
         Strides strides = x.strides();
         std::swap(shape[a], shape[b]);
         std::swap(strides[a], strides[b]);
         return Tensor::view_of(x.storage(), 0, shape, strides, x.dtype());
       };
     }},
    {"transpose_shape_only", "01.1", "the strides are not",
     [](Impl& m) {
       m.view_transpose = [](const Tensor& x, int dim0, int dim1) -> Tensor {
         const int a = normalize_dim(dim0, x.rank(), "transpose"), b = normalize_dim(dim1, x.rank(), "transpose");
         Shape shape = x.shape();
         std::swap(shape[a], shape[b]);
         return Tensor::view_of(x.storage(), x.offset(), shape, x.strides(), x.dtype());
       };
     }},
    {"transpose_from_sizes", "01.1", "computed from the sizes",
     [](Impl& m) { m.view_transpose = wrong_transpose<Turn::from_sizes>; }},
    {"transpose_last_two", "01.1", "these are the last two dims",
     [](Impl& m) { m.view_transpose = wrong_transpose<Turn::last_two>; }},
    {"transpose_reversed", "01.1", "all dims are in reversed order",
     [](Impl& m) { m.view_transpose = wrong_transpose<Turn::reversed>; }},
    {"transpose_raw_dims", "01.1", "a negative dim counts from the end",
     [](Impl& m) { m.view_transpose = wrong_transpose<Turn::raw_dims>; }},
    {"transpose_wraps_around", "01.1", "a dim that does not exist is accepted",
     [](Impl& m) { m.view_transpose = wrong_transpose<Turn::wraps_around>; }},
    {"transpose_one_past", "01.1", "a dim that does not exist is accepted",
     [](Impl& m) { m.view_transpose = wrong_transpose<Turn::one_past>; }},
    {"transpose_clamped", "01.1", "a dim that does not exist is accepted",
     [](Impl& m) { m.view_transpose = wrong_transpose<Turn::clamped>; }},
    {"transpose_bytes", "01.1", "counts elements, not bytes",
     [](Impl& m) { m.view_transpose = wrong_transpose<Turn::bytes>; }},
    {"transpose_f32", "01.1", "pass x.dtype() on",
     [](Impl& m) { m.view_transpose = wrong_transpose<Turn::f32_always>; }},
    {"transpose_empty", "01.1", "without elements",
     [](Impl& m) { m.view_transpose = wrong_transpose<Turn::empty_made_anew>; }},
    {"transpose_copies_views", "01.1", "a view shares its storage",
     [](Impl& m) { m.view_transpose = wrong_transpose<Turn::copies_if_not_contiguous>; }},
    {"transpose_sorted", "01.1", "the strides are not",
     [](Impl& m) { m.view_transpose = wrong_transpose<Turn::sorted>; }},
    {"broadcast_last_column", "01.2", "refuse what does not fit in any column",
     [](Impl& m) { m.broadcast_shapes = wrong_broadcast<Stretch::last_column>; }},
    {"broadcast_zero_stretches", "01.2", "0 and 3 differ",
     [](Impl& m) { m.broadcast_shapes = wrong_broadcast<Stretch::zero_stretches>; }},
    {"broadcast_empty_wins", "01.2", "this is only a's shape",
     [](Impl& m) { m.broadcast_shapes = wrong_broadcast<Stretch::empty_wins>; }},
    {"broadcast_multiples", "01.2", "a multiple does not fit",
     [](Impl& m) { m.broadcast_shapes = wrong_broadcast<Stretch::multiples>; }},
    {"broadcast_a_only", "01.2", "these two shapes fit",
     [](Impl& m) { m.broadcast_shapes = wrong_broadcast<Stretch::a_only>; }},
    {"broadcast_equal_ranks", "01.2", "these two shapes fit",
     [](Impl& m) { m.broadcast_shapes = wrong_broadcast<Stretch::equal_ranks>; }},
    {"broadcast_rank_1", "01.2", "without dimensions is []",
     [](Impl& m) { m.broadcast_shapes = wrong_broadcast<Stretch::rank_1>; }},
    {"broadcast_no_words", "01.2", "its text must name",
     [](Impl& m) { m.broadcast_shapes = wrong_broadcast<Stretch::no_words>; }},
    {"broadcast_exchanged_words", "01.2", "its text must name",
     [](Impl& m) { m.broadcast_shapes = wrong_broadcast<Stretch::exchanged_words>; }},
    {"broadcast_always_add", "01.2", "its text must name",
     [](Impl& m) { m.broadcast_shapes = wrong_broadcast<Stretch::always_add>; }},
    {"offset_narrow", "01.3", "count in int64_t", [](Impl& m) { m.offset_of = wrong_offset<Step::narrow_offset>; }},
    {"offset_narrow_index", "01.3", "count in int64_t",
     [](Impl& m) { m.offset_of = wrong_offset<Step::narrow_index>; }},
    {"offset_skips_repeated", "01.3", "a dim of stride 0 adds nothing",
     [](Impl& m) { m.offset_of = wrong_offset<Step::skips_repeated>; }},
    {"offset_without_first", "01.3", "dim 0 is left out",
     [](Impl& m) { m.offset_of = wrong_offset<Step::without_first>; }},
    {"offset_three_dims", "01.3", "three dims only", [](Impl& m) { m.offset_of = wrong_offset<Step::three_dims>; }},
    {"offset_last_is_1", "01.3", "the last stride is not always 1",
     [](Impl& m) { m.offset_of = wrong_offset<Step::last_is_1>; }},
    {"matmul_nothing_large", "01.4", "nothing is written at this size",
     [](Impl& m) { m.matmul = wrong_matmul<Block::does_nothing_large>; }},
    {"matmul_nothing", "01.4", "nothing is written", [](Impl& m) { m.matmul = wrong_matmul<Block::does_nothing>; }},
    {"matmul_whole_blocks", "01.4", "no whole block fits", [](Impl& m) { m.matmul = wrong_matmul<Block::whole_only>; }},
    {"matmul_whole_k", "01.4", "no whole block fits", [](Impl& m) { m.matmul = wrong_matmul<Block::whole_k_only>; }},
    {"matmul_resets", "01.4", "only the last block of k",
     [](Impl& m) { m.matmul = wrong_matmul<Block::reset_each_block>; }},
    {"matmul_overlaps", "01.4", "added more than once", [](Impl& m) { m.matmul = wrong_matmul<Block::overlapping>; }},
    {"matmul_clears_bytes", "01.4", "a count of bytes", [](Impl& m) { m.matmul = wrong_matmul<Block::clears_bytes>; }},
    {"matmul_clears_first_row", "01.4", "only the first row of c",
     [](Impl& m) { m.matmul = wrong_matmul<Block::clears_first_row>; }},
    {"matmul_skips_zeros", "01.4", "0 times infinity", [](Impl& m) { m.matmul = wrong_matmul<Block::skips_zeros>; }},
    {"matmul_no_k", "01.4", "nothing is written", [](Impl& m) { m.matmul = wrong_matmul<Block::no_k_nothing>; }},
    {"matmul_beyond", "01.4", "past the end of c", [](Impl& m) { m.matmul = wrong_matmul<Block::writes_beyond>; }},
    {"matmul_turns_b", "01.4", "a factor was overwritten", [](Impl& m) { m.matmul = wrong_matmul<Block::turns_b>; }},
    {"matmul_keeps_b", "01.4", "something is kept between calls",
     [](Impl& m) { m.matmul = wrong_matmul<Block::keeps_first>; }},
    {"matmul_halves", "01.4", "right for the small sizes only",
     [](Impl& m) { m.matmul = wrong_matmul<Block::halves>; }},
    {"right_own_words", "01.1", "ok", [](Impl& m) { m.view_transpose = right_own_words; }},
    {"right_backwards", "01.2", "ok", [](Impl& m) { m.broadcast_shapes = right_backwards; }},
    {"right_from_the_front", "01.3", "ok", [](Impl& m) { m.offset_of = right_from_the_front; }},
    {"right_rows", "01.4", "ok", [](Impl& m) { m.matmul = right_rows; }},
    {"right_packed", "01.4", "ok", [](Impl& m) { m.matmul = matmul_packed; }},
};

}  // namespace pg::lesson01
