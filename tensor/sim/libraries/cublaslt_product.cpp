// The loops of the simulated cuBLASLt.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>
#include <vector>

#include "tensor/base/error.h"
#include "tensor/sim/include/cuda_bf16.h"
#include "tensor/sim/libraries/cublaslt.h"
#include "tensor/sim/memory.h"
#include "tensor/sim/order.h"
#include "tensor/sim/recorder.h"

namespace pg::sim {
namespace {

constexpr const char* kName = "cublasLtMatmul";

// Element `i` of an array of this type.
double load(cudaDataType_t type, const void* data, int64_t i) {
  if (type == CUDA_R_64F) return static_cast<const double*>(data)[i];
  if (type == CUDA_R_32F) return static_cast<const float*>(data)[i];
  return bf16_to_float(static_cast<const uint16_t*>(data)[i]);
}
template <class T>
void store(cudaDataType_t type, void* data, int64_t i, T x) {
  if (type == CUDA_R_64F) static_cast<double*>(data)[i] = x;
  if (type == CUDA_R_32F) static_cast<float*>(data)[i] = static_cast<float>(x);
  if (type == CUDA_R_16BF) static_cast<uint16_t*>(data)[i] = bf16_round(static_cast<float>(x));
}

double gelu_argument(double x) { return std::numbers::sqrt2 * std::numbers::inv_sqrtpi * (x + 0.044715 * x * x * x); }
double gelu(double x) { return 0.5 * x * (1 + std::tanh(gelu_argument(x))); }
double gelu_gradient(double x) {
  const double t = std::tanh(gelu_argument(x));
  const double slope = std::numbers::sqrt2 * std::numbers::inv_sqrtpi * (1 + 3 * 0.044715 * x * x);
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * slope;
}

// The columns of op(X) of entry `batch`, one after the other.
template <class T>
std::vector<T> packed(const MatrixLayout& x, const void* data, int64_t batch, bool transposed) {
  const int64_t rows = transposed ? x.columns : x.rows, columns = transposed ? x.rows : x.columns;
  std::vector<T> out(static_cast<size_t>(rows * columns));
  size_t at = 0;
  for (int64_t j = 0; j < columns; ++j) {
    for (int64_t i = 0; i < rows; ++i) {
      const int64_t offset = transposed ? j + i * x.ld : i + j * x.ld;
      out[at++] = static_cast<T>(load(x.type, data, batch * x.batch_step + offset));
    }
  }
  return out;
}

template <class T>
class Loops {
 public:
  Loops(const GemmProblem& problem, const GemmMemory& memory, double alpha, double beta, int parts)
      : p_(problem), memory_(memory), alpha_(static_cast<T>(alpha)), beta_(static_cast<T>(beta)), parts_(parts) {}

  void run() {
    for (int64_t batch = 0; batch < p_.d.batch; ++batch) {
      const bool transpose_a = p_.operation.transpose_a == CUBLAS_OP_T;
      const bool transpose_b = p_.operation.transpose_b == CUBLAS_OP_T;
      const std::vector<T> a = packed<T>(p_.a, memory_.a, batch, transpose_a);
      const std::vector<T> b = packed<T>(p_.b, memory_.b, batch, transpose_b);
      for (int64_t j = 0; j < p_.n; ++j) {
        const T* column = b.data() + j * p_.k;
        finish(batch, j, sums(a.data(), column));
        if (p_.operation.epilogue == CUBLASLT_EPILOGUE_BGRADB) {
          T total = 0;
          for (int64_t d = 0; d < p_.k; ++d) total += column[d];
          store(bias_type(), p_.operation.bias, j, total);
        }
      }
    }
  }

 private:
  cudaDataType_t bias_type() const {
    return p_.operation.bias_type < 0 ? p_.d.type : static_cast<cudaDataType_t>(p_.operation.bias_type);
  }

  // A column of op(A)·op(B): a holds op(A) by columns, b the column of op(B).
  const std::vector<T>& sums(const T* a, const T* b) {
    const auto m = static_cast<size_t>(p_.m);
    const int64_t length = (p_.k + parts_ - 1) / parts_;
    sums_.assign(m, 0);
    for (int64_t first = 0; first < p_.k; first += length) {
      part_.assign(m, 0);
      T* const part = part_.data();
      for (int64_t d = first; d < std::min(p_.k, first + length); ++d) {
        const T* x = a + d * p_.m;
        for (size_t i = 0; i < m; ++i) part[i] = std::fma(x[i], b[d], part[i]);
      }
      for (size_t i = 0; i < m; ++i) sums_[i] = first == 0 ? part_[i] : sums_[i] + part_[i];
    }
    return sums_;
  }

  void finish(int64_t batch, int64_t j, const std::vector<T>& column) {
    const auto& operation = p_.operation;
    const uint32_t epilogue = operation.epilogue;
    for (int64_t i = 0; i < p_.m; ++i) {
      T y = alpha_ * column[static_cast<size_t>(i)];
      if (beta_ != 0) {
        y += beta_ * static_cast<T>(load(p_.c.type, memory_.c, batch * p_.c.batch_step + i + j * p_.c.ld));
      }
      if (has_bias(epilogue)) y += static_cast<T>(load(bias_type(), operation.bias, i));
      const int64_t aux = batch * operation.aux_batch_step + i + j * operation.aux_ld;
      if (epilogue == CUBLASLT_EPILOGUE_DGELU) {
        y = static_cast<T>(y * gelu_gradient(load(p_.d.type, operation.aux, aux)));
      } else if (has_aux(epilogue)) {
        store(p_.d.type, operation.aux, aux, y);
      }
      if ((epilogue & CUBLASLT_EPILOGUE_GELU) != 0) y = static_cast<T>(gelu(y));
      store(p_.d.type, memory_.d, batch * p_.d.batch_step + i + j * p_.d.ld, y);
    }
  }

  const GemmProblem& p_;
  const GemmMemory& memory_;
  const T alpha_, beta_;
  const int parts_;
  std::vector<T> sums_, part_;
};

// Checks and reports memory that a product on `device` uses.
class UsedMemory {
 public:
  explicit UsedMemory(int device) : device_(device) {}
  ~UsedMemory() { add_uses_of_running_work(uses_); }
  UsedMemory(const UsedMemory&) = delete;
  UsedMemory& operator=(const UsedMemory&) = delete;

  void array(const char* what, const void* data, size_t bytes, bool write) {
    const std::string name = fmt::format("{}, {}", kName, what);
    require_allocated(name.c_str(), data, bytes);
    const auto address = reinterpret_cast<uintptr_t>(data);
    const Allocation found = find_allocation(address);
    check(found.kind == MemoryKind::device && found.device == device_,
          "{}: the memory is on device {}, but the product runs on device {}", name, found.device, device_);
    add_use(&uses_, found.number, {address, address + bytes, write});
  }
  void matrix(const char* what, const MatrixLayout& x, const void* data, bool write) {
    const int64_t last = (x.batch - 1) * std::max<int64_t>(x.batch_step, 0) + (x.columns - 1) * x.ld + x.rows;
    array(what, data, static_cast<size_t>(last) * size_of(x.type), write);
  }

 private:
  const int device_;
  Uses uses_;
};

}  // namespace

void compute(const GemmProblem& p, const GemmMemory& memory, double alpha, double beta, int parts, int device) {
  const auto& operation = p.operation;
  {
    UsedMemory used(device);
    used.matrix("A", p.a, memory.a, false);
    used.matrix("B", p.b, memory.b, false);
    if (beta != 0) used.matrix("C", p.c, memory.c, false);
    used.matrix("D", p.d, memory.d, true);
    if (has_aux(operation.epilogue)) {
      MatrixLayout aux = p.d;
      aux.ld = operation.aux_ld;
      aux.batch_step = operation.aux_batch_step;
      used.matrix("AUX", aux, operation.aux, operation.epilogue != CUBLASLT_EPILOGUE_DGELU);
    }
    const size_t bias_size =
        size_of(operation.bias_type < 0 ? p.d.type : static_cast<cudaDataType_t>(operation.bias_type));
    if (has_bias(operation.epilogue)) {
      used.array("bias", operation.bias, static_cast<size_t>(p.m) * bias_size, false);
    }
    if (operation.epilogue == CUBLASLT_EPILOGUE_BGRADB) {
      used.array("gradient of the bias", operation.bias, static_cast<size_t>(p.n) * bias_size, true);
    }
    if (memory.workspace_bytes > 0) used.array("workspace", memory.workspace, memory.workspace_bytes, true);
  }
  if (Report::Data* report = report_data()) ++report->kernels[kName].launches;
  if (memory.workspace_bytes > 0) std::memset(memory.workspace, 0xff, memory.workspace_bytes);
  if (operation.compute == CUBLAS_COMPUTE_64F) {
    Loops<double>(p, memory, alpha, beta, parts).run();
  } else {
    Loops<float>(p, memory, alpha, beta, parts).run();
  }
}

}  // namespace pg::sim
