#pragma once
// Memory for kernel tests: views with every layout inside a larger block. The bytes outside of a view must not change.
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "tensor/base/parallel.h"
#include "tensor/base/random.h"
#include "tensor/kernels.h"
#include "tests/catch.h"

namespace pg::testing {

enum class Layout { contiguous, transposed, sliced, padded };
inline constexpr Layout kLayouts[] = {Layout::contiguous, Layout::transposed, Layout::sliced, Layout::padded};

class Buffer {
 public:
  Buffer(const Shape& shape, DType dtype, Layout layout = Layout::contiguous) {
    view_.dtype = dtype;
    view_.shape = shape;
    view_.strides = Strides::filled(shape.rank(), 0);
    // transposed: the first dimension has stride 1; sliced: every second element; padded: three unused elements per row
    int64_t step = layout == Layout::sliced ? 2 : 1;
    for (int i = 0; i < shape.rank(); ++i) {
      const int d = layout == Layout::transposed ? i : shape.rank() - 1 - i;
      view_.strides[d] = step;
      step *= std::max<int64_t>(1, shape[d]);
      if (layout == Layout::padded && i == 0) step += 3;
    }
    bytes_.assign(static_cast<size_t>(step) * size_of(dtype) + 2 * kGuard, kPattern);
    view_.data = bytes_.data() + kGuard;
  }
  Buffer(const Buffer&) = delete;

  operator View() const { return view_; }
  const View& view() const { return view_; }
  int64_t numel() const { return view_.numel(); }

  // Element i in row-major order.
  double get(int64_t i) const {
    return visit(view_.dtype, [&]<class T>(std::type_identity<T>) {
      if constexpr (std::is_same_v<T, BFloat16>) {
        return static_cast<double>(static_cast<float>(view_.as<T>()[offset(i)]));
      } else {
        return static_cast<double>(view_.as<T>()[offset(i)]);
      }
    });
  }
  void set(int64_t i, double value) {
    visit(view_.dtype, [&]<class T>(std::type_identity<T>) {
      if constexpr (std::is_same_v<T, BFloat16>) {
        view_.as<T>()[offset(i)] = T(static_cast<float>(value));
      } else {
        view_.as<T>()[offset(i)] = static_cast<T>(value);
      }
    });
  }
  std::vector<double> values() const {
    std::vector<double> v;
    for (int64_t i = 0; i < numel(); ++i) v.push_back(get(i));
    return v;
  }
  Buffer& assign(const std::vector<double>& v) {
    REQUIRE(static_cast<int64_t>(v.size()) == numel());
    for (int64_t i = 0; i < numel(); ++i) set(i, v[static_cast<size_t>(i)]);
    return *this;
  }
  Buffer& assign_all(double value) {
    for (int64_t i = 0; i < numel(); ++i) set(i, value);
    return *this;
  }
  Buffer& poison() { return assign_all(std::numeric_limits<double>::quiet_NaN()); }
  Buffer& random(uint64_t seed, double low = -2, double high = 2) {
    Generator g(seed);
    for (int64_t i = 0; i < numel(); ++i) set(i, low + (high - low) * g.uniform());
    return *this;
  }
  Buffer& integers(uint64_t seed, int64_t n) {
    Generator g(seed);
    for (int64_t i = 0; i < numel(); ++i) set(i, static_cast<double>(g.integer(n)));
    return *this;
  }

  // Whether every byte that does not belong to an element still has its pattern.
  bool guards_intact() const {
    std::vector<char> is_element(bytes_.size(), 0);
    const size_t size = size_of(view_.dtype);
    for (int64_t i = 0; i < numel(); ++i) {
      std::fill_n(is_element.begin() + static_cast<int64_t>(kGuard + static_cast<size_t>(offset(i)) * size), size, 1);
    }
    for (size_t i = 0; i < bytes_.size(); ++i) {
      if (!is_element[i] && bytes_[i] != kPattern) return false;
    }
    return true;
  }
  const std::vector<unsigned char>& bytes() const { return bytes_; }

 private:
  static constexpr size_t kGuard = 64;
  static constexpr unsigned char kPattern = 0xA5;

  int64_t offset(int64_t i) const {
    int64_t at = 0;
    for (int d = view_.rank() - 1; d >= 0; --d) {
      at += i % view_.shape[d] * view_.strides[d];
      i /= view_.shape[d];
    }
    return at;
  }

  View view_;
  std::vector<unsigned char> bytes_;
};

// A view of the same elements, repeated: dimension `dim` of size 1 gets size `size` and stride 0.
inline View expand(View v, int dim, int64_t size) {
  v.shape[dim] = size;
  v.strides[dim] = 0;
  return v;
}

inline double unit_of(DType type) { return type == f64 ? 0x1p-53 : 0x1p-24; }

// |got - want| <= ulps·unit·(|want| + floor); NaN and infinities must match.
inline bool close(double got, double want, DType type, double ulps, double floor = 0) {
  if (std::isnan(want) || std::isinf(want)) return std::isnan(want) ? std::isnan(got) : got == want;
  return std::abs(got - want) <=
         ulps * unit_of(type) * (std::abs(want) + floor) + std::numeric_limits<float>::denorm_min();
}
#define CHECK_CLOSE(got, want, type, ulps, floor)                                                        \
  do {                                                                                                   \
    const double got_value = (got), want_value = (want);                                                 \
    if (!::pg::testing::close(got_value, want_value, type, ulps, floor)) CHECK(got_value == want_value); \
  } while (false)

// The bytes that `work` leaves in its buffer must be equal for 1, 2 and 3 threads.
template <class Work>
void check_threads(Work work) {
  const int before = num_threads();
  std::vector<std::vector<unsigned char>> results;
  for (int threads : {1, 2, 3}) {
    set_num_threads(threads);
    results.push_back(work());
  }
  set_num_threads(before);
  CHECK(results[0] == results[1]);
  CHECK(results[0] == results[2]);
}

}  // namespace pg::testing
