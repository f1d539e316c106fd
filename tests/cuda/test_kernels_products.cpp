// Matrix products on a CUDA device in cases that the registry's samples do not cover: tile borders, strides, epilogues.
// The expected values come from the plain kernels in f64 on the same, already rounded values.
#include "tests/cuda/product_case.h"

using namespace pg;
using namespace pg::testing;

TEST_CASE("CUDA matmul at the borders of its tiles and with all transposes", "[cuda][matmul]") {
  const int64_t sizes[][3] = {{1, 1, 1},    {1, 65, 17},  {15, 16, 17}, {16, 15, 64},  {17, 1, 129},
                              {63, 64, 15}, {64, 63, 16}, {65, 64, 1},  {64, 129, 63}, {129, 65, 65}};
  for (const auto& [m, n, k] : sizes) {
    for (const bool transpose_a : {false, true}) {
      for (const bool transpose_b : {false, true}) {
        INFO(m << " x " << n << " x " << k << (transpose_a ? ", a transposed" : "")
               << (transpose_b ? ", b transposed" : ""));
        const DType dtype = m > 64 ? f32 : transpose_a ? bf16 : transpose_b ? f64 : f32;
        check_product({nan_matrix(m, n, dtype), placed(random({m, k}, dtype, 1), transpose_a),
                       placed(random({k, n}, dtype, 2), transpose_b)});
      }
    }
  }
}

TEST_CASE("CUDA matmul of any strides writes only its result", "[cuda][matmul]") {
  for (const DType dtype : {f32, bf16}) {
    INFO(name_of(dtype));
    const Tensor block = Tensor::full({40, 3, 150}, 7, dtype, device());
    Tensor c = block.view_select(1, 1).view_slice(1, 5, 137, 2);  // [40, 66], every second element
    check_product(
        {c, strided(random({40, 19}, dtype, 1).to(device())), strided(random({19, 66}, dtype, 2).to(device()))});
    c.fill(7);
    CHECK(all_equal(block, 7));
    check_product({nan_matrix(66, 40, dtype).view_transpose(0, 1), placed(random({40, 19}, dtype, 1), false),
                   placed(random({19, 66}, dtype, 2), false)});
  }
}

TEST_CASE("CUDA matmul of batches", "[cuda][matmul]") {
  const Tensor a = random({2, 3, 5, 20}, f32, 1).to(device()), b = random({2, 3, 20, 7}, f32, 2).to(device());
  const auto c = [](const Shape& shape) { return Tensor::full(shape, NAN, f32, device()); };
  check_product({c({2, 3, 5, 7}), a, b});
  check_product({c({2, 3, 5, 7}), a.view_select(0, 1).view_expand({2, 3, 5, 20}), b});
  check_product({c({2, 3, 5, 7}), a, b.view_slice(1, 2, 3).view_expand({2, 3, 20, 7})});
  const Tensor one = b.view_select(0, 0).view_select(0, 0);
  check_product({c({2, 3, 5, 7}), a, one.view_expand({2, 3, 20, 7})});  // the batch dims of a fold into rows
  check_product({c({5, 2, 3, 7}).view_permute({1, 2, 0, 3}), a, one.view_expand({2, 3, 20, 7})});  // here they cannot
  check_product({c({3, 2, 7, 5}).view_permute({1, 0, 3, 2}), a, b});
  Product kept{c({3, 70, 7}), random({3, 70, 20}, f32, 3).to(device()), one.view_expand({3, 20, 7})};
  kept.pre = c({70, 3, 7}).view_transpose(0, 1);
  kept.activation = Activation::gelu_tanh;
  check_product(kept);
}

TEST_CASE("CUDA matmul adds to beta times the result", "[cuda][matmul]") {
  for (const DType dtype : {f32, f64, bf16}) {
    for (const DType result : {dtype, sum_type(dtype)}) {
      const Tensor a = random({33, 40}, dtype, 1).to(device()), b = random({40, 65}, dtype, 2).to(device());
      check_product({nan_matrix(33, 65, result), a, b});
      for (const float beta : {1.0f, -0.5f}) {
        INFO(name_of(dtype) << " into " << name_of(result) << ", beta " << beta);
        Product p{random({33, 65}, result, 3).to(device()), a, b};
        p.beta = beta;
        check_product(p);
        p.bias = random({65}, dtype, 4).to(device());
        check_product(p);
      }
    }
  }
}

TEST_CASE("CUDA matmul with K = 0 gives beta times the result", "[cuda][matmul]") {
  const Tensor a = Tensor::empty({5, 0}, f32, device()), b = Tensor::empty({0, 9}, f32, device());
  const Tensor c = nan_matrix(5, 9, f32);
  Product p{c, a, b};
  p.run(kernels(device()));
  CHECK(all_equal(c, 0));
  c.fill(3);
  p.beta = -0.5;
  p.run(kernels(device()));
  CHECK(all_equal(c, -1.5));
  p.beta = 0;
  p.bias = Tensor::full({9}, 2, f32, device());
  p.run(kernels(device()));
  CHECK(all_equal(c, 2));
  const Tensor none = Tensor::empty({0, 9}, f32, device());
  Product{none, Tensor::empty({0, 4}, f32, device()), Tensor::ones({4, 9}, f32, device())}.run(kernels(device()));
}

TEST_CASE("CUDA matmul with bias and GELU stores the pre-activation", "[cuda][matmul]") {
  for (const DType dtype : {f32, f64, bf16}) {
    for (const DType result : {dtype, sum_type(dtype)}) {
      INFO(name_of(dtype) << " into " << name_of(result));
      Product p{nan_matrix(65, 72, result), random({65, 24}, dtype, 1).to(device()),
                placed(random({24, 72}, dtype, 2), true)};
      p.activation = Activation::gelu_tanh;
      check_product(p);
      for (const DType bias : {dtype, sum_type(dtype)}) {
        p.bias = strided(random({72}, bias, 3).to(device()));
        check_product(p);
        p.bias = random({72}, bias, 3).to(device());
        check_product(p);
        p.pre = nan_matrix(65, 72, result);
        check_product(p);
        p.pre = strided(nan_matrix(65, 72, result));
        check_product(p);
        p.pre = {};
      }
    }
  }
}

TEST_CASE("CUDA matmul times the derivative of GELU", "[cuda][matmul]") {
  for (const DType dtype : {f32, f64, bf16}) {
    for (const DType result : {dtype, sum_type(dtype)}) {
      // With 72 columns cuBLASLt accepts the stride of the GELU input, with 65 columns it does not.
      for (const int64_t n : {72, 65}) {
        INFO(name_of(dtype) << " into " << name_of(result) << ", " << n << " columns");
        Product p{nan_matrix(65, n, result), random({65, 24}, dtype, 1).to(device()),
                  random({24, n}, dtype, 2).to(device())};
        p.activation = Activation::gelu_tanh_backward;
        const Tensor pre = random({65, n}, result, 3).to(device());
        p.pre = pre;
        check_product(p);
        CHECK(same_bits(pre, random({65, n}, result, 3)));
        p.b = placed(random({24, n}, dtype, 2), true);
        check_product(p);
        p.pre = strided(pre);
        check_product(p);
        p.bias = random({n}, dtype, 4).to(device());
        check_product(p);
      }
    }
  }
  Product batch{Tensor::full({3, 17, 8}, NAN, f32, device()), random({3, 17, 20}, f32, 5).to(device()),
                random({3, 20, 8}, f32, 6).to(device())};
  batch.activation = Activation::gelu_tanh_backward;
  batch.pre = random({17, 3, 8}, f32, 7).to(device()).view_transpose(0, 1);
  check_product(batch);
}

TEST_CASE("CUDA matmul also computes the row sums of its left operand", "[cuda][matmul]") {
  for (const DType dtype : {f32, f64, bf16}) {
    for (const DType result : {dtype, sum_type(dtype)}) {
      for (const bool transpose_a : {true, false}) {
        INFO(name_of(dtype) << " into " << name_of(result) << (transpose_a ? ", a transposed" : ""));
        Product p{nan_matrix(72, 40, result), placed(random({72, 130}, dtype, 1), transpose_a),
                  random({130, 40}, dtype, 2).to(device())};
        for (const DType sums : {result, sum_type(dtype)}) {
          p.sums = Tensor::full({72}, NAN, sums, device());
          check_product(p);
          p.sums = strided(Tensor::full({72}, NAN, sums, device()));
          check_product(p);
          // Outputs that are added to (beta 1): the sums only, both, c only.
          p.sums = random({72}, sums, 3).to(device());
          p.sums_beta = 1;
          check_product(p);
          p.c = random({72, 40}, result, 4).to(device());
          p.beta = 1;
          check_product(p);
          p.sums = Tensor::full({72}, NAN, sums, device());
          p.sums_beta = 0;
          check_product(p);
          p.c = nan_matrix(72, 40, result);
          p.beta = 0;
          // A column-major result, and sums at an address that is only a multiple of 4 bytes.
          p.sums = Tensor::full({73}, NAN, sums, device()).view_slice(0, 1, 73);
          check_product({nan_matrix(40, 72, result).view_transpose(0, 1), p.a, p.b, {}, {}, 0, {}, p.sums});
          check_product(p);
        }
      }
    }
  }
  // Products with an empty dimension still produce row sums.
  const Tensor a = random({5, 7}, f32, 1).to(device()), none = Tensor::empty({7, 0}, f32, device());
  check_product({nan_matrix(5, 0, f32), a, none, {}, {}, 0, {}, Tensor::full({5}, NAN, f32, device())});
  Product empty{nan_matrix(5, 3, f32), Tensor::empty({5, 0}, f32, device()), Tensor::empty({0, 3}, f32, device())};
  empty.sums = Tensor::full({5}, NAN, f32, device());
  check_product(empty);
}

TEST_CASE("CUDA matmul of a large size that is no multiple of 8", "[cuda][matmul]") {
  // Rows as linear() has them: at multiples of 16 bytes. The elements between them are 7 and must stay so.
  const auto apart = [](const Tensor& x, bool transposed) {
    const Tensor from = transposed ? x.view_transpose(0, 1) : x;
    const int64_t columns = from.size(1);
    const Tensor whole = Tensor::full({from.size(0), (columns + 7) / 8 * 8}, 7, x.dtype(), device());
    const Tensor part = whole.view_slice(1, 0, columns);
    part.copy_from(from.to(device()));
    return std::pair{transposed ? part.view_transpose(0, 1) : part, whole};
  };
  const int64_t sizes[][3] = {{16, 1027, 24}, {1027, 16, 24}, {16, 24, 1027}, {1025, 1031, 16}, {9, 1032, 1025}};
  for (const auto& [m, n, k] : sizes) {
    for (const bool transposed : {false, true}) {
      const DType result = transposed ? f32 : bf16;
      for (const float beta : {0.0f, -0.5f}) {
        INFO(m << " x " << n << " x " << k << " into " << name_of(result) << ", beta " << beta
               << (transposed ? ", transposed" : ""));
        const auto [c, whole] = apart(random({m, n}, result, 3), false);
        if (beta == 0) c.fill(NAN);
        Product p{c, apart(random({m, k}, bf16, 1), transposed).first,
                  apart(random({k, n}, bf16, 2), transposed).first};
        p.beta = beta;
        check_product(p);
        p.bias = random({n}, bf16, 4).to(device());
        check_product(p);
        if (n % 8 != 0) CHECK(all_equal(whole.view_slice(1, n, whole.size(1)), 7));
      }
    }
  }
}
