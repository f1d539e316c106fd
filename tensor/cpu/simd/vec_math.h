#pragma once
// exp, log, sin, pow and related functions on Vec<T>: each reduces its argument to a small interval and sums a series
// there, with more terms for f64. Within 2.5 ulp in f32 and 3 in f64 (tests/tensor/test_vec.cpp), with IEEE's results
// at special values: exp(-inf) = 0, log(0) = -inf, log(-1) = NaN, NaN stays NaN.
#include <cmath>
#include <limits>
#include <utility>

#include "tensor/cpu/simd/vec.h"

namespace pg::simd {

namespace detail {

template <class T>
struct Format {  // of IEEE single and double
  static constexpr bool single = sizeof(T) == 4;
  static constexpr int fraction_bits = single ? 23 : 52;
  static constexpr int bias = single ? 127 : 1023;
  // Adding it leaves the nearest integer in the low bits of the sum.
  static constexpr T round_magic = single ? T(0x1.8p23) : T(0x1.8p52);
  // ln 2 in two parts: the first has enough zeros at the end that n·ln2_high is exact.
  static constexpr T ln2_high = single ? T(0x1.62e4p-1) : T(0x1.62e42fefap-1);
  static constexpr T ln2_low = T(0.693147180559945309417232121458176568L - static_cast<long double>(ln2_high));
};

// x = n·ln 2 + r with |r| <= ln(2)/2. `n_bits` is n in the lanes' integers.
template <class T>
struct Reduced {
  Vec<T> n, r;
  typename Vec<T>::Bits n_bits;
};
template <class T>
inline Reduced<T> reduce_by_ln2(Vec<T> x) {
  const Vec<T> magic = Format<T>::round_magic;
  const Vec<T> shifted = fma(x, T(1.44269504088896340736L), magic);
  const Vec<T> n = shifted - magic;
  return {n, fma(n, -Format<T>::ln2_low, fma(n, -Format<T>::ln2_high, x)), shifted.bits() - magic.bits()};
}

// 2^n for a normal result.
template <class T>
inline Vec<T> power_of_two(typename Vec<T>::Bits n) {
  return Vec<T>((n + Format<T>::bias) << Format<T>::fraction_bits);
}

template <class T>
constexpr T inverse_factorial(int n) {
  long double f = 1;
  for (int i = 2; i <= n; ++i) f /= i;
  return static_cast<T>(f);
}

// (e^r - 1 - r) / r^2 = 1/2! + r/3! + r^2/4! + … up to r^(last - 2)/last!
template <class T, int last = Format<T>::single ? 7 : 13>
inline Vec<T> exp_series(Vec<T> r) {
  Vec<T> sum = inverse_factorial<T>(last);
  [&]<int... I>(std::integer_sequence<int, I...>) { ((sum = fma(sum, r, inverse_factorial<T>(last - 1 - I))), ...); }
  (std::make_integer_sequence<int, last - 2>());
  return sum;
}

// log(1 + f) for sqrt(1/2) - 1 <= f <= sqrt(2) - 1, plus n·ln 2. With s = f/(2 + f): log(1 + f) = 2·atanh(s)
// = f - s·(f - R), R = 2(s^2/3 + s^4/5 + …); that form rounds only in the small correction.
template <class T, int terms = Format<T>::single ? 4 : 10>
inline Vec<T> log_series(Vec<T> f, Vec<T> n) {
  const Vec<T> s = f / (f + T(2)), s2 = s * s;
  Vec<T> sum = T(2.0L / (2 * terms + 1));
  [&]<int... I>(std::integer_sequence<int, I...>) { ((sum = fma(sum, s2, T(2.0L / (2 * (terms - 1 - I) + 1)))), ...); }
  (std::make_integer_sequence<int, terms - 1>());
  const Vec<T> correction = fma(n, Format<T>::ln2_low, -(s * (f - sum * s2)));
  return fma(n, Format<T>::ln2_high, f + correction);
}

}  // namespace detail

template <class T>
inline Vec<T> exp(Vec<T> x) {
  using namespace detail;
  // Beyond these limits the result is 0 or infinite. Masked scores are -inf: they must not reach the last product,
  // because a denormal result costs the processor some hundred cycles. min returns its second argument, x, if x is NaN.
  constexpr T lowest = sizeof(T) == 4 ? T(-104) : T(-746), highest = sizeof(T) == 4 ? T(89) : T(710);
  const Mask<T> zero = x < lowest;
  const Reduced<T> s = reduce_by_ln2(select(zero, T(0), min(Vec<T>(highest), x)));
  const Vec<T> p = fma(s.r * s.r, exp_series(s.r), s.r) + T(1);
  // Two factors, because 2^n alone can be outside the normal range when the result is not.
  const auto half = s.n_bits >> 1;
  return select(zero, T(0), p * power_of_two<T>(half) * power_of_two<T>(s.n_bits - half));
}

// e^x for x up to 88 (709 in f64), as after the subtraction of a maximum, in two thirds of exp's instructions. Denormal
// results become 0; NaN stays NaN; for x beyond 88 the result is meaningless.
template <class T>
inline Vec<T> exp_flushed(Vec<T> x) {
  using namespace detail;
  using F = Format<T>;
  constexpr T lowest = sizeof(T) == 4 ? T(-87.33) : T(-708.39);
  // Leaves n + bias in the low bits of the sum, so that a shift makes it 2^n.
  const Vec<T> magic = F::round_magic + F::bias;
  const Vec<T> shifted = fma(x, T(1.44269504088896340736L), magic), n = shifted - magic;
  const Vec<T> r = fma(n, -F::ln2_low, fma(n, -F::ln2_high, x));
  const Vec<T> p = fma(fma(exp_series(r), r, T(1)), r, T(1));
  return select(x < lowest, T(0), p * Vec<T>(shifted.bits() << F::fraction_bits));
}

// e^x - 1 without the loss of digits near 0, for an x within the limits of expm1; -0 gives 0.
template <class T>
inline Vec<T> expm1_within(Vec<T> x) {
  using namespace detail;
  const Reduced<T> s = reduce_by_ln2(x);
  const Vec<T> p = fma(s.r * s.r, exp_series(s.r), s.r);
  // 2^n·p + (2^n - 1), through half of it so that 2^n can't overflow early.
  const Vec<T> half = power_of_two<T>(s.n_bits - 1);
  return fma(half, p, half - T(0.5)) * T(2);
}
template <class T>
inline Vec<T> expm1(Vec<T> x) {
  constexpr T lowest = sizeof(T) == 4 ? T(-30) : T(-60), highest = sizeof(T) == 4 ? T(89) : T(710);
  const Vec<T> y = expm1_within(min(Vec<T>(highest), max(Vec<T>(lowest), x)));
  return select(x == T(0), x, y);
}

template <class T>
inline Vec<T> log(Vec<T> x) {
  using namespace detail;
  using F = Format<T>;
  constexpr T inf = std::numeric_limits<T>::infinity();
  const Mask<T> denormal = x < std::numeric_limits<T>::min();
  const T up = T(int64_t{1} << (F::fraction_bits + 1));
  const auto bits = abs(select(denormal, x * up, x)).bits();
  // x = 2^n·(1 + f): moving the boundary between exponents to sqrt(1/2) keeps f small.
  const auto exponent = (bits - Vec<T>(T(0.70710678118654752440L)).bits()) >> F::fraction_bits;
  const Vec<T> m(bits - (exponent << F::fraction_bits));
  const Vec<T> magic = F::round_magic;
  const Vec<T> n = Vec<T>(exponent + magic.bits()) - magic;
  Vec<T> y = log_series(m - T(1), n - select(denormal, T(F::fraction_bits + 1), T(0)));
  y = select(x < inf, y, x);  // infinity and NaN
  y = select(x == T(0), -inf, y);
  return select(x < T(0), std::numeric_limits<T>::quiet_NaN(), y);
}

// log(1 + x): u = 1 + x rounds; (x - (u - 1))/u adds what the rounding lost.
template <class T>
inline Vec<T> log1p(Vec<T> x) {
  constexpr T inf = std::numeric_limits<T>::infinity();
  const Vec<T> u = x + T(1);
  const Vec<T> y = log(u);
  const Vec<T> corrected = y + (x - (u - T(1))) / u;
  return select(x == T(0), x, select(abs(y) < inf, corrected, y));
}

template <class T>
inline Vec<T> tanh(Vec<T> x) {
  const Vec<T> a = min(Vec<T>(sizeof(T) == 4 ? T(10) : T(20)), abs(x));  // beyond it tanh rounds to 1
  const Vec<T> e = expm1_within(a + a);
  return copysign(e / (e + T(2)), x);
}

// 1/(1 + e^-x); the exponential never overflows.
template <class T>
inline Vec<T> sigmoid(Vec<T> x) {
  const Vec<T> e = exp(-abs(x));
  return select(x < T(0), e, T(1)) / (e + T(1));
}
template <class T>
inline Vec<T> sigmoid_flushed(Vec<T> x) {
  const Vec<T> e = exp_flushed(-abs(x));
  return select(x < T(0), e, T(1)) / (e + T(1));
}

inline Vec<double> erf(Vec<double> x) {
  return map(x, [](double lane) { return std::erf(lane); });
}
// Minimax fits: x·P(x^2) below 1, 1 - e^Q(x) above; from 4 on the result rounds to 1.
inline Vec<float> erf(Vec<float> x) {
  constexpr auto horner = [](Vec<float> t, auto... c) {
    Vec<float> sum = 0.0f;
    ((sum = fma(sum, t, static_cast<float>(c))), ...);
    return sum;
  };
  const Vec<float> a = min(Vec<float>(4.0f), abs(x));
  const Vec<float> small =
      x * horner(x * x, 7.853847134277248e-05, -0.0008010189317609911, 0.005188327195277853, -0.026853811677107535,
                 0.11283585142441926, -0.37612625823689433, 1.1283791657266322);
  const Vec<float> large =
      1.0f - exp(horner(a, 0.00018638273610099946, -0.0029476920256119713, 0.02183819485800478, -0.10310701979284619,
                        -0.6381445363780474, -1.1270893635231893, -0.0003414815270437188));
  return select(abs(x) < 1.0f, small, copysign(large, x));
}

namespace detail {

// 1/First! - t/(First + 2)! + t^2/(First + 4)! - …
template <int First, int Terms, class T>
inline Vec<T> alternating_series(Vec<T> t) {
  Vec<T> sum = T(0);
  [&]<int... I>(std::integer_sequence<int, I...>) {
    ((sum = fma(-sum, t, inverse_factorial<T>(First + 2 * (Terms - 1 - I)))), ...);
  }
  (std::make_integer_sequence<int, Terms>());
  return sum;
}

// The result of quadrant n from the sine and the cosine of the remainder: turns = n, or n + 1 for a cosine.
template <class T>
inline Vec<T> of_quadrant(typename Vec<T>::Bits turns, Vec<T> s, Vec<T> c) {
  return Vec<T>(select(Mask<T>{-(turns & 1)}, c, s).bits() ^ ((turns >> 1) << (8 * sizeof(T) - 1)));
}

// Lanes with |x| >= limit are computed by libm, in double.
template <int Quarters, class T>
[[gnu::noinline, gnu::cold]] Vec<T> with_large(Vec<T> x, Mask<T> reducible, Vec<T> y) {
  return select(reducible, y, map(x, [](double lane) { return T(Quarters ? std::cos(lane) : std::sin(lane)); }));
}
template <int Quarters, class T>
inline Vec<T> replace_large(Vec<T> x, double limit, Vec<T> y) {
  const Mask<T> reducible = abs(x) < static_cast<T>(limit);
  return any(~reducible) ? with_large<Quarters>(x, reducible, y) : y;
}

// sin(x + Quarters·π/2) = ±sin(r) or ±cos(r) with r = x - n·π/2, |r| <= π/4. π/2 is split into three parts, the first
// two so short that their products with n are exact (Cody and Waite); arguments too large for that are left to libm.
template <int Quarters>
inline Vec<double> sine(Vec<double> x) {
  constexpr double magic = Format<double>::round_magic;
  const Vec<double> shifted = fma(x, 0.63661977236758134308, magic), n = shifted - magic;
  const Vec<double> r = x - n * 0x1.921fb544p+0 - n * 0x1.0b4611a6p-34 - n * 0x1.3198a2e037073p-69, r2 = r * r;
  const Vec<double> s = r * (1.0 - r2 * alternating_series<3, 8>(r2));
  const Vec<double> c = 1.0 - r2 * (0.5 - r2 * alternating_series<4, 7>(r2));
  return replace_large<Quarters>(x, 1e6, of_quadrant(shifted.bits() + Quarters, s, c));
}

// The same in single precision, within 0.85 ulp: the remainder is r + low. n·(the first part of π/2) is exact within
// fma, and so is x minus it; `low` collects what the other subtractions and products lose. Without fma the computation
// is done in double. The sine of |x| gets the sign of x, so that -0 stays -0.
template <int Quarters>
inline Vec<float> sine(Vec<float> x) {
  if constexpr (!kHasFma) return narrow(sine<Quarters>(widen<false>(x)), sine<Quarters>(widen<true>(x)));
  constexpr float magic = Format<float>::round_magic, part2 = -0x1.777a5cp-25F, part3 = -0x1.ee59dap-50F;
  const Vec<float> size = abs(x), shifted = fma(size, 0.63661977236758134308F, magic), n = shifted - magic;
  const Vec<float> a = fma(n, -0x1.921fb6p+0F, size), b = n * part2, r = a - b, r2 = r * r;
  const Vec<float> low = ((a - r) - b) - fma(n, part3, fma(n, part2, -b));
  const Vec<float> s = r + fma(-r * r2, alternating_series<3, 4>(r2), low);
  const Vec<float> half = r2 * 0.5F, w = 1.0F - half;
  const Vec<float> c = w + (((1.0F - w) - half) + fma(r2 * r2, alternating_series<4, 4>(r2), -(r * low)));
  const Vec<float> y = of_quadrant(shifted.bits() + Quarters, s, c);
  return replace_large<Quarters>(x, 1e5, Quarters ? y : Vec<float>(y.bits() ^ (x.bits() ^ size.bits())));
}

}  // namespace detail

template <class T>
inline Vec<T> sin(Vec<T> x) {
  return detail::sine<0>(x);
}
template <class T>
inline Vec<T> cos(Vec<T> x) {
  return detail::sine<1>(x);
}

namespace detail {

// x^y = e^(y·log x) for x >= 0 and y of single precision, in double. There they have no denormals, and no finite result
// of single precision is near the limits. The series have as many terms as an error of 2^-27 of the result needs.
inline Vec<double> power_of_singles(Vec<double> x, Vec<double> y) {
  using F = Format<double>;
  constexpr double inf = std::numeric_limits<double>::infinity();
  const auto bits = x.bits(), exponent = (bits - Vec<double>(0.70710678118654752440).bits()) >> F::fraction_bits;
  const Vec<double> m(bits - (exponent << F::fraction_bits)), magic = F::round_magic;
  Vec<double> log_x = log_series<double, 6>(m - 1.0, Vec<double>(exponent + magic.bits()) - magic);
  log_x = select(x < inf, log_x, x);  // infinity and NaN
  log_x = select(x == 0.0, -inf, log_x);
  // max and min return their second argument if it is NaN. e^±200 is 0 and infinite in single precision.
  const Reduced<double> s = reduce_by_ln2(min(Vec<double>(200), max(Vec<double>(-200), y * log_x)));
  return (fma(s.r * s.r, exp_series<double, 9>(s.r), s.r) + 1.0) * power_of_two<double>(s.n_bits);
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

// x/2·(1 + tanh(u)), u = sqrt(2/pi)·(x + 0.044715 x^3), written as x·sigmoid(2u): one exponential, no cancellation.
// Hendrycks and Gimpel, arXiv:1606.08415.
template <class T>
inline Vec<T> gelu_tanh(Vec<T> x) {
  constexpr double c = 2 * 0.79788456080286535588;
  return x * sigmoid_flushed(x * fma(x * x, T(c * 0.044715), T(c)));
}

}  // namespace pg::simd
