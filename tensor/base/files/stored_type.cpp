// The table of the element types of model files, and their decoders.
#include "tensor/base/files/stored_type.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "tensor/base/error.h"
#include "tensor/base/text.h"

namespace pg {

static_assert(std::endian::native == std::endian::little, "model files are little-endian");

float half_to_float(uint16_t half) {  // 1 sign, 5 exponent, 10 fraction bits
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16;
  const uint32_t exponent = (half >> 10) & 0x1f, fraction = half & 0x3ff;
  // Zero and subnormals are fraction · 2^-24.
  const uint32_t small = std::bit_cast<uint32_t>(static_cast<float>(fraction) * 0x1p-24f);
  const uint32_t normal = ((exponent == 31 ? 255 : exponent + (127 - 15)) << 23) | (fraction << 13);
  return std::bit_cast<float>(sign | (exponent == 0 ? small : normal));
}

namespace {

using Decoded = StoredType::Decoded;

template <class T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

float load_half(const std::byte* from) { return half_to_float(load<uint16_t>(from)); }

template <class T>
void copy(const std::byte* from, int64_t n, void* to) {
  if (n > 0) std::memcpy(to, from, static_cast<size_t>(n) * sizeof(T));  // null pointers are no memory of 0 bytes
}

template <class T>
void integers(const std::byte* from, int64_t n, void* to) {
  for (int64_t i = 0; i < n; ++i) static_cast<int64_t*>(to)[i] = load<T>(from + i * static_cast<int64_t>(sizeof(T)));
}

void halves(const std::byte* from, int64_t n, void* to) {
  for (int64_t i = 0; i < n; ++i) static_cast<float*>(to)[i] = load_half(from + 2 * i);
}

void bfloats(const std::byte* from, int64_t n, void* to) {
  for (int64_t i = 0; i < n; ++i) {
    static_cast<float*>(to)[i] = std::bit_cast<float>(static_cast<uint32_t>(load<uint16_t>(from + 2 * i)) << 16);
  }
}

// A decoder that calls block(bytes, values) for each block.
template <int kElements, int kBytes, auto block>
void blocks(const std::byte* from, int64_t n, void* to) {
  for (int64_t i = 0; i < n; ++i) {
    block(reinterpret_cast<const uint8_t*>(from) + i * kBytes, static_cast<float*>(to) + i * kElements);
  }
}

float half_at(const uint8_t* from) { return load_half(reinterpret_cast<const std::byte*>(from)); }

// ---- blocks of 32: byte i of `q` holds the low four bits of element i, then those of element i + 16.

int four_bits(const uint8_t* q, int element) { return (q[element % 16] >> (element / 16 * 4)) & 15; }

// The fifth bit of element i is bit i of `high`.
int five_bits(const uint8_t* q, uint32_t high, int element) {
  return four_bits(q, element) | static_cast<int>((high >> element & 1) << 4);
}

void q8_0(const uint8_t* from, float* to) {  // scale, 32 signed bytes
  const float scale = half_at(from);
  for (int i = 0; i < 32; ++i) to[i] = scale * static_cast<float>(static_cast<int8_t>(from[2 + i]));
}

void q4_0(const uint8_t* from, float* to) {  // scale, q
  const float scale = half_at(from);
  for (int i = 0; i < 32; ++i) to[i] = scale * static_cast<float>(four_bits(from + 2, i) - 8);
}

void q4_1(const uint8_t* from, float* to) {  // scale, minimum, q
  const float scale = half_at(from), minimum = half_at(from + 2);
  for (int i = 0; i < 32; ++i) to[i] = scale * static_cast<float>(four_bits(from + 4, i)) + minimum;
}

void q5_0(const uint8_t* from, float* to) {  // scale, high, q
  const float scale = half_at(from);
  const auto high = load<uint32_t>(reinterpret_cast<const std::byte*>(from + 2));
  for (int i = 0; i < 32; ++i) to[i] = scale * static_cast<float>(five_bits(from + 6, high, i) - 16);
}

void q5_1(const uint8_t* from, float* to) {  // scale, minimum, high, q
  const float scale = half_at(from), minimum = half_at(from + 2);
  const auto high = load<uint32_t>(reinterpret_cast<const std::byte*>(from + 4));
  for (int i = 0; i < 32; ++i) to[i] = scale * static_cast<float>(five_bits(from + 8, high, i)) + minimum;
}

// ---- super-blocks of 256 elements, whose parts have integer scales of their own

// Scale and minimum, six bits each, of part 0 to 7 in the twelve bytes of Q4_K and Q5_K.
struct PartScale {
  int scale, minimum;
};
PartScale part_scale(const uint8_t* packed, int part) {
  if (part < 4) return {packed[part] & 63, packed[part + 4] & 63};
  return {(packed[part + 4] & 15) | (packed[part - 4] >> 6 << 4), (packed[part + 4] >> 4) | (packed[part] >> 6 << 4)};
}

// Q4_K: scale, scale of the minima, twelve bytes of part scales, q. Q5_K has the fifth bits, 32 bytes, before q. Bytes
// 32·k to 32·k + 31 of q hold the low four bits of part 2·k, then those of part 2·k + 1; bit p of byte i of the fifth
// bits is that of element i of part p.
template <bool kFive>
void q4_or_q5_k(const uint8_t* from, float* to) {
  const float scale = half_at(from), minimum = half_at(from + 2);
  const uint8_t* high = from + 16;
  const uint8_t* q = kFive ? high + 32 : high;
  for (int part = 0; part < 8; ++part) {
    const PartScale its = part_scale(from + 4, part);
    const float part_scale = scale * static_cast<float>(its.scale);
    const float part_minimum = minimum * static_cast<float>(its.minimum);
    for (int i = 0; i < 32; ++i) {
      int value = (q[part / 2 * 32 + i] >> (part % 2 * 4)) & 15;
      if (kFive) value |= (high[i] >> part & 1) << 4;
      to[part * 32 + i] = part_scale * static_cast<float>(value) - part_minimum;
    }
  }
}

// 128 bytes of low four bits, 64 of upper two bits, 16 signed part scales, scale. Each half of the block, 128 elements,
// has 64 and 32 bytes: four quarters of 32 elements share them.
void q6_k(const uint8_t* from, float* to) {
  const uint8_t *low = from, *high = from + 128, *scales = from + 192;
  const float scale = half_at(from + 208);
  for (int quarter = 0; quarter < 8; ++quarter) {
    const int half = quarter / 4, k = quarter % 4;
    for (int i = 0; i < 32; ++i) {
      const float part_scale = scale * static_cast<float>(static_cast<int8_t>(scales[quarter * 2 + i / 16]));
      const int lower = (low[half * 64 + k % 2 * 32 + i] >> (k / 2 * 4)) & 15;
      const int upper = (high[half * 32 + i] >> (k * 2)) & 3;
      to[quarter * 32 + i] = part_scale * static_cast<float>((lower | upper << 4) - 32);
    }
  }
}

template <int kElements, int kBytes, auto block>
StoredType quantised(std::string name, int ggml) {
  return {std::move(name), ggml, false, kElements, kBytes, Decoded::f32, blocks<kElements, kBytes, block>};
}

// The types that `known` accepts, as describe() writes them.
template <class Known, class Describe>
std::string listed(Known known, Describe describe) {
  std::string text;
  for (const StoredType& type : stored_types()) {
    if (known(type)) text += (text.empty() ? "" : ", ") + describe(type);
  }
  return text;
}

}  // namespace

const std::vector<StoredType>& stored_types() {
  static const std::vector<StoredType> types = {
      {"F64", 28, true, 1, 8, Decoded::f64, copy<double>},
      {"I64", 27, true, 1, 8, Decoded::i64, copy<int64_t>},
      {"F32", 0, true, 1, 4, Decoded::f32, copy<float>},
      {"I32", 26, true, 1, 4, Decoded::i64, integers<int32_t>},
      {"F16", 1, true, 1, 2, Decoded::f32, halves},
      {"BF16", 30, true, 1, 2, Decoded::f32, bfloats},
      {"U8", -1, true, 1, 1, Decoded::i64, integers<uint8_t>},
      {"BOOL", -1, true, 1, 1, Decoded::i64, integers<uint8_t>},
      {"I16", 25, false, 1, 2, Decoded::i64, integers<int16_t>},
      {"I8", 24, false, 1, 1, Decoded::i64, integers<int8_t>},
      quantised<32, 18, q4_0>("Q4_0", 2),
      quantised<32, 20, q4_1>("Q4_1", 3),
      quantised<32, 22, q5_0>("Q5_0", 6),
      quantised<32, 24, q5_1>("Q5_1", 7),
      quantised<32, 34, q8_0>("Q8_0", 8),
      quantised<256, 144, q4_or_q5_k<false>>("Q4_K", 12),
      quantised<256, 176, q4_or_q5_k<true>>("Q5_K", 13),
      quantised<256, 210, q6_k>("Q6_K", 14),
  };
  return types;
}

const StoredType& safetensors_type(std::string_view what, std::string_view name) {
  for (const StoredType& type : stored_types()) {
    if (type.safetensors && type.name == name) return type;
  }
  fail("{} has dtype '{}'; {} can be read", what, excerpt(name),
       listed([](const StoredType& t) { return t.safetensors; }, [](const StoredType& t) { return t.name; }));
}

const StoredType& ggml_type(std::string_view what, uint32_t number) {
  for (const StoredType& type : stored_types()) {
    if (type.ggml >= 0 && static_cast<uint32_t>(type.ggml) == number) return type;
  }
  fail("{} has type {}; {} can be read", what, number,
       listed([](const StoredType& t) { return t.ggml >= 0; },
              [](const StoredType& t) { return fmt::format("{} ({})", t.name, t.ggml); }));
}

}  // namespace pg
