// Products of a few rows with a matrix whose columns are contiguous, as linear layers of a decoded token have them:
// they are bound by the reading of the matrix, and by latency, so all loads of a warp are issued at once.
#include "tensor/cuda/base/held_row.h"
#include "tensor/cuda/base/scalar.h"
#include "tensor/cuda/gemm/few_rows.h"
#include "tensor/cuda/runtime/early.h"
#include "tensor/cuda/runtime/runtime.h"

namespace pg::cuda {
namespace {

constexpr int64_t kMostRows = 8;
constexpr int kWarps = kThreads / kWarp;  // at most, in a block
constexpr int kReads = 4;                 // 16-byte loads of a lane in flight, of a column and of each row

template <class S>
using Stretch = HeldRow<ThreadGroup<kWarp>, kReads, S>;  // elements of a column, or of a row, that a warp holds
template <class S>
inline constexpr int kStretch = kReads* kWarp* kChunk<S>;

template <class S>
struct FewRows {
  Rows<S> c, a;
  const S* b;  // column j at b + j * b_step
  int64_t b_step;
  const S* bias;  // may be null
  int64_t n;
  int rows, k;
  int parts;    // warps that share a column, a stretch each
  int columns;  // per block
  bool gelu;
};

// A column is divided among warps by K alone, and their sums are added in order: so is the order of a sum.
template <int kRows, class T, class S>
__global__ void __launch_bounds__(kThreads) few_rows_kernel(FewRows<S> g) {
  constexpr int N = kChunk<S>;
  __shared__ T sums_of_warps[kWarps][kRows];
  const int warp = static_cast<int>(threadIdx.x) / kWarp, lane = static_cast<int>(threadIdx.x) % kWarp;
  const int part = warp % g.parts, begin = part * kStretch<S>, rest = g.k - begin;
  const int64_t column = int64_t{blockIdx.x} * g.columns + warp / g.parts;
  let_next_kernel_start();
  if (column < g.n) Stretch<S>::prefetch(g.b + column * g.b_step + begin, rest);
  wait_for_earlier_kernels();
  T sums[kRows] = {};
  if (column < g.n) {
    Stretch<S> weight;
    weight.load(g.b + column * g.b_step + begin, rest);
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      if (r >= g.rows) break;
      Stretch<S> row;
      row.load(g.a[r] + begin, rest);
#pragma unroll
      for (int u = 0; u < kReads; ++u) {
        if (Stretch<S>::index(u) >= rest) continue;
        T w[N], x[N];
        weight.get(w, u);
        row.get(x, u);
        for (int j = 0; j < N; ++j) sums[r] = ::fma(x[j], w[j], sums[r]);
      }
    }
  }
#pragma unroll
  for (int r = 0; r < kRows; ++r) sums[r] = ThreadGroup<kWarp>::sum(sums[r]);
  if (g.parts > 1) {
    if (lane == 0) {
#pragma unroll
      for (int r = 0; r < kRows; ++r) sums_of_warps[warp][r] = sums[r];
    }
    __syncthreads();
    if (part > 0) return;
    for (int i = 1; i < g.parts; ++i) {
#pragma unroll
      for (int r = 0; r < kRows; ++r) sums[r] += sums_of_warps[warp + i][r];
    }
  }
  if (column >= g.n) return;
  const T bias = g.bias ? load<T>(g.bias + column) : T(0);
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    if (lane != r || r >= g.rows) continue;
    T y = sums[r] + bias;
    if (g.gelu) y = gelu_tanh(Scalar<T>(y)).v;
    store(g.c[r] + column, y);
  }
}

template <class T, class S>
bool start(const View& c, const View& a, const View& b, const MatmulArgs& args) {
  using Stored = stored_t<S>;
  constexpr int N = kChunk<Stored>;
  const RowShape shape(a);
  const Rows<Stored> rows = rows_of<S>(a);
  const auto* columns = data_of<S>(b);
  const int64_t parts = (shape.size + kStretch<Stored> - 1) / kStretch<Stored>;
  if (parts < 1 || parts > kWarps || !rows_of_vectors(shape, rows) || !is_aligned(columns) ||
      (c.shape[1] > 1 && b.strides[1] % N != 0)) {
    return false;
  }
  FewRows<Stored> g{.c = rows_of<S>(c),
                    .a = rows,
                    .b = columns,
                    .b_step = b.strides[1],
                    .bias = data_of<S>(args.bias),
                    .n = c.shape[1],
                    .rows = static_cast<int>(shape.count),
                    .k = static_cast<int>(shape.size),
                    .parts = static_cast<int>(parts),
                    .columns = static_cast<int>(kWarps / parts),
                    .gelu = args.activation == Activation::gelu_tanh};
  const auto blocks = [&] { return (g.n + g.columns - 1) / g.columns; };
  while (g.columns > 1 && blocks() < kBusyBlocks) g.columns /= 2;
  const auto launch_kernel = [&](auto kernel) {
    launch_early(kernel, static_cast<unsigned>(blocks()), static_cast<unsigned>(g.columns * g.parts * kWarp), 0,
                 stream(), g);
    return true;
  };
  if (g.rows == 1) return launch_kernel(few_rows_kernel<1, T, Stored>);
  if (g.rows == 2) return launch_kernel(few_rows_kernel<2, T, Stored>);
  if (g.rows <= 4) return launch_kernel(few_rows_kernel<4, T, Stored>);
  return launch_kernel(few_rows_kernel<8, T, Stored>);
}

}  // namespace

bool few_rows_matmul(const View& c, const View& a, const View& b, const MatmulArgs& args) {
  const View& bias = args.bias;
  if (c.rank() != 2 || c.shape[0] > kMostRows || c.numel() == 0 || c.dtype != a.dtype || args.beta != 0 ||
      args.pre_activation || args.row_sums || args.activation == Activation::gelu_tanh_backward) {
    return false;
  }
  const auto contiguous = [](const View& x, int d) { return x.strides[d] == 1 || x.shape[d] <= 1; };
  if (!contiguous(c, 1) || !contiguous(a, 1) || !contiguous(b, 0)) return false;
  if (bias && (bias.dtype != a.dtype || !contiguous(bias, 0))) return false;
  if (a.dtype == f32) return start<float, float>(c, a, b, args);
  return a.dtype == bf16 && start<float, BFloat16>(c, a, b, args);
}

}  // namespace pg::cuda
