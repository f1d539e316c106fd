// Rotary position embedding (Su et al. 2021, arXiv:2104.09864) in the half-split layout: element i pairs with i + D/2
// and is rotated by the angle position · frequency(base^(-2i/D)). Powers, sines and cosines are computed once per
// position, in double, and used by all heads.
#include <cmath>

#include "tensor/cuda/base/array.h"
#include "tensor/cuda/base/kernels_cuda.h"
#include "tensor/cuda/runtime/runtime.h"

namespace pg::cuda {
namespace {

// turn [N, D/2]: cosine and sine for row n at position first[n / T] + n % T, or n without `first`.
template <class T>
struct Turn {
  T cosine, sine;
};
template <class T>
__global__ void turns_kernel(Turn<T>* turn, int64_t n, int64_t half, int64_t steps, const int32_t* first, Rope rope,
                             bool inverse) {
  for (int64_t i = first_index(); i < n * half; i += index_step()) {
    const int64_t row = i / half;
    const double plain = ::pow(rope.base, -static_cast<double>(i % half) / static_cast<double>(half));
    const double frequency = rope.frequency(plain);
    const double position = static_cast<double>(first ? first[row / steps] + row % steps : row);
    const double angle = position * frequency, sine = ::sin(angle);
    turn[i] = {static_cast<T>(::cos(angle)), static_cast<T>(inverse ? -sine : sine)};
  }
}

struct Heads {  // of a tensor [B, H, T, D], D contiguous
  int64_t heads, steps, half;
  int64_t x_stride[3], y_stride[3];
};

// One thread rotates one pair. Batch rows are `turn_step` apart in `turn`: 0 if they share positions.
template <class R, class S, class T>
__global__ void rope_kernel(Heads s, int64_t n, stored_t<R>* y, const stored_t<S>* x, const Turn<T>* turn,
                            int64_t turn_step, T beta) {
  for (int64_t i = first_index(); i < n; i += index_step()) {
    const int64_t d = i % s.half, row = i / s.half, t = row % s.steps;
    const int64_t h = row / s.steps % s.heads, b = row / s.steps / s.heads;
    const auto* from = x + b * s.x_stride[0] + h * s.x_stride[1] + t * s.x_stride[2] + d;
    auto* to = y + b * s.y_stride[0] + h * s.y_stride[1] + t * s.y_stride[2] + d;
    const Turn<T> by = turn[b * turn_step + t * s.half + d];
    const T u = load<T>(from), v = load<T>(from + s.half);
    T low = u * by.cosine - v * by.sine, high = v * by.cosine + u * by.sine;
    if (beta != 0) {
      low += beta * load<T>(to);
      high += beta * load<T>(to + s.half);
    }
    store(to, low);
    store(to + s.half, high);
  }
}

}  // namespace

void rope(const View& y, const View& x, const RopeArgs& args, double beta) {
  visit_result(y, x, "rope",
               [&]<class R, class S, class T>(std::type_identity<R>, std::type_identity<S>, std::type_identity<T>) {
                 Heads s{x.shape[1], x.shape[2], x.shape[3] / 2, {}, {}};
                 for (int d = 0; d < 3; ++d) s.x_stride[d] = x.strides[d], s.y_stride[d] = y.strides[d];
                 const int64_t n = x.numel() / 2, own = s.steps * s.half;
                 if (n == 0) return;
                 const auto* first = args.positions.as<const int32_t>();
                 const int64_t rows = first ? x.shape[0] * s.steps : s.steps;
                 const Scratch<Turn<T>> turns(rows * s.half);
                 launch(turns_kernel<T>, blocks_for(rows * s.half), kThreads, 0, stream(), turns.data(), rows, s.half,
                        s.steps, first, args.rope, args.inverse);
                 launch(rope_kernel<R, S, T>, blocks_for(n), kThreads, 0, stream(), s, n, data_of<R>(y), data_of<S>(x),
                        turns.data(), first ? own : 0, beta);
               });
}

}  // namespace pg::cuda
