#pragma once
// Lesson 1: the functions that you write, with the engine's own signatures.
#include "lessons/kit/lesson.h"
#include "tensor/tensor.h"

namespace pg::lesson01 {

Tensor view_transpose(const Tensor& x, int dim0, int dim1);
Shape broadcast_shapes(const Shape& a, const Shape& b, const char* op);
int64_t offset_of(int64_t n, const Shape& shape, const Strides& strides);
void matmul(View c, View a, View b);

struct Impl {  // yours by default
  decltype(&lesson01::view_transpose) view_transpose = lesson01::view_transpose;
  decltype(&lesson01::broadcast_shapes) broadcast_shapes = lesson01::broadcast_shapes;
  decltype(&lesson01::offset_of) offset_of = lesson01::offset_of;
  decltype(&lesson01::matmul) matmul = lesson01::matmul;
};
Impl reference();
std::vector<kit::Check<Impl>> checks();
void demo(kit::Demo& demo, const Impl& impl);

// The race: c [M, N] = a [M, K] · b [K, N], all f32 and contiguous, one thread.
void matmul_naive(View c, View a, View b);    // the formula, one element after another
void matmul_blocked(View c, View a, View b);  // block by block, so that loaded data is reused
void matmul_packed(View c, View a, View b);   // copies blocks into reading order, keeps results in registers

}  // namespace pg::lesson01
