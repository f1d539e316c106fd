#pragma once
// Vec<T>: as many floats or doubles as one register of the target holds, on the compilers' portable vector types
// (AVX-512, AVX2, SSE2 and NEON from one source). Each operation acts lane by lane, so an element's bits don't depend
// on the lane or on the neighbours. The exponential family is in vec_math.h.
//
// A typical loop:
//   int64_t i = 0;
//   for (; i + Vec<T>::size <= n; i += Vec<T>::size) store(y + i, f(load(x + i)));
//   if (i < n) store(y + i, f(load(x + i, n - i)), n - i);
#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>
#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace pg::simd {

#if defined(__AVX512F__)
inline constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
inline constexpr int kVectorBytes = 32;
#else
inline constexpr int kVectorBytes = 16;
#endif

// True where fma() rounds once; elsewhere it is a multiply and an add.
#if defined(__FMA__) || defined(__aarch64__)
inline constexpr bool kHasFma = true;
#else
inline constexpr bool kHasFma = false;
#endif

template <class T>
struct RawVector {
  typedef T type __attribute__((vector_size(kVectorBytes)));
  using Bits = decltype(type{} < type{});  // integers of T's size: the result of a comparison, and T's bit pattern
};

// One truth value per lane: all bits set or none.
template <class T>
struct Mask {
  typename RawVector<T>::Bits m;
  friend Mask operator&(Mask a, Mask b) { return {a.m & b.m}; }
  friend Mask operator|(Mask a, Mask b) { return {a.m | b.m}; }
  friend Mask operator~(Mask a) { return {~a.m}; }
};

template <class T>
struct Vec {
  static constexpr int size = kVectorBytes / static_cast<int>(sizeof(T));
  using Raw = typename RawVector<T>::type;
  using Bits = typename RawVector<T>::Bits;
  Raw v;

  Vec() = default;
  Vec(Raw raw) : v(raw) {}
  Vec(T x) : v(x - Raw{}) {}  // all lanes; x - 0 is x for every x, -0 included
  explicit Vec(Bits bits) { std::memcpy(&v, &bits, sizeof(v)); }
  Bits bits() const {
    Bits b;
    std::memcpy(&b, &v, sizeof(b));
    return b;
  }
  T operator[](int lane) const { return v[lane]; }

  friend Vec operator+(Vec a, Vec b) { return {a.v + b.v}; }
  friend Vec operator-(Vec a, Vec b) { return {a.v - b.v}; }
  friend Vec operator*(Vec a, Vec b) { return {a.v * b.v}; }
  friend Vec operator/(Vec a, Vec b) { return {a.v / b.v}; }
  friend Vec operator-(Vec a) { return {-a.v}; }
  Vec& operator+=(Vec b) { return *this = *this + b; }
  Vec& operator-=(Vec b) { return *this = *this - b; }
  Vec& operator*=(Vec b) { return *this = *this * b; }
  friend Mask<T> operator<(Vec a, Vec b) { return {a.v < b.v}; }
  friend Mask<T> operator<=(Vec a, Vec b) { return {a.v <= b.v}; }
  friend Mask<T> operator>(Vec a, Vec b) { return {a.v > b.v}; }
  friend Mask<T> operator>=(Vec a, Vec b) { return {a.v >= b.v}; }
  friend Mask<T> operator==(Vec a, Vec b) { return {a.v == b.v}; }
  friend Mask<T> operator!=(Vec a, Vec b) { return {a.v != b.v}; }
};

// ---- memory: any alignment; the forms with n access the first n elements only, 0 <= n <= size, other lanes read 0

template <class T>
inline Vec<T> load(const T* p) {
  Vec<T> x;
  std::memcpy(&x.v, p, sizeof(x.v));
  return x;
}
template <class T>
inline void store(T* p, Vec<T> x) {
  std::memcpy(p, &x.v, sizeof(x.v));
}
#if defined(__AVX2__) && !defined(__AVX512F__)
// All bits set in the first n lanes.
template <class T>
inline __m256i first_lanes(int64_t n) {
  using Int = std::conditional_t<sizeof(T) == 4, int, long long>;
  static constexpr int size = Vec<T>::size;
  static constexpr Int ones_then_zeros[2 * size] = {
      -1, -1, -1, -1, size > 4 ? -1 : 0, size > 4 ? -1 : 0, size > 4 ? -1 : 0, size > 4 ? -1 : 0};
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(ones_then_zeros + size - n));
}
#endif
template <class T>
inline Vec<T> load(const T* p, int64_t n) {
#if defined(__AVX512F__)
  const unsigned mask = (1u << n) - 1;
  if constexpr (sizeof(T) == 4) {
    return {_mm512_maskz_loadu_ps(static_cast<__mmask16>(mask), p)};
  } else {
    return {_mm512_maskz_loadu_pd(static_cast<__mmask8>(mask), p)};
  }
#elif defined(__AVX2__)
  if constexpr (sizeof(T) == 4) {
    return {_mm256_maskload_ps(p, first_lanes<T>(n))};
  } else {
    return {_mm256_maskload_pd(p, first_lanes<T>(n))};
  }
#else
  T buffer[Vec<T>::size] = {};
  std::memcpy(buffer, p, static_cast<size_t>(n) * sizeof(T));
  return load(buffer);
#endif
}
template <class T>
inline void store(T* p, Vec<T> x, int64_t n) {
#if defined(__AVX512F__)
  const unsigned mask = (1u << n) - 1;
  if constexpr (sizeof(T) == 4) {
    _mm512_mask_storeu_ps(p, static_cast<__mmask16>(mask), x.v);
  } else {
    _mm512_mask_storeu_pd(p, static_cast<__mmask8>(mask), x.v);
  }
#elif defined(__AVX2__)
  // Not maskstore: AMD's processors take a dozen cycles for one.
  if (n == Vec<T>::size) return store(p, x);
  if constexpr (sizeof(T) == 4) {
    __m128 part = _mm256_castps256_ps128(x.v);
    if (n & 4) _mm_storeu_ps(p, part), p += 4, part = _mm256_extractf128_ps(x.v, 1);
    if (n & 2) _mm_storel_pi(reinterpret_cast<__m64*>(p), part), p += 2, part = _mm_movehl_ps(part, part);
    if (n & 1) _mm_store_ss(p, part);
  } else {
    __m128d part = _mm256_castpd256_pd128(x.v);
    if (n & 2) _mm_storeu_pd(p, part), p += 2, part = _mm256_extractf128_pd(x.v, 1);
    if (n & 1) _mm_store_sd(p, part);
  }
#else
  T buffer[Vec<T>::size];
  store(buffer, x);
  std::memcpy(p, buffer, static_cast<size_t>(n) * sizeof(T));
#endif
}

// ---- lane by lane

// a·b + c. The scalar form gives the same bits as one lane.
template <class T>
requires std::is_floating_point_v<T>
inline T fma(T a, std::type_identity_t<T> b, std::type_identity_t<T> c) {
  if constexpr (!kHasFma) {
    return a * b + c;
  } else if constexpr (sizeof(T) == 4) {
    return __builtin_fmaf(a, b, c);
  } else {
    return __builtin_fma(a, b, c);
  }
}
template <class T>
inline Vec<T> fma(Vec<T> a, std::type_identity_t<Vec<T>> b, std::type_identity_t<Vec<T>> c) {
  [[maybe_unused]] constexpr bool single = sizeof(T) == 4;
#if defined(__AVX512F__)
  if constexpr (single) return {_mm512_fmadd_ps(a.v, b.v, c.v)};
  if constexpr (!single) return {_mm512_fmadd_pd(a.v, b.v, c.v)};
#elif defined(__AVX2__) && defined(__FMA__)
  if constexpr (single) return {_mm256_fmadd_ps(a.v, b.v, c.v)};
  if constexpr (!single) return {_mm256_fmadd_pd(a.v, b.v, c.v)};
#elif defined(__FMA__)
  if constexpr (single) return {_mm_fmadd_ps(a.v, b.v, c.v)};
  if constexpr (!single) return {_mm_fmadd_pd(a.v, b.v, c.v)};
#elif defined(__aarch64__)
  if constexpr (single) return {vfmaq_f32(c.v, a.v, b.v)};
  if constexpr (!single) return {vfmaq_f64(c.v, a.v, b.v)};
#else
  return a * b + c;
#endif
}

template <class T>
inline Vec<T> select(Mask<T> condition, std::type_identity_t<Vec<T>> yes, std::type_identity_t<Vec<T>> no) {
  return {condition.m ? yes.v : no.v};
}
// The second argument if either is NaN, or both are zeros, as x86's instructions have it.
template <class T>
inline Vec<T> min(Vec<T> a, std::type_identity_t<Vec<T>> b) {
  [[maybe_unused]] constexpr bool single = sizeof(T) == 4;
#if defined(__AVX512F__)  // the masked form, because the plain one trips a warning in g++ 12
  if constexpr (single) return {_mm512_maskz_min_ps(0xffff, a.v, b.v)};
  if constexpr (!single) return {_mm512_maskz_min_pd(0xff, a.v, b.v)};
#elif defined(__AVX2__)
  if constexpr (single) return {_mm256_min_ps(a.v, b.v)};
  if constexpr (!single) return {_mm256_min_pd(a.v, b.v)};
#else
  return select(a < b, a, b);
#endif
}
template <class T>
inline Vec<T> max(Vec<T> a, std::type_identity_t<Vec<T>> b) {
  [[maybe_unused]] constexpr bool single = sizeof(T) == 4;
#if defined(__AVX512F__)
  if constexpr (single) return {_mm512_maskz_max_ps(0xffff, a.v, b.v)};
  if constexpr (!single) return {_mm512_maskz_max_pd(0xff, a.v, b.v)};
#elif defined(__AVX2__)
  if constexpr (single) return {_mm256_max_ps(a.v, b.v)};
  if constexpr (!single) return {_mm256_max_pd(a.v, b.v)};
#else
  return select(a > b, a, b);
#endif
}
template <class T>
inline Vec<T> abs(Vec<T> x) {
  return Vec<T>(x.bits() & ~Vec<T>(T(-0.0)).bits());
}
template <class T>
inline Vec<T> minus_abs(Vec<T> x) {
  return Vec<T>(x.bits() | Vec<T>(T(-0.0)).bits());
}
// |x| with the sign of s.
template <class T>
inline Vec<T> copysign(Vec<T> x, Vec<T> s) {
  const auto sign = Vec<T>(T(-0.0)).bits();
  return Vec<T>((x.bits() & ~sign) | (s.bits() & sign));
}
// f(scalar) for each lane: for functions that have no vector form.
template <class T, class F>
inline Vec<T> map(Vec<T> x, F f) {
  T lanes[Vec<T>::size];
  store(lanes, x);
  for (T& lane : lanes) lane = f(lane);
  return load(lanes);
}
template <class T>
inline Vec<T> sqrt(Vec<T> x) {
  [[maybe_unused]] constexpr bool single = sizeof(T) == 4;
#if defined(__AVX512F__)  // the masked form, because the plain one trips a warning in g++ 12
  if constexpr (single) return {_mm512_maskz_sqrt_ps(0xffff, x.v)};
  if constexpr (!single) return {_mm512_maskz_sqrt_pd(0xff, x.v)};
#elif defined(__AVX2__)
  if constexpr (single) return {_mm256_sqrt_ps(x.v)};
  if constexpr (!single) return {_mm256_sqrt_pd(x.v)};
#elif defined(__x86_64__)
  if constexpr (single) return {_mm_sqrt_ps(x.v)};
  if constexpr (!single) return {_mm_sqrt_pd(x.v)};
#elif defined(__aarch64__)
  if constexpr (single) return {vsqrtq_f32(x.v)};
  if constexpr (!single) return {vsqrtq_f64(x.v)};
#else
  return map(x, [](T lane) { return static_cast<T>(__builtin_sqrt(lane)); });
#endif
}

// ---- f32 in f64: the lower and the upper half of the lanes, and back

template <bool Upper>
inline Vec<double> widen(Vec<float> x) {
  const auto half = [&]<int... I>(std::integer_sequence<int, I...>) {
    return __builtin_shufflevector(x.v, x.v, (I + (Upper ? Vec<double>::size : 0))...);
  }
  (std::make_integer_sequence<int, Vec<double>::size>());
  return {__builtin_convertvector(half, Vec<double>::Raw)};
}
inline Vec<float> narrow(Vec<double> lower, Vec<double> upper) {
  typedef float Half __attribute__((vector_size(kVectorBytes / 2)));
  const Half a = __builtin_convertvector(lower.v, Half), b = __builtin_convertvector(upper.v, Half);
  return [&]<int... I>(std::integer_sequence<int, I...>) { return Vec<float>(__builtin_shufflevector(a, b, I...)); }
  (std::make_integer_sequence<int, Vec<float>::size>());
}

// ---- across the lanes, always in one order: lane i with lane i + size/2, then likewise within that half, …

template <int Width, class T, class F>
inline Vec<T> reduce_lanes(Vec<T> x, F f) {
  if constexpr (Width == 0) {
    return x;
  } else {
    const Vec<T> upper = [&]<int... I>(std::integer_sequence<int, I...>) {
      return Vec<T>(__builtin_shufflevector(x.v, x.v, ((I + Width) % Vec<T>::size)...));
    }
    (std::make_integer_sequence<int, Vec<T>::size>());
    return reduce_lanes<Width / 2>(f(x, upper), f);
  }
}
template <class T>
inline T horizontal_sum(Vec<T> x) {
  return reduce_lanes<Vec<T>::size / 2>(x, [](Vec<T> a, Vec<T> b) { return a + b; })[0];
}
template <class T>
inline T horizontal_max(Vec<T> x) {
  return reduce_lanes<Vec<T>::size / 2>(x, [](Vec<T> a, Vec<T> b) { return max(a, b); })[0];
}

// Sums run over vectors of 64 bytes on every processor, in kParts registers each, so that their order and their bits do
// not depend on the width of a register. f combines lane i with lane i + kWide/2, and so on, as above.
template <class T>
inline constexpr int kWide = 64 / static_cast<int>(sizeof(T));
template <class T>
inline constexpr int kParts = kWide<T> / Vec<T>::size;
template <class T, class F>
inline T reduce_parts(Vec<T> (&x)[kParts<T>], F f) {
  for (int half = kParts<T> / 2; half > 0; half /= 2) {
    for (int j = 0; j < half; ++j) x[j] = f(x[j], x[j + half]);
  }
  return reduce_lanes<Vec<T>::size / 2>(x[0], f)[0];
}
template <class T>
inline T sum_of_parts(Vec<T> (&x)[kParts<T>]) {
  return reduce_parts(x, [](Vec<T> a, Vec<T> b) { return a + b; });
}

template <class T>
inline bool any(Mask<T> condition) {
#if defined(__AVX512F__)
  const auto bits = std::bit_cast<__m512i>(condition);
  return _mm512_test_epi64_mask(bits, bits) != 0;
#elif defined(__AVX2__)
  const auto bits = std::bit_cast<__m256i>(condition);
  return !_mm256_testz_si256(bits, bits);
#else
  return horizontal_max(select(condition, T(1), T(0))) > 0;
#endif
}

}  // namespace pg::simd
