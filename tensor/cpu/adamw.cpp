// AdamW in one pass over parameters, gradients and both means: the formula is in tensor/adamw_update.h.
#include "tensor/adamw_update.h"
#include "tensor/base/parallel.h"
#include "tensor/cpu/kernels_cpu.h"
#include "tensor/cpu/simd/vec_bf16.h"

namespace pg::cpu {

using simd::Vec;

namespace {

// The end of the elements from `begin` on that have its weight decay, at most `end`.
int64_t end_of_run(const AdamWScalars& scalars, int64_t begin, int64_t end) {
  if (!scalars.decayed) return end;
  const auto start_of = [&](uint64_t unit) { return static_cast<int64_t>(unit * kDecayUnit - scalars.first); };
  uint64_t unit = scalars.unit_of(begin);
  const uint8_t flag = scalars.decayed[unit];
  do ++unit;
  while (start_of(unit) < end && scalars.decayed[unit] == flag);
  return std::min(start_of(unit), end);
}

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
      const AdamWUpdate<T> with_decay(scalars);
      T *pp = p.as<T>(), *mp = m.as<T>(), *vp = v.as<T>();
      const T* gp = g.as<T>();
      for (int64_t first = begin, last = begin; first < end; first = last) {
        last = end_of_run(scalars, first, end);
        AdamWUpdate<T> update = with_decay;
        if (!scalars.decays(first)) update.keep = 1;
        for (int64_t i = first; i < last; i += size) {
          const int64_t n = last - i;
          const auto at = [&](const T* x) { return n >= size ? simd::load(x + i) : simd::load(x + i, n); };
          const auto put = [&](T* x, Vec<T> y) { n >= size ? store(x + i, y) : store(x + i, y, n); };
          Vec<T> pi = at(pp), mi = at(mp), vi = at(vp);
          update(pi, at(gp), mi, vi);
          put(pp, pi);
          put(mp, mi);
          put(vp, vi);
        }
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
