// The element types of model files, quantised blocks among them.
#include <cmath>
#include <limits>

#include "tensor/base/files/gguf.h"
#include "tests/catch.h"
#include "tests/model_files.h"
#include "tests/tensors.h"

using namespace pg;
using namespace pg::testing;

TEST_CASE("half precision: every value", "[gguf]") {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const float value = half_to_float(static_cast<uint16_t>(bits));
    const int exponent = static_cast<int>(bits >> 10 & 31), fraction = static_cast<int>(bits & 1023);
    INFO(bits);
    REQUIRE(std::signbit(value) == (bits >= 32768));
    if (exponent == 31 && fraction != 0) {
      REQUIRE(std::isnan(value));
      REQUIRE((std::bit_cast<uint32_t>(value) & 0x7fffff) == static_cast<uint32_t>(fraction) << 13);
    } else {
      const double expected = exponent == 31
                                  ? INFINITY
                                  : std::ldexp(exponent == 0 ? fraction : 1024 + fraction, std::max(exponent, 1) - 25);
      REQUIRE(std::fabs(value) == expected);
    }
  }
}

TEST_CASE("block types: blocks computed by hand", "[gguf]") {
  const std::string one = bytes_of<uint16_t>({0x3c00}), two = bytes_of<uint16_t>({0x4000});
  const std::string half = bytes_of<uint16_t>({0x3800});
  std::string nibbles;  // element i is i % 16: low nibbles 0 to 15, high ones the same
  for (int i = 0; i < 16; ++i) nibbles += static_cast<char>(i * 17);
  const auto expect = [](const std::string& type, const std::string& bytes, auto value) {
    INFO(type);
    const std::vector<float> values = decoded(type, bytes);
    std::vector<float> expected;
    for (size_t i = 0; i < values.size(); ++i) expected.push_back(static_cast<float>(value(static_cast<int>(i))));
    CHECK(values == expected);
  };
  expect("Q4_0", half + nibbles, [](int i) { return 0.5 * (i % 16 - 8); });
  expect("Q4_1", half + two + nibbles, [](int i) { return 0.5 * (i % 16) + 2; });
  // The fifth bit of odd elements is set.
  expect("Q5_0", half + "\xaa\xaa\xaa\xaa" + nibbles, [](int i) { return 0.5 * (i % 16 + i % 2 * 16 - 16); });
  expect("Q5_1", half + two + "\xaa\xaa\xaa\xaa" + nibbles, [](int i) { return 0.5 * (i % 16 + i % 2 * 16) + 2; });
  std::string signed_bytes;
  for (int i = 0; i < 32; ++i) signed_bytes += static_cast<char>(i * 8 - 128);
  expect("Q8_0", half + signed_bytes, [](int i) { return 0.5 * (i * 8 - 128); });

  // Part p of Q4_K has the scale p + 40 and the minimum 63 - p; the bits 4 and 5 of parts 4 to 7 are in the upper bits
  // of the bytes of parts 0 to 3.
  std::string scales(12, '\0');
  for (int p = 0; p < 8; ++p) {
    const int scale = p + 40, minimum = 63 - p;
    const auto add = [&](int at, int bits) {
      scales[static_cast<size_t>(at)] = static_cast<char>(scales[static_cast<size_t>(at)] | bits);
    };
    if (p < 4) {
      add(p, scale);
      add(p + 4, minimum);
    } else {
      add(p + 4, (scale & 15) | (minimum & 15) << 4);
      add(p - 4, scale >> 4 << 6);
      add(p, minimum >> 4 << 6);
    }
  }
  std::string quads;  // low nibble i % 16 in every byte, high nibble 15 - i % 16
  for (int i = 0; i < 128; ++i) quads += static_cast<char>(i % 16 | (15 - i % 16) << 4);
  const auto four = [](int i) { return i / 32 % 2 == 0 ? i % 16 : 15 - i % 16; };
  const auto scaled = [](int i, int q) { return 2.0 * (i / 32 + 40) * q - 0.5 * (63 - i / 32); };
  expect("Q4_K", two + half + scales + quads, [&](int i) { return scaled(i, four(i)); });
  // Bit p of byte i is set if i + p is a multiple of 3.
  std::string fifths;
  for (int i = 0; i < 32; ++i) {
    int bits = 0;
    for (int p = 0; p < 8; ++p) bits |= ((i + p) % 3 == 0) << p;
    fifths += static_cast<char>(bits);
  }
  expect("Q5_K", two + half + scales + fifths + quads,
         [&](int i) { return scaled(i, four(i) + ((i % 32 + i / 32) % 3 == 0 ? 16 : 0)); });

  // Q6_K: element e of a half has its low bits in byte e % 64, its high bits in byte e % 32, both in the order of e.
  std::string low(128, '\0'), high(64, '\0'), parts;
  const auto six = [](int i) { return i * 37 % 64; };
  for (int i = 0; i < 256; ++i) {
    const int e = i % 128, value = six(i);
    auto& l = low[static_cast<size_t>(i / 128 * 64 + e % 64)];
    auto& h = high[static_cast<size_t>(i / 128 * 32 + e % 32)];
    l = static_cast<char>(l | (value & 15) << (e / 64 * 4));
    h = static_cast<char>(h | (value >> 4) << (e / 32 * 2));
  }
  for (int p = 0; p < 16; ++p) parts += static_cast<char>(p * 16 - 128);
  expect("Q6_K", low + high + parts + one, [&](int i) { return (i / 16 * 16 - 128) * (six(i) - 32); });
  CHECK(decoded("F16", one + half) == std::vector<float>{1, 0.5f});
  CHECK(decoded("BF16", bytes_of<uint16_t>({0x3f80, 0xc000, 0x0001})) == std::vector<float>{1, -2, 0x1p-133f});
}

TEST_CASE("block types: the values of gguf-py to the bit", "[gguf]") {
  const GgufFile file("tests/goldens/gguf/blocks.gguf");
  int compared = 0;
  for (const GgufTensor& tensor : file.tensors()) {
    if (tensor.name.ends_with(".f32")) continue;
    INFO(tensor.name);
    const auto expected = std::find_if(file.tensors().begin(), file.tensors().end(), [&](const GgufTensor& other) {
      return other.name == std::string(tensor.name) + ".f32";
    });
    REQUIRE(expected != file.tensors().end());
    CHECK(expected->shape == tensor.shape);
    CHECK(tensor.type->name == tensor.name);
    const auto bytes = [&](const GgufTensor& t) {
      return std::string(reinterpret_cast<const char*>(file.data(t).data()), t.bytes);
    };
    CHECK(same_bits(decoded(tensor.type->name, bytes(tensor)), decoded("F32", bytes(*expected))));
    ++compared;
  }
  int known = 0;  // types that GGUF has and that are no plain numbers
  for (const StoredType& type : stored_types()) known += type.ggml >= 0 && type.decoded == StoredType::Decoded::f32;
  CHECK(compared == known - 1);  // F32 itself is not in the file
}

TEST_CASE("block types: scales that are no finite numbers", "[gguf]") {
  const std::string infinite = bytes_of<uint16_t>({0x7c00}), nan = bytes_of<uint16_t>({0x7e00});
  const std::vector<float> values = decoded("Q8_0", infinite + std::string(1, '\0') + std::string(31, '\x81'));
  CHECK(std::isnan(values[0]));
  CHECK(values[1] == -INFINITY);
  for (const StoredType& type : stored_types()) {
    if (type.block == 1) continue;
    const std::string bytes = [&] {
      std::string block(static_cast<size_t>(type.bytes), '\x11');
      block.replace(type.name == "Q6_K" ? 208 : 0, 2, nan);
      return block;
    }();
    INFO(type.name);
    for (const float value : decoded(type.name, bytes)) REQUIRE(std::isnan(value));
  }
}
