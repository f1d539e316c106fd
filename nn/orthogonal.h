#pragma once
#include "tensor/tensor.h"

namespace pg {

// A random matrix [rows, columns] whose rows (or columns, whichever are fewer) are orthogonal with norm `gain`,
// uniformly distributed over such matrices: the Q of a QR factorisation of a Gaussian matrix (Saxe et al. 2013,
// arXiv:1312.6120). Computed in f64.
Tensor orthogonal(int64_t rows, int64_t columns, double gain, Generator& generator, DType dtype = f32);

}  // namespace pg
