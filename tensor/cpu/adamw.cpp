// AdamW in one pass over parameters, gradients and both means: the formula is in tensor/adamw_update.h.
#include "tensor/adamw_update.h"
#include "tensor/base/parallel.h"
#include "tensor/cpu/kernels_cpu.h"
#include "tensor/cpu/simd/vec_bf16.h"

namespace pg::cpu {

using simd::Vec;

namespace {

// rounded[i] for i in [begin, end), begin a multiple of 4.
void round_stochastically(const AdamWScalars& scalars, BFloat16* rounded, const float* p, int64_t begin, int64_t end) {
  uint32_t word[4];
  for (int64_t i = begin; i < end; ++i) {
    if (i % 4 == 0) rounding_words(scalars, i, word);
    rounded[i].bits = stochastic_bf16(p[i], word[i % 4]);
  }
}

}  // namespace

void adamw(const View& p, const View& g, const View& m, const View& v, const AdamWArgs& args) {
  AdamWScalars scalars(args);
  if (!scalars.read_device_scalars()) return;
  visit_floating(p.dtype, "adamw", [&]<class T>(std::type_identity<T>) {
    constexpr int size = Vec<T>::size;
    // 16 K elements: about 20 µs, and the four arrays of a chunk fit in L2.
    parallel_for(p.numel(), 16384, [&](int64_t begin, int64_t end) {
      // Local variables, which stores to the arrays cannot change.
      const AdamWUpdate<T> update(scalars);
      T *pp = p.as<T>(), *mp = m.as<T>(), *vp = v.as<T>();
      const T* gp = g.as<T>();
      for (int64_t i = begin; i < end; i += size) {
        const int64_t n = end - i;
        const auto at = [&](const T* x) { return n >= size ? simd::load(x + i) : simd::load(x + i, n); };
        const auto put = [&](T* x, Vec<T> y) { n >= size ? store(x + i, y) : store(x + i, y, n); };
        Vec<T> pi = at(pp), mi = at(mp), vi = at(vp);
        update(pi, at(gp), mi, vi);
        put(pp, pi);
        put(mp, mi);
        put(vp, vi);
      }
      if constexpr (std::is_same_v<T, float>) {  // while the chunk is in L2
        auto* rounded = args.rounded.as<BFloat16>();
        if (rounded && args.stochastic_rounding) {
          round_stochastically(scalars, rounded, pp, begin, end);
        } else if (rounded) {
          simd::convert(rounded + begin, pp + begin, end - begin);
        }
      }
    });
  });
}

}  // namespace pg::cpu
