#pragma once
// exp, log, sin and related functions on Vec<T> (powers are in vec_pow.h): each reduces its argument to a small
// interval and sums a series there, with more terms for f64. Within 2.5 ulp in f32 and 3 in f64
// (tests/tensor/test_vec.cpp), with IEEE's results at special values: exp(-inf) = 0, log(0) = -inf, log(-1) = NaN, NaN
// stays NaN.
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

// The polynomial of t with these coefficients, that of the highest power first.
template <class T, class... C>
inline Vec<T> polynomial(Vec<T> t, T highest, C... lower) {
  Vec<T> sum = highest;
  ((sum = fma(sum, t, static_cast<T>(lower))), ...);
  return sum;
}

// (e^r - 1 - r) / r^2 = 1/2! + r/3! + r^2/4! + … up to r^(last - 2)/last!
template <class T, int last = Format<T>::single ? 7 : 13>
inline Vec<T> expm1_series(Vec<T> r) {
  Vec<T> sum = inverse_factorial<T>(last);
  [&]<int... I>(std::integer_sequence<int, I...>) { ((sum = fma(sum, r, inverse_factorial<T>(last - 1 - I))), ...); }
  (std::make_integer_sequence<int, last - 2>());
  return sum;
}

// The same for e^r, where the terms count less. In single precision a minimax fit, to 3e-9 of e^r.
inline Vec<double> exp_series(Vec<double> r) { return expm1_series(r); }
inline Vec<float> exp_series(Vec<float> r) {
  return polynomial(r, 0x1.6ac73cp-10F, 0x1.123dep-7F, 0x1.555858p-5F, 0x1.55548cp-3F, 0x1.fffffcp-2F);
}

// log(1 + f) for sqrt(1/2) - 1 <= f <= sqrt(2) - 1, plus n·ln 2. With s = f/(2 + f): log(1 + f) = 2·atanh(s)
// = f - s·(f - R), R = 2(s^2/3 + s^4/5 + …); that form rounds only in the small correction.
template <int terms = 10>
inline Vec<double> log_series(Vec<double> f, Vec<double> n) {
  using F = Format<double>;
  const Vec<double> s = f / (f + 2.0), s2 = s * s;
  Vec<double> sum = 2.0 / (2 * terms + 1);
  [&]<int... I>(std::integer_sequence<int, I...>) { ((sum = fma(sum, s2, 2.0 / (2 * (terms - 1 - I) + 1))), ...); }
  (std::make_integer_sequence<int, terms - 1>());
  const Vec<double> correction = fma(n, F::ln2_low, -(s * (f - sum * s2)));
  return fma(n, F::ln2_high, f + correction);
}

// log(1 + f) for -1/3 <= f <= 1/3 in single precision without a division, plus n·ln 2. (log(1 + f) - f)/f^2 is a
// minimax fit, to 3e-8 of the logarithm. Its odd and even powers are summed apart: shorter chains.
inline Vec<float> log_series(Vec<float> f, Vec<float> n) {
  const Vec<float> f2 = f * f;
  const Vec<float> odd = polynomial(f2, 0x1.152a3ap-3F, 0x1.209dcap-3F, 0x1.99b65ep-3F, 0x1.55553ap-2F);
  const Vec<float> even = polynomial(f2, -0x1.3d009p-3F, -0x1.4fde4p-3F, -0x1.0016acp-2F, -0x1.ffffcep-2F);
  return fma(n, 0x1.62e43p-1F, fma(f2, fma(odd, f, even), f));
}

}  // namespace detail

// e^x for x up to 89 (710 in f64), rounded once when it is scaled by 2^n: it may be denormal or infinite. Far below 0
// it is 0 without a multiplication, because masked scores are -inf and a denormal result costs some processors a
// hundred cycles.
template <class T>
inline Vec<T> exp_up_to_limit(Vec<T> x) {
  using namespace detail;
  [[maybe_unused]] constexpr bool single = sizeof(T) == 4;
  const Mask<T> zero = x < (single ? T(-104) : T(-746));
#if defined(__AVX512F__)
  const Reduced<T> s = reduce_by_ln2(x);
#else
  const Reduced<T> s = reduce_by_ln2(select(zero, T(0), x));
#endif
  const Vec<T> p = fma(s.r * s.r, exp_series(s.r), s.r) + T(1);
#if defined(__AVX512F__)
  const auto bits = std::bit_cast<__m512i>(~zero);
  if constexpr (single) return {_mm512_maskz_scalef_ps(_mm512_test_epi32_mask(bits, bits), p.v, s.n.v)};
  if constexpr (!single) return {_mm512_maskz_scalef_pd(_mm512_test_epi64_mask(bits, bits), p.v, s.n.v)};
#else
  // Two factors, because 2^n alone can be outside the normal range when the result is not.
  const auto half = s.n_bits >> 1;
  return select(zero, T(0), p * power_of_two<T>(half) * power_of_two<T>(s.n_bits - half));
#endif
}
// Beyond the limit the result is infinite. min returns its second argument, x, if x is NaN.
template <class T>
inline Vec<T> exp(Vec<T> x) {
  return exp_up_to_limit(min(Vec<T>(sizeof(T) == 4 ? T(89) : T(710)), x));
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

// e^x - 1 without the loss of digits near 0.
template <class T>
inline Vec<T> expm1(Vec<T> x) {
  using namespace detail;
  constexpr T lowest = sizeof(T) == 4 ? T(-30) : T(-60), highest = sizeof(T) == 4 ? T(89) : T(710);
  const Reduced<T> s = reduce_by_ln2(min(Vec<T>(highest), max(Vec<T>(lowest), x)));
  const Vec<T> p = fma(s.r * s.r, expm1_series(s.r), s.r);
  // 2^n·p + (2^n - 1), through half of it so that 2^n can't overflow early.
  const Vec<T> half = power_of_two<T>(s.n_bits - 1);
  return select(x == T(0), x, fma(half, p, half - T(0.5)) * T(2));
}

namespace detail {

// x = 2^n·(1 + f). For normal x > 0; others give any n and f.
template <class T>
struct Split {
  Vec<T> f, n;
};
template <class T>
inline Split<T> split(Vec<T> x) {
  using F = Format<T>;
  constexpr T lowest = F::single ? T(2.0L / 3) : T(0.70710678118654752440L);  // of 1 + f: keeps f small
  const auto exponent = (x.bits() - Vec<T>(lowest).bits()) >> F::fraction_bits;
  const Vec<T> magic = F::round_magic;
  return {Vec<T>(x.bits() - (exponent << F::fraction_bits)) - T(1), Vec<T>(exponent + magic.bits()) - magic};
}

}  // namespace detail

template <class T>
inline Vec<T> log(Vec<T> x) {
  using namespace detail;
  constexpr T inf = std::numeric_limits<T>::infinity();
  constexpr int up = Format<T>::fraction_bits + 1;
  const Mask<T> denormal = x < std::numeric_limits<T>::min();
  const Split<T> s = split(abs(select(denormal, x * T(int64_t{1} << up), x)));
  Vec<T> y = log_series(s.f, s.n - select(denormal, T(up), T(0)));
  y = select(x < inf, y, x);  // infinity and NaN
  y = select(x == T(0), -inf, y);
  return select(x < T(0), std::numeric_limits<T>::quiet_NaN(), y);
}

// log(1 + x): u = 1 + x rounds; (x - (u - 1))/u adds what the rounding lost.
inline Vec<double> log1p(Vec<double> x) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  const Vec<double> u = x + 1.0, y = log(u);
  const Vec<double> corrected = y + (x - (u - 1.0)) / u;
  return select(x == 0.0, x, select(abs(y) < inf, corrected, y));
}
// With 1 + x rounded to 2^n·m, f = x/2^n + (1/2^n - 1) rounds only once.
inline Vec<float> log1p(Vec<float> x) {
  constexpr float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const Vec<float> u = x + 1.0F;
  const auto n_bits = (u.bits() - Vec<float>(2.0F / 3).bits()) & Vec<float>(-inf).bits();  // n, shifted to its place
  const Vec<float> four_over(Vec<float>(4.0F).bits() - n_bits);                            // 4/2^n is never denormal
  const Vec<float> f = Vec<float>(x.bits() - n_bits) + fma(four_over, 0.25F, -1.0F);
  Vec<float> y = detail::log_series(f, Vec<float>(__builtin_convertvector(n_bits >> 23, Vec<float>::Raw)));
  y = select((x == 0.0F) | ~(x < inf), x, y);  // zeros, infinity and NaN
  y = select(x == -1.0F, -inf, y);
  return select(x < -1.0F, nan, y);
}

// log(1 + e^x), with the exponential of -|x|, which cannot overflow.
inline Vec<double> softplus(Vec<double> x) { return max(Vec<double>(0.0), x) + log1p(exp(-abs(x))); }
// With e = e^-|x|, (log(1 + e) - e)/e^2 is a minimax fit of t = e - 1/2, to 4e-8 of the logarithm. Its odd and even
// powers are summed apart.
inline Vec<float> softplus(Vec<float> x) {
  using detail::polynomial;
  const Vec<float> e = exp_up_to_limit(minus_abs(x)), t = e - 0.5F, t2 = t * t;
  const Vec<float> odd = polynomial(t2, 0x1.5f95b4p-8F, 0x1.195ab8p-6F, 0x1.a224bep-5F, 0x1.6f0df6p-3F);
  const Vec<float> even = polynomial(t2, -0x1.71ea18p-7F, -0x1.d7e59ep-6F, -0x1.7de322p-4F, -0x1.833704p-2F);
  return max(Vec<float>(0.0F), x) + fma(e * e, fma(odd, t, even), e);
}

// (e^2a - 1)/(e^2a + 1) of |x|
template <class T>
inline Vec<T> tanh(Vec<T> x) {
  using namespace detail;
  const Vec<T> a = min(Vec<T>(sizeof(T) == 4 ? T(10) : T(20)), abs(x));  // beyond it tanh rounds to 1
  const Reduced<T> s = reduce_by_ln2(a + a);
  const Vec<T> scale = power_of_two<T>(s.n_bits);
  const Vec<T> e = fma(scale, fma(s.r * s.r, expm1_series(s.r), s.r), scale - T(1));
  return copysign(e / (e + T(2)), x);
}

// 1/(1 + e^-x); the exponential never overflows.
template <class T>
inline Vec<T> sigmoid(Vec<T> x) {
  const Vec<T> e = exp_up_to_limit(minus_abs(x));
  return select(x < T(0), e, T(1)) / (e + T(1));
}
template <class T>
inline Vec<T> sigmoid_flushed(Vec<T> x) {
  const Vec<T> e = exp_flushed(minus_abs(x));
  return select(x < T(0), e, T(1)) / (e + T(1));
}

inline Vec<double> erf(Vec<double> x) {
  return map(x, [](double lane) { return std::erf(lane); });
}
// Minimax fits: x·P(x^2) below 1, 1 - e^Q(x) above; from 4 on the result rounds to 1.
inline Vec<float> erf(Vec<float> x) {
  using detail::polynomial;
  const Vec<float> a = min(Vec<float>(4.0f), abs(x));
  const Vec<float> small =
      x * polynomial(x * x, 7.853847134277248e-05F, -0.0008010189317609911, 0.005188327195277853, -0.026853811677107535,
                     0.11283585142441926, -0.37612625823689433, 1.1283791657266322);
  const Vec<float> large =
      1.0f - exp_up_to_limit(polynomial(a, 0.00018638273610099946F, -0.0029476920256119713, 0.02183819485800478,
                                        -0.10310701979284619, -0.6381445363780474, -1.1270893635231893,
                                        -0.0003414815270437188));
  return select(abs(x) < 1.0f, small, copysign(large, x));
}

namespace detail {

// 1/First! - t/(First + 2)! + t^2/(First + 4)! - …
template <int First, int Terms, class T>
inline Vec<T> alternating_series(Vec<T> t) {
  Vec<T> sum = inverse_factorial<T>(First + 2 * (Terms - 1));
  [&]<int... I>(std::integer_sequence<int, I...>) {
    ((sum = fma(-sum, t, inverse_factorial<T>(First + 2 * (Terms - 2 - I)))), ...);
  }
  (std::make_integer_sequence<int, Terms - 1>());
  return sum;
}

// The result of quadrant n from the sine and the cosine of the remainder: turns = n, or n + 1 for a cosine.
template <class T>
inline Vec<T> of_quadrant(typename Vec<T>::Bits turns, Vec<T> s, Vec<T> c) {
  return Vec<T>(select(Mask<T>{turns & 1}, c, s).bits() ^ ((turns >> 1) << (8 * sizeof(T) - 1)));
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
  const Vec<float> s = r + fma(-(r * r2), alternating_series<3, 4>(r2), low);
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

// x/2·(1 + tanh(u)), u = sqrt(2/pi)·(x + 0.044715 x^3), written as x·sigmoid(2u): one exponential, no cancellation.
// Hendrycks and Gimpel, arXiv:1606.08415.
template <class T>
inline Vec<T> gelu_tanh(Vec<T> x) {
  constexpr double c = 2 * 0.79788456080286535588;
  return x * sigmoid_flushed(x * fma(x * x, T(c * 0.044715), T(c)));
}

}  // namespace pg::simd
