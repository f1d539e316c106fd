// Wrong answers to lesson 1. The checks must call each WRONG and say why; everything else must stay ok.
#include "lessons/kit/mutants.h"

#include "lessons/01_tensors/answers.h"

namespace pg::lesson01 {

const kit::Mutants<Impl> mutants = {
    {"broadcast_accepts_all", "01.2", "refuse what cannot be right",
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
};

}  // namespace pg::lesson01
