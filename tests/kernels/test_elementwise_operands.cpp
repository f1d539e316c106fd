// Elementwise kernels for operands of all kinds: sizes around packs of 16 bytes, operands that begin anywhere, strides
// of all kinds, results stored over their inputs, mixed dtypes. The functions here are exact or rounded once, so the
// results must be equal. What is stored beside a result stays as it was.
#include "tests/kernels/case.h"

using namespace pg;
using namespace pg::testing;

namespace {

// A view of a block of memory. The results of a case are whole blocks.
struct Part {
  Tensor all, view;
  operator View() const { return view; }
};
using Place = std::function<Tensor(const Tensor&)>;  // a view of a block of `size` elements

// Small integers and halves: comparisons, ties and zeros happen, and products and sums are exact.
Part part(const Side& s, int64_t size, DType dtype, uint64_t seed, const Place& place) {
  const Tensor x = integers({size}, seed, 33).to(f64) / 2.0 - (is_floating(dtype) ? 8.0 : 0.0);
  const Tensor all = s.in(x, dtype, kContiguous);
  return {all, place(all)};
}
Part line(const Side& s, int64_t n, int64_t begin, DType dtype, uint64_t seed) {
  return part(s, n + 20, dtype, seed, [=](const Tensor& all) { return all.view_slice(0, begin, begin + n); });
}

// Every kernel on operands of these layouts. `dtype` is that of the inputs, `result` that of results.
// make(side, dtype, seed, operand) makes an operand: 0 is the result, 1 and 2 are inputs, 3 is a condition.
template <class Make>
void check_all_kernels(DType dtype, DType result, Make make) {
  check(dtype, kContiguous, kExact, [&](const Side& s) {
    const Kernels& k = s.k();
    const Part x = make(s, dtype, 1, 1), y = make(s, dtype, 2, 2);
    Results results;
    const auto next = [&](DType t) {
      const Part r = make(s, t, 3, 0);
      results.push_back(r.all);
      return r;
    };
    for (const Binary op : {Binary::add, Binary::sub, Binary::mul, Binary::maximum}) k.binary(op, next(result), x, y);
    k.unary(Unary::relu, next(result), x, {});
    k.unary(Unary::affine, next(result), x, {2, 0.5});
    for (const double beta : {0.0, 0.5}) {
      k.unary_backward(Unary::relu, next(result), x, y, {}, beta);
      k.binary_backward(Binary::mul, 0, next(result), x, {}, y, beta);
      k.binary_backward(Binary::minimum, 1, next(result), x, y, x, beta);
      k.accumulate(next(result), x, beta);
    }
    k.compare(Comparison::lt, next(u8), x, y);
    k.fill(next(result), -1.5);
    k.copy(next(result), x);
    if (dtype == result) k.where(next(result), make(s, u8, 4, 3), x, y);
    return results;
  });
}

constexpr std::pair<DType, DType> kDTypes[] = {{bf16, bf16}, {f32, f32}, {f64, f64}, {bf16, f32}};
std::string title(DType dtype, DType result) { return std::string(name_of(dtype)) + " to " + name_of(result); }

}  // namespace

TEST_CASE("elementwise kernels on lines of every size and alignment", "[kernels][elementwise]") {
  for (const auto& [dtype, result] : kDTypes) {
    for (const int64_t n : {0, 1, 7, 8, 9, 15, 16, 17, 33, 255, 257}) {
      // Where the result and the inputs begin: aligned, all alike, each elsewhere.
      for (const std::array<int64_t, 4>& begin :
           {std::array<int64_t, 4>{0, 0, 0, 0}, {1, 1, 1, 1}, {7, 7, 7, 7}, {0, 1, 0, 0}, {1, 0, 3, 2}}) {
        INFO(title(dtype, result) << ", " << n << " elements from " << begin[0] << ", " << begin[1]);
        check_all_kernels(dtype, result, [&](const Side& s, DType d, uint64_t seed, size_t operand) {
          return line(s, n, begin[operand], d, seed);
        });
      }
    }
  }
}

TEST_CASE("elementwise kernels on more packs than a block has threads", "[kernels][elementwise]") {
  for (const auto& [dtype, result] : kDTypes) {
    for (const int64_t n : {4095, 4096, 4097, 8193}) {  // 2 packs of up to 8 elements per thread, 256 threads
      for (const int64_t begin : {0, 5}) {
        INFO(title(dtype, result) << ", " << n << " elements from " << begin);
        check(dtype, kContiguous, kExact, [&, to = result](const Side& s) {
          const Part z = line(s, n, begin, to, 3);
          s.k().binary(Binary::add, z, line(s, n, begin, s.dtype, 1), line(s, n, begin, s.dtype, 2));
          return Results{z.all};
        });
      }
    }
  }
}

TEST_CASE("elementwise kernels loop over more packs than a CUDA grid has threads", "[kernels][elementwise][slow]") {
  const int64_t n = int64_t{4096} * 256 * 2 * 16 + 16 * 300 + 3;  // of u8, in packs of 16
  const Tensor x = Tensor::full({n}, 3, u8, device()), y = Tensor::full({n}, 5, u8, device());
  x.view_slice(0, n - 5000, n - 4000).fill(7);
  kernels(device()).copy(y, x);
  CHECK(same_bits(y, x));
}

TEST_CASE("elementwise kernels on transposed, stepped and broadcast operands", "[kernels][elementwise]") {
  using T = const Tensor&;
  const Shape shape{4, 5, 6};
  const Place places[] = {
      [=](T all) { return all.view_slice(0, 0, 120).view_reshape(shape); },
      [](T all) {
        return all.view_slice(0, 1, 121).view_reshape({6, 5, 4}).view_transpose(0, 2);
      },
      [](T all) {
        return all.view_slice(0, 0, 120).view_reshape({5, 4, 6}).view_transpose(0, 1);
      },
      [](T all) {
        return all.view_slice(0, 0, 240).view_reshape({4, 5, 12}).view_slice(2, 1, 12, 2);
      },
      [=](T all) { return all.view_slice(0, 3, 9).view_expand(shape); },
      [=](T all) {
        return all.view_slice(0, 0, 20).view_reshape({4, 5, 1}).view_expand(shape);
      },
      [=](T all) { return all.view_slice(0, 2, 3).view_expand(shape); },
  };
  constexpr size_t kResults = 4, kInputs = std::size(places);  // a result has no stride 0
  for (const auto& [dtype, result] : kDTypes) {
    for (size_t r = 0; r < kResults; ++r) {
      for (size_t a = 0; a < kInputs; ++a) {
        const size_t operands[] = {r, a, (a + 2 * r + 3) % kInputs, (a + r) % kInputs};
        INFO(title(dtype, result) << ", places " << r << ", " << a << ", " << operands[2]);
        check_all_kernels(dtype, result, [&](const Side& s, DType d, uint64_t seed, size_t operand) {
          return part(s, 240, d, seed, places[operands[operand]]);
        });
      }
    }
  }
}

TEST_CASE("elementwise kernels with scalars broadcast over lines", "[kernels][elementwise]") {
  for (const auto& [dtype, result] : kDTypes) {
    for (const int64_t n : {1, 9, 300}) {
      for (const int64_t begin : {0, 3}) {
        for (const size_t scalar : {1, 2, 3}) {
          INFO(title(dtype, result) << ", " << n << " elements from " << begin << ", operand " << scalar);
          check_all_kernels(dtype, result, [&](const Side& s, DType d, uint64_t seed, size_t operand) {
            if (operand != scalar) return line(s, n, begin, d, seed);
            return part(s, 20, d, seed, [&](const Tensor& all) { return all.view_slice(0, 5, 6).view_expand({n}); });
          });
        }
      }
    }
  }
}

TEST_CASE("elementwise kernels store results over their inputs", "[kernels][elementwise]") {
  const Place turned = [](const Tensor& all) { return all.view_reshape({20, 13}).view_transpose(0, 1); };
  const Place straight = [](const Tensor& all) { return all.view_reshape({13, 20}); };
  for (const DType dtype : {bf16, f32, f64}) {
    for (const int64_t n : {1, 9, 257, 5000}) {
      for (const int64_t begin : {0, 1}) {
        INFO(n << " elements from " << begin);
        check(dtype, kContiguous, kExact, [&](const Side& s) {
          Results results;
          const auto make = [&](uint64_t seed) { return line(s, n, begin, dtype, seed); };
          const auto add = [&](const Part& r) { results.push_back(r.all.clone()); };
          const Part x = make(1), y = make(2), z = line(s, n, 0, dtype, 3);
          s.k().binary(Binary::sub, x, x, y), add(x);
          s.k().binary(Binary::sub, x, y, x), add(x);
          s.k().binary(Binary::add, x, x, x), add(x);
          s.k().binary_backward(Binary::mul, 0, y, y, {}, z, 0.5), add(y);
          s.k().unary(Unary::neg, y, y, {}), add(y);
          s.k().copy(y, y), add(y);
          return results;
        });
      }
    }
    check(dtype, kContiguous, kExact, [&](const Side& s) {
      const Part x = part(s, 260, dtype, 1, turned);
      s.k().binary(Binary::sub, x, x, part(s, 260, dtype, 2, straight));
      return Results{x.all};
    });
  }
}

TEST_CASE("elementwise kernels on empty tensors of any strides", "[kernels][elementwise]") {
  const Kernels& k = kernels(device());
  for (const Shape& shape : {Shape{0, 5}, Shape{5, 0}, Shape{3, 0, 4}}) {
    const Tensor x = Tensor::empty(shape, f32, device()), t = x.view_transpose(0, 1);
    const Tensor y = Tensor::empty(t.shape(), f32, device()), z = Tensor::empty(t.shape(), u8, device());
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
  const Tensor scalar = Tensor::scalar(3, f32, device()), none = scalar.view_expand({0, 4});
  CHECK(none.contiguous_copy().shape() == Shape{0, 4});
  CHECK(scalar.item() == 3);
}
