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

// c [m, n] = activation(beta·c + a [m, k] · b [k, n] + bias [n]); columns of c lie side by side.
template <class T>
struct Product {
  int64_t m, n, k;
  Matrix<T> a, b;
  T* c;
  int64_t ldc;
  T beta = 0;
  const T* bias = nullptr;  // ?
  Activation activation = Activation::none;
  T* pre = nullptr;  // ? [m, n]: what the activation was applied to
  int64_t ld_pre = 0;

  // The same for the columns [begin, end) of c.
  Product columns(int64_t begin, int64_t end) const {
    Product part = *this;
    part.n = end - begin;
    part.b.data += begin * b.column;
    part.c += begin;
    if (bias) part.bias += begin;
    if (pre) part.pre += begin;
    return part;
  }
};

// About what a product takes on one thread, in seconds: arithmetic, and bringing in the operands once.
double product_seconds(int64_t m, int64_t n, int64_t k);
inline constexpr double kWorthThreads = 2e-5;  // less is computed by the calling thread alone

// On all threads; bits don't depend on how many. The arithmetic is described in gemm.cpp.
template <class T>
void multiply(const Product<T>& g);
extern template void multiply(const Product<float>& g);
extern template void multiply(const Product<double>& g);

}  // namespace pg::cpu
