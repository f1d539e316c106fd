#pragma once
// Included in place of NVIDIA's header of this name. A bf16 is the upper half of an f32; results are rounded once, to
// the nearest, ties to even.
#include <cmath>
#include <cstdint>

#include "tensor/sim/device.h"

struct alignas(2) __nv_bfloat16 {
  uint16_t bits;
  __nv_bfloat16() = default;
  PG_SIM_INLINE __nv_bfloat16(float x);
  PG_SIM_INLINE __nv_bfloat16(double x);
  PG_SIM_INLINE __nv_bfloat16(int x) : __nv_bfloat16(static_cast<double>(x)) {}
  PG_SIM_INLINE operator float() const;
};
using nv_bfloat16 = __nv_bfloat16;

// Copied in one access of 4 bytes.
struct alignas(4) __nv_bfloat162 {
  __nv_bfloat16 x, y;
  __nv_bfloat162() = default;
  PG_SIM_INLINE __nv_bfloat162(__nv_bfloat16 x_, __nv_bfloat16 y_) : x(x_), y(y_) {}
  PG_SIM_INLINE __nv_bfloat162(const __nv_bfloat162& from) { copy(from); }
  PG_SIM_INLINE __nv_bfloat162& operator=(const __nv_bfloat162& from) {
    copy(from);
    return *this;
  }

 private:
  typedef uint32_t Bits __attribute__((may_alias));
  PG_SIM_INLINE void copy(const __nv_bfloat162& from) {
    *reinterpret_cast<Bits*>(this) = *reinterpret_cast<const Bits*>(&from);
  }
};
using nv_bfloat162 = __nv_bfloat162;

namespace pg::sim {

PG_SIM_INLINE __nv_bfloat16 bf16_from_bits(uint16_t bits) {
  __nv_bfloat16 out;
  out.bits = bits;
  return out;
}
PG_SIM_INLINE float bf16_to_float(uint16_t bits) {
  const uint32_t word = static_cast<uint32_t>(bits) << 16;
  float out;
  __builtin_memcpy(&out, &word, sizeof(out));
  return out;
}
PG_SIM_INLINE uint16_t bf16_round(float x) {
  uint32_t word;
  __builtin_memcpy(&word, &x, sizeof(word));
  if (x != x) return 0x7fff;  // CUDA's NaN
  return static_cast<uint16_t>((word + 0x7fffu + (word >> 16 & 1u)) >> 16);
}
// A float that rounds to the same bf16 as the double does: truncated, with its last bit set if anything was cut off
// ("round to odd"), so that the second rounding does not see a false tie.
PG_SIM_INLINE float to_odd(double x) {
  float out = static_cast<float>(x);
  if (static_cast<double>(out) == x || x != x) return out;
  uint32_t word;
  if (std::fabs(static_cast<double>(out)) > std::fabs(x)) out = std::nextafter(out, 0.0f);
  __builtin_memcpy(&word, &out, sizeof(word));
  word |= 1u;
  __builtin_memcpy(&out, &word, sizeof(out));
  return out;
}
// a + b, its last bit set if it is not exact, for the same reason.
PG_SIM_INLINE double sum_to_odd(double a, double b) {
  const double sum = a + b;
  const double b_part = sum - a, error = (a - (sum - b_part)) + (b - b_part);
  if (!(error != 0) || !std::isfinite(sum)) return sum;
  uint64_t word;
  double out = (error > 0) == (sum > 0) ? sum : std::nextafter(sum, 0.0);
  __builtin_memcpy(&word, &out, sizeof(word));
  word |= 1u;
  __builtin_memcpy(&out, &word, sizeof(out));
  return out;
}
PG_SIM_INLINE __nv_bfloat16 bf16_fma(__nv_bfloat16 a, __nv_bfloat16 b, __nv_bfloat16 c) {
  const double product = static_cast<double>(bf16_to_float(a.bits)) * bf16_to_float(b.bits);  // exact
  return bf16_from_bits(bf16_round(to_odd(sum_to_odd(product, bf16_to_float(c.bits)))));
}

}  // namespace pg::sim

PG_SIM_INLINE __nv_bfloat16::__nv_bfloat16(float x) : bits(pg::sim::bf16_round(x)) {}
PG_SIM_INLINE __nv_bfloat16::__nv_bfloat16(double x) : bits(pg::sim::bf16_round(pg::sim::to_odd(x))) {}
PG_SIM_INLINE __nv_bfloat16::operator float() const { return pg::sim::bf16_to_float(bits); }

// Conversions.
PG_SIM_INLINE __nv_bfloat16 __float2bfloat16(float x) { return __nv_bfloat16(x); }
PG_SIM_INLINE __nv_bfloat16 __float2bfloat16_rn(float x) { return __nv_bfloat16(x); }
PG_SIM_INLINE __nv_bfloat16 __double2bfloat16(double x) { return __nv_bfloat16(x); }
PG_SIM_INLINE float __bfloat162float(__nv_bfloat16 x) { return static_cast<float>(x); }
PG_SIM_INLINE __nv_bfloat16 __ushort_as_bfloat16(unsigned short bits) { return pg::sim::bf16_from_bits(bits); }
PG_SIM_INLINE unsigned short __bfloat16_as_ushort(__nv_bfloat16 x) { return x.bits; }
PG_SIM_INLINE __nv_bfloat162 __floats2bfloat162_rn(float x, float y) { return {__nv_bfloat16(x), __nv_bfloat16(y)}; }
PG_SIM_INLINE __nv_bfloat162 __float22bfloat162_rn(float2 v) { return __floats2bfloat162_rn(v.x, v.y); }
PG_SIM_INLINE __nv_bfloat162 __float2bfloat162_rn(float x) { return __floats2bfloat162_rn(x, x); }
PG_SIM_INLINE float2 __bfloat1622float2(__nv_bfloat162 v) { return {static_cast<float>(v.x), static_cast<float>(v.y)}; }
PG_SIM_INLINE __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 low, __nv_bfloat16 high) { return {low, high}; }
PG_SIM_INLINE __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 x) { return {x, x}; }
PG_SIM_INLINE __nv_bfloat16 __low2bfloat16(__nv_bfloat162 v) { return v.x; }
PG_SIM_INLINE __nv_bfloat16 __high2bfloat16(__nv_bfloat162 v) { return v.y; }
PG_SIM_INLINE float __low2float(__nv_bfloat162 v) { return static_cast<float>(v.x); }
PG_SIM_INLINE float __high2float(__nv_bfloat162 v) { return static_cast<float>(v.y); }
PG_SIM_INLINE __nv_bfloat162 make_bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return {x, y}; }

// Arithmetic. f32 is exact enough for one rounding of a product; sums and quotients go through double.
PG_SIM_INLINE __nv_bfloat16 __hadd(__nv_bfloat16 a, __nv_bfloat16 b) {
  return pg::sim::bf16_fma(a, __nv_bfloat16(1.0f), b);
}
PG_SIM_INLINE __nv_bfloat16 __hneg(__nv_bfloat16 a) { return pg::sim::bf16_from_bits(a.bits ^ 0x8000u); }
PG_SIM_INLINE __nv_bfloat16 __hsub(__nv_bfloat16 a, __nv_bfloat16 b) { return __hadd(a, __hneg(b)); }
PG_SIM_INLINE __nv_bfloat16 __hmul(__nv_bfloat16 a, __nv_bfloat16 b) {
  return __nv_bfloat16(static_cast<double>(static_cast<float>(a)) * static_cast<float>(b));
}
PG_SIM_INLINE __nv_bfloat16 __hdiv(__nv_bfloat16 a, __nv_bfloat16 b) {
  return __nv_bfloat16(static_cast<double>(static_cast<float>(a)) / static_cast<float>(b));
}
PG_SIM_INLINE __nv_bfloat16 __hfma(__nv_bfloat16 a, __nv_bfloat16 b, __nv_bfloat16 c) {
  return pg::sim::bf16_fma(a, b, c);
}
PG_SIM_INLINE __nv_bfloat16 __habs(__nv_bfloat16 a) { return pg::sim::bf16_from_bits(a.bits & 0x7fffu); }
PG_SIM_INLINE __nv_bfloat16 __hmax(__nv_bfloat16 a, __nv_bfloat16 b) {
  return __nv_bfloat16(std::fmax(static_cast<float>(a), static_cast<float>(b)));
}
PG_SIM_INLINE __nv_bfloat16 __hmin(__nv_bfloat16 a, __nv_bfloat16 b) {
  return __nv_bfloat16(std::fmin(static_cast<float>(a), static_cast<float>(b)));
}
PG_SIM_INLINE bool __hisnan(__nv_bfloat16 a) { return (a.bits & 0x7fffu) > 0x7f80u; }
PG_SIM_INLINE bool __hlt(__nv_bfloat16 a, __nv_bfloat16 b) { return static_cast<float>(a) < static_cast<float>(b); }
PG_SIM_INLINE bool __hgt(__nv_bfloat16 a, __nv_bfloat16 b) { return static_cast<float>(a) > static_cast<float>(b); }
PG_SIM_INLINE bool __heq(__nv_bfloat16 a, __nv_bfloat16 b) { return static_cast<float>(a) == static_cast<float>(b); }

PG_SIM_INLINE __nv_bfloat16 operator+(__nv_bfloat16 a, __nv_bfloat16 b) { return __hadd(a, b); }
PG_SIM_INLINE __nv_bfloat16 operator-(__nv_bfloat16 a, __nv_bfloat16 b) { return __hsub(a, b); }
PG_SIM_INLINE __nv_bfloat16 operator*(__nv_bfloat16 a, __nv_bfloat16 b) { return __hmul(a, b); }
PG_SIM_INLINE __nv_bfloat16 operator/(__nv_bfloat16 a, __nv_bfloat16 b) { return __hdiv(a, b); }
PG_SIM_INLINE __nv_bfloat16 operator-(__nv_bfloat16 a) { return __hneg(a); }

PG_SIM_INLINE __nv_bfloat162 __hadd2(__nv_bfloat162 a, __nv_bfloat162 b) { return {a.x + b.x, a.y + b.y}; }
PG_SIM_INLINE __nv_bfloat162 __hsub2(__nv_bfloat162 a, __nv_bfloat162 b) { return {a.x - b.x, a.y - b.y}; }
PG_SIM_INLINE __nv_bfloat162 __hmul2(__nv_bfloat162 a, __nv_bfloat162 b) { return {a.x * b.x, a.y * b.y}; }
PG_SIM_INLINE __nv_bfloat162 __hfma2(__nv_bfloat162 a, __nv_bfloat162 b, __nv_bfloat162 c) {
  return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)};
}
PG_SIM_INLINE __nv_bfloat162 __hmax2(__nv_bfloat162 a, __nv_bfloat162 b) {
  return {__hmax(a.x, b.x), __hmax(a.y, b.y)};
}
