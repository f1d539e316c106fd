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

// The update is a copy, which stores to the arrays cannot change.
template <class T>
void update_run(const AdamWUpdate<T> update, T* p, const T* g, T* m, T* v, int64_t n) {
  constexpr int size = Vec<T>::size;
  for (int64_t i = 0; i < n; i += size) {
    const int64_t lanes = n - i;
    const auto at = [&](const T* x) { return lanes >= size ? simd::load(x + i) : simd::load(x + i, lanes); };
    const auto put = [&](T* x, Vec<T> y) { lanes >= size ? store(x + i, y) : store(x + i, y, lanes); };
    Vec<T> pi = at(p), mi = at(m), vi = at(v);
    update(pi, at(g), mi, vi);
    put(p, pi);
    put(m, mi);
    put(v, vi);
  }
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
    T* const pp = p.as<T>();
    // 16 K elements: about 20 µs, and the four arrays of a chunk fit in L2.
    parallel_for(p.numel(), 16384, [&](int64_t begin, int64_t end) {
      const AdamWUpdate<T> with_decay(scalars);
      AdamWUpdate<T> without = with_decay;
      without.keep = 1;
      for (int64_t first = begin, last = begin; first < end; first = last) {
        last = end_of_run(scalars, first, end);
        update_run(scalars.decays(first) ? with_decay : without, pp + first, g.as<const T>() + first, m.as<T>() + first,
                   v.as<T>() + first, last - first);
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
