// Running sums along a dimension. For many lines, one thread sums each line from start to end. For few lines, one block
// per line scans 256 elements at a time.
#include "tensor/cuda/base/array.h"
#include "tensor/cuda/base/kernels_cuda.h"

namespace pg::cuda {
namespace {

struct Line {
  int64_t length, y_step, x_step;  // strides; negative if the sum runs backwards
  int64_t y_start, x_start;        // offset of the first element to be added
};

template <class R, class T>
__device__ __forceinline__ void put(R* y, T sum, T beta) {
  store(y, beta == 0 ? sum : beta * load<T>(y) + sum);
}

template <class R, class S, class T>
__global__ void cumsum_lines_kernel(StridedLoop<2> lines, Line line, R* y, const S* x, T beta) {
  for (int64_t i = first_index(); i < lines.n; i += index_step()) {
    int64_t at[2];
    offsets_of(lines, i, at);
    R* to = y + at[0] + line.y_start;
    const S* from = x + at[1] + line.x_start;
    T sum = 0;
    for (int64_t k = 0; k < line.length; ++k) {
      sum += load<T>(from + k * line.x_step);
      put(to + k * line.y_step, sum, beta);
    }
  }
}

// Inclusive scan of Hillis and Steele (1986, "Data Parallel Algorithms") within a warp, then over the warps.
template <class R, class S, class T>
__global__ void cumsum_block_kernel(StridedLoop<2> lines, Line line, R* y, const S* x, T beta) {
  constexpr int kWarps = kThreads / 32;
  __shared__ T warp_sum[kWarps];
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  for (int64_t i = blockIdx.x; i < lines.n; i += gridDim.x) {
    int64_t at[2];
    offsets_of(lines, i, at);
    T before = 0;  // sum of all earlier chunks
    for (int64_t first = 0; first < line.length; first += kThreads) {
      const int64_t k = first + threadIdx.x;
      T sum = k < line.length ? load<T>(x + at[1] + line.x_start + k * line.x_step) : T(0);
      for (int distance = 1; distance < 32; distance *= 2) {
        const T other = __shfl_up_sync(0xffffffffu, sum, distance);
        if (lane >= distance) sum += other;
      }
      if (lane == 31) warp_sum[warp] = sum;
      __syncthreads();
      T chunk = 0, earlier = 0;
      for (int w = 0; w < kWarps; ++w) {
        if (w == warp) earlier = chunk;
        chunk += warp_sum[w];
      }
      if (k < line.length) put(y + at[0] + line.y_start + k * line.y_step, before + (earlier + sum), beta);
      before += chunk;
      __syncthreads();  // before the next write to warp_sum
    }
  }
}

}  // namespace

void cumsum(const View& y, const View& x, int dim, bool reverse, double beta) {
  View lines_y = y, lines_x = x;  // y and x without dimension `dim`
  for (View* v : {&lines_y, &lines_x}) v->shape.erase(dim), v->strides.erase(dim);
  const auto lines = plan_loop(lines_y, lines_x);
  const int64_t length = x.shape[dim], sign = reverse ? -1 : 1, start = reverse ? length - 1 : 0;
  const Line line{length, sign * y.strides[dim], sign * x.strides[dim], start * y.strides[dim], start * x.strides[dim]};
  const bool many = lines.n >= 4096 || length <= 32;
  visit_result(y, x, "cumsum",
               [&]<class R, class S, class T>(std::type_identity<R>, std::type_identity<S>, std::type_identity<T>) {
                 const auto kernel = many ? cumsum_lines_kernel<stored_t<R>, stored_t<S>, T>
                                          : cumsum_block_kernel<stored_t<R>, stored_t<S>, T>;
                 const auto blocks = many ? blocks_for(lines.n) : static_cast<unsigned>(std::max<int64_t>(1, lines.n));
                 launch(kernel, blocks, kThreads, 0, stream(), lines, line, data_of<R>(y), data_of<S>(x), beta);
               });
}

}  // namespace pg::cuda
