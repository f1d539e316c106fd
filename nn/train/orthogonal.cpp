// Random orthogonal matrices.
#include <algorithm>
#include <cmath>
#include <vector>

#include "nn/layers.h"

namespace pg {

Tensor orthogonal(int64_t rows, int64_t columns, double gain, Generator& generator, DType dtype) {
  check(rows >= 1 && columns >= 1, "orthogonal: sizes must be at least 1, got {} and {}", rows, columns);
  const auto count = static_cast<size_t>(std::min(rows, columns)), size = static_cast<size_t>(std::max(rows, columns));
  std::vector<std::vector<double>> q(count, std::vector<double>(size));
  for (size_t i = 0; i < count; ++i) {
    for (double& x : q[i]) x = generator.normal();
    // Gram-Schmidt; the second pass removes the rounding error of the first.
    for (int pass = 0; pass < 2; ++pass) {
      for (size_t j = 0; j < i; ++j) {
        double dot = 0;
        for (size_t k = 0; k < size; ++k) dot += q[i][k] * q[j][k];
        for (size_t k = 0; k < size; ++k) q[i][k] -= dot * q[j][k];
      }
    }
    double squares = 0;
    for (double x : q[i]) squares += x * x;
    for (double& x : q[i]) x /= std::sqrt(squares);
  }
  std::vector<double> values;
  for (size_t r = 0; r < static_cast<size_t>(rows); ++r) {
    for (size_t c = 0; c < static_cast<size_t>(columns); ++c)
      values.push_back(gain * (rows <= columns ? q[r][c] : q[c][r]));
  }
  return Tensor::from(values, {rows, columns}).to(dtype);
}

}  // namespace pg
