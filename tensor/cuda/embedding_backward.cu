// The gradient of embedding: row id of dw receives the sum of the rows of dy with that id. The ids are sorted, so that
// equal ids form runs, each in the order of dy. One block per column chunk sums a tile of 32 entries of the sorted
// list. If a run is inside one tile, its sum is final. If a run spans several tiles, each tile writes a partial sum,
// and a second kernel adds the partial sums in order. The work is O(R·C), however often an id repeats, and no sum
// depends on timing.
#include "tensor/cuda/base/array.h"
#include "tensor/cuda/base/kernels_cuda.h"
#include "tensor/cuda/base/row.h"
#include "tensor/cuda/runtime/runtime.h"
#include "tensor/cuda/sort.h"

namespace pg::cuda {
namespace {

constexpr int kTile = 32;

struct Sorted {
  const int32_t *keys, *order;  // [n]; keys >= `below` are not valid ids
  int64_t n;
  int32_t below;
};

template <class T>
struct Table {
  T* dw;
  int64_t step, columns;

  // Adds the sum to elements [c, c + N) of row `row`.
  template <int N>
  __device__ void add(int64_t row, int64_t c, T (&sum)[N]) const {
    write_gradient(dw + row * step + c, sum, T(1));
  }
};
// The first of the thread's N columns. N is the number of elements of dy's type in 16 bytes, or 1.
template <int N>
__device__ __forceinline__ int64_t first_column() {
  return (int64_t{blockIdx.y} * blockDim.x + threadIdx.x) * N;
}

// parts [tiles, 2, columns]: first the sum of the run that continues from the previous tile, then the sum of the run
// that continues into the next tile. A run that does both fills the whole tile; its sum is in the first slot.
template <int N, class S, class T>
__global__ void tiles_kernel(Table<T> table, T* parts, const S* dy, int64_t dy_step, Sorted ids) {
  const int64_t first = int64_t{blockIdx.x} * kTile, end = min(first + kTile, ids.n);
  const int64_t c = first_column<N>();
  if (c >= table.columns) return;
  bool entered = first > 0 && ids.keys[first - 1] == ids.keys[first];
  T sum[N] = {};
  for (int64_t i = first; i < end; ++i) {
    const int32_t key = ids.keys[i];
    if (key == ids.below) return;
    T term[N];
    vector_load(term, dy + ids.order[i] * dy_step + c);
    for (int j = 0; j < N; ++j) sum[j] += term[j];
    const bool ends = i + 1 == ids.n || ids.keys[i + 1] != key, leaves = !ends && i + 1 == end;
    if (!ends && !leaves) continue;
    if (entered) {
      vector_store(parts + 2 * int64_t{blockIdx.x} * table.columns + c, sum);
    } else if (leaves) {
      vector_store(parts + (2 * int64_t{blockIdx.x} + 1) * table.columns + c, sum);
    } else {
      table.add(key, c, sum);
    }
    entered = false;
    for (int j = 0; j < N; ++j) sum[j] = 0;
  }
}

// If a run of equal ids crosses tile borders, the block of its first tile sums the partial results.
template <int N, class T>
__global__ void parts_kernel(Table<T> table, const T* parts, Sorted ids) {
  const int64_t first = int64_t{blockIdx.x} * kTile, end = first + kTile;
  const int64_t c = first_column<N>();
  if (c >= table.columns || end >= ids.n) return;
  const int32_t key = ids.keys[end - 1];
  if (key == ids.below || ids.keys[end] != key) return;
  if (ids.keys[first] == key && first > 0 && ids.keys[first - 1] == key) return;
  T sum[N], part[N];
  vector_load(sum, parts + (2 * int64_t{blockIdx.x} + 1) * table.columns + c);
  for (int64_t next = end; next < ids.n && ids.keys[next] == key; next += kTile) {
    vector_load(part, parts + 2 * (next / kTile) * table.columns + c);
    for (int j = 0; j < N; ++j) sum[j] += part[j];
  }
  table.add(key, c, sum);
}

// Whether all rows of x begin and end at multiples of 16 bytes.
bool is_vector_aligned(const View& x) {
  const auto size = static_cast<int64_t>(size_of(x.dtype));
  return reinterpret_cast<uintptr_t>(x.data) % 16 == 0 && x.strides[0] * size % 16 == 0 && x.shape[1] * size % 16 == 0;
}

}  // namespace

void embedding_backward(const View& dw, const View& dy, const View& ids, double beta) {
  if (beta == 0) {
    fill(dw, 0);
  } else if (beta != 1) {
    unary(Unary::affine, dw, dw, {beta, 0});
  }
  const int64_t n = dy.shape[0], columns = dy.shape[1];
  if (n == 0 || columns == 0) return;
  const auto below = static_cast<int32_t>(dw.shape[0]);
  const Scratch<int32_t> keys(n), order(n);
  sort_ids(keys.data(), order.data(), ids.as<int32_t>(), n, below);
  visit_stored(dy.dtype, "embedding_backward", [&]<class S, class T>(std::type_identity<S>, std::type_identity<T>) {
    if (dw.dtype != dtype_of<T>()) fail_pair("embedding_backward", dw.dtype, dy.dtype);
    const int64_t tiles = (n + kTile - 1) / kTile;
    const Scratch<T> parts(2 * tiles * columns);
    const Sorted sorted{keys.data(), order.data(), n, below};
    const Table<T> table{dw.as<T>(), dw.strides[0], columns};
    const auto start = [&](auto width) {
      constexpr int N = decltype(width)::value;
      const int64_t across = columns / N, threads = std::min<int64_t>(kThreads, (across + kWarp - 1) / kWarp * kWarp);
      const dim3 grid(static_cast<unsigned>(tiles), static_cast<unsigned>((across + threads - 1) / threads));
      launch(tiles_kernel<N, stored_t<S>, T>, grid, static_cast<unsigned>(threads), 0, stream(), table, parts.data(),
             data_of<S>(dy), dy.strides[0], sorted);
      launch(parts_kernel<N, T>, grid, static_cast<unsigned>(threads), 0, stream(), table, parts.data(), sorted);
    };
    if (is_vector_aligned(dy) && is_vector_aligned(dw))
      return start(std::integral_constant<int, kChunk<stored_t<S>>>{});
    start(std::integral_constant<int, 1>{});
  });
}

}  // namespace pg::cuda
