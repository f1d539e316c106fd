#pragma once
// Elementwise kernels over views of any strides, written as one loop over contiguous stretches. Operands that are
// strided or repeated are gathered into small buffers first, so each element meets the same arithmetic in every layout.
#include "tensor/cpu/walk.h"

namespace pg::cpu {

inline constexpr int64_t kMapBlock = 256;

template <class T>
void gather_strided(T* to, const T* from, int64_t step, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] = from[i * step];
}

// Calls row(out, in, n), in[k] being the k-th input, until all elements of `out` are written. The inputs have out's
// shape. `reads_out`: row also reads what out holds.
template <class Out, class In, int K, class Row>
void map_rows(const View& out, const std::array<const View*, K>& in, bool reads_out, int64_t grain, Row row) {
  bool all_dense = dense(out);
  for (const View* v : in) all_dense = all_dense && dense(*v);
  if (all_dense) {
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
  const auto w = plan_walk<K + 1>(out.shape, strides);
  bool unit = true;  // the stretches need no buffers
  for (int k = 0; k <= K; ++k) unit = unit && w.inner_stride(k) == 1;

  parallel_for(w.n, grain, [&](int64_t begin, int64_t end) {
    alignas(64) In buffer[K + 1][kMapBlock];
    alignas(64) Out result[kMapBlock];
    const int64_t out_step = w.inner_stride(0);
    w.run(begin, end, [&](const auto& offset, int64_t count) {
      const int64_t block = unit ? count : std::min(count, kMapBlock);
      for (int64_t i = 0; i < count; i += block) {
        const int64_t n = std::min(block, count - i);
        std::array<const In*, K> from;
        for (int k = 0; k < K; ++k) {
          const int64_t step = w.inner_stride(k + 1);
          const In* p = in[k]->template as<const In>() + offset[k + 1] + i * step;
          if (step == 1) {
            from[k] = p;
            continue;
          }
          from[k] = buffer[k];
          if (step != 0) {
            gather_strided(buffer[k], p, step, n);
          } else if (i == 0) {
            std::fill_n(buffer[k], n, *p);
          }
        }
        Out* to = out.as<Out>() + offset[0] + i * out_step;
        if (out_step == 1) {
          row(to, from.data(), n);
          continue;
        }
        if (reads_out) gather_strided(result, to, out_step, n);
        row(result, from.data(), n);
        for (int64_t j = 0; j < n; ++j) to[j * out_step] = result[j];
      }
    });
  });
}

}  // namespace pg::cpu
