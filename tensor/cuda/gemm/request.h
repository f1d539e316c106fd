#pragma once
// A matrix product as it is passed to cuBLASLt. Its matrices are column-major: our row-major c [M, N] is its
// cᵀ = bᵀ·aᵀ [N, M], so its first operand is our b.
#include <cublasLt.h>

#include <algorithm>
#include <array>
#include <bit>
#include <string>

#include "tensor/dtype.h"

namespace pg::cuda {

// Memory layout of the matrices [rows, columns] of a view: row-major, or column-major if `transposed`.
struct Stored {
  bool transposed;
  int64_t ld, batch_step;
};

struct Request {
  int64_t m, n, k, batch;
  Stored a, b, c, pre;  // c and pre are row-major
  DType inputs, result;
  cublasLtEpilogue_t epilogue;
  float beta;
  void *a_data, *b_data, *c_data, *bias, *pre_data;  // bias: added, or, with BGRADB, written
  DType bias_type;

  // Products of one kind are computed by one algorithm: types, transposes, the epilogue and the alignments are equal,
  // and the sizes after rounding them up.
  using Kind = std::array<int64_t, 20>;
  Kind kind() const {
    const auto strides = [](const Stored& x, DType type) {
      const auto bytes = static_cast<int64_t>(size_of(type));
      return int64_t{1} << std::countr_zero(static_cast<uint64_t>(x.ld * bytes | x.batch_step * bytes | 16));
    };
    return {rounded(m),
            rounded(n),
            rounded(k),
            rounded(batch),
            a.transposed,
            b.transposed,
            int64_t(inputs),
            int64_t(result),
            bias ? int64_t(bias_type) : -1,
            int64_t(epilogue),
            beta != 0,
            alignment_of(a_data),
            alignment_of(b_data),
            alignment_of(c_data),
            alignment_of(bias),
            alignment_of(pre_data),
            strides(a, inputs),
            strides(b, inputs),
            strides(c, result),
            pre_data ? strides(pre, result) : 0};
  }
  // What the descriptors of a product of this kind depend on.
  using Sizes = std::array<int64_t, 12>;
  Sizes sizes() const {
    return {m, n, k, batch, a.ld, a.batch_step, b.ld, b.batch_step, c.ld, c.batch_step, pre.ld, pre.batch_step};
  }
  // The next of 8 sizes per octave: 17 and 18 are 18, 33 to 36 are 36. Sizes up to 16 stay.
  static int64_t rounded(int64_t size) {
    if (size <= 16) return size;
    const int64_t step = int64_t{1} << (std::bit_width(static_cast<uint64_t>(size - 1)) - 4);
    return (size + step - 1) / step * step;
  }
  // In bytes: 256 as of whole tensors, else at most 16, because no instruction reads more at once.
  static uint32_t alignment_of(const void* p) {
    const auto exact = 1u << std::countr_zero(static_cast<uint32_t>(reinterpret_cast<uintptr_t>(p)) | 256u);
    return exact == 256 ? exact : std::min(exact, 16u);
  }
};

// Runs the product; false if cuBLASLt has no algorithm for it.
bool run(const Request& request);

// "7, tile 128x128, stages 64x4, split-K 2"
std::string text_of(const cublasLtMatmulAlgo_t& algorithm);
// "bias, gelu"; empty for the default.
std::string text_of(cublasLtEpilogue_t epilogue);

}  // namespace pg::cuda
