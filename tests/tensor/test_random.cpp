// Philox and distributions compared with known answers and moments.
#include <cmath>
#include <cstdint>
#include <thread>
#include <vector>

#include "tensor/base/error.h"
#include "tensor/base/random.h"
#include "tests/catch.h"

using namespace pg;

// Test vectors of the Random123 distribution (kat_vectors, "philox4x32 10").
TEST_CASE("Philox gives the published known answers", "[random]") {
  using Block = std::array<uint32_t, 4>;
  CHECK(philox4x32(0, 0, 0) == Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox4x32(~0ull, ~0ull, ~0ull) == Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox4x32(0x299f31d0a4093822, 0x85a308d3243f6a88, 0x0370734413198a2e) ==
        Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("a word depends only on seed and index", "[random]") {
  Generator g(42);
  for (uint64_t i = 0; i < 100; ++i) REQUIRE(g.next_u32() == random_u32(42, i));
  CHECK(g.offset() == 100);
  CHECK(g.reserve(1000) == 100);
  CHECK(g.next_u32() == random_u32(42, 1100));

  Generator resumed;
  resumed.set_state(g.seed(), g.offset());
  CHECK(resumed.normal() == g.normal());
  CHECK(resumed.integer(1000) == g.integer(1000));
  CHECK(resumed.offset() == g.offset());
  CHECK(random_u32(42, 7) != random_u32(43, 7));
}

TEST_CASE("each draw consumes what its comment says", "[random]") {
  Generator g(1);
  g.uniform();
  CHECK(g.offset() == 1);
  g.normal();
  CHECK(g.offset() == 3);
}

TEST_CASE("uniform draws fill the unit interval evenly", "[random]") {
  Generator g(3);
  const int n = 200000;
  double sum = 0, sum_squares = 0;
  for (int i = 0; i < n; ++i) {
    const double u = g.uniform();
    REQUIRE(u >= 0);
    REQUIRE(u < 1);
    sum += u;
    sum_squares += u * u;
  }
  // Five standard errors: Var[u] = 1/12, Var[u^2] = 1/5 - 1/9 = 4/45.
  CHECK(std::abs(sum / n - 0.5) < 5 * std::sqrt(1.0 / 12 / n));
  CHECK(std::abs(sum_squares / n - 1.0 / 3) < 5 * std::sqrt(4.0 / 45 / n));
  CHECK(to_unit(0xffffffff) < 1.0f);
  CHECK(to_unit(0) == 0.0f);
}

TEST_CASE("normal draws have the moments of the standard normal", "[random]") {
  Generator g(4);
  const int n = 400000;
  double moment[5] = {};
  for (int i = 0; i < n; ++i) {
    const double z = g.normal();
    REQUIRE(std::isfinite(z));
    for (int k = 1; k <= 4; ++k) moment[k] += std::pow(z, k) / n;
  }
  // Five standard errors; Var[z^k] = E[z^2k] - E[z^k]^2 with E[z^2] = 1, E[z^4] = 3, E[z^6] = 15, E[z^8] = 105.
  CHECK(std::abs(moment[1]) < 5 * std::sqrt(1.0 / n));
  CHECK(std::abs(moment[2] - 1) < 5 * std::sqrt(2.0 / n));
  CHECK(std::abs(moment[3]) < 5 * std::sqrt(15.0 / n));
  CHECK(std::abs(moment[4] - 3) < 5 * std::sqrt(96.0 / n));
}

TEST_CASE("integer is unbiased", "[random]") {
  Generator g(5);
  SECTION("every residue equally often") {
    const int n = 7, draws = 140000;
    std::vector<int> count(n);
    for (int i = 0; i < draws; ++i) ++count.at(static_cast<size_t>(g.integer(n)));
    const double expected = double(draws) / n;
    double chi_square = 0;
    for (int c : count) chi_square += (c - expected) * (c - expected) / expected;
    CHECK(chi_square < 30);  // 6 degrees of freedom: P(> 30) is 4e-5
  }
  SECTION("just above 3/4 of the words, where `word % n` would favour the low third") {
    const int64_t n = 3ll << 30;
    int below = 0;
    const int draws = 30000;
    for (int i = 0; i < draws; ++i) below += g.integer(n) < n / 3;
    // With bias: 1/2. Without bias: 1/3, within five standard errors.
    CHECK(std::abs(double(below) / draws - 1.0 / 3) < 5 * std::sqrt(2.0 / 9 / draws));
  }
  SECTION("ranges beyond 32 bits") {
    const int64_t n = (int64_t{1} << 62) + 1;
    int upper = 0;
    for (int i = 0; i < 10000; ++i) {
      const int64_t x = g.integer(n);
      REQUIRE(x >= 0);
      REQUIRE(x < n);
      upper += x >= n / 2;
    }
    CHECK(std::abs(upper - 5000) < 250);
  }
  SECTION("edges") {
    CHECK(g.integer(1) == 0);
    CHECK_THROWS_AS(g.integer(0), Error);
    CHECK_THROWS_AS(g.integer(-3), Error);
  }
}

TEST_CASE("the default generator is seeded per thread", "[random]") {
  manual_seed(9);
  const uint32_t first = default_generator().next_u32();
  CHECK(first == random_u32(9, 0));
  uint32_t elsewhere = 0;
  std::thread([&] {
    manual_seed(9);
    elsewhere = default_generator().next_u32();
  }).join();
  CHECK(elsewhere == first);
  CHECK(default_generator().offset() == 1);
}
