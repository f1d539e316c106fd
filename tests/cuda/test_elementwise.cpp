// Elementwise kernels of tensor/cuda in every layout: sizes around packs of 16 bytes, operands that begin anywhere,
// strides of all kinds, results stored over their inputs, mixed dtypes. These functions are exact or rounded once, so
// the results have the bits of the CPU's. What is stored beside a result stays as it was.
#include "tests/cuda/on_device.h"

using namespace pg;
using namespace pg::testing;

namespace {

// A view of a memory area; the bits of the whole area are compared.
struct Area {
  Tensor all, view;
};
// The same content on both sides.
struct Pair {
  Area cpu, cuda;
};
using Layout = std::function<Tensor(const Tensor&)>;  // a view of an area of `size` elements

// Small integers and halves: comparisons, ties and zeros happen, and products and sums are exact.
Pair area(int64_t size, DType dtype, uint64_t seed, const Layout& layout) {
  Generator g(seed);
  std::vector<double> v(static_cast<size_t>(size));
  for (double& x : v) x = static_cast<double>(g.integer(33)) / 2 - (is_floating(dtype) ? 8 : 0);
  const Tensor all = Tensor::from(v, {size}).to(dtype), moved = all.to(device());
  return {{all, layout(all)}, {moved, layout(moved)}};
}
Layout from(int64_t begin, int64_t n) {
  return [=](const Tensor& all) { return all.view_slice(0, begin, begin + n); };
}
Pair line(int64_t n, int64_t begin, DType dtype, uint64_t seed) { return area(n + 20, dtype, seed, from(begin, n)); }

// Runs f(kernels, result, x, y) on both sides.
template <class F>
void check_same(const Pair& result, const Pair& x, const Pair& y, F f) {
  f(cpu_kernels(), result.cpu.view, x.cpu.view, y.cpu.view);
  f(kernels(device()), result.cuda.view, x.cuda.view, y.cuda.view);
  CHECK(same_bits(result.cuda.all.to(Device{}), result.cpu.all));
}

// Every kernel on operands of these layouts. `dtype` is that of the inputs, `result` that of results.
template <class Make>
void check_all_kernels(DType dtype, DType result, Make make) {
  const Pair x = make(dtype, 1, 1), y = make(dtype, 2, 2);
  const auto check = [&](DType r, auto f) { check_same(make(r, 3, 0), x, y, f); };
  for (Binary op : {Binary::add, Binary::sub, Binary::mul, Binary::maximum}) {
    check(result, [=](const Kernels& k, auto& r, auto& a, auto& b) { k.binary(op, r, a, b); });
  }
  check(result, [](const Kernels& k, auto& r, auto& a, auto&) { k.unary(Unary::relu, r, a, {}); });
  check(result, [](const Kernels& k, auto& r, auto& a, auto&) { k.unary(Unary::affine, r, a, {2, 0.5}); });
  for (double beta : {0.0, 0.5}) {
    check(result,
          [=](const Kernels& k, auto& r, auto& a, auto& b) { k.unary_backward(Unary::relu, r, a, b, {}, beta); });
    check(result,
          [=](const Kernels& k, auto& r, auto& a, auto& b) { k.binary_backward(Binary::mul, 0, r, a, {}, b, beta); });
    check(result, [=](const Kernels& k, auto& r, auto& a, auto& b) {
      k.binary_backward(Binary::minimum, 1, r, a, b, a, beta);
    });
    check(result, [=](const Kernels& k, auto& r, auto& a, auto&) { k.accumulate(r, a, beta); });
  }
  check(u8, [](const Kernels& k, auto& r, auto& a, auto& b) { k.compare(Comparison::lt, r, a, b); });
  check(result, [](const Kernels& k, auto& r, auto&, auto&) { k.fill(r, -1.5); });
  check(result, [](const Kernels& k, auto& r, auto& a, auto&) { k.copy(r, a); });
  if (dtype != result) return;
  const Pair condition = make(u8, 4, 3);
  const Pair z = make(dtype, 3, 0);
  cpu_kernels().where(z.cpu.view, condition.cpu.view, x.cpu.view, y.cpu.view);
  kernels(device()).where(z.cuda.view, condition.cuda.view, x.cuda.view, y.cuda.view);
  CHECK(same_bits(z.cuda.all.to(Device{}), z.cpu.all));
}

constexpr std::pair<DType, DType> kDTypes[] = {{bf16, bf16}, {f32, f32}, {f64, f64}, {bf16, f32}};
std::string title(DType dtype, DType result) { return std::string(name_of(dtype)) + " to " + name_of(result); }

}  // namespace

TEST_CASE("CUDA elementwise kernels on lines of every size and alignment", "[cuda][elementwise]") {
  for (const auto& [dtype, result] : kDTypes) {
    for (int64_t n : {0, 1, 7, 8, 9, 15, 16, 17, 33, 255, 257}) {
      // Where the result and the inputs begin: aligned, all alike, each elsewhere.
      for (const std::array<int64_t, 4>& begin :
           {std::array<int64_t, 4>{0, 0, 0, 0}, {1, 1, 1, 1}, {7, 7, 7, 7}, {0, 1, 0, 0}, {1, 0, 3, 2}}) {
        INFO(title(dtype, result) << ", " << n << " elements from " << begin[0] << ", " << begin[1]);
        check_all_kernels(dtype, result, [&](DType d, uint64_t seed, int operand) {
          return line(n, begin[static_cast<size_t>(operand)], d, seed);
        });
      }
    }
  }
}

TEST_CASE("CUDA elementwise kernels on more packs than a block has threads", "[cuda][elementwise]") {
  for (const auto& [dtype, result] : kDTypes) {
    for (int64_t n : {4095, 4096, 4097, 8193}) {  // 2 packs of up to 8 elements per thread, 256 threads
      INFO(title(dtype, result) << ", " << n << " elements");
      for (int64_t begin : {0, 5}) {
        const Pair x = line(n, begin, dtype, 1), y = line(n, begin, dtype, 2), z = line(n, begin, result, 3);
        check_same(z, x, y, [](const Kernels& k, auto& r, auto& a, auto& b) { k.binary(Binary::add, r, a, b); });
      }
    }
  }
}

TEST_CASE("CUDA elementwise kernels loop over more packs than the grid has threads", "[cuda][elementwise][slow]") {
  const int64_t n = int64_t{4096} * 256 * 2 * 16 + 16 * 300 + 3;  // of u8, in packs of 16
  const Tensor x = Tensor::full({n}, 3, u8, device()), y = Tensor::full({n}, 5, u8, device());
  x.view_slice(0, n - 5000, n - 4000).fill(7);
  kernels(device()).copy(y, x);
  CHECK(same_bits(y.to(Device{}), x.to(Device{})));
}

TEST_CASE("CUDA elementwise kernels on transposed, stepped and broadcast operands", "[cuda][elementwise]") {
  const Layout layouts[] = {
      [](const Tensor& all) {
        return all.view_slice(0, 0, 120).view_reshape({4, 5, 6});
      },
      [](const Tensor& all) {
        return all.view_slice(0, 1, 121).view_reshape({6, 5, 4}).view_transpose(0, 2);
      },
      [](const Tensor& all) {
        return all.view_slice(0, 0, 120).view_reshape({5, 4, 6}).view_transpose(0, 1);
      },
      [](const Tensor& all) {
        return all.view_slice(0, 0, 240).view_reshape({4, 5, 12}).view_slice(2, 1, 12, 2);
      },
      [](const Tensor& all) {
        return all.view_slice(0, 3, 9).view_expand({4, 5, 6});
      },
      [](const Tensor& all) {
        return all.view_slice(0, 0, 20).view_reshape({4, 5, 1}).view_expand({4, 5, 6});
      },
      [](const Tensor& all) {
        return all.view_slice(0, 2, 3).view_expand({4, 5, 6});
      },
  };
  constexpr size_t kResults = 4, kInputs = std::size(layouts);  // a result has no stride 0
  for (const auto& [dtype, result] : kDTypes) {
    for (size_t r = 0; r < kResults; ++r) {
      for (size_t a = 0; a < kInputs; ++a) {
        const size_t operands[] = {r, a, (a + 2 * r + 3) % kInputs, (a + r) % kInputs};
        INFO(title(dtype, result) << ", layouts " << r << ", " << a << ", " << operands[2]);
        check_all_kernels(dtype, result, [&](DType d, uint64_t seed, int operand) {
          return area(240, d, seed, layouts[operands[operand]]);
        });
      }
    }
  }
}

TEST_CASE("CUDA elementwise kernels with scalars broadcast over lines", "[cuda][elementwise]") {
  for (const auto& [dtype, result] : kDTypes) {
    for (int64_t n : {1, 9, 300}) {
      for (int64_t begin : {0, 3}) {
        for (int scalar : {1, 2, 3}) {
          INFO(title(dtype, result) << ", " << n << " elements from " << begin << ", operand " << scalar);
          check_all_kernels(dtype, result, [&](DType d, uint64_t seed, int operand) {
            if (operand != scalar) return line(n, begin, d, seed);
            return area(20, d, seed, [&](const Tensor& all) { return all.view_slice(0, 5, 6).view_expand({n}); });
          });
        }
      }
    }
  }
}

TEST_CASE("CUDA elementwise kernels store results over their inputs", "[cuda][elementwise]") {
  for (DType dtype : {bf16, f32, f64}) {
    for (int64_t n : {1, 9, 257, 5000}) {
      for (int64_t begin : {0, 1}) {
        INFO(name_of(dtype) << ", " << n << " elements from " << begin);
        const Pair x = line(n, begin, dtype, 1), y = line(n, begin, dtype, 2), z = line(n, 0, dtype, 3);
        check_same(x, x, y, [](const Kernels& k, auto& r, auto& a, auto& b) { k.binary(Binary::sub, r, a, b); });
        check_same(x, y, x, [](const Kernels& k, auto& r, auto& a, auto& b) { k.binary(Binary::sub, r, a, b); });
        check_same(x, x, x, [](const Kernels& k, auto& r, auto& a, auto& b) { k.binary(Binary::add, r, a, b); });
        check_same(y, y, z, [](const Kernels& k, auto& r, auto& a, auto& b) {
          k.binary_backward(Binary::mul, 0, r, a, {}, b, 0.5);
        });
        check_same(y, y, y, [](const Kernels& k, auto& r, auto& a, auto&) { k.unary(Unary::neg, r, a, {}); });
        check_same(y, y, y, [](const Kernels& k, auto& r, auto& a, auto&) { k.copy(r, a); });
      }
    }
    const auto transposed = [](const Tensor& all) { return all.view_reshape({20, 13}).view_transpose(0, 1); };
    const Pair x = area(260, dtype, 1, transposed), y = area(260, dtype, 2, [](const Tensor&all) {
                                                      return all.view_reshape({13, 20});
                                                    });
    check_same(x, x, y, [](const Kernels& k, auto& r, auto& a, auto& b) { k.binary(Binary::sub, r, a, b); });
  }
}

TEST_CASE("CUDA copies between all dtypes, from and to any address", "[cuda][elementwise]") {
  for (DType to : {f32, f64, bf16, i32, u8}) {
    for (DType from : {f32, f64, bf16, i32, u8}) {
      for (int64_t n : {1, 16, 35, 1000}) {
        for (const auto& [begin_to, begin_from] : {std::pair<int64_t, int64_t>{0, 0}, {3, 3}, {1, 2}}) {
          INFO(name_of(from) << " to " << name_of(to) << ", " << n << " elements");
          const Pair x = line(n, begin_from, from, 1), y = line(n, begin_to, to, 2);
          check_same(y, x, x, [](const Kernels& k, auto& r, auto& a, auto&) { k.copy(r, a); });
        }
      }
    }
  }
}

TEST_CASE("CUDA elementwise kernels on empty tensors of any strides", "[cuda][elementwise]") {
  for (const Shape& shape : {Shape{0, 5}, Shape{5, 0}, Shape{3, 0, 4}}) {
    const Tensor x = Tensor::empty(shape, f32, device()), t = x.view_transpose(0, 1);
    const Tensor y = Tensor::empty(t.shape(), f32, device()), z = Tensor::empty(t.shape(), u8, device());
    const Kernels& k = kernels(device());
    k.copy(y, t);
    k.copy(t, y);
    k.fill(t, 1);
    k.binary(Binary::add, t, y, t);
    k.unary(Unary::exp, y, t, {});
    k.compare(Comparison::lt, z, t, y);
    k.where(t, z, y, t);
    k.accumulate(y, t, 1);
    CHECK(y.numel() == 0);
  }
  const Tensor scalar = Tensor::scalar(3, f32, device()), none = scalar.view_expand({0, 4}), y = none.contiguous_copy();
  CHECK(y.shape() == Shape{0, 4});
  CHECK(scalar.item() == 3);
}
