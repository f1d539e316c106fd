// Copy with conversion, fill, accumulate.
#include <limits>

#include "tensor/cuda/array.h"
#include "tensor/cuda/kernels_cuda.h"

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

template <class Y, class X>
__global__ void copy_kernel(StridedLoop<2> w, Y* y, const X* x) {
  for (int64_t i = first_index(); i < w.n; i += index_step()) {
    int64_t at[2];
    offsets_of(w, i, at);
    y[at[0]] = convert<Y>(x[at[1]]);
  }
}

template <class Y>
__global__ void fill_kernel(StridedLoop<1> w, Y* y, Y value) {
  for (int64_t i = first_index(); i < w.n; i += index_step()) {
    int64_t at[1];
    offsets_of(w, i, at);
    y[at[0]] = value;
  }
}

template <class R, class S, class T>
__global__ void accumulate_kernel(StridedLoop<2> w, stored_t<R>* y, const stored_t<S>* x, T beta) {
  for (int64_t i = first_index(); i < w.n; i += index_step()) {
    int64_t at[2];
    offsets_of(w, i, at);
    store(y + at[0], beta * load<T>(y + at[0]) + load<T>(x + at[1]));
  }
}

}  // namespace

void copy(const View& y, const View& x) {
  visit(y.dtype, [&]<class Y>(std::type_identity<Y>) {
    visit(x.dtype, [&]<class X>(std::type_identity<X>) {
      const auto w = plan_loop(y, x);
      launch(copy_kernel<stored_t<Y>, stored_t<X>>, blocks_for(w.n), kThreads, 0, stream(), w, data_of<Y>(y),
             data_of<X>(x));
    });
  });
}

void fill(const View& y, double value) {
  visit(y.dtype, [&]<class Y>(std::type_identity<Y>) {
    const auto w = plan_loop(y);
    launch(fill_kernel<stored_t<Y>>, blocks_for(w.n), kThreads, 0, stream(), w, data_of<Y>(y),
           convert<stored_t<Y>>(value));
  });
}

void accumulate(const View& y, const View& x, double beta) {
  if (beta == 0) return copy(y, x);
  visit_result(y, x, "accumulate",
               [&]<class R, class S, class T>(std::type_identity<R>, std::type_identity<S>, std::type_identity<T>) {
                 const auto w = plan_loop(y, x);
                 launch(accumulate_kernel<R, S, T>, blocks_for(w.n), kThreads, 0, stream(), w, data_of<R>(y),
                        data_of<S>(x), beta);
               });
}

}  // namespace pg::cuda
