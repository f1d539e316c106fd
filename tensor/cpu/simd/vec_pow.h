#pragma once
// Powers on Vec<T>, with IEEE's results at special values.
#include <cmath>
#include <limits>

#include "tensor/cpu/simd/vec_math.h"

namespace pg::simd {

namespace detail {

// x^y = e^(y·log x) for x >= 0 and y of single precision, in double. There they have no denormals, and no finite result
// of single precision is near the limits. The series have as many terms as an error of 2^-27 of the result needs.
inline Vec<double> power_of_singles(Vec<double> x, Vec<double> y) {
  using F = Format<double>;
  constexpr double inf = std::numeric_limits<double>::infinity();
  const auto bits = x.bits(), exponent = (bits - Vec<double>(0.70710678118654752440).bits()) >> F::fraction_bits;
  const Vec<double> m(bits - (exponent << F::fraction_bits)), magic = F::round_magic;
  Vec<double> log_x = log_series<6>(m - 1.0, Vec<double>(exponent + magic.bits()) - magic);
  log_x = select(x < inf, log_x, x);  // infinity and NaN
  log_x = select(x == 0.0, -inf, log_x);
  // max and min return their second argument if it is NaN. e^±200 is 0 and infinite in single precision.
  const Reduced<double> s = reduce_by_ln2(min(Vec<double>(200), max(Vec<double>(-200), y * log_x)));
  return (fma(s.r * s.r, expm1_series<double, 9>(s.r), s.r) + 1.0) * power_of_two<double>(s.n_bits);
}

// The same in single precision with fma: y·log2(x) is a sum of two floats, high + low, in the arithmetic of Dekker
// (Numerische Mathematik 18, 1971). The coefficients are minimax fits. A normal result is rounded once, from a value
// within 0.26 ulp of the exact one in all that was measured, so a power that is a float is exact.
struct FloatPair {
  Vec<float> high, low;
};

// y·log2(x). x = 2^e·m with m from sqrt(1/2) to sqrt(2), log2(m) = 2/ln 2·atanh(f/(m + 1)) with f = m - 1. The quotient
// is s - over/(m + 1), and s·(c1 + c3·s^2 + …) is the series of 2/ln 2·atanh(s). The sum has a relative error of 2^-35.
// With Any, x may be 0, denormal, infinite or NaN.
template <bool Any>
inline FloatPair times_log2(Vec<float> x, Vec<float> y) {
  constexpr float inf = std::numeric_limits<float>::infinity();
  constexpr float c1 = 0x1.715476p+1F, c1_low = 0x1.4ae0cp-25F, c3 = 0x1.ec709ep-1F;
  const Mask<float> denormal = x < std::numeric_limits<float>::min();
  const auto bits = Any ? select(denormal, x * 0x1p24F, x).bits() : x.bits();
  const auto exponent = (bits - Vec<float>(0.70710678F).bits()) >> 23;
  const Vec<float> m(bits - (exponent << 23)), f = m - 1.0F, r = 1.0F / (m + 1.0F);
  Vec<float> e = __builtin_convertvector(exponent, Vec<float>::Raw);
  if constexpr (Any) e = e - select(denormal, 24.0F, 0.0F);
  // The inner fma in `over` is exact, because 2s is near f.
  const Vec<float> s = f * r, over = fma(s, f, fma(s, 2.0F, -f)), s2 = s * s;
  const Vec<float> rest = fma(fma(s2, 0x1.589d32p-2F, 0x1.a5cfaap-2F), s2, 0x1.2776ep-1F);
  const Vec<float> q = fma(s2, c3, c1);
  const Vec<float> q_low = fma(s2 * s2, rest, fma(s2, c3, c1 - q) + fma(fma(s, s, -s2), c3, c1_low));
  Vec<float> l = fma(s, q, e);
  const Vec<float> l_low = fma(s, q_low, fma(over, r * fma(s2, -3 * c3, -c1), fma(s, q, e - l)));
  if constexpr (Any) l = select(x == 0.0F, -inf, select(x < inf, l, x));
  const Vec<float> product = y * l;
  return {product, fma(y, l_low, fma(y, l, -product))};
}

// 2^(high + low) = 2^n·fraction, sqrt(1/2) <= fraction <= sqrt(2). `shifted` has n in its low bits.
struct ScaledPower {
  Vec<float> fraction;
  Vec<float>::Bits shifted;
};
inline ScaledPower exp2(FloatPair p) {
  constexpr float magic = Format<float>::round_magic, ln2 = 0x1.62e43p-1F;
  const Vec<float> shifted = p.high + magic, a = p.high - (shifted - magic);
  const Vec<float> g = a + p.low, g_low = p.low - (g - a), g2 = g * g;
  const Vec<float> v = fma(g, ln2, 1.0F), v_low = fma(g_low, ln2, fma(g, ln2, 1.0F - v));
  const Vec<float> high = fma(fma(g, 0x1.eb77a8p-17F, 0x1.443f4ap-13F), g2, fma(g, 0x1.5d9deap-10F, 0x1.3b2a24p-7F));
  const Vec<float> series = fma(high, g2, fma(g, 0x1.c6b072p-5F, 0x1.ebfbep-3F));  // (2^g - 1 - g·ln 2)/g^2
  return {v + fma(g2, series, v_low), shifted.bits()};
}

// From z = |x|^y: IEEE's rules for negative x and for results that 0·infinity made NaN.
inline Vec<float> with_sign(Vec<float> z, Vec<float> x, Vec<float> y) {
  constexpr float inf = std::numeric_limits<float>::infinity();
  constexpr auto whole = [](Vec<float> a) { return (a >= 0x1p23f) | (a + 0x1p23f - 0x1p23f == a); };
  const Vec<float> base = abs(x), exponent = abs(y);
  z = select(whole(exponent) & ~whole(exponent * 0.5f), copysign(z, x), z);
  z = select((x < 0.0f) & (base < inf) & ~whole(exponent), std::numeric_limits<float>::quiet_NaN(), z);
  return select((y == 0.0f) | (x == 1.0f) | ((base == 1.0f) & (exponent == inf)), 1.0f, z);
}

// x^y for any x and y; the same bits as pow's shorter way where that applies.
[[gnu::noinline, gnu::cold]] inline Vec<float> power_of_any(Vec<float> x, Vec<float> y) {
  const FloatPair p = times_log2<true>(abs(x), y);
  // max and min return their second argument if it is NaN. 2^±200 is 0 and infinite in single precision.
  const Vec<float> high = min(Vec<float>(200), max(Vec<float>(-200), p.high));
  const ScaledPower w = exp2({high, select(p.high == high, p.low, 0.0f)});
  const auto n = w.shifted - Vec<float>(Format<float>::round_magic).bits(), half = n >> 1;
  return with_sign(w.fraction * power_of_two<float>(half) * power_of_two<float>(n - half), x, y);
}

}  // namespace detail

inline Vec<double> pow(Vec<double> x, Vec<double> y) {
  double lanes[Vec<double>::size];
  for (int i = 0; i < Vec<double>::size; ++i) lanes[i] = std::pow(x[i], y[i]);
  return load(lanes);
}
// Within 0.76 ulp, 0.82 if the result is denormal; without fma the computation is done in double, within 0.51 ulp. A
// vector with a lane whose x is 0, infinite, NaN, negative or denormal takes twice the time, and one with a result near
// the limits three times. An f64 version would need log with more digits than double has.
inline Vec<float> pow(Vec<float> x, Vec<float> y) {
  using namespace detail;
  if constexpr (!kHasFma) {
    const Vec<float> base = abs(x);
    return with_sign(narrow(power_of_singles(widen<false>(base), widen<false>(y)),
                            power_of_singles(widen<true>(base), widen<true>(y))),
                     x, y);
  }
  constexpr float smallest = std::numeric_limits<float>::min(), inf = std::numeric_limits<float>::infinity();
  if (any(~((x >= smallest) & (x < inf)))) return power_of_any(x, y);
  const FloatPair p = times_log2<false>(x, y);
  if (any(~(abs(p.high) < 125.0f))) return power_of_any(x, y);
  const ScaledPower w = exp2(p);
  return Vec<float>(w.fraction.bits() + (w.shifted << 23));
}

}  // namespace pg::simd
