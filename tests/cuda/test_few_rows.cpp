// Products of up to 8 rows by the engine's own kernel, compared with the CPU in f64.
#include "tensor/backend.h"
#include "tests/cuda/product_case.h"

using namespace pg;
using namespace pg::testing;

namespace {

bool by_own_kernel() { return backend(device()).last_matmul() == "the engine's own kernel"; }

// y = x·wᵀ with rows of w as a linear layer has them.
Product layer(int64_t m, int64_t n, int64_t k, DType dtype) {
  return {nan_matrix(m, n, dtype), random({m, k}, dtype, 1).to(device()), placed(random({k, n}, dtype, 2), true)};
}

}  // namespace

TEST_CASE("CUDA products of few rows of every row count and size", "[cuda][matmul][decode]") {
  for (const DType dtype : {f32, bf16}) {
    const int64_t stretch = dtype == bf16 ? 1024 : 512;  // elements of a column that a warp takes
    for (const int64_t m : {1, 2, 3, 4, 5, 7, 8}) {
      for (const int64_t k : {int64_t{8}, int64_t{264}, stretch, stretch + 8, 3 * stretch - 8, 8 * stretch}) {
        for (const int64_t n : {1, 7, 8, 9, 600}) {
          if (n == 600 && k > 264) continue;
          INFO(name_of(dtype) << ", " << m << " x " << n << " x " << k);
          Product p = layer(m, n, k, dtype);
          check_product(p);
          CHECK(by_own_kernel());
          p.bias = random({n}, dtype, 3).to(device());
          p.activation = m % 2 ? Activation::gelu_tanh : Activation::none;
          check_product(p);
          CHECK(by_own_kernel());
        }
      }
    }
  }
}

TEST_CASE("CUDA products of few rows give each row its own bits", "[cuda][matmul][decode]") {
  for (const DType dtype : {f32, bf16}) {
    for (const int64_t k : {72, 3072}) {
      Product all = layer(8, 33, k, dtype);
      all.run(kernels(device()));
      for (const int64_t m : {1, 2, 3, 6}) {
        Product some{nan_matrix(m, 33, dtype), all.a.view_slice(0, 8 - m, 8), all.b};
        some.run(kernels(device()));
        CHECK(same_bits(some.c, all.c.view_slice(0, 8 - m, 8)));
      }
    }
  }
}

TEST_CASE("CUDA products of few rows of parts of wider matrices, and those left to others", "[cuda][matmul][decode]") {
  const int64_t m = 3, n = 24, k = 80;
  for (const DType dtype : {f32, bf16}) {
    const Tensor whole = Tensor::full({m, n + 16}, 7, dtype, device());
    const Tensor wide_a = Tensor::full({m, k + 16}, NAN, dtype, device());
    const Tensor wide_b = Tensor::full({n, k + 16}, NAN, dtype, device());
    for (const int64_t skip : {8, 3}) {  // at multiples of 16 bytes or not
      INFO(name_of(dtype) << ", " << skip << " elements before");
      const Tensor c = whole.view_slice(1, skip, skip + n), a = wide_a.view_slice(1, skip, skip + k);
      const Tensor b = wide_b.view_slice(1, skip, skip + k).view_transpose(0, 1);
      a.copy_from(random({m, k}, dtype, 1).to(device()));
      b.copy_from(random({k, n}, dtype, 2).to(device()));
      check_product({c, a, b});
      CHECK(by_own_kernel() == (skip == 8));
      c.fill(7);
      CHECK(all_equal(whole, 7));
    }
    // Another order of b, too many rows, a sum, and columns that are too long.
    check_product(
        {nan_matrix(m, n, dtype), random({m, k}, dtype, 1).to(device()), random({k, n}, dtype, 2).to(device())});
    CHECK(!by_own_kernel());
    check_product(layer(9, n, k, dtype));
    CHECK(!by_own_kernel());
    Product added = layer(m, n, k, dtype);
    added.c = random({m, n}, dtype, 5).to(device());
    added.beta = 1;
    check_product(added);
    CHECK(!by_own_kernel());
    check_product(layer(1, 9, dtype == bf16 ? 8200 : 4104, dtype));
    CHECK(!by_own_kernel());
  }
}

TEST_CASE("CUDA products of repeated rows, of one column between others, and of no rows", "[cuda][matmul][decode]") {
  for (const DType dtype : {f32, bf16}) {
    const Tensor b = placed(random({80, 24}, dtype, 2), true);
    check_product({nan_matrix(3, 24, dtype), random({1, 80}, dtype, 1).to(device()).view_expand({3, 80}), b});
    CHECK(by_own_kernel());
    const Tensor column = random({80, 3}, dtype, 3).to(device()).view_slice(1, 1, 2);  // its elements are apart
    check_product({nan_matrix(3, 1, dtype), random({3, 80}, dtype, 1).to(device()), column});
    CHECK(!by_own_kernel());
    check_product({nan_matrix(0, 24, dtype), Tensor::empty({0, 80}, dtype, device()), b});
    // A large size of repeated rows, in two parts.
    const Tensor row = random({1, 16}, dtype, 4).to(device());
    check_product({nan_matrix(1027, 24, dtype), row.view_expand({1027, 16}), random({16, 24}, dtype, 5).to(device())});
  }
}
