#pragma once
// Elementwise kernels over views of any strides, written as one loop over contiguous stretches. Operands that are
// strided, repeated or bf16 are gathered into small buffers first, so that the arithmetic of an element is the same in
// every layout.
#include "tensor/cpu/kernels_cpu.h"
#include "tensor/cpu/simd/vec_bf16.h"

namespace pg::cpu {

inline constexpr int64_t kLoopBlock = 256;

// to[i] = element offset + i·step of v, and back. v may be bf16 where T is float.
template <class T>
void gather_strided(T* to, const View& v, int64_t offset, int64_t step, int64_t n) {
  const auto gather_from = [=](const auto* from) {
    if (step == 0) return static_cast<void>(std::fill_n(to, n, static_cast<T>(*from)));
    for (int64_t i = 0; i < n; ++i) to[i] = static_cast<T>(from[i * step]);
  };
  if constexpr (std::is_same_v<T, float>) {
    if (v.dtype == bf16) {
      const auto* from = v.as<const BFloat16>() + offset;
      return step == 1 ? simd::convert(to, from, n) : gather_from(from);
    }
  }
  gather_from(v.as<const T>() + offset);
}
template <class T>
void scatter_strided(const View& v, int64_t offset, int64_t step, const T* from, int64_t n) {
  const auto scatter_to = [=]<class S>(S* to) {
    for (int64_t i = 0; i < n; ++i) to[i * step] = static_cast<S>(from[i]);
  };
  if constexpr (std::is_same_v<T, float>) {
    if (v.dtype == bf16) {
      auto* to = v.as<BFloat16>() + offset;
      return step == 1 ? simd::convert(to, from, n) : scatter_to(to);
    }
  }
  scatter_to(v.as<T>() + offset);
}

// A reference to a function row(out, in, n), so that the loop below is compiled once for all functions.
template <class Out, class In>
class RowFunction {
 public:
  template <class F>
  RowFunction(const F& f)
      : f_(&f), call_([](const void* g, Out* out, const In* const* in, int64_t n) {
          (*static_cast<const F*>(g))(out, in, n);
        }) {}
  void operator()(Out* out, const In* const* in, int64_t n) const { call_(f_, out, in, n); }

 private:
  const void* f_;
  void (*call_)(const void*, Out*, const In* const*, int64_t);
};

// Calls row(out, in, n), in[k] being the k-th input, until all elements of `out` are written. The inputs have out's
// shape. `reads_out`: row also reads the previous values of out.
template <class Out, class In, int K>
void elementwise_loop(const View& out, const std::array<const View*, K>& in, bool reads_out, int64_t grain,
                      RowFunction<Out, In> row) {
  bool in_place = out.dtype == dtype_of<Out>(), all_dense = dense(out);
  for (const View* v : in) {
    all_dense = all_dense && dense(*v);
    in_place = in_place && v->dtype == dtype_of<In>();
  }
  if (all_dense && in_place) {
    parallel_for(out.numel(), grain, [&](int64_t begin, int64_t end) {
      // Written out, since g++ would gather the pointers with a vector instruction that costs more than a short row.
      const auto from = [&]<int... I>(std::integer_sequence<int, I...>) {
        return std::array<const In*, K>{(in[I]->template as<const In>() + begin)...};
      }
      (std::make_integer_sequence<int, K>());
      row(out.as<Out>() + begin, from.data(), end - begin);
    });
    return;
  }
  std::array<const Strides*, K + 1> strides;
  strides[0] = &out.strides;
  for (int k = 0; k < K; ++k) strides[k + 1] = &in[k]->strides;
  const auto w = plan_loop<K + 1>(out.shape, strides);
  bool unit = in_place;  // the stretches need no buffers
  for (int k = 0; k <= K; ++k) unit = unit && w.inner_stride(k) == 1;

  parallel_for(w.n, grain, [&](int64_t begin, int64_t end) {
    alignas(64) In buffer[K + 1][kLoopBlock];
    alignas(64) Out result[kLoopBlock];
    const int64_t out_step = w.inner_stride(0);
    w.run(begin, end, [&](const auto& offset, int64_t count) {
      const int64_t block = unit ? count : std::min(count, kLoopBlock);
      for (int64_t i = 0; i < count; i += block) {
        const int64_t n = std::min(block, count - i);
        std::array<const In*, K> from;
        for (int k = 0; k < K; ++k) {
          const int64_t step = w.inner_stride(k + 1), at = offset[k + 1] + i * step;
          if (step == 1 && in[k]->dtype == dtype_of<In>()) {
            from[k] = in[k]->template as<const In>() + at;
            continue;
          }
          from[k] = buffer[k];
          if (step != 0 || i == 0) gather_strided(buffer[k], *in[k], at, step, n);
        }
        const int64_t at = offset[0] + i * out_step;
        if (out_step == 1 && out.dtype == dtype_of<Out>()) {
          row(out.as<Out>() + at, from.data(), n);
          continue;
        }
        if (reads_out) gather_strided(result, out, at, out_step, n);
        row(result, from.data(), n);
        scatter_strided(out, at, out_step, result, n);
      }
    });
  });
}

}  // namespace pg::cpu
