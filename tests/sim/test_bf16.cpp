// bf16 compared with its definition, which this file computes in exact arithmetic.
#include <cmath>
#include <cstring>

#include "tests/catch.h"
#include "tests/sim/device_array.h"
#include "tests/sim/kernels.h"

using namespace pg::testing;

namespace {

float widen(uint16_t bits) {
  const uint32_t word = uint32_t{bits} << 16;
  float out;
  std::memcpy(&out, &word, 4);
  return out;
}

// The bf16 nearest to x, ties to even, found by comparing both neighbours. long double represents sums and products of
// bf16 values of moderate size exactly.
uint16_t nearest(long double x) {
  if (x == 0) return std::signbit(x) ? 0x8000 : 0;
  uint16_t low = 0, high = 0x7f80;  // largest with |value| <= |x|, by bisection; bits are ordered as values
  const long double size = std::fabs(x);
  while (high - low > 1) {
    const uint16_t middle = static_cast<uint16_t>((low + high) / 2);
    (static_cast<long double>(widen(middle)) <= size ? low : high) = middle;
  }
  // The value after the largest finite one would be 2^128; it rounds to infinity.
  const long double next = high == 0x7f80 ? 0x1p128L : static_cast<long double>(widen(high));
  const long double below = size - static_cast<long double>(widen(low)), above = next - size;
  const bool up = above < below || (above == below && (low & 1));
  return static_cast<uint16_t>((up ? high : low) | (x < 0 ? 0x8000 : 0));
}

}  // namespace

TEST_CASE("sim: floats round to the nearest bf16", "[sim]") {
  std::vector<float> x;
  for (uint32_t upper = 0; upper < 0x7f80; upper += 37) {
    for (uint32_t lower : {0u, 1u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu}) {
      for (uint32_t sign : {0u, 0x80000000u}) {
        const uint32_t word = sign | upper << 16 | lower;
        float f;
        std::memcpy(&f, &word, 4);
        x.push_back(f);
      }
    }
  }
  x.push_back(INFINITY);
  x.push_back(3.4e38f);  // rounds to infinity
  const int n = static_cast<int>(x.size());
  DeviceArray<float> in(x), widened(n);
  DeviceArray<uint16_t> bits(n);
  bf16_round_trip(in.data(), widened.data(), bits.data(), n);
  const auto got = bits.host();
  const auto wide = widened.host();
  for (int i = 0; i < n; ++i) {
    INFO(x[i]);
    REQUIRE(got[i] == (std::isinf(x[i]) ? 0x7f80 : nearest(x[i])));
    REQUIRE(wide[i] == widen(got[i]));
  }
}

TEST_CASE("sim: bf16 arithmetic rounds once", "[sim]") {
  std::vector<uint16_t> a, b, c;
  uint32_t state = 12345;
  const auto next = [&state] { return state = state * 1664525u + 1013904223u; };
  // Exponents within 2^±12, so that everything below is exact in the 64-bit mantissa of a long double.
  const auto number = [&] {
    return static_cast<uint16_t>((next() >> 16 & 0x8000) | ((115 + next() % 25) << 7) | next() >> 25);
  };
  for (int i = 0; i < 20000; ++i) {
    a.push_back(number());
    b.push_back(number());
    c.push_back(number());
  }
  const int n = static_cast<int>(a.size());
  DeviceArray<uint16_t> a_(a), b_(b), c_(c), out(5 * a.size());
  bf16_arithmetic(a_.data(), b_.data(), c_.data(), out.data(), n);
  const auto got = out.host();
  for (int i = 0; i < n; ++i) {
    const long double x = widen(a[i]), y = widen(b[i]), z = widen(c[i]);
    INFO(static_cast<double>(x) << " " << static_cast<double>(y) << " " << static_cast<double>(z));
    REQUIRE(got[5 * i] == nearest(x + y));
    REQUIRE(got[5 * i + 1] == nearest(x - y));
    REQUIRE(got[5 * i + 2] == nearest(x * y));
    REQUIRE(got[5 * i + 3] == nearest(x * y + z));
    REQUIRE(got[5 * i + 4] == nearest(std::max(x, y)));
  }
}

TEST_CASE("sim: a bf16 product a hair above a tie rounds up after a tiny addition", "[sim]") {
  // 1.0078125 · 1.5 = 1.51171875 is midway between two bf16 numbers; adding or subtracting 2^-100 must decide.
  const std::vector<uint16_t> a{0x3f81, 0x3f81, 0x3f81}, b{0x3fc0, 0x3fc0, 0x3fc0}, c{0x0d80, 0x8d80, 0x0000};
  DeviceArray<uint16_t> a_(a), b_(b), c_(c), out(15);
  bf16_arithmetic(a_.data(), b_.data(), c_.data(), out.data(), 3);
  const auto got = out.host();
  CHECK(got[3] == 0x3fc2);
  CHECK(got[8] == 0x3fc1);
  CHECK(got[13] == 0x3fc2);  // the tie itself rounds to even
}
