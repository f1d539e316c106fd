// norm_matmul: for a few rows, one kernel that streams the matrix once; else a norm and a product.
#include "tensor/cuda/kernels_cuda.h"
#include "tensor/cuda/norm_row.h"
#include "tensor/cuda/runtime/runtime.h"
#include "tensor/cuda/scalar.h"

namespace pg::cuda {
namespace {

constexpr int64_t kMostRows = 8;
constexpr int64_t kMostShared = 47 * 1024;  // bytes of normalised rows: with the reductions' no opt-in is needed
constexpr int64_t kMostBlocks = 512;        // all run at once on a large GPU; each normalises the rows once
constexpr int kWarps = kThreads / kWarp;
constexpr int kReads = 4;  // 16-byte loads of a lane in flight

template <class T, class S>
struct NormProduct {
  RowShape shape;  // of x
  int64_t n;
  Rows<S> c, sum, x, residual;  // sum and residual may be null
  const S* b;                   // column j at b + j * b_step, contiguous
  int64_t b_step;
  const S *norm_weight, *norm_bias, *bias;  // may be null
  bool rms, gelu;
  T eps;
  int64_t step;  // elements between the normalised rows in shared memory, a multiple of 16 bytes
};

// Writes the norm of every row to `rows`, rounded as norm_kernel rounds it, with the bits of norm_kernel. Elements past
// a row's end are 0. A thread reads only what it wrote itself.
template <class Group, class T, class S>
__device__ __forceinline__ void normalise(const NormProduct<T, S>& g, S* rows) {
  constexpr int N = kChunk<S>;
  const int64_t n = g.shape.size;
  for (int64_t r = threadIdx.x / Group::kThreadsPerRow; r < g.shape.count; r += Group::kRows) {
    S* const row = rows + r * g.step;
    const S *from = g.x[r], *added = g.residual.data ? g.residual[r] : nullptr;
    for_chunks<Group, N>(n, [&](int64_t i) {
      T v[N];
      load_chunk(v, from, i, n, T(0));
      if (added) {
        T more[N];
        load_chunk(more, added, i, n, T(0));
        for (int j = 0; j < N; ++j) v[j] += more[j];
      }
      vector_store(row + i, v);
      if (!added || blockIdx.x > 0) return;
      S* const to = g.sum[r] + i;
      if (is_aligned(to) && i + N <= n) {
        vector_store(to, v);
      } else {
        for (int j = 0; j < N && i + j < n; ++j) store(to + j, v[j]);
      }
    });
    const auto stats = norm_stats<Group, N>(n, !g.rms, g.eps, [&](T(&v)[N], int64_t i, T other) {
      vector_load(v, row + i);
      for (int j = 0; j < N; ++j) v[j] = i + j < n ? v[j] : other;
    });
    for_chunks<Group, N>(n, [&](int64_t i) {
      T v[N], other[N];
      vector_load(v, row + i);
      for (int j = 0; j < N; ++j) v[j] = (v[j] - stats.centre) * stats.scale;
      if (g.norm_weight) {
        load_chunk(other, g.norm_weight, i, n, T(0));
        for (int j = 0; j < N; ++j) v[j] *= other[j];
      }
      if (g.norm_bias) {
        load_chunk(other, g.norm_bias, i, n, T(0));
        for (int j = 0; j < N; ++j) v[j] += other[j];
      }
      for (int j = 0; j < N; ++j) v[j] = i + j < n ? v[j] : T(0);
      vector_store(row + i, v);
    });
  }
}

// A lane's part of a column: kReads times 16 bytes, 32 · 16 bytes apart.
template <class S>
struct alignas(16) Held {
  static constexpr int N = kChunk<S>;
  S elements[kReads][N];

  // The index of element 0 of read u.
  static __device__ __forceinline__ int64_t at(int64_t begin, int u) {
    return begin + int64_t{u * kWarp + static_cast<int>(threadIdx.x % kWarp)} * N;
  }
  // Reads from element `begin` of a column of k; elements past its end are 0. kWhole: columns begin at multiples of 16
  // bytes and consist of such.
  template <bool kWhole>
  __device__ __forceinline__ void read(const S* column, int64_t begin, int64_t k) {
#pragma unroll
    for (int u = 0; u < kReads; ++u) {
      const int64_t i = at(begin, u);
      if constexpr (kWhole) {
        reinterpret_cast<uint4*>(elements)[u] =
            i < k ? *reinterpret_cast<const uint4*>(column + i) : make_uint4(0, 0, 0, 0);
      } else {
#pragma unroll
        for (int j = 0; j < N; ++j) elements[u][j] = i + j < k ? column[i + j] : S(0.0f);
      }
    }
  }
};

// A warp computes one column of c after another. Its first loads of b are in flight while the rows are normalised, and
// later ones while it multiplies. The order of a sum depends on K only. At most kRows rows.
template <int kRows, bool kWhole, class T, class S>
__global__ void __launch_bounds__(kThreads) norm_matmul_kernel(NormProduct<T, S> g) {
  constexpr int N = kChunk<S>;
  constexpr int64_t kStep = kReads * kWarp * N;
  S* const rows = dynamic_shared<S>();
  const int warp = static_cast<int>(threadIdx.x) / kWarp, lane = static_cast<int>(threadIdx.x) % kWarp;
  const int count = static_cast<int>(g.shape.count);
  const int64_t k = g.shape.size;
  int64_t column = int64_t{blockIdx.x} * kWarps + warp, begin = 0;
  Held<S> held = {}, next = {};
  if (column < g.n) held.template read<kWhole>(g.b + column * g.b_step, 0, k);
  if (k <= kWarpRow) {
    normalise<ThreadGroup<kWarp>>(g, rows);
  } else {
    normalise<ThreadGroup<kThreads>>(g, rows);
  }
  __syncthreads();

  T sums[kRows] = {};
  while (column < g.n) {
    const bool ends = begin + kStep >= k;
    const int64_t next_column = ends ? column + int64_t{gridDim.x} * kWarps : column,
                  next_begin = ends ? 0 : begin + kStep;
    if (next_column < g.n) next.template read<kWhole>(g.b + next_column * g.b_step, next_begin, k);
#pragma unroll
    for (int u = 0; u < kReads; ++u) {
      const int64_t i = Held<S>::at(begin, u);
      if (i >= k) break;
      T weight[N];
#pragma unroll
      for (int j = 0; j < N; ++j) weight[j] = load<T>(&held.elements[u][j]);
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        if (r >= count) break;
        T v[N];
        vector_load(v, rows + r * g.step + i);
#pragma unroll
        for (int j = 0; j < N; ++j) sums[r] = ::fma(v[j], weight[j], sums[r]);
      }
    }
    if (ends) {
      const T bias = g.bias ? load<T>(g.bias + column) : T(0);
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        if (r >= count) break;
        T y = ThreadGroup<kWarp>::sum(sums[r]) + bias;
        sums[r] = 0;
        if (lane != r) continue;
        if (g.gelu) y = gelu_tanh(Scalar<T>(y)).v;
        store(g.c[r] + column, y);
      }
    }
    held = next;
    column = next_column;
    begin = next_begin;
  }
}

template <class S, class T>
void launch_fused(const View& c, const View& sum, const View& x, const View& residual, const View& b,
                  const NormMatmulArgs& args) {
  using Stored = stored_t<S>;
  constexpr int N = kChunk<Stored>;
  const RowShape shape(x);
  const NormProduct<T, Stored> g{.shape = shape,
                                 .n = c.shape[1],
                                 .c = rows_of<S>(c),
                                 .sum = sum ? rows_of<S>(sum) : Rows<Stored>{},
                                 .x = rows_of<S>(x),
                                 .residual = residual ? rows_of<S>(residual) : Rows<Stored>{},
                                 .b = data_of<S>(b),
                                 .b_step = b.strides[1],
                                 .norm_weight = data_of<S>(args.norm_weight),
                                 .norm_bias = data_of<S>(args.norm_bias),
                                 .bias = data_of<S>(args.bias),
                                 .rms = args.rms,
                                 .gelu = args.activation == Activation::gelu_tanh,
                                 .eps = static_cast<T>(args.eps),
                                 .step = (shape.size + N - 1) / N * N};
  const auto start = [&](auto kernel) {
    const int64_t blocks = std::min(kMostBlocks, (g.n + kWarps - 1) / kWarps);
    launch(kernel, static_cast<unsigned>(blocks), kThreads, static_cast<size_t>(shape.count * g.step) * sizeof(Stored),
           stream(), g);
  };
  const bool whole = reinterpret_cast<uintptr_t>(b.data) % 16 == 0 && shape.size % N == 0 && g.b_step % N == 0;
  if (!whole) return start(norm_matmul_kernel<8, false, T, Stored>);
  if (shape.count == 1) return start(norm_matmul_kernel<1, true, T, Stored>);
  if (shape.count == 2) return start(norm_matmul_kernel<2, true, T, Stored>);
  if (shape.count <= 4) return start(norm_matmul_kernel<4, true, T, Stored>);
  start(norm_matmul_kernel<8, true, T, Stored>);
}

// Whether norm_matmul_kernel computes it. In exact mode a row must have the bits that it has among many rows.
bool is_fused(const View& c, const View& x, const View& b) {
  const int64_t rows = x.shape[0], k = x.shape[1];
  const auto bytes = static_cast<int64_t>(size_of(x.dtype));
  return !exact() && x.dtype != f64 && c.dtype == x.dtype && rows <= kMostRows && k > 0 && b.strides[0] == 1 &&
         rows * (k * bytes + 15) <= kMostShared;
}

}  // namespace

void norm_matmul(const View& c, const View& sum, const View& x, const View& residual, const View& b,
                 const NormMatmulArgs& args) {
  if (c.numel() > 0 && is_fused(c, x, b)) {
    if (x.dtype == f32) return launch_fused<float, float>(c, sum, x, residual, b, args);
    return launch_fused<BFloat16, float>(c, sum, x, residual, b, args);
  }
  if (args.rms) {
    rms_norm(args.normed, args.rstd, sum, x, residual, args.norm_weight, args.eps);
  } else {
    layer_norm(args.normed, args.mean, args.rstd, sum, x, residual, args.norm_weight, args.norm_bias, args.eps);
  }
  matmul(c, args.normed, b, {.bias = args.bias, .activation = args.activation});
}

}  // namespace pg::cuda
