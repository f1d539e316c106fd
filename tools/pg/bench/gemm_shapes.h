#pragma once
// The matrix products of GPT-2 124M: forward (b is a transposed weight), the gradient of the input (b not transposed),
// the gradient of the weight (a transposed), and accumulation into c. `pg bench` and tools/compare/compare_gemm.cpp
// time this list.
#include <array>
#include <vector>

#include "tensor/tensor.h"

namespace pg::tools {

enum class GemmForm { nn, nt, tn, accumulate };  // t: that operand is stored transposed
inline constexpr std::array kGemmForms = {"a·b", "a·bᵀ", "aᵀ·b", "c + a·b"};

struct GemmShape {
  int64_t m, n, k;
  double flops() const { return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k); }
};

inline std::vector<GemmShape> gemm_shapes() {
  struct Layer {
    int64_t k, n;
  };
  constexpr std::array<Layer, 5> layers = {{{768, 2304}, {768, 768}, {768, 3072}, {3072, 768}, {768, 50257}}};
  std::vector<GemmShape> shapes;
  for (int64_t m : {256, 1024, 4096}) {
    for (const Layer& layer : layers) shapes.push_back({m, layer.n, layer.k});
  }
  return shapes;
}

// A matrix [rows, columns]. If `transposed`, it is stored as [columns, rows].
inline Tensor gemm_operand(int64_t rows, int64_t columns, bool transposed, Generator& g, DType dtype = f32) {
  if (!transposed) return Tensor::normal({rows, columns}, 0, 1, g, dtype);
  return Tensor::normal({columns, rows}, 0, 1, g, dtype).view_transpose(0, 1);
}

}  // namespace pg::tools
