#pragma once
// The product of two matrices, from which matmul makes batches.
#include <cstdint>

#include "tensor/kernels.h"

namespace pg::cpu {

// Element (i, j) is data[i·row + j·column].
template <class T>
struct Matrix {
  const T* data;
  int64_t row, column;
};

// c [m, n] = activation(beta·c + a [m, k] · b [k, n] + bias [n]); columns of c lie side by side. Operands hold S, the
// result holds C, sums are computed in T: one type, or bf16 summed in f32 and rounded at the end if C is bf16 too.
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
  C* pre = nullptr;  // [m, n]: ? receives what gelu_tanh is applied to; what gelu_tanh_backward reads
  int64_t ld_pre = 0;
};

// About what a product takes on one thread, in seconds: arithmetic, and bringing in the operands once.
double product_seconds(int64_t m, int64_t n, int64_t k);
inline constexpr double kWorthThreads = 1e-5;  // less is computed by the calling thread alone

// On all threads; bits don't depend on how many. The arithmetic is described in gemm.cpp.
template <class S, class C>
void multiply(const Product<S, C>& g);
extern template void multiply(const Product<float, float>& g);
extern template void multiply(const Product<double, double>& g);
// The same over pairs of bf16 with simd::dot; multiply() comes here where simd::kHasDot.
template <class C>
void multiply_pairs(const Product<BFloat16, C>& g);
extern template void multiply_pairs(const Product<BFloat16, float>& g);
extern template void multiply_pairs(const Product<BFloat16, BFloat16>& g);
extern template void multiply(const Product<BFloat16, float>& g);
extern template void multiply(const Product<BFloat16, BFloat16>& g);

}  // namespace pg::cpu
