#pragma once
// What the checks of lessons 7 and 7b share.
#include "lessons/07_gae/lesson.h"
#include "lessons/kit/gradients.h"

namespace pg::lesson07 {
using kit::kDouble, kit::kSingle;

inline Tensor normal(const Shape& shape, uint64_t seed, DType dtype = f64) {
  return kit::normal(shape, seed, 1, dtype);
}
// f(i) for each element of a tensor of this shape.
template <class F>
kit::Value each(const Shape& shape, F f) {
  kit::Value result(shape, std::vector<double>(static_cast<size_t>(numel(shape))));
  for (size_t i = 0; i < result.v.size(); ++i) result.v[i] = f(i);
  return result;
}

}  // namespace pg::lesson07
