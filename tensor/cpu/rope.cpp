// Rotary position embedding (Su et al. 2021, arXiv:2104.09864) in the half-split layout: element i pairs with i + D/2
// and is rotated by position · frequency(base^(-2i/D)).
#include <cmath>
#include <vector>

#include "tensor/cpu/kernels_cpu.h"
#include "tensor/cpu/row_ops.h"

namespace pg::cpu {

void rope(const View& y, const View& x, const RopeArgs& args, double beta) {
  const auto run = [&]<class T, class X, class Y>(std::type_identity<T>, std::type_identity<X>, std::type_identity<Y>) {
    const int64_t batch = x.shape[0], heads = x.shape[1], steps = x.shape[2], half = x.shape[3] / 2;
    const int32_t* first = args.positions.as<const int32_t>();
    std::vector<double> frequency(static_cast<size_t>(half));
    for (int64_t i = 0; i < half; ++i) {
      frequency[i] = args.rope.frequency(std::pow(args.rope.base, -static_cast<double>(i) / static_cast<double>(half)));
    }
    const T b = static_cast<T>(beta);
    // One task rotates all heads at one position, for one row of the batch, or for all rows if they share positions.
    const int64_t rows = first ? 1 : batch;
    parallel_for(batch / std::max<int64_t>(1, rows) * steps, row_grain(rows * heads * half, kCostlyGrain),
                 [&](int64_t begin, int64_t end) {
                   std::vector<T> cosine(static_cast<size_t>(half)), sine(static_cast<size_t>(half));
                   for (int64_t task = begin; task < end; ++task) {
                     const int64_t row0 = task / steps, t = task % steps;
                     const double position = static_cast<double>((first ? first[row0] : 0) + t);
                     for (int64_t i = 0; i < half; ++i) {
                       const double angle = position * frequency[i];
                       cosine[i] = static_cast<T>(std::cos(angle));
                       sine[i] = static_cast<T>(args.inverse ? -std::sin(angle) : std::sin(angle));
                     }
                     const T *c = cosine.data(), *s = sine.data();
                     for (int64_t row = row0; row < row0 + rows; ++row) {
                       for (int64_t h = 0; h < heads; ++h) {
                         const X* from = x.as<const X>() + row * x.strides[0] + h * x.strides[1] + t * x.strides[2];
                         Y* to = y.as<Y>() + row * y.strides[0] + h * y.strides[1] + t * y.strides[2];
                         for_vectors<T>(half, [=](int64_t i, int64_t m) {
                           const Vec<T> u = load_lanes(from + i, m), v = load_lanes(from + half + i, m);
                           const Vec<T> ci = load_lanes(c + i, m), si = load_lanes(s + i, m);
                           Vec<T> low = u * ci - v * si, high = v * ci + u * si;
                           if (b != 0) {
                             low += load_lanes(to + i, m) * b;
                             high += load_lanes(to + half + i, m) * b;
                           }
                           store_lanes(to + i, low, m);
                           store_lanes(to + half + i, high, m);
                         });
                       }
                     }
                   }
                 });
  };
  visit_stored(x.dtype, "rope", [&]<class X, class T>(std::type_identity<X> held, std::type_identity<T> computes) {
    y.dtype == x.dtype ? run(computes, held, held) : run(computes, held, computes);
  });
}

}  // namespace pg::cpu
