#pragma once
// The product of two matrices, on which batched matmul is built.
#include <cstdint>

#include "tensor/kernels.h"

namespace pg::cpu {

// Element (i, j) is data[i·row + j·column].
template <class T>
struct Matrix {
  const T* data;
  int64_t row, column;
};

// c [m, n] = activation(beta·c + a [m, k] · b [k, n] + bias [n]); the columns of a row of c are contiguous. Operands
// hold S, the result holds C, and sums are computed in T. Either all three are one type, or S is bf16 and T is f32;
// sums are then rounded at the end if C is bf16 too.
template <class S, class C>
struct Product {
  using T = computes_t<S>;
  int64_t m, n, k;
  Matrix<S> a, b;
  C* c;
  int64_t ldc;
  T beta = 0;
  const T* bias = nullptr;  // ?
  Activation activation = Activation::none;
  C* pre = nullptr;  // [m, n]: gelu_tanh writes its argument here (?); gelu_tanh_backward reads it
  int64_t ld_pre = 0;
};

// Estimated time of a product on one thread, in seconds: arithmetic, and reading the operands once.
double product_seconds(int64_t m, int64_t n, int64_t k);
inline constexpr double kWorthThreads = 1e-5;  // shorter work runs on the calling thread alone

// Computes the product on all threads; its bits don't depend on their number. The arithmetic is described in gemm.cpp.
template <class S, class C>
void multiply(const Product<S, C>& g);
extern template void multiply(const Product<float, float>& g);
extern template void multiply(const Product<double, double>& g);
// The product over pairs of bf16 with simd::dot; multiply() calls it if simd::kHasDot.
template <class C>
void multiply_pairs(const Product<BFloat16, C>& g);
extern template void multiply_pairs(const Product<BFloat16, float>& g);
extern template void multiply_pairs(const Product<BFloat16, BFloat16>& g);
extern template void multiply(const Product<BFloat16, float>& g);
extern template void multiply(const Product<BFloat16, BFloat16>& g);

}  // namespace pg::cpu
