// Kernels of tensor/cuda in cases that the registry's samples do not cover: sizes that need many blocks, repeated ids,
// NaN and infinities, empty inputs. Compared with the CPU kernels in f64, or with exact arithmetic.
#include <cmath>
#include <limits>

#include "tensor/backend.h"
#include "tensor/base/parallel.h"
#include "tensor/base/random.h"
#include "tests/op_runs.h"

using namespace pg;
using namespace pg::testing;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

Device device() {
  if (backend(Device::Kind::cuda).device_count() == 0) SKIP_TEST("cuda: " + backend(Device::Kind::cuda).why_none());
  return {Device::Kind::cuda, 0};
}
const Kernels& cuda_kernels() { return kernels(device()); }

Tensor on_cuda(const Tensor& x) { return x.to(device()); }
Tensor nothing(const Shape& shape, DType dtype) { return Tensor::full(shape, kNaN, dtype, device()); }
Tensor random(const Shape& shape, uint64_t seed, DType dtype = f32) {
  Generator g(seed);
  return Tensor::normal(shape, 0, 1, g, dtype);
}
// Integers in [0, below): their sums are exact in f32.
Tensor integers(const Shape& shape, int64_t below, uint64_t seed, DType dtype) {
  Generator g(seed);
  std::vector<int32_t> v(static_cast<size_t>(numel(shape)));
  for (int32_t& x : v) x = static_cast<int32_t>(g.integer(below));
  return Tensor::from(v, shape).to(dtype);
}
double largest_difference(const Tensor& a, const Tensor& b) {
  const std::vector<double> x = a.to_vector(), y = b.to_vector();
  double most = 0;
  for (size_t i = 0; i < x.size(); ++i) most = std::max(most, std::isnan(x[i] - y[i]) ? kInf : std::abs(x[i] - y[i]));
  return most;
}

// Compares sum or max of x over `dims` on the device with the CPU result in f64.
void check_reduce(Reduce op, const Tensor& x, const std::vector<int>& dims, double tolerance) {
  Shape shape = x.shape();
  for (int d : dims) shape[d] = 1;
  const Tensor want = Tensor::empty(shape, f64), y = nothing(shape, sum_type(x.dtype()));
  plain_kernels().reduce(op, want, x.to(f64), 3, 0);
  cuda_kernels().reduce(op, y, on_cuda(x), 3, 0);
  CHECK(relative_error(y, want) <= tolerance);
  const Tensor again = nothing(shape, y.dtype());
  cuda_kernels().reduce(op, again, on_cuda(x), 3, 0);
  CHECK(same_bits(again, y));
}

}  // namespace

TEST_CASE("reductions that are split over many blocks", "[cuda]") {
  device();
  const Tensor x = random({1500000}, 1);
  check_reduce(Reduce::sum, x.view_reshape({1, 1500000}), {1}, 1e-4);  // positive and negative terms cancel
  check_reduce(Reduce::max, x.view_reshape({1, 1500000}), {1}, 0);
  for (DType dtype : {f32, f64, bf16}) {
    const double tolerance = dtype == f64 ? 1e-13 : 1e-6;
    const Tensor some = x.view_slice(0, 0, 240000).to(dtype);
    check_reduce(Reduce::sum, some.view_reshape({6000, 40}), {0}, tolerance);  // long columns
    check_reduce(Reduce::sum, some.view_reshape({3, 80000}), {1}, tolerance);  // long rows
    check_reduce(Reduce::sum, some.view_reshape({40, 3, 2000}), {0, 2}, tolerance);
    check_reduce(Reduce::sum, some.view_reshape({30000, 8}), {1}, tolerance);  // one thread per row
    check_reduce(Reduce::sum, some.view_reshape({6, 40, 1000}).view_transpose(0, 2), {0}, tolerance);
    check_reduce(Reduce::max, some.view_reshape({6000, 40}), {0}, 0);
  }
}

TEST_CASE("a split reduction adds to the previous content of the result", "[cuda]") {
  device();
  const Tensor x = integers({5000, 33}, 10, 2, f32), want = integers({1, 33}, 10, 3, f64), y = on_cuda(want.to(f32));
  plain_kernels().reduce(Reduce::sum, want, x.to(f64), 2, 3);
  cuda_kernels().reduce(Reduce::sum, y, on_cuda(x), 2, 3);
  CHECK(y.to_vector() == want.to_vector());
}

TEST_CASE("the maximum is NaN if any term is NaN, and -inf over no terms", "[cuda]") {
  device();
  for (int64_t columns : {5, 100, 70000}) {
    const Tensor x = Tensor::full({4, columns}, -kInf);
    x.view_slice(0, 1, 2).fill(2);
    x.view_slice(0, 1, 2).view_slice(1, columns - 2, columns - 1).fill(kNaN);
    x.view_slice(0, 2, 3).view_slice(1, 0, 1).fill(kInf);
    x.view_slice(0, 3, 4).view_slice(1, columns - 1, columns).fill(-7);
    const Tensor y = nothing({4, 1}, f32), z = nothing({1, 4}, f32);
    cuda_kernels().reduce(Reduce::max, y, on_cuda(x), 1, 0);
    cuda_kernels().reduce(Reduce::max, z, on_cuda(x).view_transpose(0, 1).contiguous_copy(), 1, 0);
    for (const std::vector<double>& v : {y.to_vector(), z.to_vector()}) {
      CHECK(v[0] == -kInf);
      CHECK(std::isnan(v[1]));
      CHECK(v[2] == kInf);
      CHECK(v[3] == -7);
    }
  }
  const Tensor y = nothing({3, 1}, f32), z = nothing({3, 1}, f32);
  const Tensor none = Tensor::empty({3, 0}, f32, device());
  cuda_kernels().reduce(Reduce::max, y, none, 1, 0);
  cuda_kernels().reduce(Reduce::sum, z, none, 1, 0);
  CHECK(y.to_vector() == std::vector<double>(3, -kInf));
  CHECK(z.to_vector() == std::vector<double>(3, 0));
}

TEST_CASE("argmax on CUDA returns the first of equal maxima, and a NaN before any number", "[cuda]") {
  device();
  for (DType dtype : {f32, f64, bf16}) {
    for (int64_t columns : {1, 5, 333, 3001}) {
      const Tensor x = integers({21, columns}, 6, 4, dtype), index = Tensor::full({21}, -1, i32, device());
      if (columns > 4) x.view_slice(0, 7, 8).view_slice(1, 3, 5).fill(kNaN);
      x.view_slice(0, 8, 9).fill(-kInf);
      const Tensor want = Tensor::empty({21}, i32);
      plain_kernels().argmax(want, x.to(f64));
      cuda_kernels().argmax(index, on_cuda(x));
      CHECK(index.to_vector() == want.to_vector());
      CHECK(index.to_vector()[8] == 0);
      if (columns > 4) CHECK(index.to_vector()[7] == 3);
    }
  }
}

TEST_CASE("sum of squares on CUDA is in double", "[cuda]") {
  device();
  const Tensor y = nothing({1}, f64), want = Tensor::empty({1}, f64);
  for (DType dtype : {f32, f64, bf16}) {
    for (int64_t n : {0, 1, 255, 70001, 1200000}) {
      const Tensor x = random({n}, 5, dtype);
      cpu_kernels().sum_of_squares(want, x.to(f64));
      cuda_kernels().sum_of_squares(y, on_cuda(x));
      CHECK(std::abs(y.item() - want.item()) <= 1e-13 * want.item());
    }
  }
  cuda_kernels().sum_of_squares(y, Tensor::full({3}, 1e25, f32, device()));  // the square of each element overflows f32
  CHECK(std::abs(y.item() / 3e50 - 1) < 1e-6);
}

TEST_CASE("cumulative sums of few long lines and of many lines", "[cuda]") {
  device();
  struct Case {
    Shape shape;
    int dim;
  };
  for (const Case& c :
       {Case{{50000}, 0}, {{3, 700}, 1}, {{700, 3}, 0}, {{2, 300, 5}, 1}, {{5000, 40}, 1}, {{2, 3}, 1}}) {
    for (bool reverse : {false, true}) {
      for (double beta : {0.0, 1.0}) {
        const Tensor x = integers(c.shape, 5, 6, f32), want = integers(c.shape, 9, 7, f64), y = on_cuda(want.to(f32));
        plain_kernels().cumsum(want, x.to(f64), c.dim, reverse, beta);
        cuda_kernels().cumsum(y, on_cuda(x), c.dim, reverse, beta);
        CHECK(y.to_vector() == want.to_vector());
      }
    }
  }
}

TEST_CASE("random numbers on CUDA equal the CPU's", "[cuda]") {
  device();
  const uint64_t seed = 0x123456789abcdef;
  for (uint64_t offset : {uint64_t{0}, uint64_t{1}, uint64_t{6}, uint64_t{1000003}, (uint64_t{1} << 34) - 5}) {
    for (DType dtype : {f32, f64}) {
      for (int64_t n : {1, 2, 7, 5003}) {
        const Tensor u = Tensor::empty({n}, dtype), z = Tensor::empty({n}, dtype);
        const Tensor cu = nothing({n}, dtype), cz = nothing({n}, dtype);
        plain_kernels().random_uniform(u, -1, 3, seed, offset);
        cuda_kernels().random_uniform(cu, -1, 3, seed, offset);
        CHECK(same_bits(cu, u));
        // |z - mean| <= 2·sqrt(2·32·ln 2) < 14. libm's cosine gets the rounded 2π·v, so the error is a few f64 units of
        // that.
        plain_kernels().random_normal(z, 0.5, 2, seed, offset);
        cuda_kernels().random_normal(cz, 0.5, 2, seed, offset);
        CHECK(largest_difference(cz, z) <= (dtype == f64 ? 32 * 0x1p-53 * 14 : 0x1p-24 * 14));
      }
    }
  }
  const Tensor y = nothing({20000}, f32);
  cuda_kernels().random_uniform(y, 1, 1.0000001, 5, 0);  // neighbours in f32: half of the sums would round up
  CHECK(y.to_vector() == std::vector<double>(20000, 1));
}

TEST_CASE("dropout on CUDA keeps the same elements as the CPU", "[cuda]") {
  device();
  for (DType dtype : {f32, f64, bf16}) {
    for (int64_t start : {0, 1}) {  // with start 1, groups of four elements are not aligned
      for (double p : {0.25, 1.0}) {
        for (double beta : {0.0, 1.0}) {
          const Tensor x = random({3011}, 8, dtype), y = random({3011}, 9, dtype), cx = on_cuda(x), cy = on_cuda(y);
          const auto part = [&](const Tensor& t) { return t.view_slice(0, start, 3007); };
          cpu_kernels().dropout(part(y), part(x), p, 9, 5, beta);
          cuda_kernels().dropout(part(cy), part(cx), p, 9, 5, beta);
          CHECK(same_bits(cy, y));
        }
      }
    }
  }
}

TEST_CASE("the gradient of embedding with ids of every frequency", "[cuda][slow]") {
  device();
  struct Case {
    int64_t rows, vocabulary, width, different;
  };
  // A single id; a few ids; many ids; a vocabulary that needs three radix digits; more columns than a block; no rows.
  for (const Case& c : {Case{1000, 5, 3, 1},
                        {1000, 11, 70, 4},
                        {3000, 3000, 5, 2900},
                        {700, 70000, 2, 70000},
                        {100, 9, 300, 9},
                        {32, 9, 4, 1},
                        {33, 9, 4, 2},
                        {0, 9, 4, 9}}) {
    const Tensor ids = integers({c.rows}, c.different, 10, i32);
    for (DType dtype : {f32, f64, bf16}) {
      for (double beta : {0.0, 1.0, 0.5}) {
        const Tensor dy = integers({c.rows, c.width}, 100, 11, dtype);
        const Tensor want = integers({c.vocabulary, c.width}, 100, 12, f64), dw = on_cuda(want.to(sum_type(dtype)));
        if (beta == 0) dw.fill(kNaN);
        plain_kernels().embedding_backward(want, dy.to(f64), ids, beta);
        cuda_kernels().embedding_backward(dw, on_cuda(dy), on_cuda(ids), beta);
        CHECK(largest_difference(dw, want) == 0);
      }
    }
  }
}

TEST_CASE("sums over repeated ids have the same bits run after run", "[cuda]") {
  device();
  const Tensor ids = on_cuda(integers({2000}, 3, 13, i32)), dy = on_cuda(random({2000, 9}, 14));
  const Tensor first = nothing({4, 9}, f32), again = nothing({4, 9}, f32);
  cuda_kernels().embedding_backward(first, dy, ids, 0);
  for (int threads : {1, 2, 3}) {
    const int before = num_threads();
    set_num_threads(threads);
    cuda_kernels().embedding_backward(again, dy, ids, 0);
    set_num_threads(before);
    CHECK(same_bits(again, first));
  }
}

TEST_CASE("scatter_add on CUDA, by rows and by elements", "[cuda]") {
  device();
  const Tensor index = integers({500}, 7, 15, i32), x = integers({500, 12}, 50, 16, f32);
  const Tensor each = integers({500, 12}, 7, 17, i32);
  for (const Tensor& i : {index.view_reshape({500, 1}).view_expand({500, 12}), each}) {
    const Tensor want = integers({7, 12}, 50, 18, f64), y = on_cuda(want.to(f32));
    const Tensor on = i.contiguous() ? on_cuda(i) : on_cuda(index).view_reshape({500, 1}).view_expand({500, 12});
    plain_kernels().scatter_add(want, i, x.to(f64), 0);
    cuda_kernels().scatter_add(y, on, on_cuda(x), 0);
    CHECK(y.to_vector() == want.to_vector());
  }
}

TEST_CASE("ids out of range read NaN and are not written", "[cuda]") {
  const Device cuda = device();
  const Tensor ids = on_cuda(Tensor::from(std::vector<int32_t>{1, -1, 4, 2000000000}, {4}));
  const Tensor w = Tensor::ones({4, 3}, f32, cuda).set_requires_grad();
  const Tensor y = embedding(w, ids);
  const auto values = y.to_vector();
  for (size_t i = 0; i < 12; ++i) CHECK((i < 3 ? values[i] == 1 : std::isnan(values[i])));
  backward(y, Tensor::ones({4, 3}, f32, cuda));
  CHECK(w.grad().to_vector() == std::vector<double>{0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0});
  const Tensor x = Tensor::ones({4}, f32, cuda).set_requires_grad(), z = gather(x, 0, ids);
  CHECK(z.to_vector()[0] == 1);
  for (size_t i = 1; i < 4; ++i) CHECK(std::isnan(z.to_vector()[i]));
  backward(z, Tensor::ones({4}, f32, cuda));
  CHECK(x.grad().to_vector() == std::vector<double>{0, 1, 0, 0});
}

TEST_CASE("adamw on CUDA follows the CPU in f64", "[cuda]") {
  device();
  for (DType dtype : {f32, f64}) {
    for (int64_t n : {0, 1, 6, 4099}) {
      for (int64_t start : {0, 1}) {
        const auto part = [&](const Tensor& t) { return t.view_slice(0, start, start + n); };
        const Tensor p = random({n + 2}, 19, dtype), cp = on_cuda(p);
        const Tensor want_p = p.to(f64).clone(), want_m = Tensor::zeros({n + 2}, f64), want_v = zeros_like(want_m);
        const Tensor m = Tensor::zeros({n + 2}, dtype, device()), v = zeros_like(m);
        const Tensor rounded = Tensor::zeros({n + 2}, bf16, device());
        for (int t = 1; t <= 3; ++t) {
          const Tensor g = random({n + 2}, 20 + static_cast<uint64_t>(t), dtype);
          AdamWArgs args{.lr = 1e-2,
                         .beta1 = 0.9,
                         .beta2 = 0.95,
                         .eps = 1e-8,
                         .weight_decay = 0.1,
                         .bias_correction1 = 1 - std::pow(0.9, t),
                         .bias_correction2 = 1 - std::pow(0.95, t),
                         .grad_scale = 0.5};
          plain_kernels().adamw(part(want_p), part(g.to(f64)), part(want_m), part(want_v), args);
          if (dtype == f32) args.rounded = part(rounded);
          cuda_kernels().adamw(part(cp), part(on_cuda(g)), part(m), part(v), args);
        }
        const double unit = dtype == f64 ? 1e-15 : 1e-6;
        CHECK(largest_difference(part(cp), part(want_p)) <= 4 * unit);
        CHECK(largest_difference(part(m), part(want_m)) <= unit);
        CHECK(largest_difference(part(v), part(want_v)) <= unit);
        CHECK(same_bits(cp.view_slice(0, 0, start), p.view_slice(0, 0, start)));  // elements outside are unchanged
        CHECK(same_bits(cp.view_slice(0, start + n, n + 2), p.view_slice(0, start + n, n + 2)));
        if (dtype == f32) CHECK(same_bits(part(rounded), part(cp).to(bf16)));
      }
    }
  }
}

TEST_CASE("rope on CUDA equals the CPU's, with and without positions, and with beta 1", "[cuda]") {
  device();
  const Tensor x = random({3, 2, 17, 12}, 23), positions = integers({3}, 900, 24, i32);
  for (bool with : {false, true}) {
    for (bool inverse : {false, true}) {
      for (double beta : {0.0, 1.0}) {
        const Tensor want = random({3, 2, 17, 12}, 25).to(f64).clone(), y = on_cuda(want.to(f32));
        RopeArgs args{10000, with ? positions.view() : View{}, inverse};
        plain_kernels().rope(want, x.to(f64), args, beta);
        const Tensor at = on_cuda(positions);
        if (with) args.positions = at;
        cuda_kernels().rope(y, on_cuda(x), args, beta);
        CHECK(largest_difference(y, want) <= 2e-6);
      }
    }
  }
}

TEST_CASE("kernels on empty tensors do nothing", "[cuda]") {
  const Device cuda = device();
  const Kernels& k = cuda_kernels();
  const Tensor none = Tensor::empty({0}, f32, cuda), no_rows = Tensor::empty({0, 4}, f32, cuda);
  const Tensor no_columns = Tensor::empty({4, 0}, f32, cuda), no_ids = Tensor::empty({0}, i32, cuda);
  const Tensor w = Tensor::ones({4, 4}, f32, cuda);
  k.random_uniform(none, 0, 1, 1, 3);
  k.random_normal(none, 0, 1, 1, 3);
  k.dropout(none, none, 0.5, 1, 3, 0);
  k.reduce(Reduce::sum, Tensor::empty({1, 0}, f32, cuda), no_columns, 1, 0);
  k.cumsum(no_rows, no_rows, 0, true, 0);
  k.cumsum(no_rows, no_rows, 1, true, 0);
  k.argmax(no_ids, no_rows);
  k.gather(no_rows, w, Tensor::empty({0, 4}, i32, cuda), 0);
  k.scatter_add(w, Tensor::empty({0, 4}, i32, cuda), no_rows, 0);
  k.embedding(no_rows, w, no_ids);
  k.embedding_backward(w, no_rows, no_ids, 1);
  k.rope(Tensor::empty({2, 0, 3, 4}, f32, cuda), Tensor::empty({2, 0, 3, 4}, f32, cuda), {}, 0);
  CHECK(w.to_vector() == std::vector<double>(16, 1));
}
