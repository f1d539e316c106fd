// Which products of views cuBLASLt computes, and how it is asked.
#include "tensor/cuda/gemm/blas.h"

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "tensor/cuda/gemm/request.h"
#include "tensor/strided_loop.h"

namespace pg::cuda {
namespace {

// The layout of a view [rows, columns] or [batch, rows, columns]; nullopt if neither rows nor columns are adjacent in
// memory, or if they overlap.
std::optional<Stored> stored(const View& x, int64_t batch_step) {
  const int r = x.rank() - 2;
  const int64_t rows = x.shape[r], columns = x.shape[r + 1], row = x.strides[r], column = x.strides[r + 1];
  if ((column == 1 || columns == 1) && (row >= columns || rows == 1)) {
    return Stored{false, rows == 1 ? columns : row, batch_step};
  }
  if ((row == 1 || rows == 1) && (column >= rows || columns == 1)) {
    return Stored{true, columns == 1 ? rows : column, batch_step};
  }
  return std::nullopt;
}

View transpose(View x) {
  if (!x) return x;
  const int r = x.rank() - 2;
  std::swap(x.shape[r], x.shape[r + 1]);
  std::swap(x.strides[r], x.strides[r + 1]);
  return x;
}

// Row n of their D is our column n, so their bias, one value per row of D, is added to every row of ours. AUX, with D's
// shape, is pre_activation, which GELU_AUX writes and DGELU reads. BGRADB sums their B [K, M], our a, along K and gives
// one value per column of D, our row.
cublasLtEpilogue_t epilogue_of(const MatmulArgs& args) {
  if (args.row_sums) return CUBLASLT_EPILOGUE_BGRADB;
  if (args.activation == Activation::gelu_tanh_backward) return CUBLASLT_EPILOGUE_DGELU;
  if (args.activation == Activation::none) return args.bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
  if (args.pre_activation) return args.bias ? CUBLASLT_EPILOGUE_GELU_AUX_BIAS : CUBLASLT_EPILOGUE_GELU_AUX;
  return args.bias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
}

// Returns false for: GELU in f32 (not accurate) and f64 (not offered); more than one of bias, row sums and the
// derivative of GELU; row sums with a different type than the result, or not aligned to 16 bytes.
bool has_epilogue(const MatmulArgs& args, DType inputs, DType result) {
  const bool active = args.activation != Activation::none;
  if (active && result != bf16) return false;
  if (args.activation == Activation::none && args.pre_activation) return false;
  if (args.activation == Activation::gelu_tanh_backward && args.bias) return false;
  const View& sums = args.row_sums;
  if (!sums) return true;
  return !active && !args.bias && args.row_sums_beta == 0 && inputs != f64 && sums.dtype == result &&
         Request::alignment_of(sums.data) >= 16;
}

}  // namespace

bool blas_matmul(const View& c, const View& a, const View& b, const MatmulArgs& args) {
  const View &pre = args.pre_activation, &vector = args.row_sums ? args.row_sums : args.bias;
  const int r = c.rank() - 2;
  if (c.strides[r + 1] != 1 && c.shape[r + 1] != 1 && c.strides[r] == 1 && !vector) {  // cᵀ = bᵀ·aᵀ
    MatmulArgs transposed = args;
    transposed.pre_activation = transpose(pre);
    return blas_matmul(transpose(c), transpose(b), transpose(a), transposed);
  }
  if (a.shape.back() == 0 || (a.dtype != bf16 && c.dtype != a.dtype)) return false;
  if (!has_epilogue(args, a.dtype, c.dtype) || (vector && vector.shape[0] > 1 && vector.strides[0] != 1)) return false;
  // The batch must have a single stride for each matrix.
  const auto outer = [r](const Dims& x) { return Dims(std::span(x.begin(), static_cast<size_t>(r))); };
  const Strides sc = outer(c.strides), sa = outer(a.strides), sb = outer(b.strides), sp = pre ? outer(pre.strides) : sc;
  const StridedLoop<4> batch = plan_loop<4>(outer(c.shape), std::array<const Strides*, 4>{&sc, &sa, &sb, &sp});
  if (batch.rank != 1 || batch.n > INT32_MAX) return false;
  const auto step = [&batch](int operand) { return batch.n == 1 ? 0 : batch.inner_stride(operand); };
  const auto to = stored(c, step(0)), left = stored(a, step(1)), right = stored(b, step(2));
  const auto kept = pre ? stored(pre, step(3)) : Stored{};
  if (!to || !left || !right || !kept || to->transposed || kept->transposed) return false;
  if (batch.n > 1 && to->batch_step == 0) return false;
  // Required by cuBLASLt.
  if (kept->ld % 8 != 0 || kept->batch_step % 8 != 0 || (pre && Request::alignment_of(pre.data) < 16)) return false;
  return run({.m = c.shape[r],
              .n = c.shape[r + 1],
              .k = a.shape.back(),
              .batch = batch.n,
              .a = *left,
              .b = *right,
              .c = *to,
              .pre = *kept,
              .inputs = a.dtype,
              .result = c.dtype,
              .epilogue = epilogue_of(args),
              .beta = args.beta,
              .a_data = a.data,
              .b_data = b.data,
              .c_data = c.data,
              .bias = vector.data,
              .pre_data = pre.data,
              .bias_type = vector.dtype});
}

void warn_if_slow(const View& c, const View& a, const MatmulArgs& args) {
  const int64_t m = c.shape[c.rank() - 2], n = c.shape.back(), k = a.shape.back(), batch = c.numel() / (m * n);
  if (2.0 * static_cast<double>(c.numel()) * static_cast<double>(k) < 1e9) return;
  std::string rest = fmt::format("{} to {}", name_of(a.dtype), name_of(c.dtype));
  if (args.beta != 0) rest += ", added to the result";
  if (args.bias) rest += fmt::format(", bias in {}", name_of(args.bias.dtype));
  if (args.activation == Activation::gelu_tanh) rest += ", gelu";
  if (args.activation == Activation::gelu_tanh_backward) rest += ", gelu backward";
  using R = Request;
  const std::string kind =
      fmt::format("{} {} {} {} {}", R::rounded(m), R::rounded(n), R::rounded(k), R::rounded(batch), rest);
  static std::mutex mutex;
  static auto& warned = *new std::set<std::string>;
  {
    const std::lock_guard lock(mutex);
    if (!warned.insert(kind).second) return;
  }
  fmt::print(stderr,
             "warning: {} matrix product(s) of {} x {} x {} (m, n, k), {}: cuBLASLt has no algorithm for them, and the "
             "engine's own kernel is many times slower\n",
             batch, m, n, k, rest);
}

}  // namespace pg::cuda
