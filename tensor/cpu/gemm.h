#pragma once
// The matrix product on one thread, for the kernels that are built from it.
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
};

// The arithmetic is that of matmul: see gemm.cpp.
template <class T>
void multiply(const Product<T>& g);
extern template void multiply(const Product<float>& g);
extern template void multiply(const Product<double>& g);

}  // namespace pg::cpu
