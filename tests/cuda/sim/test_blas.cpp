// Products by cuBLASLt, in the simulator: layouts and epilogues against the CPU backend, and what happens to products
// that the library refuses.
#include "tests/cuda/sim/blas_case.h"
#include "tests/stderr_text.h"

using namespace pg;
using namespace pg::testing;

namespace {

constexpr uint32_t kDefault = 1, kBias = 4, kGelu = 32, kAux = 128, kGeluBackward = 64 | 128, kRowSums = 512;

// A matrix that is columns [offset, offset + columns) of a wider one.
Tensor part(const Tensor& x, int64_t offset) {
  const int64_t rows = x.size(0), columns = x.size(1);
  const Tensor whole = Tensor::full({rows, columns + 24}, 7, x.dtype(), device());
  const Tensor cut = whole.view_slice(1, offset, offset + columns);
  cut.copy_from(x.to(device()));
  return cut;
}

// The product must run with this epilogue, and nothing else of its kind must be missing.
void check_fused(const Product& p, uint32_t epilogue) {
  INFO("epilogue " << epilogue);
  const auto calls = calls_of([&] { check_product(p); });
  CHECK(calls.products > 0);
  CHECK(calls.by_epilogue.at(epilogue) == calls.products);
  CHECK(by_library());
  INFO(how());
  CHECK(!contains(how(), "separate"));
}

Product gelu(int64_t m, int64_t n, int64_t k, bool biased, bool stored) {
  Product p = plain(m, n, k, bf16);
  p.activation = Activation::gelu_tanh;
  if (biased) p.bias = on_device({n}, bf16, 3);
  if (stored) p.pre = nan_matrix(m, n, bf16);
  return p;
}
Product gelu_backward(int64_t m, int64_t n, int64_t k) {
  Product p = plain(m, n, k, bf16);
  p.activation = Activation::gelu_tanh_backward;
  p.pre = on_device({m, n}, bf16, 3);
  return p;
}
Product with_sums(int64_t m, int64_t n, int64_t k) {
  Product p{nan_matrix(m, n, f32), placed(random({m, k}, bf16, 1), true), on_device({k, n}, bf16, 2)};
  p.sums = Tensor::full({m}, NAN, f32, device());
  return p;
}

}  // namespace

TEST_CASE("cuBLASLt computes products of all transposes and of one row or column", "[cuda][blas]") {
  const FreshPlans plans;
  const int64_t sizes[][3] = {{1, 8, 17}, {8, 1, 17}, {8, 16, 1}, {1, 1, 5}, {5, 7, 9}, {16, 24, 32}, {33, 40, 64}};
  for (const auto& [m, n, k] : sizes) {
    for (const bool transpose_a : {false, true}) {
      for (const bool transpose_b : {false, true}) {
        for (const DType dtype : {f32, bf16, f64}) {
          INFO(m << " x " << n << " x " << k << " in " << name_of(dtype) << (transpose_a ? ", a transposed" : "")
                 << (transpose_b ? ", b transposed" : ""));
          const Tensor a = placed(random({m, k}, dtype, 1), transpose_a);
          const Tensor b = placed(random({k, n}, dtype, 2), transpose_b);
          check_fused({nan_matrix(m, n, dtype), a, b}, kDefault);
          check_fused({nan_matrix(n, m, dtype).view_transpose(0, 1), a, b}, kDefault);
          if (dtype == bf16) check_fused({nan_matrix(m, n, f32), a, b}, kDefault);
        }
      }
    }
  }
}

TEST_CASE("cuBLASLt computes products of parts of wider matrices and of batches", "[cuda][blas]") {
  const FreshPlans plans;
  for (const int64_t offset : {0, 8, 3}) {  // at multiples of 16 bytes or not
    for (const bool transposed : {false, true}) {
      INFO("offset " << offset << (transposed ? ", transposed" : ""));
      const auto taken = [&](const Tensor& x) {
        return transposed ? part(x.view_transpose(0, 1), offset).view_transpose(0, 1) : part(x, offset);
      };
      const Tensor whole = Tensor::full({24, 64}, 7, bf16, device());
      const Tensor c = whole.view_slice(1, offset, offset + 16);
      check_fused({c, taken(random({24, 40}, bf16, 1)), taken(random({40, 16}, bf16, 2))}, kDefault);
      c.fill(7);
      CHECK(all_equal(whole, 7));
    }
  }
  // One of the three at an odd address.
  const Tensor a24 = random({24, 40}, bf16, 1), b40 = random({40, 16}, bf16, 2);
  check_fused({nan_matrix(24, 16, bf16), part(a24, 3), b40.to(device())}, kDefault);
  check_fused({nan_matrix(24, 16, bf16), a24.to(device()), part(b40, 3)}, kDefault);
  check_fused({part(nan_matrix(24, 16, bf16), 3), a24.to(device()), b40.to(device())}, kDefault);
  const Tensor a = on_device({3, 16, 24}, f32, 1), b = on_device({3, 24, 8}, f32, 2);
  const auto c = [] { return Tensor::full({3, 16, 8}, NAN, f32, device()); };
  check_fused({c(), a, b}, kDefault);
  check_fused({c(), a.view_slice(0, 1, 2).view_expand({3, 16, 24}), b}, kDefault);
  check_fused({Tensor::full({16, 3, 8}, NAN, f32, device()).view_transpose(0, 1), a, b}, kDefault);
}

TEST_CASE("a large size that is no multiple of 8 makes two products", "[cuda][blas]") {
  const FreshPlans plans;
  for (const int64_t m : {1032, 1027}) {
    Product p = plain(m, 24, 16, bf16);
    p.run(kernels(device()));  // chooses algorithms
    CHECK(calls_of([&] { check_product(p); }).products == (m == 1032 ? 1 : 2));
  }
}

TEST_CASE("cuBLASLt adds to beta times the result", "[cuda][blas]") {
  const FreshPlans plans;
  for (const DType dtype : {f32, bf16, f64}) {
    for (const float beta : {1.0f, -0.5f, 0.0f}) {
      Product p = plain(24, 40, 32, dtype);
      if (beta != 0) p.c = on_device({24, 40}, dtype, 5);
      p.beta = beta;
      check_fused(p, kDefault);
      p.bias = on_device({40}, dtype, 4);
      check_fused(p, kBias);
    }
  }
}

TEST_CASE("cuBLASLt computes the epilogues of a model", "[cuda][blas]") {
  const FreshPlans plans;
  for (const bool stored : {false, true}) {
    const uint32_t base = stored ? kGelu | kAux : kGelu;
    check_fused(gelu(24, 40, 32, false, stored), base);
    check_fused(gelu(24, 40, 32, true, stored), base | kBias);
  }
  check_fused(gelu_backward(24, 40, 32), kGeluBackward);
  check_fused(with_sums(24, 40, 32), kRowSums);
  Product added = with_sums(24, 40, 32);
  added.sums = on_device({24}, f32, 6);
  added.sums_beta = 1;
  added.c = on_device({24, 40}, f32, 7);
  added.beta = 1;
  check_fused(added, kRowSums);
}

TEST_CASE("a bias or an input of GELU at any address gives right results", "[cuda][blas]") {
  const FreshPlans plans;
  for (const DType dtype : {f32, bf16}) {
    Product p = plain(24, 40, 32, dtype);
    p.bias = on_device({41}, dtype, 4).view_slice(0, 1, 41);
    check_fused(p, kBias);
  }
  // Two of a kind, at two addresses.
  Product first = gelu(24, 40, 32, true, true), second = gelu(24, 40, 32, true, true);
  second.bias = on_device({40}, bf16, 5);
  for (const Product& p : {first, second, first}) check_fused(p, kGelu | kAux | kBias);
  // The stride of the GELU's input must be a multiple of 8 elements, its address one of 16 bytes.
  for (const int64_t offset : {0, 8, 1}) {
    for (const int64_t columns : {40, 41}) {
      Product forward = gelu(24, 40, 32, true, true), backward = gelu_backward(24, 40, 32);
      const Tensor pre = Tensor::full({24, columns + 24}, 7, bf16, device());
      forward.pre = pre.view_slice(1, offset, offset + 40);
      check_product(forward);
      INFO(how());
      const bool fits = offset != 1 && columns == 40;
      CHECK(by_library());
      CHECK(contains(how(), "gelu by a separate kernel") == !fits);
      backward.pre = forward.pre;
      check_product(backward);
      CHECK(by_library());
      CHECK(contains(how(), "gelu by a separate kernel") == !fits);
    }
  }
}

TEST_CASE("empty products ask nothing of cuBLASLt", "[cuda][blas]") {
  const FreshPlans plans;
  const auto calls = calls_of([] {
    Product p{nan_matrix(5, 8, f32), Tensor::empty({5, 0}, f32, device()), Tensor::empty({0, 8}, f32, device())};
    p.bias = on_device({8}, f32, 1);
    check_product(p);
    plain(0, 8, 4).run(kernels(device()));
    plain(4, 0, 8).run(kernels(device()));
  });
  CHECK(calls.heuristics + calls.checks + calls.products == 0);
}

TEST_CASE("an epilogue that cuBLASLt refuses is computed by a kernel after the product", "[cuda][blas]") {
  for (const bool invalid : {false, true}) {
    const FreshPlans plans;
    const sim::BlasRefusal refusal([](const sim::BlasProduct& p, auto) { return (p.epilogue & ~kBias) > kDefault; },
                                   invalid);
    for (const bool biased : {false, true}) {
      for (const bool stored : {false, true}) {
        const auto calls = calls_of([&] { check_product(gelu(24, 40, 32, biased, stored)); });
        CHECK(calls.by_epilogue.at(biased ? kBias : kDefault) == calls.products);
        CHECK(contains(how(), "; gelu by a separate kernel"));
        CHECK(contains(how(), ", with bias") == biased);
      }
    }
    check_product(gelu_backward(24, 40, 32));
    CHECK(contains(how(), "; gelu by a separate kernel"));
    check_product(with_sums(24, 40, 32));
    CHECK(contains(how(), "; row sums by a separate kernel"));
  }
}

TEST_CASE("a product that cuBLASLt refuses is computed by the engine's own kernel", "[cuda][blas]") {
  using Call = sim::BlasRefusal::Call;
  for (const bool invalid : {false, true}) {
    for (const bool early : {true, false}) {  // refused by the heuristic, or only when it begins
      const FreshPlans plans;
      INFO((invalid ? "CUBLAS_STATUS_INVALID_VALUE" : "CUBLAS_STATUS_NOT_SUPPORTED") << (early ? ", early" : ""));
      const sim::BlasRefusal refusal([early](const auto&, Call call) { return early || call == Call::product; },
                                     invalid);
      const std::string said = stderr_of([] {
        for (int i = 0; i < 2; ++i) {
          check_product(plain(24, 40, 32));
          CHECK(by_own_kernel());
          Product p = gelu(24, 40, 32, true, true);
          check_product(p);
          CHECK(by_own_kernel());
          check_product(with_sums(24, 40, 32));
          CHECK(how() == "the engine's own kernel; row sums by a separate kernel");
        }
      });
      CHECK(said.empty());  // they are small
    }
  }
}

TEST_CASE("a large product without cuBLASLt makes one warning per kind", "[cuda][blas]") {
  need_graphs();
  const FreshPlans plans;
  const sim::BlasRefusal refusal([](const auto&, auto) { return true; });
  const auto said = [](int64_t m, int64_t n, int64_t k, float beta = 0) {
    return stderr_of([&] {
      Product p{Tensor::zeros({m, n}, f32, device()), Tensor::empty({m, k}, f32, device()),
                Tensor::empty({k, n}, f32, device())};
      p.beta = beta;
      // Recorded and never executed.
      const Graph graph(device(), [&] { p.run(kernels(device())); });
    });
  };
  const std::string text = said(1000, 1000, 501);
  CHECK(text ==
        "warning: 1 matrix product(s) of 1000 x 1000 x 501 (m, n, k), f32 to f32: cuBLASLt has no algorithm for them, "
        "and the engine's own kernel is many times slower\n");
  CHECK(said(1000, 1000, 501).empty());
  CHECK(said(990, 1000, 505).empty());   // of the same kind
  CHECK(said(1000, 1000, 499).empty());  // less than 1 GFLOP
  CHECK(contains(said(1000, 1000, 501, 1), "f32 to f32, added to the result: "));
  CHECK(contains(said(2000, 1000, 501), "2000 x 1000 x 501"));
}

TEST_CASE("in exact mode the engine's own kernel computes every product", "[cuda][blas]") {
  const FreshPlans plans;
  backend(device()).set_exact(true);
  const auto calls = calls_of([] { check_product(gelu(24, 40, 32, true, true)); });
  backend(device()).set_exact(false);
  CHECK(calls.heuristics + calls.products == 0);
  CHECK(by_own_kernel());
}
