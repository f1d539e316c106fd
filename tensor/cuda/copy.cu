// Copy with conversion, fill, accumulate.
#include <limits>

#include "tensor/cuda/base/kernels_cuda.h"
#include "tensor/cuda/elementwise_loop.h"

namespace pg::cuda {
namespace {

// Conversion to an integer rounds towards zero and clamps to its range; NaN becomes 0, as on the CPU.
template <class To, class From>
__host__ __device__ To convert(From x) {
  if constexpr (std::is_same_v<To, From>) {
    return x;
  } else if constexpr (std::is_same_v<From, __nv_bfloat16>) {
    return convert<To>(__bfloat162float(x));
  } else if constexpr (std::is_same_v<To, __nv_bfloat16>) {
    return __float2bfloat16(static_cast<float>(x));
  } else if constexpr (std::is_integral_v<To>) {
    constexpr double least = std::numeric_limits<To>::min(), most = std::numeric_limits<To>::max();
    const double wide = static_cast<double>(x);
    return wide != wide ? To(0) : static_cast<To>(wide < least ? least : wide > most ? most : wide);
  } else {
    return static_cast<To>(x);
  }
}

struct Convert : OverwritingFunction {
  template <class Y, class X>
  __device__ void operator()(Y* y, const X* x) const {
    *y = convert<Y>(*x);
  }
};

template <class Y>
struct Fill : OverwritingFunction {
  Y value;
  explicit Fill(Y v) : value(v) {}
  __device__ void operator()(Y* y) const { *y = value; }
};

template <class T>
struct Accumulate {
  T beta;
  static constexpr bool reads_result() { return true; }
  template <class R, class S>
  __device__ void operator()(R* y, const S* x) const {
    store(y, beta * load<T>(y) + load<T>(x));
  }
};

}  // namespace

void copy(const View& y, const View& x) {
  visit(y.dtype, [&]<class Y>(std::type_identity<Y>) {
    visit(x.dtype, [&]<class X>(std::type_identity<X>) {
      elementwise(Convert{}, Operand<stored_t<Y>>{y}, Operand<stored_t<X>>{x});
    });
  });
}

void fill(const View& y, double value) {
  visit(y.dtype, [&]<class Y>(std::type_identity<Y>) {
    elementwise(Fill(convert<stored_t<Y>>(value)), Operand<stored_t<Y>>{y});
  });
}

void accumulate(const View& y, const View& x, double beta) {
  if (beta == 0) return copy(y, x);
  visit_result(y, x, "accumulate",
               [&]<class R, class S, class T>(std::type_identity<R>, std::type_identity<S>, std::type_identity<T>) {
                 elementwise(Accumulate<T>{static_cast<T>(beta)}, Operand<stored_t<R>>{y}, Operand<stored_t<S>>{x});
               });
}

}  // namespace pg::cuda
