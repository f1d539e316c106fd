// Copies, indexing and random numbers compared with loops over elements.
#include <set>

#include "tests/tensor/kernel_buffers.h"

using namespace pg;
using namespace pg::testing;

namespace {
const Kernels& k = cpu_kernels();
constexpr DType kTypes[] = {f32, f64, bf16, i32, u8};

// The row-major index of element i of `shape` with its position along `dim` replaced.
int64_t with_position(const Shape& shape, int64_t i, int dim, int64_t position, const Shape& in) {
  int64_t at[kMaxDims], result = 0;
  for (int d = shape.rank() - 1; d >= 0; --d) {
    at[d] = i % shape[d];
    i /= shape[d];
  }
  at[dim] = position;
  for (int d = 0; d < in.rank(); ++d) result = result * in[d] + at[d];
  return result;
}
}  // namespace

TEST_CASE("copy keeps values between all types and layouts", "[kernels]") {
  for (DType to : kTypes) {
    for (DType from : kTypes) {
      for (Layout a : kLayouts) {
        for (Layout b : kLayouts) {
          for (const Shape& shape : {Shape{}, Shape{1, 1}, Shape{0, 4}, Shape{37}, Shape{34, 65}, Shape{3, 33, 70}}) {
            Buffer x(shape, from, a), y(shape, to, b);
            x.integers(1, 120);  // exact in every type
            k.copy(y.assign_all(0), x);
            CHECK(y.values() == x.values());
            CHECK(y.guards_intact());
          }
        }
      }
    }
  }
}

TEST_CASE("copy of permuted, repeated and single elements", "[kernels]") {
  Buffer x({5, 1, 40}, f32), y({40, 7, 5}, f32);
  x.random(1);
  View from = expand(x, 1, 7);
  std::swap(from.shape[0], from.shape[2]);
  std::swap(from.strides[0], from.strides[2]);
  k.copy(y.poison(), from);
  for (int64_t i = 0; i < y.numel(); ++i) CHECK(y.get(i) == x.get(i % 5 * 40 + i / 35));
  Buffer one({1, 1}, f32), many({60, 60}, f32, Layout::transposed);
  one.set(0, 2.5);
  k.copy(many.poison(), expand(expand(one, 0, 60), 1, 60));
  CHECK(many.values() == std::vector<double>(3600, 2.5));
}

TEST_CASE("conversions round, truncate and clamp", "[kernels]") {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const auto convert = [](double value, DType from, DType to) {
    Buffer x({1}, from), y({1}, to);
    x.set(0, value);
    k.copy(y, x);
    return y.get(0);
  };
  CHECK(convert(2.75, f32, i32) == 2);
  CHECK(convert(-2.75, f64, i32) == -2);
  CHECK(convert(1e12, f32, i32) == 2147483647);
  CHECK(convert(-inf, f32, i32) == -2147483648.0);
  CHECK(convert(nan, f64, i32) == 0);
  CHECK(convert(300, f32, u8) == 255);
  CHECK(convert(-1, i32, u8) == 0);
  CHECK(convert(256, i32, u8) == 255);
  CHECK(convert(1.00390625, f32, bf16) == 1);  // half way between 1 and 1.0078125: rounds to even
  CHECK(convert(1.01171875, f32, bf16) == 1.015625);
  CHECK(std::isnan(convert(nan, f32, bf16)));
  CHECK(convert(inf, f64, bf16) == inf);
  CHECK(convert(0.1, f64, f32) == static_cast<double>(0.1f));
}

TEST_CASE("fill and accumulate", "[kernels]") {
  for (Layout layout : kLayouts) {
    for (DType type : kTypes) {
      Buffer y({7, 50}, type, layout);
      k.fill(y, 3);
      CHECK(y.values() == std::vector<double>(350, 3));
      CHECK(y.guards_intact());
    }
    for (DType type : {f32, f64}) {
      for (double beta : {0.0, 1.0, 0.5}) {
        Buffer y({7, 50}, type, layout), x({7, 50}, type), row({1, 50}, type);
        x.integers(1, 100), row.integers(2, 100);
        if (beta == 0) {
          y.poison();
        } else {
          y.integers(3, 100);
        }
        auto want = y.values();
        for (int64_t i = 0; i < 350; ++i) {
          double& w = want[static_cast<size_t>(i)];
          w = (beta == 0 ? 0 : beta * w) + x.get(i);
        }
        k.accumulate(y, x, beta);
        CHECK(y.values() == want);
        k.accumulate(y, expand(row, 0, 7), 1);
        for (int64_t i = 0; i < 350; ++i) CHECK(y.get(i) == want[static_cast<size_t>(i)] + row.get(i % 50));
        CHECK(y.guards_intact());
      }
    }
  }
}

TEST_CASE("gather reads and scatter_add adds at indices along any dimension", "[kernels]") {
  const Shape table{4, 9, 21};
  for (int dim : {0, 1, 2}) {
    for (int64_t count : {0, 1, 13}) {
      Shape shape = table;
      shape[dim] = count;
      for (Layout layout : kLayouts) {
        Buffer index(shape, i32, layout);
        index.integers(5, table[dim]);
        for (DType type : kTypes) {
          Buffer x(table, type, layout), y(shape, type, Layout::padded);
          x.integers(1, 100);
          k.gather(y, x, index, dim);
          for (int64_t i = 0; i < y.numel(); ++i) {
            const int64_t at = with_position(shape, i, dim, static_cast<int64_t>(index.get(i)), table);
            CHECK(y.get(i) == x.get(at));
          }
          CHECK(y.guards_intact());
        }
        for (DType type : {f32, f64}) {
          Buffer x(shape, type), y(table, type, layout);
          x.integers(2, 100), y.integers(3, 100);
          auto want = y.values();
          for (int64_t i = 0; i < x.numel(); ++i) {
            const int64_t at = with_position(shape, i, dim, static_cast<int64_t>(index.get(i)), table);
            want[static_cast<size_t>(at)] += x.get(i);
          }
          k.scatter_add(y, index, x, dim);
          CHECK(y.values() == want);
          CHECK(y.guards_intact());
        }
      }
    }
  }
}

TEST_CASE("gather and scatter_add of whole rows by a repeated index", "[kernels]") {
  Buffer x({6, 40}, f32), ids({9, 1}, i32), y({9, 40}, f32), back({6, 40}, f32);
  x.random(1), ids.integers(2, 6);
  k.gather(y.poison(), x, expand(ids, 1, 40), 0);
  for (int64_t i = 0; i < y.numel(); ++i) {
    CHECK(y.get(i) == x.get(static_cast<int64_t>(ids.get(i / 40)) * 40 + i % 40));
  }
  back.assign_all(0);
  y.integers(4, 50);
  k.scatter_add(back, expand(ids, 1, 40), y, 0);
  auto want = std::vector<double>(240, 0);
  for (int64_t i = 0; i < y.numel(); ++i) {
    want[static_cast<size_t>(static_cast<int64_t>(ids.get(i / 40)) * 40 + i % 40)] += y.get(i);
  }
  CHECK(back.values() == want);
}

TEST_CASE("embedding and its gradient", "[kernels]") {
  for (DType type : {f32, f64}) {
    const int64_t vocabulary = 11, width = 70, rows = 500;
    Buffer w({vocabulary, width}, type), ids({rows}, i32), y({rows, width}, type, Layout::padded);
    w.random(1), ids.integers(2, vocabulary - 1);  // the last row is never used
    k.embedding(y.poison(), w, ids);
    for (int64_t i = 0; i < y.numel(); ++i) {
      CHECK(y.get(i) == w.get(static_cast<int64_t>(ids.get(i / width)) * width + i % width));
    }
    CHECK(y.guards_intact());
    for (double beta : {0.0, 1.0, 0.5}) {
      check_threads([&] {
        Buffer dw({vocabulary, width}, type), dy({rows, width}, type);
        dy.integers(3, 100);
        if (beta == 0) {
          dw.poison();
        } else {
          dw.integers(4, 100);
        }
        auto want = dw.values();
        for (double& v : want) v = beta == 0 ? 0 : v * beta;
        for (int64_t i = 0; i < dy.numel(); ++i) {
          want[static_cast<size_t>(static_cast<int64_t>(ids.get(i / width)) * width + i % width)] += dy.get(i);
        }
        k.embedding_backward(dw, dy, ids, beta);
        CHECK(dw.values() == want);
        return dw.bytes();
      });
    }
  }
}

TEST_CASE("random tensors are the generator's stream from any offset", "[kernels]") {
  const uint64_t seed = 77;
  for (uint64_t offset : {0u, 1u, 6u, 1000003u}) {
    for (DType type : {f32, f64}) {
      const int64_t n = 20003;
      Buffer u({n}, type), z({n}, type);
      k.random_uniform(u, 0, 1, seed, offset);
      k.random_normal(z, 0.5, 2, seed, offset);
      Generator g(seed);
      g.set_state(seed, offset);
      for (int64_t i = 0; i < n; ++i) {
        const uint32_t word = random_u32(seed, offset + static_cast<uint64_t>(i));
        CHECK(u.get(i) == (type == f32 ? static_cast<double>(to_unit(word)) : word * 0x1p-32));
        // libm's cosine gets the rounded 2π·v, which costs up to 4 units for a radius up to 7.
        CHECK_CLOSE(z.get(i), 0.5 + 2 * g.normal(), type, type == f32 ? 2 : 16, type == f32 ? 1e-6 : 4);
      }
      CHECK(u.guards_intact());
      CHECK(z.guards_intact());
    }
  }
  check_threads([&] {
    Buffer z({40001}, f32);
    k.random_normal(z, 0, 1, seed, 3);
    return z.bytes();
  });
}

TEST_CASE("uniform numbers stay below the excluded upper bound", "[kernels]") {
  Buffer y({200000}, f32);
  k.random_uniform(y, 1, 1.0000001, 5, 0);  // neighbours in f32: half of the sums would round up
  const auto values = y.values();
  CHECK(std::set<double>(values.begin(), values.end()) == std::set<double>{1.0});
  k.random_uniform(y, 3, 3, 5, 0);
  CHECK(y.get(17) == 3);
}

TEST_CASE("dropout decides by random word and scales", "[kernels]") {
  const int64_t n = 30011;
  for (DType type : {f32, f64}) {
    for (double p : {0.0, 0.25, 1.0}) {
      for (double beta : {0.0, 1.0}) {
        Buffer x({n}, type), y({n}, type);
        x.random(1);
        if (beta == 0) {
          y.poison();
        } else {
          y.assign_all(1);
        }
        k.dropout(y, x, p, 9, 5, beta);
        int64_t kept = 0;
        for (int64_t i = 0; i < n; ++i) {
          const bool keep = random_u32(9, 5 + static_cast<uint64_t>(i)) * 0x1p-32 >= p;
          kept += keep;
          CHECK_CLOSE(y.get(i), beta + (keep ? x.get(i) / (1 - p) : 0), type, 4, 2);
        }
        CHECK(std::abs(static_cast<double>(kept) - (1 - p) * n) <= 5 * std::sqrt(p * (1 - p) * n));
        CHECK(y.guards_intact());
      }
    }
  }
}
