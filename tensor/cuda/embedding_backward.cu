// The gradient of embedding: row id of dw receives the sum of the rows of dy that have it. The ids are sorted, so that
// equal ones stand together, each a run in the order of dy. Tiles of 32 places of that list are summed by one block per
// column chunk: a run inside of one tile is finished there; of a run over several tiles each tile leaves a part, and a
// second kernel adds the parts in order. The work is O(R·C), however often an id repeats, and no sum depends on timing.
#include "tensor/cuda/array.h"
#include "tensor/cuda/kernels_cuda.h"
#include "tensor/cuda/scratch.h"
#include "tensor/cuda/sort.h"

namespace pg::cuda {
namespace {

constexpr int kTile = 32;

struct Sorted {
  const int32_t *keys, *order;  // [n]; keys from `below` on are no ids
  int64_t n;
  int32_t below;
};

template <class T>
struct Table {
  T* dw;
  int64_t step, columns;
};

// parts [tiles, 2, columns]: the sum of the run that enters a tile from before, and of the one that leaves it behind. A
// run that does both, a whole tile, is in the first.
template <class S, class T>
__global__ void tiles_kernel(Table<T> table, T* parts, const S* dy, int64_t dy_step, Sorted ids) {
  const int64_t first = int64_t{blockIdx.x} * kTile, end = min(first + kTile, ids.n);
  const int64_t c = int64_t{blockIdx.y} * blockDim.x + threadIdx.x;
  if (c >= table.columns) return;
  bool entered = first > 0 && ids.keys[first - 1] == ids.keys[first];
  T sum = 0;
  for (int64_t i = first; i < end; ++i) {
    const int32_t key = ids.keys[i];
    if (key == ids.below) return;
    sum += load<T>(dy + ids.order[i] * dy_step + c);
    const bool ends = i + 1 == ids.n || ids.keys[i + 1] != key, leaves = !ends && i + 1 == end;
    if (!ends && !leaves) continue;
    if (entered) {
      parts[2 * int64_t{blockIdx.x} * table.columns + c] = sum;
    } else if (leaves) {
      parts[(2 * int64_t{blockIdx.x} + 1) * table.columns + c] = sum;
    } else {
      table.dw[key * table.step + c] += sum;
    }
    entered = false;
    sum = 0;
  }
}

// The block of the tile where a run begins that leaves it adds the run's parts.
template <class T>
__global__ void parts_kernel(Table<T> table, const T* parts, Sorted ids) {
  const int64_t first = int64_t{blockIdx.x} * kTile, end = first + kTile;
  const int64_t c = int64_t{blockIdx.y} * blockDim.x + threadIdx.x;
  if (c >= table.columns || end >= ids.n) return;
  const int32_t key = ids.keys[end - 1];
  if (key == ids.below || ids.keys[end] != key) return;
  if (ids.keys[first] == key && first > 0 && ids.keys[first - 1] == key) return;
  T sum = parts[(2 * int64_t{blockIdx.x} + 1) * table.columns + c];
  for (int64_t next = end; next < ids.n && ids.keys[next] == key; next += kTile) {
    sum += parts[2 * (next / kTile) * table.columns + c];
  }
  table.dw[key * table.step + c] += sum;
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
    const dim3 grid(static_cast<unsigned>(tiles), static_cast<unsigned>((columns + kThreads - 1) / kThreads));
    launch(tiles_kernel<stored_t<S>, T>, grid, kThreads, 0, stream(), table, parts.data(), data_of<S>(dy),
           dy.strides[0], sorted);
    launch(parts_kernel<T>, grid, kThreads, 0, stream(), table, parts.data(), sorted);
  });
}

}  // namespace pg::cuda
