#pragma once
// Rewards and masks as plain f64 arrays in row-major order: the input of the estimators.
#include <string_view>

#include "tensor/base/error.h"
#include "tensor/tensor.h"

namespace pg::rl {

struct Rows {
  std::vector<double> value;  // 0 where masked
  std::vector<uint8_t> keep;
  Shape shape;
  DType dtype;
  Device device;
  size_t rows, columns;

  // x [rows, columns] is floating; the mask has its shape or is undefined. Throws Error naming `what`.
  Rows(const Tensor& x, const Tensor& mask, std::string_view what)
      : shape(x.shape()), dtype(x.dtype()), device(x.device()) {
    check(x.rank() == 2 && is_floating(x.dtype()), "{}: expected floating values with two dims, got {} {}", what,
          x.dtype(), x.shape());
    rows = static_cast<size_t>(x.size(0));
    columns = static_cast<size_t>(x.size(1));
    value = x.detach().to_vector();
    keep.assign(value.size(), 1);
    if (!mask.defined()) return;
    check(mask.shape() == x.shape() && mask.dtype() == u8, "{}: the mask must be u8 {}, got {} {}", what, x.shape(),
          mask.dtype(), mask.shape());
    const std::vector<double> kept = mask.to_vector();
    for (size_t i = 0; i < value.size(); ++i) {
      keep[i] = kept[i] != 0;
      if (!keep[i]) value[i] = 0;
    }
  }
  double& at(size_t row, size_t column) { return value[row * columns + column]; }
  bool kept(size_t row, size_t column) const { return keep[row * columns + column] != 0; }
  Tensor tensor() const { return tensor(value); }
  Tensor tensor(const std::vector<double>& values) const { return Tensor::from(values, shape).to(dtype).to(device); }
};

}  // namespace pg::rl
