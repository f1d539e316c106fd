// Every CUDA feature of the simulator, tested on results that are known from mathematics.
#include <cmath>
#include <cstring>
#include <numeric>

#include "tensor/sim/sim.h"
#include "tests/catch.h"
#include "tests/sim/device_array.h"
#include "tests/sim/kernels.h"

using namespace pg;
using namespace pg::testing;

namespace {

// Integer values, so that sums are exact in any order.
template <class T>
std::vector<T> numbers(int n, int modulus = 17) {
  std::vector<T> out(n);
  for (int i = 0; i < n; ++i) out[i] = static_cast<T>((i * 31 + 7) % modulus - modulus / 2);
  return out;
}

template <class T>
void check_block_sums() {
  for (int n : {1, 255, 256, 257, 1500}) {
    const auto x = numbers<T>(n);
    const int blocks = (n + 255) / 256;
    DeviceArray<T> in(x), out(blocks);
    block_sums(in.data(), out.data(), n);
    const auto sums = out.host();
    for (int b = 0; b < blocks; ++b)
      REQUIRE(sums[b] == std::accumulate(x.begin() + 256 * b, x.begin() + std::min(n, 256 * b + 256), T(0)));
  }
}

// The definition in the CUDA Programming Guide: the lane whose value lane `lane` receives.
int shuffle_source(int kind, int lane, int argument, int width) {
  const int first = lane / width * width;
  if (kind == 0) return first + argument % width;
  if (kind == 1) return lane - argument < first ? lane : lane - argument;
  if (kind == 2) return lane + argument >= first + width ? lane : lane + argument;
  const int other = lane ^ argument;
  return other >= first + width ? lane : other;
}

template <class T>
void check_shuffles() {
  std::vector<T> x(32);
  for (int i = 0; i < 32; ++i) x[i] = static_cast<T>(i * i * 1000003LL + 17);
  DeviceArray<T> in(x), out(32);
  for (int kind = 0; kind < 4; ++kind) {
    for (int width : {2, 8, 32}) {
      for (int argument : {0, 1, 3, 7, 16, 31}) {
        shuffle(kind, in.data(), out.data(), argument, width);
        const auto got = out.host();
        for (int lane = 0; lane < 32; ++lane) {
          INFO("kind " << kind << " width " << width << " argument " << argument << " lane " << lane);
          REQUIRE(got[lane] == x[shuffle_source(kind, lane, argument, width)]);
        }
      }
    }
  }
}

}  // namespace

TEST_CASE("sim: every thread of a three-dimensional launch runs once with its own indices", "[sim]") {
  for (int threads : {1, 2}) {
    Threads guard(threads);
    for (dim3 grid : {dim3(1), dim3(5), dim3(3, 2, 4), dim3(200)}) {
      for (dim3 block : {dim3(1), dim3(33), dim3(4, 3, 5), dim3(1024), dim3(2, 2, 64)}) {
        const int n = static_cast<int>(grid.x * grid.y * grid.z * block.x * block.y * block.z);
        DeviceArray<int> seen(std::vector<int>(n, 0));
        count_threads(seen.data(), grid, block);
        const auto got = seen.host();
        for (int i = 0; i < n; ++i) REQUIRE(got[i] == i + 1);
      }
    }
  }
}

TEST_CASE("sim: static shared memory and barriers sum a block", "[sim]") {
  check_block_sums<float>();
  check_block_sums<double>();
  check_block_sums<int>();
}

TEST_CASE("sim: a tile of shared memory transposes", "[sim]") {
  const int n = 96;
  const auto x = numbers<float>(n * n, 9973);
  DeviceArray<float> in(x), out(x.size());
  transpose(in.data(), out.data(), n);
  const auto y = out.host();
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) REQUIRE(y[j * n + i] == x[i * n + j]);
  }
}

TEST_CASE("sim: dynamic shared memory of the launch's size", "[sim]") {
  for (int block : {1, 64, 1000}) {
    const int n = 3 * block;
    const auto x = numbers<double>(n, 9973);
    DeviceArray<double> in(x), out(n);
    reverse_blocks(in.data(), out.data(), n, block);
    const auto y = out.host();
    for (int i = 0; i < n; ++i) REQUIRE(y[i] == x[i / block * block + block - 1 - i % block]);
  }
}

TEST_CASE("sim: shuffles of all kinds and widths for values of 4 and 8 bytes", "[sim]") {
  check_shuffles<int>();
  check_shuffles<float>();
  check_shuffles<double>();
  check_shuffles<long long>();
}

TEST_CASE("sim: votes count the lanes of their mask only", "[sim]") {
  for (unsigned mask : {0xffffffffu, 0x0000ff00u, 0x80000001u}) {
    for (unsigned wanted : {0u, 0xffffffffu, 0x12345678u, mask}) {
      std::vector<int> predicate(32);
      for (int i = 0; i < 32; ++i) predicate[i] = wanted >> i & 1 ? 5 + i : 0;
      DeviceArray<int> in(predicate);
      DeviceArray<unsigned> out(4);
      votes(mask, in.data(), out.data());
      const auto got = out.host();
      CHECK(got[0] == (wanted & mask));
      CHECK(got[1] == ((wanted & mask) != 0));
      CHECK(got[2] == ((wanted & mask) == mask));
      CHECK((got[3] & mask) == mask);
    }
  }
}

TEST_CASE("sim: warp reductions", "[sim]") {
  std::vector<int> x(32);
  for (int i = 0; i < 32; ++i) x[i] = (i - 11) * 77777;
  DeviceArray<int> in(x), out(8);
  reductions(in.data(), out.data());
  const auto got = out.host();
  int sum = 0;
  unsigned all = ~0u, any = 0, parity = 0;
  for (int v : x) {
    sum += v;
    all &= static_cast<unsigned>(v);
    any |= static_cast<unsigned>(v);
    parity ^= static_cast<unsigned>(v);
  }
  CHECK(got[0] == sum);
  CHECK(got[1] == -11 * 77777);
  CHECK(got[2] == 20 * 77777);
  CHECK(got[3] == 0);           // minimum of the values as unsigned
  CHECK(got[4] == -1 * 77777);  // maximum as unsigned: the negative value nearest to zero
  CHECK(static_cast<unsigned>(got[5]) == all);
  CHECK(static_cast<unsigned>(got[6]) == any);
  CHECK(static_cast<unsigned>(got[7]) == parity);
}

TEST_CASE("sim: barriers that count and vote", "[sim]") {
  for (int threads : {1, 40, 256}) {
    for (int step : {1, 3, 1000}) {
      std::vector<int> predicate(threads);
      int count = 0;
      for (int i = 1; i < threads; ++i) count += predicate[i] = i % step == 0 ? 1 : 0;
      DeviceArray<int> in(predicate), out(3);
      barrier_votes(in.data(), out.data(), threads);
      const auto got = out.host();
      CHECK(got[0] == count);
      CHECK(got[1] == (count == threads));
      CHECK(got[2] == (count > 0));
    }
  }
  DeviceArray<int> in(std::vector<int>(64, 2)), out(3);
  barrier_votes(in.data(), out.data(), 64);
  CHECK(out.host() == std::vector<int>{64, 1, 1});
}

TEST_CASE("sim: atomics of all kinds lose no update", "[sim]") {
  const int n = 5000;
  std::vector<int> x(n);
  for (int i = 0; i < n; ++i) x[i] = (i * 37) % 4001 + 64;
  DeviceArray<int> in(x), ints(std::vector<int>{10, 10, 1 << 30, 0, -1, 0, 0, 0});
  DeviceArray<unsigned long long> longs(std::vector<unsigned long long>(2, 0));
  DeviceArray<float> floats(std::vector<float>{0, 0, 9});
  atomics(in.data(), n, ints.data(), longs.data(), floats.data());
  int sum = 0, all = -1, any = 0, parity = 0;
  for (int v : x) {
    sum += v;
    all &= v;
    any |= v;
    parity ^= v;
  }
  const int low = *std::min_element(x.begin(), x.end()), high = *std::max_element(x.begin(), x.end());
  CHECK(ints.host() == std::vector<int>{10 + sum, 10 - sum, low, high, all, any, parity, sum});
  CHECK(longs.host() == std::vector<unsigned long long>{5000ull << 32, static_cast<unsigned long long>(high) << 20});
  CHECK(floats.host() == std::vector<float>{static_cast<float>(sum), 9, 5});  // below 2^24: exact
}

TEST_CASE("sim: a histogram in shared memory", "[sim]") {
  const int n = 3001;
  std::vector<int> x(n), expected(64, 0);
  for (int i = 0; i < n; ++i) ++expected[(x[i] = i * i % 1009) % 64];
  DeviceArray<int> in(x), bins(std::vector<int>(64, 0));
  histogram(in.data(), n, bins.data());
  CHECK(bins.host() == expected);
}

TEST_CASE("sim: __syncwarp of whole and half warps", "[sim]") {
  const int n = 500;
  const auto x = numbers<float>(n);
  DeviceArray<float> in(x), sums((n + 31) / 32);
  warp_sums_in_shared(in.data(), sums.data(), n);
  const auto got = sums.host();
  for (int w = 0; w < (n + 31) / 32; ++w)
    CHECK(got[w] == std::accumulate(x.begin() + 32 * w, x.begin() + std::min(n, 32 * w + 32), 0.0f));

  std::vector<int> y(32);
  std::iota(y.begin(), y.end(), 1);
  DeviceArray<int> ints(y), out(32);
  half_warps(ints.data(), out.data());
  CHECK(out.host()[0] == 16 * 17 / 2);
  for (int lane = 16; lane < 32; ++lane) CHECK(out.host()[lane] == 32 * 33 / 2 - 16 * 17 / 2);
}

TEST_CASE("sim: vectors of four, cache hints, fused multiply-add", "[sim]") {
  const int n = 1000;
  const auto x = numbers<float>(n), y = numbers<float>(n, 29);
  DeviceArray<float> in(x), out(y);
  saxpy4(0.5f, in.data(), out.data(), n);
  const auto got = out.host();
  for (int i = 0; i < n; ++i) REQUIRE(got[i] == 0.5f * x[i] + y[i]);
  CHECK(make_float4(1, 2, 3, 4).z == 3);
  CHECK(make_uint2(7, 8).y == 8);
  CHECK(make_double2(1, 2.5).y == 2.5);
  CHECK(sizeof(float4) == 16);
  CHECK(alignof(int4) == 16);
  CHECK(alignof(float2) == 8);
}

TEST_CASE("sim: functions on bits and fast mathematics", "[sim]") {
  DeviceArray<int> ints(14);
  DeviceArray<float> floats(13);
  functions(ints.data(), floats.data());
  // 0x80000000 · 6 = 3 · 2^32; the upper word of −1 · 2 is −1; 2.5 rounds to even
  CHECK(ints.host() == std::vector<int>{9, 9, 11, 32, 23, 5, 0, 2, 3, -1, 0x3f800000, 2, -2, 4});
  const double expected[] = {
      M_E,        M_LN2, 1.0 / 3,       0.25,          1.0 / 3, 10,
      M_PI,       1024,  std::sin(0.5), std::cos(0.5), 1,       3 + std::tanh(0.25) + std::erf(0.25),
      8 + 3 + 100};
  const auto got = floats.host();
  for (size_t i = 0; i < got.size(); ++i) {
    INFO("function " << i);
    CHECK(got[i] == Approx(expected[i]).epsilon(3e-7));
  }
}

TEST_CASE("sim: constant memory", "[sim]") {
  std::vector<float> table{1, 2, 3, 5, 8, 13, 21, 34};
  DeviceArray<float> out(100);
  add_constants(table.data(), out.data(), 100);
  const auto got = out.host();
  for (int i = 0; i < 100; ++i) REQUIRE(got[i] == table[i % 8]);
}

TEST_CASE("sim: a tiled matrix product", "[sim]") {
  const int n = 48;
  const auto a = numbers<float>(n * n), b = numbers<float>(n * n, 13);
  DeviceArray<float> a_(a), b_(b), c_(a.size());
  matmul_tiled(a_.data(), b_.data(), c_.data(), n);
  const auto c = c_.host();
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) {
      float sum = 0;  // a sum of integers: exact
      for (int k = 0; k < n; ++k) sum += a[i * n + k] * b[k * n + j];
      REQUIRE(c[i * n + j] == sum);
    }
  }
}

TEST_CASE("sim: results have the same bits for any number of threads", "[sim]") {
  const int n = 64 * 256;
  std::vector<float> x(n);
  for (int i = 0; i < n; ++i) x[i] = std::sin(static_cast<float>(i));  // sums depend on their order
  std::vector<float> first;
  for (int threads : {1, 2, 3}) {
    Threads guard(threads);
    for (int repeat = 0; repeat < 3; ++repeat) {
      DeviceArray<float> in(x), out(n / 256);
      block_sums(in.data(), out.data(), n);
      const auto sums = out.host();
      if (first.empty()) first = sums;
      REQUIRE(std::memcmp(first.data(), sums.data(), sums.size() * sizeof(float)) == 0);
    }
  }
}

TEST_CASE("sim: fresh device memory is NaN", "[sim]") {
  DeviceArray<float> f(1000);
  for (float v : f.host()) REQUIRE(std::isnan(v));
  DeviceArray<double> d(10);
  for (double v : d.host()) REQUIRE(std::isnan(v));
}

TEST_CASE("sim: unchecked kernels compute the same", "[sim]") {
  const sim::Unchecked fast;
  check_block_sums<float>();
  check_shuffles<int>();
}
