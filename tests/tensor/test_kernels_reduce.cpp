// Reductions compared with loops over elements in double.
#include "tests/tensor/kernel_buffers.h"

using namespace pg;
using namespace pg::testing;

namespace {

const Kernels& k = cpu_kernels();
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// `shape` with size 1 at the dimensions in `mask`, and the row-major index in that shape of element i of `shape`.
Shape reduced_shape(const Shape& shape, unsigned mask) {
  Shape out;
  for (int d = 0; d < shape.rank(); ++d) out.push_back(mask >> d & 1 ? 1 : shape[d]);
  return out;
}
int64_t reduced_index(const Shape& shape, unsigned mask, int64_t i) {
  int64_t result = 0, step = 1;
  for (int d = shape.rank() - 1; d >= 0; --d) {
    if (!(mask >> d & 1)) {
      result += i % shape[d] * step;
      step *= shape[d];
    }
    i /= shape[d];
  }
  return result;
}

}  // namespace

TEST_CASE("sum and max over every set of dimensions in every layout", "[kernels]") {
  for (const Shape& shape : {Shape{}, Shape{1}, Shape{37}, Shape{5, 67}, Shape{1, 40}, Shape{3, 17, 35},
                             Shape{2, 3, 1, 50}, Shape{0, 5}, Shape{5, 0}, Shape{300, 3}, Shape{4, 5000}}) {
    for (unsigned mask = 0; mask < 1u << shape.rank(); ++mask) {
      for (DType type : {f32, f64}) {
        for (Layout layout : kLayouts) {
          Buffer x(shape, type, layout);
          x.random(3, -1, 2);
          for (double beta : {0.0, 1.0, 0.5}) {
            for (double divisor : {1.0, 4.0, 3.0}) {
              Buffer y(reduced_shape(shape, mask), type,
                       layout == Layout::padded ? Layout::sliced : Layout::contiguous);
              if (beta == 0) {
                y.poison();
              } else {
                y.random(4);
              }
              auto want = y.values();
              std::vector<double> size(want.size(), 0), total(want.size(), 0);
              for (size_t j = 0; j < want.size(); ++j) {
                want[j] = beta == 0 ? 0 : beta * want[j];
                size[j] = std::abs(want[j]) + 0.1;
              }
              for (int64_t i = 0; i < x.numel(); ++i) {
                const auto j = static_cast<size_t>(reduced_index(shape, mask, i));
                total[j] += x.get(i);
                size[j] += std::abs(x.get(i) / divisor);
              }
              for (size_t j = 0; j < want.size(); ++j) want[j] += total[j] / divisor;
              k.reduce(Reduce::sum, y, x, divisor, beta);
              for (size_t j = 0; j < want.size(); ++j) {
                // Up to 300 additions in sequence.
                CHECK(std::abs(y.get(static_cast<int64_t>(j)) - want[j]) <= 40 * unit_of(type) * size[j]);
              }
              CHECK(y.guards_intact());
            }
          }
          Buffer top(reduced_shape(shape, mask), type);
          std::vector<double> want(static_cast<size_t>(top.numel()), -kInf);
          for (int64_t i = 0; i < x.numel(); ++i) {
            double& w = want[static_cast<size_t>(reduced_index(shape, mask, i))];
            w = std::max(w, x.get(i));
          }
          k.reduce(Reduce::max, top.poison(), x, 1, 0);
          CHECK(top.values() == want);
          CHECK(top.guards_intact());
        }
      }
    }
  }
}

TEST_CASE("sums of repeated elements", "[kernels]") {
  Buffer x({6, 1}, f64), rows({6, 1}, f64), columns({1, 50}, f64), all({1, 1}, f64);
  x.random(1);
  const View wide = expand(x, 1, 50);
  k.reduce(Reduce::sum, rows, wide, 1, 0);
  for (int64_t i = 0; i < 6; ++i) CHECK_CLOSE(rows.get(i), 50 * x.get(i), f64, 100, 0);
  k.reduce(Reduce::sum, columns, wide, 1, 0);
  k.reduce(Reduce::sum, all, columns, 1, 0);
  double sum = 0;
  for (double v : x.values()) sum += v;
  CHECK_CLOSE(all.get(0), 50 * sum, f64, 100, 1);
}

TEST_CASE("max is NaN wherever the NaN is", "[kernels]") {
  for (DType type : {f32, f64}) {
    for (int64_t at = 0; at < 70; ++at) {
      Buffer x({70, 1}, type), y({1, 1}, type), wide({1, 70}, type), each({1, 70}, type);
      x.random(1), wide.random(1);
      x.set(at, kNaN), wide.set(at, kNaN);
      k.reduce(Reduce::max, y, x, 1, 0);
      CHECK(std::isnan(y.get(0)));
      k.reduce(Reduce::max, each, expand(wide, 0, 3), 1, 0);
      for (int64_t i = 0; i < 70; ++i) CHECK(std::isnan(each.get(i)) == (i == at));
    }
  }
}

TEST_CASE("long f32 sums stay accurate", "[kernels]") {
  const int64_t n = 3000001;
  Buffer x({n}, f32), y({1}, f32);
  x.assign_all(0.1);  // sequential additions would lose the third digit
  k.reduce(Reduce::sum, y, x, 1, 0);
  // In a block, a lane rounds 16 times and the reduction across lanes 6 times. The rest is computed in double.
  CHECK_CLOSE(y.get(0), n * static_cast<double>(0.1f), f32, 22, 0);

  const int64_t rows = 200000;
  Buffer tall({rows, 5}, f32), column({1, 5}, f32);
  tall.assign_all(0.1);
  k.reduce(Reduce::sum, column, tall, 1, 0);
  CHECK(std::abs(column.get(2) / (rows * static_cast<double>(0.1f)) - 1) < 1e-4);
}

TEST_CASE("sums have the same bits for any thread count and any other rows", "[kernels]") {
  for (DType type : {f32, f64}) {
    Buffer x({70, 9001}, type);
    x.random(5);
    for (unsigned mask : {1u, 2u, 3u}) {
      check_threads([&] {
        Buffer y(reduced_shape({70, 9001}, mask), type);
        k.reduce(Reduce::sum, y, x, 3, 0);
        return y.bytes();
      });
    }
    Buffer all({70, 1}, type), one({1, 1}, type);
    k.reduce(Reduce::sum, all, x, 1, 0);
    View row = x;
    row.shape[0] = 1;
    k.reduce(Reduce::sum, one, row, 1, 0);
    CHECK(one.get(0) == all.get(0));
  }
}

TEST_CASE("a column sum continues over batches bit for bit", "[kernels]") {
  for (DType type : {f32, f64}) {
    Buffer x({50, 33}, type), whole({1, 33}, type), parts({1, 33}, type);
    x.random(5);
    k.reduce(Reduce::sum, whole.poison(), x, 1, 0);
    View first = x, second = x;
    first.shape[0] = 21;
    second.shape[0] = 29;
    second.data = x.view().as<char>() + 21 * 33 * static_cast<int64_t>(size_of(type));
    k.reduce(Reduce::sum, parts.poison(), first, 1, 0);
    k.reduce(Reduce::sum, parts, second, 1, 1);
    CHECK(parts.bytes() == whole.bytes());
  }
}

TEST_CASE("cumulative sums run both ways along any dimension", "[kernels]") {
  for (const Shape& shape : {Shape{1}, Shape{40}, Shape{7, 90}, Shape{3, 5, 70}, Shape{4, 0, 3}}) {
    for (int dim = 0; dim < shape.rank(); ++dim) {
      int64_t inner = 1;
      for (int d = dim + 1; d < shape.rank(); ++d) inner *= shape[d];
      for (DType type : {f32, f64}) {
        for (Layout layout : kLayouts) {
          for (bool reverse : {false, true}) {
            for (double beta : {0.0, 1.0}) {
              Buffer x(shape, type, layout), y(shape, type, Layout::padded);
              x.random(1);
              if (beta == 0) {
                y.poison();
              } else {
                y.random(2);
              }
              const auto held = y.values();
              k.cumsum(y, x, dim, reverse, beta);
              for (int64_t i = 0; i < x.numel(); ++i) {
                const int64_t at = i / inner % shape[dim], start = i - at * inner;
                double want = beta == 0 ? 0 : held[static_cast<size_t>(i)];
                for (int64_t p = reverse ? at : 0; p < (reverse ? shape[dim] : at + 1); ++p) {
                  want += x.get(start + p * inner);
                }
                CHECK_CLOSE(y.get(i), want, type, 4, 20);
              }
              CHECK(y.guards_intact());
            }
          }
        }
      }
    }
  }
}

TEST_CASE("argmax returns the first of equal maxima, and a NaN before any number", "[kernels]") {
  for (DType type : {f32, f64}) {
    for (int64_t columns : {1, 5, 64, 333}) {
      Buffer x({40, columns}, type, Layout::padded), index({40}, i32);
      x.integers(1, 6);
      if (columns > 4) x.set(7 * columns + 3, kNaN), x.set(7 * columns + 4, kNaN);
      for (int64_t c = 0; c < columns; ++c) x.set(8 * columns + c, -kInf);
      k.argmax(index, x);
      for (int64_t r = 0; r < 40; ++r) {
        int64_t want = 0;
        for (int64_t c = 1; c < columns; ++c) {
          if (x.get(r * columns + c) > x.get(r * columns + want)) want = c;
        }
        if (columns > 4 && r == 7) want = 3;
        CHECK(index.get(r) == static_cast<double>(want));
      }
    }
  }
}

TEST_CASE("sum of squares in double", "[kernels]") {
  for (DType type : {f32, f64}) {
    for (int64_t n : {0, 1, 15, 40000, 100003}) {
      Buffer x({n}, type), y({1}, f64);
      x.random(1);
      long double want = 0;
      for (double v : x.values()) want += static_cast<long double>(v) * v;
      k.sum_of_squares(y.poison(), x);
      CHECK_CLOSE(y.get(0), static_cast<double>(want), f64, 200, 0);
      check_threads([&] {
        Buffer z({1}, f64);
        k.sum_of_squares(z, x);
        return z.bytes();
      });
    }
  }
  Buffer x({3}, f32), y({1}, f64);
  x.assign_all(1e25);  // the square of each element overflows f32
  k.sum_of_squares(y, x);
  CHECK(std::abs(y.get(0) / 3e50 - 1) < 1e-6);
}
