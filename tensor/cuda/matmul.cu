// matmul: by cuBLASLt where it takes the strides, else by a kernel for all of them.
#include "tensor/cuda/blas.h"
#include "tensor/cuda/kernels_cuda.h"
#include "tensor/cuda/lane.h"
#include "tensor/cuda/runtime.h"
#include "tensor/cuda/tile.h"

namespace pg::cuda {
namespace {

constexpr int kTile = 64;          // rows and columns of c that a block computes
constexpr int kN = kTile / kSide;  // and a thread

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

// c [M, N] = activation(beta·c + a·b + bias) for every entry of the batch; S is read, R written, T computes.
template <class R, class S, class T>
struct Product {
  int64_t m, n, k;
  Walk<4> batch;  // where the matrices c, a, b, pre of an entry begin
  Matrix<R> c;
  Matrix<const S> a, b;
  Matrix<R> pre;     // ? receives the value before the activation
  const void* bias;  // ? [N], T or S
  int64_t bias_step;
  bool bias_wide;  // T
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
    if (pre.data) store(pre.at(i, j) + at[3], y);
    if (activation == Activation::gelu_tanh) y = gelu_tanh(Lane<T>(y)).v;
    store(to, y);
  }
};

// A block takes one tile of c after another, neighbours in a row of tiles first: they share rows of a in the cache.
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

// Where each matrix of the batch begins; without pre, c stands for it.
Walk<4> walk_batch(const View& c, const View& a, const View& b, const View& pre) {
  const auto outer = [](const Dims& x) { return Dims(std::span(x.begin(), static_cast<size_t>(x.rank() - 2))); };
  const Strides sc = outer(c.strides), sa = outer(a.strides), sb = outer(b.strides);
  const Strides sp = pre ? outer(pre.strides) : sc;
  return plan_walk<4>(outer(c.shape), std::array<const Strides*, 4>{&sc, &sa, &sb, &sp});
}

void tiled_matmul(const View& c, const View& a, const View& b, const MatmulArgs& args) {
  visit_result(c, a, "matmul",
               [&]<class R, class S, class T>(std::type_identity<R>, std::type_identity<S>, std::type_identity<T>) {
                 using Problem = Product<stored_t<R>, stored_t<S>, T>;
                 const View &bias = args.bias, &pre = args.pre_activation;
                 const Problem g{.m = c.shape[c.rank() - 2],
                                 .n = c.shape.back(),
                                 .k = a.shape.back(),
                                 .batch = walk_batch(c, a, b, pre),
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

}  // namespace

void matmul(const View& c_any, const View& a_any, const View& b_any, const MatmulArgs& args_any) {
  if (c_any.numel() == 0) return;
  View c = c_any, a = a_any, b = b_any;
  MatmulArgs args = args_any;
  fold_batch_into_rows(c, a, b, args.pre_activation);
  if (exact()) return tiled_matmul(c, a, b, args);  // every sum over k in its order, whatever m and n
  if (blas_matmul(c, a, b, args)) return;
  if (args.activation == Activation::gelu_tanh && c.dtype != bf16) {  // blas leaves the activation of these to us
    const View& pre = args.pre_activation ? args.pre_activation : c;
    if (blas_matmul(pre, a, b, {.bias = args.bias})) return unary(Unary::gelu_tanh, c, pre, {});
  }
  tiled_matmul(c, a, b, args);
}

}  // namespace pg::cuda
