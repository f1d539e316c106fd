// Rotary position embedding (Su et al. 2021, arXiv:2104.09864) in the half-split layout: element i pairs with i + D/2
// and is rotated by position · frequency(base^(-2i/D)).
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "tensor/cpu/kernels_cpu.h"
#include "tensor/cpu/row_ops.h"
#include "tensor/cpu/simd/vec_math.h"

namespace pg::cpu {
namespace {

// The cosines and sines of all pairs at a position: [half] each. Rows of a batch are often at the same positions: then
// those from `lowest` to `highest` are computed once.
template <class T>
class Angles {
 public:
  Angles(const RopeArgs& args, int64_t half, int64_t lowest, int64_t highest, bool once)
      : half_(half), lowest_(lowest), inverse_(args.inverse), frequency_(static_cast<size_t>(half)) {
    for (int64_t i = 0; i < half; ++i) {
      frequency_[i] =
          args.rope.frequency(std::pow(args.rope.base, -static_cast<double>(i) / static_cast<double>(half)));
    }
    if (!once) return;
    table_.resize(static_cast<size_t>(2 * half * (highest - lowest + 1)));
    parallel_for(highest - lowest + 1, row_grain(half, kCostlyGrain), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) compute(lowest + i, &table_[2 * half * i]);
    });
  }
  // How many numbers at() needs to compute in.
  size_t scratch() const { return table_.empty() ? static_cast<size_t>(2 * half_) : 0; }
  const T* at(int64_t position, T* scratch) const {
    if (!table_.empty()) return table_.data() + 2 * half_ * (position - lowest_);
    compute(position, scratch);
    return scratch;
  }

 private:
  void compute(int64_t position, T* to) const {
    for_vectors<double>(half_, [&](int64_t i, int64_t m) {
      const Vec<double> angle = load_lanes(&frequency_[i], m) * static_cast<double>(position);
      const Vec<double> c = cos(angle), s = inverse_ ? -sin(angle) : sin(angle);
      for (int l = 0; l < m; ++l) to[i + l] = static_cast<T>(c[l]), to[half_ + i + l] = static_cast<T>(s[l]);
    });
  }

  int64_t half_, lowest_;
  bool inverse_;
  std::vector<double> frequency_;
  std::vector<T> table_;
};

}  // namespace

void rope(const View& y, const View& x, const RopeArgs& args, double beta) {
  const auto run = [&]<class T, class X, class Y>(std::type_identity<T>, std::type_identity<X>, std::type_identity<Y>) {
    const int64_t batch = x.shape[0], heads = x.shape[1], steps = x.shape[2], half = x.shape[3] / 2;
    const int32_t* first = args.positions.as<const int32_t>();
    const T b = static_cast<T>(beta);
    // One task rotates all heads at one position, for one row of the batch, or for all rows if they share positions.
    const int64_t rows = first ? 1 : batch, tasks = batch / std::max<int64_t>(1, rows) * steps;
    const auto position_of = [=](int64_t task) { return (first ? first[task / steps] : 0) + task % steps; };
    int64_t lowest = std::numeric_limits<int64_t>::max(), highest = 0;
    for (int64_t task = 0; task < tasks; ++task) {
      lowest = std::min(lowest, position_of(task));
      highest = std::max(highest, position_of(task));
    }
    const Angles<T> angles(args, half, lowest, highest, tasks > 0 && half > 0 && highest - lowest < tasks);
    parallel_for(tasks, row_grain(rows * heads * half, kCostlyGrain), [&](int64_t begin, int64_t end) {
      std::vector<T> own(angles.scratch());
      for (int64_t task = begin; task < end; ++task) {
        const int64_t row0 = task / steps, t = task % steps;
        const T *c = angles.at(position_of(task), own.data()), *s = c + half;
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
