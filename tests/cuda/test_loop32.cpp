// The loops of CUDA's elementwise kernels, which need no device: division by multiplication, and the offsets of loops
// of any size against the nested loops of StridedLoop.
#include "tensor/cuda/loop32.h"
#include "tests/catch.h"

using namespace pg;
using namespace pg::cuda;

namespace {

// Calls f for the numbers next to the powers of two up to 2^31 - 1, and for many between.
template <class F>
void for_numbers(F f) {
  constexpr int64_t kMost = 2147483647;
  for (int64_t power = 1; power <= kMost + 1; power *= 2) {
    for (int64_t x : {power - 1, power, power + 1, power + power / 3, power + power / 2 + 1}) {
      if (x <= kMost) f(static_cast<uint32_t>(x));
    }
  }
  uint32_t x = 12345;
  for (int i = 0; i < 200; ++i) {
    x = x * 1664525u + 1013904223u;
    f(x >> 1 >> i % 24);
  }
}

template <int N>
StridedLoop<N> loop_over(const Shape& shape, const std::array<Strides, N>& strides) {
  std::array<const Strides*, N> all;
  for (int k = 0; k < N; ++k) all[k] = &strides[k];
  return plan_loop<N>(shape, all);
}

// The offsets of all elements, in the order of the loop.
template <int N>
std::vector<std::array<int64_t, N>> offsets_of(const StridedLoop<N>& w) {
  std::vector<std::array<int64_t, N>> all;
  w.run(0, w.n, [&](const std::array<int64_t, N>& offset, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      all.push_back(offset);
      for (int k = 0; k < N; ++k) all.back()[k] += i * w.inner_stride(k);
    }
  });
  return all;
}

// Checks that the parts of w have its offsets, each once. Returns the number of parts.
template <int N>
int check_parts(const StridedLoop<N>& w) {
  int parts = 0;
  std::vector<std::array<int64_t, N>> got, want = offsets_of(w);
  for_loops32(w, [&](const Loop32<N>& part, const std::array<int64_t, N>& begin) {
    ++parts;
    for (uint32_t i = 0; i < part.n; ++i) {
      uint32_t at[N];
      part.offsets(i, at);
      got.push_back(begin);
      for (int k = 0; k < N; ++k) {
        CHECK(at[k] <= static_cast<uint32_t>(Loop32<N>::kMost));
        got.back()[k] += at[k];
      }
    }
  });
  if (parts > 1) {
    std::sort(got.begin(), got.end());
    std::sort(want.begin(), want.end());
  }
  CHECK(got == want);
  return parts;
}

}  // namespace

TEST_CASE("Divisor divides every number of 31 bits", "[cuda][elementwise]") {
  for_numbers([](uint32_t d) {
    if (d == 0) return;
    const Divisor by(d);
    uint32_t wrong = 0;
    const auto check = [&](int64_t n) {
      if (n < 0 || n > 2147483647) return;
      wrong += by.quotient(static_cast<uint32_t>(n)) != static_cast<uint32_t>(n) / d;
    };
    for_numbers([&](uint32_t n) {
      check(n);
      const int64_t multiple = int64_t{n} / d * d;  // the quotient changes at multiples of d
      for (int64_t m : {multiple - 1, multiple, multiple + d - 1, multiple + d}) check(m);
    });
    INFO("divisor " << d);
    CHECK(wrong == 0);
  });
}

TEST_CASE("Loop32 has the offsets of a StridedLoop of any rank", "[cuda][elementwise]") {
  CHECK(check_parts(loop_over<2>({}, {{{}, {}}})) == 1);
  CHECK(check_parts(loop_over<1>({37}, {{{1}}})) == 1);
  CHECK(check_parts(loop_over<2>({5, 7}, {{{7, 1}, {1, 5}}})) == 1);
  CHECK(check_parts(loop_over<3>({4, 3, 5}, {{{15, 5, 1}, {0, 1, 3}, {5, 0, 1}}})) == 1);
  CHECK(check_parts(loop_over<3>({2, 3, 2, 3, 2, 3},
                                 {{{108, 36, 18, 6, 3, 1}, {1, 2, 6, 12, 36, 72}, {0, 1, 0, 3, 0, 9}}})) == 1);
}

TEST_CASE("a loop whose offsets do not fit 31 bits is split", "[cuda][elementwise]") {
  constexpr int64_t kMost = Loop32<1>::kMost;
  CHECK(check_parts(loop_over<1>({2}, {{{kMost}}})) == 1);
  CHECK(check_parts(loop_over<1>({2}, {{{kMost + 1}}})) == 2);
  CHECK(check_parts(loop_over<2>({3, 5}, {{{5, 1}, {kMost / 2, 1}}})) == 2);
  CHECK(check_parts(loop_over<2>({6, 4}, {{{int64_t{1} << 40, 1}, {4, 1}}})) == 6);
  CHECK(check_parts(loop_over<2>({3, 3, 3}, {{{9, 3, 1}, {int64_t{3} << 32, int64_t{1} << 32, 1}}})) == 9);
}

TEST_CASE("a loop of more than 2^31 elements is split into parts of at most that many", "[cuda][elementwise]") {
  for (const int64_t n : {int64_t{2147483647}, int64_t{2147483648}, int64_t{65536} * 50304}) {
    int64_t next = 0;
    for_loops32(loop_over<2>({n}, {{{1}, {0}}}), [&](const Loop32<2>& part, const std::array<int64_t, 2>& begin) {
      CHECK(begin == std::array<int64_t, 2>{next, 0});
      CHECK(part.n <= 2147483647);
      next += part.n;
      uint32_t at[2];
      part.offsets(part.n - 1, at);
      CHECK(at[0] == part.n - 1);
      CHECK(at[1] == 0);
    });
    CHECK(next == n);
  }
}
