// The tensor-core instructions compared with explicitly computed products and layouts, and the mistakes that are easy
// to make with them.
#include <cmath>
#include <cstring>

#include "tests/sim/device_array.h"
#include "tests/sim/kernels.h"
#include "tests/sim/must_find.h"

using namespace pg;
using namespace pg::testing;

namespace {

void must_find(const std::string& name, const std::string& block_and_thread, const std::vector<std::string>& words,
               const std::function<void()>& f) {
  must_find_in("tests/sim/mma.cu", name, block_and_thread, words, f);
}

// A small integer as bf16: the upper half of its f32 represents it exactly.
uint16_t bits_of(int x) {
  const float wide = static_cast<float>(x);
  uint32_t bits;
  std::memcpy(&bits, &wide, sizeof(bits));
  return static_cast<uint16_t>(bits >> 16);
}

std::vector<float> counting(int n) {
  std::vector<float> x(static_cast<size_t>(n));
  for (int i = 0; i < n; ++i) x[static_cast<size_t>(i)] = static_cast<float>(i);
  return x;
}

}  // namespace

TEST_CASE("sim: mma.sync multiplies matrices laid out as PTX says", "[sim]") {
  std::vector<uint16_t> a(16 * 16), b(16 * 8);
  std::vector<float> c(16 * 8), expected(16 * 8);
  const auto left = [](int row, int k) { return (row * 7 + k * 3) % 11 - 5; };
  const auto right = [](int k, int column) { return (k * 5 + column * 2) % 13 - 6; };
  for (int row = 0; row < 16; ++row) {
    for (int k = 0; k < 16; ++k) a[static_cast<size_t>(row * 16 + k)] = bits_of(left(row, k));
  }
  for (int k = 0; k < 16; ++k) {
    for (int column = 0; column < 8; ++column) b[static_cast<size_t>(k * 8 + column)] = bits_of(right(k, column));
  }
  for (int row = 0; row < 16; ++row) {
    for (int column = 0; column < 8; ++column) {
      const auto i = static_cast<size_t>(row * 8 + column);
      c[i] = static_cast<float>(row - 3 * column);
      int sum = row - 3 * column;  // a sum of integers: exact in any order
      for (int k = 0; k < 16; ++k) sum += left(row, k) * right(k, column);
      expected[i] = static_cast<float>(sum);
    }
  }
  DeviceArray<uint16_t> device_a(a), device_b(b);
  DeviceArray<float> device_c(c);
  mma_by_hand(device_a.data(), device_b.data(), device_c.data());
  CHECK(device_c.host() == expected);
}

TEST_CASE("sim: ldmatrix gives each lane its pairs, plain and transposed", "[sim]") {
  std::vector<uint16_t> x(32 * 8);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<uint16_t>(i * 3);
  DeviceArray<uint16_t> in(x);
  for (const bool transposed : {false, true}) {
    DeviceArray<uint32_t> out(4 * 32);
    ldmatrix(in.data(), out.data(), 8, transposed);
    const std::vector<uint32_t> got = out.host();
    for (size_t i = 0; i < 4; ++i) {
      for (size_t lane = 0; lane < 32; ++lane) {
        const size_t g = lane / 4, t = lane % 4 * 2;
        const auto at = [&](size_t row, size_t column) -> uint32_t { return x[(8 * i + row) * 8 + column]; };
        const uint32_t expected = transposed ? at(t, g) | at(t + 1, g) << 16 : at(g, t) | at(g, t + 1) << 16;
        INFO("matrix " << i << ", lane " << lane << (transposed ? ", transposed" : ""));
        REQUIRE(got[i * 32 + lane] == expected);
      }
    }
  }
}

TEST_CASE("sim: tensor core instructions require whole warps and aligned rows", "[sim]") {
  DeviceArray<uint32_t> words(32);
  DeviceArray<float> y(64);
  misaligned_row(words.data(), false);
  must_find("misaligned_row", "block 0, thread 5", {"ldmatrix: the row is at an address 2 bytes past a multiple of 16"},
            [&] { misaligned_row(words.data(), true); });
  half_a_warp(y.data(), false);
  must_find("half_a_warp", "block 0, thread 32", {"mma.sync: the warp has fewer than 32 threads"},
            [&] { half_a_warp(y.data(), true); });
  not_all_lanes(y.data(), false);
  must_find("not_all_lanes", "block 0, thread 0",
            {"mma.sync: mask 0xffffffff names lane 9", "waits at __syncthreads()"},
            [&] { not_all_lanes(y.data(), true); });
}

TEST_CASE("sim: the data of cp.async is visible only after the wait", "[sim]") {
  needs_accesses();
  const DeviceArray<float> x(counting(256));
  DeviceArray<float> y(64);
  forgotten_wait(x.data(), y.data(), false);
  CHECK(y.host()[5] == 24);
  CHECK(y.host()[63] == 0);
  must_find("forgotten_wait", "block 0, thread 0",
            {"cp.async not complete: reads byte 16 of shared variable buffer (1024 bytes)", "cp.async.wait_group"},
            [&] { forgotten_wait(x.data(), y.data(), true); });
  wait_without_barrier(x.data(), y.data(), false);
  must_find("wait_without_barrier", "block 0, thread 1", {"race: writes byte 16", "which thread 0 reads"},
            [&] { wait_without_barrier(x.data(), y.data(), true); });
  DeviceArray<float> z(32);
  wait_for_the_older(x.data(), z.data(), false);
  CHECK(z.host()[30] == 124);
  must_find("wait_for_the_older", "block 0, thread 0", {"cp.async not complete: reads byte 528"},
            [&] { wait_for_the_older(x.data(), z.data(), true); });
}

TEST_CASE("sim: cp.async with a source size of 0 writes zeros and reads nothing", "[sim]") {
  const DeviceArray<float> x(counting(100));
  DeviceArray<float> y(128);
  copy_past_the_source(x.data(), y.data(), 100, false);
  std::vector<float> expected = counting(128);
  for (size_t i = 100; i < 128; ++i) expected[i] = 0;
  CHECK(y.host() == expected);
  const DeviceArray<float> more(counting(132));
  misaligned_copy(more.data(), y.data(), false);
  must_find("misaligned_copy", "block 0, thread 0",
            {"cp.async: the source is at an address 4 bytes past a multiple of 16"},
            [&] { misaligned_copy(more.data(), y.data(), true); });
  needs_accesses();
  must_find("copy_past_the_source", "block 0, thread 25",
            {"out of bounds: reads 16 bytes at an address 0 bytes past the end"},
            [&] { copy_past_the_source(x.data(), y.data(), 100, true); });
}

TEST_CASE("sim: ex2 is a power of two, without denormal results", "[sim]") {
  std::vector<float> x(32);
  for (size_t i = 0; i < 32; ++i) x[i] = static_cast<float>(i) * 5.5f - 140;
  x[31] = -INFINITY;
  const DeviceArray<float> in(x);
  DeviceArray<float> out(32);
  powers_of_two(in.data(), out.data());
  for (size_t i = 0; i < 32; ++i) {
    const double exact = x[i] < -126 ? 0 : std::exp2(static_cast<double>(x[i]));
    CHECK(std::fabs(out.host()[i] - exact) <= 3e-7 * exact);
  }
}

TEST_CASE("sim report: ldmatrix takes a pass for eight rows in different banks", "[sim]") {
  needs_accesses();
  const DeviceArray<uint16_t> x(std::vector<uint16_t>(32 * 8, 1));
  DeviceArray<uint32_t> out(4 * 32);
  const std::string location = location_in("tests/sim/mma.cu", "ldmatrix", "LINE");
  // With rows of 16 bytes, eight rows fill the 128 bytes of the banks. With rows of 128 bytes, all eight begin in the
  // same bank.
  for (const auto& [pitch, passes, ways] : {std::tuple{8, 4, 1}, std::tuple{64, 32, 8}}) {
    const sim::Report report;
    ldmatrix(x.data(), out.data(), pitch, false);
    for (const auto& line : report.lines()) {
      if (line.file + ":" + std::to_string(line.line) != location) continue;
      CHECK(line.shared_accesses == 1);
      CHECK(line.wavefronts == static_cast<uint64_t>(passes));
      CHECK(line.worst_ways == ways);
    }
    CHECK(report.table().find(location) != std::string::npos);
  }
}
