#pragma once
// Lesson 11: the functions that you write are declared in impl.h (as plain C++ sees them) and pieces.h (as device
// code).
#include "lessons/11_cuda/impl.h"
#include "lessons/11_cuda/meter.h"
#include "lessons/kit/lesson.h"

namespace pg::lesson11 {

std::vector<kit::Check<Impl>> checks();
void demo(kit::Demo& demo, const Impl& impl);

// Shows the tables of the demonstration. Returns the largest error in them, compared with the engine on the CPU.
double show_kernels(kit::Demo& demo, const Impl& impl);

// x as an f32 tensor, for comparisons.
Tensor tensor_of(const Matrix& x);
Matrix random_matrix(int64_t rows, int64_t columns, Generator& random);

}  // namespace pg::lesson11
