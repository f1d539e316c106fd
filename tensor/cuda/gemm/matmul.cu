// matmul: with a kernel for few rows, or with cuBLASLt if it supports the strides and the epilogue, else with a kernel
// that supports all of them.
#include "tensor/cuda/base/kernels_cuda.h"
#include "tensor/cuda/base/scalar.h"
#include "tensor/cuda/gemm/blas.h"
#include "tensor/cuda/gemm/few_rows.h"
#include "tensor/cuda/gemm/tile.h"
#include "tensor/cuda/runtime/runtime.h"
#include "tensor/functors.h"

namespace pg::cuda {
namespace {

constexpr int kTile = 64;          // rows and columns of a tile of c, which a block computes
constexpr int kN = kTile / kSide;  // rows and columns per thread

template <class E>
struct Matrix {
  E* data;
  int64_t row, column;  // strides

  __device__ E* at(int64_t i, int64_t j) const { return data + i * row + j * column; }
};
template <class E>
Matrix<E> matrix(const View& x) {
  if (!x) return {nullptr, 0, 0};
  return {static_cast<E*>(x.data), x.strides[x.rank() - 2], x.strides.back()};
}

// c [M, N] = activation(beta·c + a·b + bias) for every entry of the batch. S is the type that is read, R the type that
// is written, T the computation type.
template <class R, class S, class T>
struct Product {
  int64_t m, n, k;
  StridedLoop<4> batch;  // start offsets of the matrices c, a, b, pre of an entry
  Matrix<R> c;
  Matrix<const S> a, b;
  Matrix<R> pre;     // may be null; the input of gelu_tanh, which is written, or which gelu_tanh_backward reads
  const void* bias;  // may be null; [N], T or S
  int64_t bias_step;
  bool bias_wide;  // bias has type T
  Activation activation;
  T beta;

  __device__ T bias_at(int64_t j) const {
    if (!bias) return 0;
    return bias_wide ? static_cast<const T*>(bias)[j * bias_step]
                     : load<T>(static_cast<const S*>(bias) + j * bias_step);
  }
  __device__ void finish(int64_t i, int64_t j, const int64_t (&at)[4], T sum) const {
    R* to = c.at(i, j) + at[0];
    T y = sum + bias_at(j);
    if (beta != 0) y += beta * load<T>(to);
    if (activation == Activation::gelu_tanh_backward) {
      const Scalar<T> x = load<T>(pre.at(i, j) + at[3]);
      y = elementwise::gelu_tanh_gradient(Scalar<T>(y), x).v;
    } else if (pre.data) {
      store(pre.at(i, j) + at[3], y);
    }
    if (activation == Activation::gelu_tanh) y = gelu_tanh(Scalar<T>(y)).v;
    store(to, y);
  }
};

// A block computes one tile of c after another. Neighbours in a row of tiles come first, because they share rows of a
// in the cache.
template <class R, class S, class T>
__global__ void __launch_bounds__(kThreads) matmul_kernel(Product<R, S, T> g) {
  __shared__ __align__(16) Slice<T, kTile> left;
  __shared__ __align__(16) Slice<T, kTile> right;
  const int64_t across = (g.n + kTile - 1) / kTile, tiles = (g.m + kTile - 1) / kTile * across;
  for (int64_t tile = blockIdx.x; tile < tiles * g.batch.n; tile += gridDim.x) {
    int64_t at[4];
    offsets_of(g.batch, tile / tiles, at);
    const int64_t i0 = tile % tiles / across * kTile, j0 = tile % across * kTile;
    T sums[kN][kN] = {};
    for (int64_t d = 0; d < g.k; d += kDepth) {
      stage<kTile>(left, g.a.at(i0, d) + at[1], g.a.row, g.a.column, g.m - i0, g.k - d);
      stage<kTile>(right, g.b.at(d, j0) + at[2], g.b.column, g.b.row, g.n - j0, g.k - d);
      __syncthreads();
      multiply<kTile>(sums, left, right);
      __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < kN; ++i) {
#pragma unroll
      for (int j = 0; j < kN; ++j) {
        const int64_t row = i0 + tile_row() * kN + i, column = j0 + tile_column() * kN + j;
        if (row < g.m && column < g.n) g.finish(row, column, at, sums[i][j]);
      }
    }
  }
}

// Start offsets of the matrices of the batch; without pre, c is used in its place.
StridedLoop<4> batch_loop(const View& c, const View& a, const View& b, const View& pre) {
  const auto outer = [](const Dims& x) { return Dims(std::span(x.begin(), static_cast<size_t>(x.rank() - 2))); };
  const Strides sc = outer(c.strides), sa = outer(a.strides), sb = outer(b.strides);
  const Strides sp = pre ? outer(pre.strides) : sc;
  return plan_loop<4>(outer(c.shape), std::array<const Strides*, 4>{&sc, &sa, &sb, &sp});
}

void tiled_matmul(const View& c, const View& a, const View& b, const MatmulArgs& args) {
  visit_result(c, a, "matmul",
               [&]<class R, class S, class T>(std::type_identity<R>, std::type_identity<S>, std::type_identity<T>) {
                 using Problem = Product<stored_t<R>, stored_t<S>, T>;
                 const View &bias = args.bias, &pre = args.pre_activation;
                 const Problem g{.m = c.shape[c.rank() - 2],
                                 .n = c.shape.back(),
                                 .k = a.shape.back(),
                                 .batch = batch_loop(c, a, b, pre),
                                 .c = matrix<stored_t<R>>(c),
                                 .a = matrix<const stored_t<S>>(a),
                                 .b = matrix<const stored_t<S>>(b),
                                 .pre = matrix<stored_t<R>>(pre),
                                 .bias = bias.data,
                                 .bias_step = bias ? bias.strides[0] : 0,
                                 .bias_wide = bias.dtype == dtype_of<T>(),
                                 .activation = args.activation,
                                 .beta = static_cast<T>(args.beta)};
                 const int64_t tiles = (g.m + kTile - 1) / kTile * ((g.n + kTile - 1) / kTile) * g.batch.n;
                 launch(matmul_kernel<stored_t<R>, stored_t<S>, T>,
                        static_cast<unsigned>(std::min<int64_t>(tiles, 1 << 30)), kThreads, 0, stream(), g);
               });
}

// Computes c and the row sums of a with one call of cuBLASLt. The call overwrites the sums: if they must be added to
// existing values, they are computed in scratch memory first.
bool matmul_with_sums(const View& c, const View& a, const View& b, const MatmulArgs& args) {
  const View& sums = args.row_sums;
  if (args.row_sums_beta == 0) return blas_matmul(c, a, b, args);
  const Scratch<char> space(sums.numel() * static_cast<int64_t>(size_of(sums.dtype)));
  MatmulArgs elsewhere = args;
  elsewhere.row_sums = {space.data(), sums.dtype, sums.shape, {1}};
  elsewhere.row_sums_beta = 0;
  if (!blas_matmul(c, a, b, elsewhere)) return false;
  accumulate(sums, elsewhere.row_sums, args.row_sums_beta);
  return true;
}

// Computes the product with cuBLASLt and the activation with a separate kernel, which reads the product rounded to the
// type of the result.
bool matmul_then_activation(const View& c, const View& a, const View& b, const MatmulArgs& args) {
  if (args.activation == Activation::gelu_tanh) {
    const View& pre = args.pre_activation ? args.pre_activation : c;
    if (!blas_matmul(pre, a, b, {.bias = args.bias})) return false;
    unary(Unary::gelu_tanh, c, pre, {});
  } else if (args.activation == Activation::gelu_tanh_backward) {
    if (!blas_matmul(c, a, b, {.bias = args.bias})) return false;
    unary_backward(Unary::gelu_tanh, c, c, args.pre_activation, {}, 0);
  } else {
    return false;
  }
  note_own_part("gelu");
  return true;
}

View part_of(View x, int dim, int64_t begin, int64_t end) {
  x.data = static_cast<char*>(x.data) + begin * x.strides[dim] * static_cast<int64_t>(size_of(x.dtype));
  x.shape[dim] = end - begin;
  return x;
}

// cuBLASLt's kernels for tensor cores want sizes that are multiples of 16 bytes; the others take five times as long. If
// a large size is none, as a vocabulary of 50257 is, the product is computed in two: of the multiple, and of the rest.
bool matmul_in_parts(const View& c, const View& a, const View& b, const MatmulArgs& args) {
  constexpr int64_t kStep = 8, kLarge = 1024;
  if (a.dtype != bf16 || c.rank() != 2 || args.activation != Activation::none) return false;
  for (const View& x : {c, a, b}) {
    const int64_t between = x.strides[0] == 1 ? x.strides[1] : x.strides[0];
    if ((x.strides[0] != 1 && x.strides[1] != 1) || between % kStep != 0) return false;
  }
  const auto split = [](int64_t size) { return size > kLarge && size % kStep != 0 ? size - size % kStep : 0; };
  MatmulArgs first = args, second = args;
  if (const int64_t n = split(c.shape[1])) {
    if (args.bias) {
      first.bias = part_of(args.bias, 0, 0, n);
      second.bias = part_of(args.bias, 0, n, c.shape[1]);
    }
    matmul(part_of(c, 1, 0, n), a, part_of(b, 1, 0, n), first);
    matmul(part_of(c, 1, n, c.shape[1]), a, part_of(b, 1, n, c.shape[1]), second);
    return true;
  }
  if (const int64_t m = split(c.shape[0])) {
    matmul(part_of(c, 0, 0, m), part_of(a, 0, 0, m), b, first);
    matmul(part_of(c, 0, m, c.shape[0]), part_of(a, 0, m, c.shape[0]), b, second);
    return true;
  }
  if (const int64_t k = split(a.shape[1])) {
    // The small part comes first, so that its rounding to the type of the result is a small one.
    second.bias = {};
    second.beta = 1;
    matmul(c, part_of(a, 1, k, a.shape[1]), part_of(b, 0, k, a.shape[1]), first);
    matmul(c, part_of(a, 1, 0, k), part_of(b, 0, 0, k), second);
    return true;
  }
  return false;
}

// The product without row sums.
void product(const View& c_any, const View& a_any, const View& b_any, const MatmulArgs& args_any) {
  View c = c_any, a = a_any, b = b_any;
  MatmulArgs args = args_any;
  fold_batch_into_rows(c, a, b, args.pre_activation);
  // In exact mode every sum over k has a fixed order, whatever m and n are.
  if (!exact()) {
    if (few_rows_matmul(c, a, b, args)) return note_own_matmul();
    if (matmul_in_parts(c, a, b, args)) return;
    if (blas_matmul(c, a, b, args) || matmul_then_activation(c, a, b, args)) return;
    warn_if_slow(c, a, args);
  }
  tiled_matmul(c, a, b, args);
  note_own_matmul();
}

}  // namespace

void matmul(const View& c, const View& a, const View& b, const MatmulArgs& args) {
  if (!args.row_sums) {
    if (c.numel() > 0) product(c, a, b, args);
    return;
  }
  if (c.numel() > 0 && !exact() && matmul_with_sums(c, a, b, args)) return;
  reduce(Reduce::sum, as_column(args.row_sums), a, 1, args.row_sums_beta);
  if (c.numel() == 0) return;
  MatmulArgs rest = args;
  rest.row_sums = {};
  product(c, a, b, rest);
  note_own_part("row sums");
}

}  // namespace pg::cuda
