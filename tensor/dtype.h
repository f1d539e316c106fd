#pragma once
// Element types. No formatting here (tensor/format.h has it): CUDA sources include this, and nvcc can't compile fmt as
// C++20. f32 and f64 are the types of computation; bf16 is a storage type whose values are computed in f32; i32 and u8
// are for indices, masks and conversions.
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace pg {

enum class DType : uint8_t { f32, f64, bf16, i32, u8 };
inline constexpr DType f32 = DType::f32, f64 = DType::f64, bf16 = DType::bf16, i32 = DType::i32, u8 = DType::u8;

// The upper half of a float: 8 exponent bits, 7 fraction bits.
struct BFloat16 {
  uint16_t bits = 0;
  BFloat16() = default;
  explicit BFloat16(float x) {
    const uint32_t word = std::bit_cast<uint32_t>(x);
    if (std::isnan(x)) {
      bits = static_cast<uint16_t>((word >> 16) | 0x40);  // rounding could carry a NaN into infinity
    } else {
      bits = static_cast<uint16_t>((word + 0x7fff + ((word >> 16) & 1)) >> 16);  // to nearest, ties to even
    }
  }
  explicit operator float() const { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
};

inline size_t size_of(DType type) {
  switch (type) {
    case DType::f32:
      return 4;
    case DType::f64:
      return 8;
    case DType::bf16:
      return 2;
    case DType::i32:
      return 4;
    case DType::u8:
      return 1;
  }
  return 0;
}
inline const char* name_of(DType type) {
  switch (type) {
    case DType::f32:
      return "f32";
    case DType::f64:
      return "f64";
    case DType::bf16:
      return "bf16";
    case DType::i32:
      return "i32";
    case DType::u8:
      return "u8";
  }
  return "?";
}
inline bool is_floating(DType type) { return type == f32 || type == f64 || type == bf16; }

template <class T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, float>) return f32;
  if constexpr (std::is_same_v<T, double>) return f64;
  if constexpr (std::is_same_v<T, BFloat16>) return bf16;
  if constexpr (std::is_same_v<T, int32_t>) return i32;
  if constexpr (std::is_same_v<T, uint8_t>) return u8;
}

// Calls f(std::type_identity<T>{}) with the C++ type of `type`.
template <class F>
decltype(auto) visit(DType type, F&& f) {
  switch (type) {
    case DType::f32:
      return f(std::type_identity<float>{});
    case DType::f64:
      return f(std::type_identity<double>{});
    case DType::bf16:
      return f(std::type_identity<BFloat16>{});
    case DType::i32:
      return f(std::type_identity<int32_t>{});
    case DType::u8:
      break;
  }
  return f(std::type_identity<uint8_t>{});
}

// The C++ type that computes with elements of type S.
template <class S>
using computes_t = std::conditional_t<std::is_same_v<S, BFloat16>, float, S>;

// The type of sums over elements of `type` (statistics, losses, gradients of parameters): f32 for bf16, otherwise
// `type` itself.
inline DType sum_type(DType type) { return type == bf16 ? f32 : type; }

// Throws the Error of visit_floating.
[[noreturn]] void fail_floating(const char* op, DType type);

// Like visit(), with the type of computation: double for f64, float for f32 and bf16; any other type is an Error naming
// `op`.
template <class F>
decltype(auto) visit_floating(DType type, const char* op, F&& f) {
  if (type == f64) return f(std::type_identity<double>{});
  if (type != f32 && type != bf16) [[unlikely]]
    fail_floating(op, type);
  return f(std::type_identity<float>{});
}

// Like visit_floating(), with the stored type S as the first argument: f(std::type_identity<S>{},
// std::type_identity<T>{}).
template <class F>
decltype(auto) visit_stored(DType type, const char* op, F&& f) {
  return visit_floating(type, op, [&]<class T>(std::type_identity<T> computes) {
    if constexpr (std::is_same_v<T, float>) {
      if (type == bf16) return f(std::type_identity<BFloat16>{}, computes);
    }
    return f(computes, computes);
  });
}

}  // namespace pg
