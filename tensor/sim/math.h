#pragma once
// Device functions on scalars. Functions that the GPU approximates in hardware (__expf and similar, a few units in the
// last place) are computed with the host's library.
#include <cmath>
#include <cstdint>
#include <cstring>

#include "tensor/sim/device.h"

namespace pg::sim {
PG_SIM_INLINE void sincos_of(float x, float* sine, float* cosine) {
  *sine = std::sin(x);
  *cosine = std::cos(x);
}
}  // namespace pg::sim

// The C library has declared functions of these names already.
#define __expf(x) std::exp(static_cast<float>(x))
#define __exp10f(x) std::pow(10.0f, static_cast<float>(x))
#define __logf(x) std::log(static_cast<float>(x))
#define __log2f(x) std::log2(static_cast<float>(x))
#define __log10f(x) std::log10(static_cast<float>(x))
#define __powf(x, y) std::pow(static_cast<float>(x), static_cast<float>(y))
#define __sinf(x) std::sin(static_cast<float>(x))
#define __cosf(x) std::cos(static_cast<float>(x))
#define __tanf(x) std::tan(static_cast<float>(x))
#define __sincosf(x, sine, cosine) pg::sim::sincos_of(x, sine, cosine)

PG_SIM_INLINE float __fdividef(float x, float y) { return x / y; }
PG_SIM_INLINE float __saturatef(float x) { return x > 0 ? (x < 1 ? x : 1.0f) : 0.0f; }
PG_SIM_INLINE float rsqrtf(float x) { return static_cast<float>(1 / std::sqrt(static_cast<double>(x))); }
PG_SIM_INLINE double rsqrt(double x) { return 1 / std::sqrt(x); }

// Rounded to nearest, exactly as named.
PG_SIM_INLINE float __fadd_rn(float x, float y) { return x + y; }
PG_SIM_INLINE float __fsub_rn(float x, float y) { return x - y; }
PG_SIM_INLINE float __fmul_rn(float x, float y) { return x * y; }
PG_SIM_INLINE float __fdiv_rn(float x, float y) { return x / y; }
PG_SIM_INLINE float __frcp_rn(float x) { return 1 / x; }
PG_SIM_INLINE float __fsqrt_rn(float x) { return std::sqrt(x); }
PG_SIM_INLINE float __frsqrt_rn(float x) { return rsqrtf(x); }
PG_SIM_INLINE float __fmaf_rn(float x, float y, float z) { return std::fma(x, y, z); }
PG_SIM_INLINE double __dadd_rn(double x, double y) { return x + y; }
PG_SIM_INLINE double __dmul_rn(double x, double y) { return x * y; }
PG_SIM_INLINE double __fma_rn(double x, double y, double z) { return std::fma(x, y, z); }
PG_SIM_INLINE int __float2int_rn(float x) { return static_cast<int>(std::nearbyint(x)); }
PG_SIM_INLINE int __float2int_rz(float x) { return static_cast<int>(x); }
PG_SIM_INLINE int __float2int_rd(float x) { return static_cast<int>(std::floor(x)); }
PG_SIM_INLINE int __float2int_ru(float x) { return static_cast<int>(std::ceil(x)); }
PG_SIM_INLINE float __int2float_rn(int x) { return static_cast<float>(x); }
PG_SIM_INLINE float __uint2float_rn(unsigned x) { return static_cast<float>(x); }

PG_SIM_INLINE int __popc(unsigned x) { return __builtin_popcount(x); }
PG_SIM_INLINE int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
PG_SIM_INLINE int __clz(int x) { return x ? __builtin_clz(static_cast<unsigned>(x)) : 32; }
PG_SIM_INLINE int __clzll(long long x) { return x ? __builtin_clzll(static_cast<unsigned long long>(x)) : 64; }
PG_SIM_INLINE int __ffs(int x) { return __builtin_ffs(x); }
PG_SIM_INLINE int __ffsll(long long x) { return __builtin_ffsll(x); }
PG_SIM_INLINE unsigned __brev(unsigned x) {
  unsigned reversed = 0;
  for (int bit = 0; bit < 32; ++bit) reversed |= (x >> bit & 1u) << (31 - bit);
  return reversed;
}
PG_SIM_INLINE int __mulhi(int x, int y) { return static_cast<int>(static_cast<int64_t>(x) * y >> 32); }
PG_SIM_INLINE unsigned __umulhi(unsigned x, unsigned y) {
  return static_cast<unsigned>(static_cast<uint64_t>(x) * y >> 32);
}
PG_SIM_INLINE unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
  return static_cast<unsigned long long>(static_cast<unsigned __int128>(x) * y >> 64);
}

template <class To, class From>
PG_SIM_INLINE To pg_sim_bits(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  __builtin_memcpy(&to, &from, sizeof(to));
  return to;
}
PG_SIM_INLINE int __float_as_int(float x) { return pg_sim_bits<int>(x); }
PG_SIM_INLINE unsigned __float_as_uint(float x) { return pg_sim_bits<unsigned>(x); }
PG_SIM_INLINE float __int_as_float(int x) { return pg_sim_bits<float>(x); }
PG_SIM_INLINE float __uint_as_float(unsigned x) { return pg_sim_bits<float>(x); }
PG_SIM_INLINE long long __double_as_longlong(double x) { return pg_sim_bits<long long>(x); }
PG_SIM_INLINE double __longlong_as_double(long long x) { return pg_sim_bits<double>(x); }

// CUDA's global min and max.
#define PG_SIM_MIN_MAX(T)                                           \
  PG_SIM_INLINE constexpr T min(T a, T b) { return b < a ? b : a; } \
  PG_SIM_INLINE constexpr T max(T a, T b) { return a < b ? b : a; }
PG_SIM_MIN_MAX(int)
PG_SIM_MIN_MAX(unsigned)
PG_SIM_MIN_MAX(long)
PG_SIM_MIN_MAX(unsigned long)
PG_SIM_MIN_MAX(long long)
PG_SIM_MIN_MAX(unsigned long long)
#undef PG_SIM_MIN_MAX
// For a number and a NaN, the result is the number.
PG_SIM_INLINE float min(float a, float b) { return std::fmin(a, b); }
PG_SIM_INLINE float max(float a, float b) { return std::fmax(a, b); }
PG_SIM_INLINE double min(double a, double b) { return std::fmin(a, b); }
PG_SIM_INLINE double max(double a, double b) { return std::fmax(a, b); }
